import { errorMessage } from '../base/errorMessage.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { variableOf } from './environment.ts';
import { readTextFile } from './file.ts';
import type { Given } from './load.ts';
import { ConfigError, type ConfigProblem } from './problems.ts';
import { isAtOrBelow, isTree, type Path, type Tree, valueAt, withValueAt } from './tree.ts';
import { timeZone } from './values.ts';

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
  row('properties', 'filters.properties', 'Properties'),
  row('control_valves', 'control.valves', 'Control valves'),
  row('control_incidents', 'control.incidents', 'Control alerts'),
  row('control_pressure_tests', 'control.pressure_tests', 'Control pressure tests'),
  row('control_settings', 'control.settings', 'Control settings'),
  row('control_account', 'control.account', 'Control account'),
  row('http', 'http.only_from', 'Status page without sign-in, metrics, webhook'),
  row('log_level', 'log.level', 'Log level'),
  row('mqtt_url', 'mqtt.url', 'Broker address'),
  row('mqtt_username', 'mqtt.username', 'Broker user'),
  row('mqtt_password', 'mqtt.password', 'Broker password'),
  row('mqtt_ca_file', 'mqtt.ca_file', 'Broker CA certificate'),
  row('mqtt_cert_file', 'mqtt.cert_file', 'Client certificate'),
  row('mqtt_key_file', 'mqtt.key_file', 'Client key'),
  row('mqtt_reject_unauthorized', 'mqtt.reject_unauthorized', 'Check the broker’s certificate'),
  row('mqtt_client_id', 'mqtt.client_id', 'Client ID'),
  row('base_topic', 'mqtt.base_topic', 'Base topic'),
  row('discovery_prefix', 'homeassistant.discovery_prefix', 'Discovery prefix'),
  row('status_topic', 'homeassistant.status_topic', 'Status topic'),
  row('language', 'homeassistant.language', 'Language'),
  row('timezone', 'schedules.timezone', 'Time zone'),
  row('poll_incidents', 'schedules.incidents', 'Update alerts'),
  row('poll_sonics', 'schedules.sonics', 'Update valves'),
  row('poll_telemetry', 'schedules.telemetry', 'Update measurements'),
  row('poll_signals', 'schedules.signals', 'Update hubs'),
  row('poll_usage', 'schedules.usage', 'Update usage'),
  row('poll_pressure_tests', 'schedules.pressure_tests', 'Update pressure tests'),
  row('poll_properties', 'schedules.properties', 'Update properties'),
  row('stale_after', 'stale_after', 'Stale after'),
  row('valve_confirm_timeout', 'valve.confirm_timeout', 'Valve confirmation'),
  row('valve_confirm_interval', 'valve.confirm_interval', 'Valve confirmation interval'),
  row('cloud_url', 'cloud.base_url', 'Cloud address'),
  row('request_timeout', 'cloud.request_timeout', 'Request timeout'),
  row('max_concurrency', 'cloud.max_concurrency', 'Requests at the same time'),
  row('max_requests_per_minute', 'cloud.max_requests_per_minute', 'Requests per minute'),
  row('routes', 'cloud.routes', 'Routes'),
  row('device_metrics', 'http.device_metrics', 'Metrics of each valve'),
  row('webhook_secret', 'http.webhook.secret', 'Webhook secret'),
  row('webhook_signing_secret', 'http.webhook.signing_secret', 'Webhook signing secret'),
  row('import_history', 'app.import_history', 'Import past days'),
  row('cleanup', 'app.cleanup', 'Delete everything on the broker'),
];

/** The address on which the app listens. Inside its container, every network is that of Home Assistant's apps. */
export const appListens = '0.0.0.0:8099';

/** Home Assistant's Supervisor requests the page of an app from this address in the network of the apps. */
const ingressFrom = '172.30.32.2';

/** Stands for the broker that the Supervisor names, with or without TLS. The bridge never connects to this address. */
const brokerOfSupervisor = 'mqtts://supervisor';

