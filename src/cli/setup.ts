import { createLog, type Log, type LogLevel, logLevels, Secrets } from '../base/log.ts';
import { nearest } from '../base/nearest.ts';
import { operationNames, operationRow, paramNames } from '../cloud/operations.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { secretsOf } from '../config/secrets.ts';
import { type CommandContext, UsageError } from './command.ts';

/** What every command that uses the configuration starts from. */
export interface Setup {
  readonly config: Config;
  /** Null when only the environment was used. */
  readonly file: string | null;
  readonly log: Log;
  readonly secrets: Secrets;
}

const operations = Object.fromEntries(
  operationNames.map((name) => [name, paramNames(operationRow(name).path)]),
);

/** Reads the configuration and makes the log; throws ConfigError or UsageError. */
export function setUp(
  { options, env, cwd }: CommandContext,
  quiet: { readonly level?: LogLevel } = {},
): Setup {
  const level = logLevelOption(options['log-level']);
  const file = typeof options['config'] === 'string' ? options['config'] : undefined;
  const loaded = loadConfig({ file, env, cwd, operations });
  const secrets = new Secrets();
  for (const secret of secretsOf(loaded.config)) secrets.add(secret);
  const { log } = loaded.config;
  return {
    ...loaded,
    log: createLog({ level: level ?? quiet.level ?? log.level, format: log.format, secrets }),
    secrets,
  };
}

/** The level that --log-level names; undefined without one. */
export function logLevelOption(value: unknown): LogLevel | undefined {
  if (value === undefined) return undefined;
  const level = logLevels.find((each) => each === value);
  if (level) return level;
  const meant = nearest(String(value), logLevels);
  throw new UsageError(
    `--log-level must be one of ${logLevels.join(', ')}; got ${String(value)}${meant ? `. Did you mean ${meant}?` : ''}`,
  );
}
