import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  appOptions,
  isBrokerOfSupervisor,
  readApp,
  readAppOptions,
  withIngress,
} from '../../src/config/app.ts';
import { fileVariable } from '../../src/config/environment.ts';
import { loadConfig } from '../../src/config/load.ts';
import { optionRows } from '../../src/config/schema.ts';
import { isAtOrBelow, valueAt } from '../../src/config/tree.ts';
import { problemsOf as problemsIn } from '../support/configurationFile.ts';
import { temporaryFolder } from '../support/program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(project, 'home-assistant-app');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

/** What the tests read of the app's config.yaml. */
interface AppConfig {
  readonly options: Readonly<Record<string, unknown>>;
  readonly schema: Readonly<Record<string, string | readonly [string]>>;
  readonly [key: string]: unknown;
}

const app: AppConfig = parse(read('config.yaml'));
const keys = appOptions.map(({ key }) => key);
const isRequired = (key: string) => ![app.schema[key]].flat().join().endsWith('?') && !(key in app.options);

const required = { email: 'me@example.com', password: 'secret' };

/** A value for every option, other than the default where there is one. */
const everything: Readonly<Record<string, unknown>> = {
  ...required,
  control: ['incidents', 'account'],
  mqtt_url: 'mqtts://broker:8883',
  mqtt_username: 'me',
  mqtt_password: 'secret',
  language: 'nl',
  schedules_incidents: '31s',
  schedules_sonics: '32s',
  schedules_telemetry: '0 5 * * *',
  log_level: 'debug',
  import_history: true,
  cleanup: false,
};

const cwd = temporaryFolder();
const optionsFile = join(cwd, 'options.json');
const file = join(cwd, 'config.yaml');

/** Reads these options, and the file of the app with this content; without content, there is no file. */
function load(options: object, yaml?: string, { language = 'en', env = {} as NodeJS.ProcessEnv } = {}) {
  writeFileSync(optionsFile, JSON.stringify(options));
  if (yaml !== undefined) writeFileSync(file, yaml);
  const variables = yaml === undefined ? env : { ...env, [fileVariable]: file };
  const { form } = readApp(readAppOptions(optionsFile), variables, language, '0e7938d5-sonic2mqtt');
  const loaded = loadConfig({ env: variables, cwd, form });
  return { ...loaded, config: withIngress(loaded.config) };
}

const problemsOf = (options: object, yaml?: string) => problemsIn(() => load(options, yaml));

describe('config.yaml of the app', () => {
  it('has each option that the program takes, in one order, and no other', () => {
    expect(Object.keys(app.schema)).toEqual(keys);
    expect(Object.keys(everything)).toEqual(keys);
    expect(new Set(appOptions.map(({ path }) => path)).size).toBe(keys.length);
    for (const { path } of appOptions) {
      if (/^app\./.test(path)) continue;
      expect(optionRows.some((row) => isAtOrBelow(row.path, path))).toBe(true);
    }
  });

  it('requires what the program requires, and offers its defaults', () => {
    expect(keys.filter(isRequired)).toEqual(['email', 'password']);
    expect(load({ ...app.options, ...required }).config).toEqual(load(required).config);
  });
});

describe('the options of the app', () => {
  it('each arrive where they belong', () => {
    const changed = (config: object) =>
      optionRows
        .map(({ path }) => path.split('.'))
        .map((path) => [path.join('.'), JSON.stringify(valueAt(config, path))]);
    const usual = changed(load(required).config).map(([, value]) => value);
    expect(
      Object.fromEntries(
        changed(load(everything).config).filter(([, value], index) => value !== usual[index]),
      ),
    ).toEqual({
      'control.account': 'true',
      'control.pressure_tests': 'false',
      'control.settings': 'false',
      'control.valves': 'false',
      'homeassistant.language': '"nl"',
      'log.level': '"debug"',
      'mqtt.password': '"secret"',
      'mqtt.url': '"mqtts://broker:8883"',
      'mqtt.username': '"me"',
      'schedules.incidents': '{"kind":"every","everyMs":31000}',
      'schedules.sonics': '{"kind":"every","everyMs":32000}',
      'schedules.telemetry': '{"kind":"cron","expression":"0 5 * * *"}',
    });
  });

  it('are not given where a form has left them empty', () => {
    const optional = keys.filter((key) => !isRequired(key) && key !== 'control');
    const empty = Object.fromEntries(optional.map((key) => [key, '']));
    expect(problemsOf({ ...empty, ...required })).toEqual(
      ['import_history (“Import past days”', 'cleanup (“Delete everything on the broker”'].map(
        (name) => `${name} in the form): must be true or false`,
      ),
    );
    const { import_history: _, cleanup: __, ...texts } = empty;
    expect(load({ ...texts, ...required }).config).toEqual(load(required).config);
  });

  it('permit nothing where the list is empty', () => {
    const { control } = load({ ...required, control: [] }).config;
    expect(Object.values(control)).toEqual([false, false, false, false, false]);
  });

  it('follow the language and the time zone of Home Assistant, where none is given', () => {
    const env = { TZ: 'Europe/Berlin' };
    const chosen = 'homeassistant: { language: fr }\nschedules: { timezone: Asia/Tokyo }';
    const of = (yaml: string, env: NodeJS.ProcessEnv) => {
      const { homeassistant, schedules } = load(required, yaml, { language: 'de', env }).config;
      return [homeassistant.language, schedules.timezone];
    };
    expect(of('', env)).toEqual(['de', 'Europe/Berlin']);
    expect(of('', { TZ: 'Nowhere/Land' })).toEqual(['de', 'UTC']);
    expect(of(chosen, env)).toEqual(['fr', 'Asia/Tokyo']);
  });

  it('leave the broker to the Supervisor unless one is named', () => {
    const url = 'mqtt://broker';
    const isOfSupervisor = (...given: Parameters<typeof load>) => isBrokerOfSupervisor(load(...given).config);
    expect(isOfSupervisor(required)).toBe(true);
    expect(isOfSupervisor({ ...required, mqtt_url: url })).toBe(false);
    expect(isOfSupervisor(required, `mqtt: { url: "${url}" }`)).toBe(false);
    expect(isOfSupervisor(required, undefined, { env: { SONIC2MQTT_MQTT__URL: url } })).toBe(false);
  });
});

