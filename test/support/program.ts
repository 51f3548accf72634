import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { atRunEnd, atTestEnd, type RunningProcess, startProcess } from './childProcess.ts';

const mainFile = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** The built program as a child process, and the folder it runs in. */
export interface RunningProgram extends RunningProcess {
  readonly cwd: string;
}

/** A new temporary folder. It is deleted at the end of the test or, outside a test, of the test run. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sonic2mqtt-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  const forget = atRunEnd(remove);
  atTestEnd(() => {
    remove();
    forget();
  });
  return folder;
}

/**
 * Starts the built program with these arguments. It runs in a new folder, so that it finds no configuration
 * or data of the checkout. `config` is written there as config.yaml. The `SONIC2MQTT_` variables of this
 * process are not passed on.
 */
export function startProgram(
  args: readonly string[],
  options: {
    env?: Record<string, string>;
    cwd?: string;
    config?: object;
    outlivesTest?: boolean;
    /** The standard input. */
    input?: string;
  } = {},
): RunningProgram {
  const cwd = options.cwd ?? temporaryFolder();
  if (options.config) writeFileSync(join(cwd, 'config.yaml'), stringify(options.config));
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SONIC2MQTT_'));
  const env = { ...Object.fromEntries(inherited), NO_COLOR: '1', ...options.env };
  const { outlivesTest = false, input } = options;
  const running = startProcess(process.execPath, [mainFile, ...args], { cwd, env, outlivesTest, input });
  return Object.assign(running, { cwd });
}
