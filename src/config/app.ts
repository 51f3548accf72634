import { hostname } from 'node:os';
import { errorMessage } from '../base/errorMessage.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import type { Setting } from './environment.ts';
import { readTextFile } from './file.ts';
import type { Form } from './load.ts';
import { ConfigError } from './problems.ts';
import { brokerAddresses, type Config, optionRows } from './schema.ts';
import { isAtOrBelow, isTree, type Tree } from './tree.ts';
import { timeZone } from './values.ts';

/*
 * The app of Home Assistant OS. Its form has the options below. Every other option is in a file, which the user finds in the
 * folder that Home Assistant makes for each app. What the form has must not be in the file too.
 */

interface AppOption {
  /** The key in the app's config.yaml. Home Assistant shows it when the options are edited as YAML. */
  readonly key: string;
  readonly label: string;
  /** The path of the bridge's option. It starts with `app.` if only the app has the option. */
  readonly path: string;
}

const row = (key: string, path: string, label: string): AppOption => ({ key, path, label });

/** THE OPTIONS OF THE APP, in the order of its form. The form has no sections. */
export const appOptions: readonly AppOption[] = [
  row('email', 'cloud.email', 'E-mail'),
  row('password', 'cloud.password', 'Password'),
  row('control', 'control', 'Control'),
  row('mqtt_url', 'mqtt.url', 'Broker address'),
  row('mqtt_username', 'mqtt.username', 'Broker user'),
  row('mqtt_password', 'mqtt.password', 'Broker password'),
  row('language', 'homeassistant.language', 'Language'),
  row('schedules_incidents', 'schedules.incidents', 'Update alerts'),
  row('schedules_sonics', 'schedules.sonics', 'Update valves'),
  row('schedules_telemetry', 'schedules.telemetry', 'Update measurements'),
  row('log_level', 'log.level', 'Log level'),
  row('import_history', 'app.import_history', 'Import past days'),
  row('cleanup', 'app.cleanup', 'Delete everything on the broker'),
];

/** The address on which the app listens. Inside its container, every network is that of Home Assistant's apps. */
export const appListens = '0.0.0.0:8099';

/** Home Assistant's Supervisor requests the page of an app from this address in the network of the apps. */
const ingressFrom = '172.30.32.2';

/** Stands for the broker that the Supervisor names, with or without TLS. The bridge never connects to this address. */
const brokerOfSupervisor = 'mqtts://supervisor';

/** The file with all other options, as the app's container and as the user finds it. */
function appFile(host: string): { path: string; shown: string } {
  const path = '/config/config.yaml';
  // The Supervisor names the container and the folder after the app and its repository.
  const [, repository] = /^(\w+)-sonic2mqtt$/.exec(host) ?? [];
  return { path, shown: repository ? `/addon_configs/${repository}_sonic2mqtt/config.yaml` : path };
}

export interface App {
  readonly form: Form;
  readonly importsHistory: boolean;
  /** Whether to delete the messages on the broker instead of running. Users without a terminal cannot run `cleanup`. */
  readonly isToCleanUp: boolean;
}

/** Reads the options that the Supervisor has written. `language` is that of Home Assistant; null if it is not known. */
export function readApp(
  options: Tree,
  env: NodeJS.ProcessEnv,
  language: string | null,
  host = hostname(),
): App {
  const file = appFile(host);
  // Home Assistant's own time zone, for cron expressions and as the fallback.
  const zone = timeZone.safeParse(env['TZ']);
  const defaults: readonly (readonly [path: string, value: unknown])[] = [
    ['mqtt.url', brokerOfSupervisor],
    ['homeassistant.language', language ?? undefined],
    ['schedules.timezone', zone.data],
    ['http.listen', appListens],
    ['http.only_from', [ingressFrom]],
  ];
  return {
    form: {
      file,
      settings: appOptions.flatMap((option) => settingsOf(option, options[option.key])),
      defaults: defaults.map(([path, value]) => ({ path: path.split('.'), value, place: 'Home Assistant' })),
      problems: problemsIn(options, file.shown),
      placeOf: (path) => placeOf(appOptions.find((option) => isAtOrBelow(path, option.path))),
    },
    importsHistory: options['import_history'] === true,
    isToCleanUp: options['cleanup'] === true,
  };
}

/** The options that the Supervisor has written to this file. */
export function readAppOptions(file: string): Tree {
  let options: unknown;
  try {
    options = JSON.parse(readTextFile(file));
  } catch (error) {
    // The parser's message repeats a part of the text, which may be a secret.
    throw new ConfigError([error instanceof SyntaxError ? `${file} is not JSON` : errorMessage(error)]);
  }
  if (!isTree(options)) throw new ConfigError([`${file} does not contain the options of the app`]);
  return options;
}

const placeOf = (option: AppOption | undefined) => option && `“${option.label}” in the form`;

/** What the option `control` may list: the switches of the section `control`. */
const controlNames = optionRows.flatMap(({ path }) => (path.startsWith('control.') ? path.slice(8) : []));

/** What an option of the form sets. An empty one counts as left out, because a form has no other way. */
function settingsOf(option: AppOption, value: unknown): Setting[] {
  const place = placeOf(option) ?? '';
  if (option.path.startsWith('app.') || value === '' || value === null || value === undefined) return [];
  if (option.path !== 'control') return [{ place, path: option.path.split('.'), value }];
  const allowed = [value].flat();
  return controlNames.map((name) => ({ place, path: ['control', name], value: allowed.includes(name) }));
}

/** Options that the form does not have, and those of the app alone that are not what they must be. */
function problemsIn(options: Tree, file: string): string[] {
  return Object.entries(options).flatMap(([key, value]): string[] => {
    const option = appOptions.find((each) => each.key === key);
    const near = (words: readonly string[], word: string) => didYouMean(nearest(word, words));
    if (option === undefined) {
      const keys = appOptions.map((each) => each.key);
      return [
        `${key}: the form has no such option${near(keys, key) || '.'} Every other option goes into ${file}`,
      ];
    }
    if (option.path.startsWith('app.') && typeof (value ?? false) !== 'boolean')
      return [`${key} (${placeOf(option)}): must be true or false`];
    if (key !== 'control') return [];
    const wrong = Array.isArray(value)
      ? value.find((word) => !controlNames.some((name) => name === word))
      : '';
    if (wrong === undefined) return [];
    const message = `must be a list of ${controlNames.join(', ')}${near(controlNames, String(wrong))}`;
    return [`${key} (${placeOf(option)}): ${message}`];
  });
}

/** Whether the Supervisor must name the broker, because no option does. */
export const isBrokerOfSupervisor = (config: Config) => brokerAddresses(config).includes(brokerOfSupervisor);

/** The configuration with a page that Home Assistant can always open, because it has signed the user in. */
export function withIngress(config: Config): Config {
  const { only_from } = config.http;
  if (only_from.length === 0) return config;
  return { ...config, http: { ...config.http, only_from: [...new Set([...only_from, ingressFrom])] } };
}