describe('the file of the app', () => {
  it('has every other option', () => {
    const yaml =
      'filters: { properties: [Home] }\ncloud: { max_concurrency: 5 }\nvalve: { confirm_timeout: 38s }';
    const { config, file: read } = load(required, yaml);
    expect(read).toBe(file);
    expect(config).toMatchObject({
      filters: { properties: ['Home'] },
      cloud: { email: 'me@example.com', max_concurrency: 5 },
      valve: { confirm_timeout: 38_000 },
      http: { listen: { host: '0.0.0.0', port: 8099 }, only_from: ['172.30.32.2'] },
    });
  });

  it('opens the page to others, beside Home Assistant', () => {
    const of = (only_from: string) =>
      load(required, `http: { only_from: ${only_from} }`).config.http.only_from;
    expect(of('[192.168.1.0/24]')).toEqual(['192.168.1.0/24', '172.30.32.2']);
    expect(of('[]')).toEqual([]);
  });

  it('must not have an option of the form: neither of them is dropped silently', () => {
    const options = { ...required, ...app.options, mqtt_url: 'mqtts://broker' };
    const yaml = 'mqtt:\n  url: mqtt://x\ncloud: { password_file: x }\ncontrol:\n  valves: false\n';
    const where = (line: number) => `(line ${line} of /addon_configs/0e7938d5_sonic2mqtt/config.yaml)`;
    expect(problemsOf(options, yaml)).toEqual([
      `mqtt.url ${where(2)}: is “Broker address” in the form too. Delete it in the file`,
      `cloud.password ${where(3)}: is “Password” in the form too. Delete it in the file`,
      `control.valves ${where(5)}: is “Control” in the form too. Delete it in the file`,
    ]);
    // What the form has left empty may be in the file.
    expect(problemsOf(required, 'mqtt: { url: "mqtt://x" }\ncontrol: { valves: false }')).toEqual([]);
  });
});

describe('the problems', () => {
  it('name options as the form does, all at once', () => {
    const wrong = {
      email: '',
      password: 'hush',
      control: ['valve'],
      schedules_incidents: 'soon',
      log_level: 'inof',
      cleanup: 'yes',
      controls_valves: 'hush',
      schedules_sonic: '5s',
    };
    const shown = '/addon_configs/0e7938d5_sonic2mqtt/config.yaml';
    expect(problemsOf(wrong, 'valve: { confirm_timeout: 5 }')).toEqual([
      `valve.confirm_timeout (line 1 of ${shown}): must be a duration such as 500ms, 30s, 5m or 1h. Got 5`,
      'cloud.email (“E-mail” in the form): is required',
      'schedules.incidents (“Update alerts” in the form): must be a duration such as 30s or a cron expression of 5 or 6 fields. Got "soon"',
      'log.level (“Log level” in the form): must be one of trace, debug, info, warn, error. Got "inof". Did you mean info?',
      'control (“Control” in the form): must be a list of valves, incidents, pressure_tests, settings, account. Did you mean valves?',
      'cleanup (“Delete everything on the broker” in the form): must be true or false',
      `controls_valves: the form has no such option. Every other option goes into ${shown}`,
      `schedules_sonic: the form has no such option. Did you mean schedules_sonics? Every other option goes into ${shown}`,
    ]);
  });

  it('are there for a value of any other kind', () => {
    for (const key of keys) {
      const found = problemsOf({ ...required, [key]: { hush: 1 } });
      expect(found, key).toEqual([expect.stringMatching(/ \(“[^”]+” in the form\): (?!.*hush)/)]);
    }
    for (const control of ['valves', null, [null], [['valves']]])
      expect(problemsOf({ ...required, control })).toHaveLength(1);
  });
});
