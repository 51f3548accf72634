import { stringify } from 'yaml';
import type { Tree } from './tree.ts';

const head = `# Configuration of sonic2mqtt. All other options have defaults:
# https://github.com/sonic2mqtt/sonic2mqtt/blob/main/docs/reference/options.md

`;

/** A new configuration file. Values are quoted, so that none has a special meaning in YAML. */
export function newConfigFile(options: Tree): string {
  return (
    head + stringify(options, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 })
  );
}
