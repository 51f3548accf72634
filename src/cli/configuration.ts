import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createLog, type Log, type LogLevel } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import type { BrokerFinder } from '../broker/clientOptions.ts';
import { operationNames, operationRow, paramNames } from '../cloud/operations.ts';
import type { App } from '../config/app.ts';
import { fileVariable } from '../config/environment.ts';
import { type Given, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { secretsOf } from '../config/secrets.ts';
import { isTree, valueAt, withValueAt } from '../config/tree.ts';
import type { Warning } from '../config/warnings.ts';
import type { CommandContext } from './context.ts';
import type { HomeAssistantAccess } from './homeAssistantSocket.ts';

export interface Configuration {
  readonly config: Config;
  /** Null if only the environment was used. */
  readonly file: string | null;
  readonly log: Log;
  readonly secrets: Secrets;
  /** Whether the Home Assistant app should delete its messages from the broker instead of running. */
  readonly isToCleanUp: boolean;
  /** Finds the broker, if the configuration does not name it. */
  readonly findBroker?: BrokerFinder | undefined;
  /** Home Assistant, if the app should import past days there. */
  readonly historyTarget?: HomeAssistantAccess | undefined;
  /** Whether the Home Assistant app should show simulated valves. */
  readonly isDemo: boolean;
  /** Possible mistakes in a valid configuration. */
  readonly warnings: readonly Warning[];
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
  const app = answers ? null : await readAppOf(file, env, cwd);
  const given = answers ?? (app && (await inLanguageOfHomeAssistant(app, env, signal)));
  const loaded = loadConfig({ file, env, cwd, operations, given: given ?? undefined });
  const secrets = new Secrets();
  for (const secret of secretsOf(loaded.config)) secrets.add(secret);
  const { log } = loaded.config;
  return {
    ...loaded,
    log: createLog({ level: logLevel ?? quiet.level ?? log.level, format: log.format, secrets }),
    secrets,
    isDemo: app?.isDemo ?? false,
    isToCleanUp: app?.isToCleanUp ?? false,
    ...(app && (await fromSupervisor(app, env, secrets))),
  };
}

/** Whether the program runs as the app of Home Assistant OS, which has its own form for options. */
export function isApp(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['SUPERVISOR_TOKEN']);
}

/** The options of the app's page in Home Assistant; null if the program does not run as an app. */
async function readAppOf(
  file: string | undefined,
  env: CommandContext['env'],
  cwd: string,
): Promise<App | null> {
  const options = resolve(cwd, 'options.json');
  const hasOptions = file === undefined && !env[fileVariable] && existsSync(options);
  return isApp(env) && hasOptions ? (await import('../config/app.ts')).readApp(options, env) : null;
}

/** Adds the language of Home Assistant to the options of the app, unless the user has chosen one. */
async function inLanguageOfHomeAssistant(
  { given }: App,
  env: CommandContext['env'],
  signal: AbortSignal,
): Promise<Given> {
  const { askForLanguage, supervisorAccess } = await import('../config/supervisor.ts');
  const path = ['homeassistant', 'language'];
  const { value } = given.parsed;
  if (!isTree(value) || valueAt(value, path) !== undefined) return given;
  const language = await askForLanguage(supervisorAccess(env), signal);
  if (language === null) return given;
  return { ...given, parsed: { ...given.parsed, value: withValueAt(value, path, language) } };
}

/** What the Supervisor gives the app: Home Assistant's broker, and the WebSocket of Home Assistant. */
async function fromSupervisor({ broker, importsHistory }: App, env: CommandContext['env'], secrets: Secrets) {
  const { askForBroker, supervisorAccess } = await import('../config/supervisor.ts');
  const { url, token } = supervisorAccess(env);
  const learned = (secret: string) => secrets.add(secret);
  learned(token);
  const asked = { url, token, hasOwnUser: broker.hasOwnUser, learned };
  const findBroker: BrokerFinder = (stopping) => askForBroker(asked, stopping);
  const historyTarget = { url: `${url.replace(/^http/, 'ws')}/core/websocket`, token };
  return { ...(broker.isWanted && { findBroker }), ...(importsHistory && { historyTarget }) };
}
