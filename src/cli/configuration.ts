import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createLog, type Log, type LogLevel } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import type { BrokerFinder } from '../broker/clientOptions.ts';
import { operationNames, operationRow, paramNames } from '../cloud/operations.ts';
import type { App } from '../config/app.ts';
import { fileVariable } from '../config/environment.ts';
import { type Given, type LoadedConfig, loadConfig } from '../config/load.ts';
import { secretsOf } from '../config/secrets.ts';
import { isTree, valueAt, withValueAt } from '../config/tree.ts';
import type { CommandContext } from './context.ts';

export interface Configuration extends LoadedConfig {
  readonly log: Log;
  readonly secrets: Secrets;
  /** What only the app of Home Assistant OS has; null if the program does not run as the app. */
  readonly app: App | null;
  /** Finds the broker, if the configuration does not name it. */
  readonly findBroker?: BrokerFinder | undefined;
}

const operations = Object.fromEntries(
  operationNames.map((name) => [name, paramNames(operationRow(name).path)]),
);

/** Reads the configuration, or uses the given answers in place of the file, and makes the log. Throws a ConfigError. */
export async function readConfiguration(
  { configFile: file, logLevel, env, cwd, signal }: CommandContext,
  quiet: { readonly level?: LogLevel } = {},
  answers?: Given,
): Promise<Configuration> {
  const options = resolve(cwd, 'options.json');
  const isFileNamed = file !== undefined || Boolean(env[fileVariable]);
  const isOfApp = !answers && !isFileNamed && isApp(env) && existsSync(options);
  const app = isOfApp ? await readAppAt(options, env, signal) : null;
  const loaded = loadConfig({ file, env, cwd, operations, given: answers ?? app?.given });
  const secrets = new Secrets();
  secrets.add(env['SUPERVISOR_TOKEN']);
  for (const secret of secretsOf(loaded.config)) secrets.add(secret);
  const { log } = loaded.config;
  return {
    ...loaded,
    log: createLog({ level: logLevel ?? quiet.level ?? log.level, format: log.format, secrets }),
    secrets,
    app,
    findBroker: app?.broker.isWanted ? await supervisorBroker(app, env, secrets) : undefined,
  };
}

/** Whether the program runs as the app of Home Assistant OS, which has its own form for options. */
export function isApp(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['SUPERVISOR_TOKEN']);
}

/** Reads the options of the app's form. Unless the user has chosen a language, it is that of Home Assistant. */
async function readAppAt(options: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<App> {
  const { readApp } = await import('../config/app.ts');
  const { askForLanguage, supervisorAccess } = await import('../config/supervisor.ts');
  const app = readApp(options, env);
  const { parsed } = app.given;
  const path = ['homeassistant', 'language'];
  if (!isTree(parsed.value) || valueAt(parsed.value, path) !== undefined) return app;
  const language = await askForLanguage(supervisorAccess(env), signal);
  const value = withValueAt(parsed.value, path, language ?? undefined);
  return { ...app, given: { ...app.given, parsed: { ...parsed, value } } };
}

async function supervisorBroker(app: App, env: NodeJS.ProcessEnv, secrets: Secrets): Promise<BrokerFinder> {
  const { askForBroker, supervisorAccess } = await import('../config/supervisor.ts');
  const learned = (secret: string) => secrets.add(secret);
  const options = { ...supervisorAccess(env), hasOwnUser: app.broker.hasOwnUser, learned };
  return (stopping) => askForBroker(options, stopping);
}