export interface App {
  readonly given: Given;
  /** Whether the Supervisor must name the broker, and whether the user gave other credentials than the Supervisor's. */
  readonly broker: { readonly isWanted: boolean; readonly hasOwnUser: boolean };
  readonly importsHistory: boolean;
  /** Whether to delete the messages on the broker instead of running. Users without a terminal cannot run `cleanup`. */
  readonly isToCleanUp: boolean;
}

/** Reads the options that the Supervisor has written. Throws a ConfigError that names options as the form does. */
export function readApp(file: string, env: NodeJS.ProcessEnv): App {
  const options = readOptions(file);
  const { tree, problems } = treeOf(options, env);
  const hasUrl = isGiven(tree, 'mqtt.url') || Boolean(env[variableOf('mqtt.url')]);
  const hasOwnUser = ['mqtt.username', 'mqtt.password'].some((path) => isGiven(tree, path));
  const value = hasUrl ? tree : withValueAt(tree, ['mqtt', 'url'], brokerOfSupervisor);
  return {
    given: {
      file,
      parsed: { value, problems, lineOf: numberOf },
      tell,
    },
    broker: { isWanted: !hasUrl, hasOwnUser },
    importsHistory: options['import_history'] === true,
    isToCleanUp: options['cleanup'] === true,
  };
}

function readOptions(file: string): Tree {
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

/** The options in the form of the file. An empty one counts as left out, because a form has no other way. */
function treeOf(options: Tree, env: NodeJS.ProcessEnv): { tree: Tree; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  // Home Assistant's own time zone, for cron expressions and as the fallback.
  const zone = timeZone.safeParse(env['TZ']);
  let tree: Tree = {
    ...(zone.success && { schedules: { timezone: zone.data } }),
    // Home Assistant can always open the page, because it has signed the user in.
    http: { listen: appListens, only_from: [ingressFrom] },
  };
  for (const [key, value] of Object.entries(options)) {
    const option = appOptions.find((each) => each.key === key);
    if (!option) {
      const near = nearest(
        key,
        appOptions.map((each) => each.key),
      );
      problems.push({ path: [key], message: `unknown option${didYouMean(near)}` });
    } else if (option.path.startsWith('app.')) {
      if (typeof (value || false) !== 'boolean')
        problems.push({ path: option.path.split('.'), message: 'must be true or false' });
    } else if (value !== '' && value !== null) {
      tree = withValueAt(tree, option.path.split('.'), meantBy(option, value));
    }
  }
  return { tree, problems };
}

function meantBy({ key }: AppOption, value: unknown): unknown {
  if (key === 'http' && typeof value === 'boolean') return value ? [] : [ingressFrom];
  if (!Array.isArray(value)) return value;
  const items = value.filter((each) => each !== '');
  return key === 'routes' && items.every((each) => typeof each === 'string') ? routesIn(items) : items;
}

/** A form has no maps, so routes are lines: `read_sonic GET /v1/sonics/{sonic_id}`, or `read_sonic off`. */
function routesIn(lines: readonly string[]): Tree {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', route = ''] = /^\s*([^\s:]*):?\s*(.*?)\s*$/.exec(line) ?? [];
      return [name, /^(off|null)$/.test(route) ? null : route];
    }),
  );
}

const isGiven = (tree: Tree, path: string) => valueAt(tree, path.split('.')) !== undefined;

function optionAt(path: Path): AppOption | undefined {
  return appOptions.find((each) => isAtOrBelow(path.join('.'), each.path));
}

function numberOf(path: Path): number | undefined {
  const option = optionAt(path);
  return option && appOptions.indexOf(option);
}

/** A problem with the label of its option, for users of the form, and the key, for users of YAML. */
function tell({ path, message }: ConfigProblem): string {
  const option = optionAt(path);
  if (!option) return `${path.join('.')}: ${message}`;
  const inside = path.slice(option.path.split('.').length).map(placeIn);
  return [`${option.key} (${option.label})`, ...inside, message].join(': ');
}

const placeIn = (step: Path[number]) => (typeof step === 'number' ? `number ${step + 1}` : String(step));
