import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createLog, type Log, type LogLevel } from '../base/log.ts';
import { Secrets } from '../base/secrets.ts';
import type { BrokerFinder } from '../broker/clientOptions.ts';
import { operationNames, operationRow, paramNames } from '../cloud/operations.ts';
import { type App, isBrokerOfSupervisor, readApp, readAppOptions, withIngress } from '../config/app.ts';
import { type Form, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { secretsOf } from '../config/secrets.ts';
import { askForBroker, askForLanguage, supervisorAccess } from '../config/supervisor.ts';
import type { CommandContext } from './context.ts';

export interface Configuration extends LoadedConfig {
  /** What the configuration was read from, for messages. */
  readonly from: string;
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
  answers?: Form,
): Promise<Configuration> {
  const options = resolve(cwd, 'options.json');
  const isOfApp = !answers && file === undefined && isApp(env) && existsSync(options);
  const app = isOfApp ? await readAppAt(options, env, signal) : null;
  const form = answers ?? app?.form;
  const loaded = loadConfig({ file: answers ? undefined : file, env, cwd, operations, form });
  const config = app ? withIngress(loaded.config) : loaded.config;
  const secrets = new Secrets();
  secrets.add(env['SUPERVISOR_TOKEN']);
  for (const secret of secretsOf(config)) secrets.add(secret);
  const { level, format } = config.log;
  return {
    ...loaded,
    config,
    from: app ? fromApp(app, loaded.file) : (loaded.file ?? 'the environment'),
    log: createLog({ level: logLevel ?? quiet.level ?? level, format, secrets }),
    secrets,
    app,
    findBroker: app && isBrokerOfSupervisor(config) ? supervisorBroker(config, env, secrets) : undefined,
  };
}

export function isApp(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['SUPERVISOR_TOKEN']);
}

/** A file of the app that is not there is named too, because the user may have put it elsewhere. */
function fromApp({ form }: App, file: string | null): string {
  return `the form of the app${file ? ` and ${file}` : `. There is no file ${form.file?.shown}`}`;
}

/** Reads the options of the app's form. Unless the user has chosen a language, it is that of Home Assistant. */
async function readAppAt(file: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<App> {
  const options = readAppOptions(file);
  const language = options['language'] ? null : await askForLanguage(supervisorAccess(env), signal);
  return readApp(options, env, language);
}

function supervisorBroker({ mqtt }: Config, env: NodeJS.ProcessEnv, secrets: Secrets): BrokerFinder {
  const hasOwnUser = [mqtt.username, mqtt.password, mqtt.password_file].some((each) => each !== null);
  const learned = (secret: string) => secrets.add(secret);
  return (stopping) => askForBroker({ ...supervisorAccess(env), hasOwnUser, learned }, stopping);
}
