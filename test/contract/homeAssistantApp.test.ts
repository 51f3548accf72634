import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { appOptions, readApp } from '../../src/config/app.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { ConfigError } from '../../src/config/problems.ts';
import { optionRows } from '../../src/config/schema.ts';
import { valueAt } from '../../src/config/tree.ts';
import { certificates } from '../support/certificates.ts';
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
const typeOf = (key: string) => [app.schema[key]].flat().join();
const isRequired = (key: string) => !typeOf(key).endsWith('?') && !(key in app.options);

/** A value for each type of the schema. */
const samples: Readonly<Record<string, unknown>> = {
  cloud_url: 'https://api.example.com',
  email: 'me@example.com',
  password: 'secret',
};

/** A value for every option, other than the default where there is one. */
const everything: Readonly<Record<string, unknown>> = {
  ...samples,
  properties: ['Home'],
  control_valves: false,
  control_incidents: false,
  control_pressure_tests: false,
  control_settings: false,
  control_account: true,
  http: true,
  log_level: 'debug',
  language: 'nl',
  mqtt_url: 'mqtts://broker:8883',
  mqtt_username: 'me',
  mqtt_password: 'secret',
  mqtt_ca_file: 'broker.pem',
  mqtt_cert_file: 'broker.pem',
  mqtt_key_file: 'broker.pem',
  mqtt_reject_unauthorized: false,
  mqtt_client_id: 'other',
  base_topic: 'water',
  discovery_prefix: 'discovery',
  status_topic: 'status',
  timezone: 'Europe/London',
  poll_incidents: '31s',
  poll_sonics: '32s',
  poll_telemetry: '33s',
  poll_signals: '34s',
  poll_usage: '35s',
  poll_pressure_tests: '36s',
  poll_properties: '0 5 * * *',
  stale_after: '37s',
  valve_confirm_timeout: '38s',
  valve_confirm_interval: '39s',
  request_timeout: '40s',
  max_concurrency: 5,
  max_requests_per_minute: 301,
  routes: [
    'read_sonic GET /v9/sonics/{sonic_id}',
    'read_hub off',
    'read_signal: GET /v9/signals/{signal_id}',
  ],
  device_metrics: true,
  webhook_secret: 'long and random',
  webhook_signing_secret: 'another',
  import_history: true,
  cleanup: false,
};

const cwd = temporaryFolder();
const optionsFile = join(cwd, 'options.json');
writeFileSync(join(cwd, 'broker.pem'), `${certificates.own.cert}\n${certificates.own.key}\n`);

function load(options: object, env: NodeJS.ProcessEnv = {}) {
  writeFileSync(optionsFile, JSON.stringify(options));
  const { given, broker } = readApp(optionsFile, env);
  return { broker, ...loadConfig({ env, cwd, given }) };
}

function problemsOf(options: object): readonly string[] {
  try {
    load(options);
  } catch (error) {
    return (error as ConfigError).problems;
  }
  return [];
}

describe('config.yaml of the app', () => {
  it('has each option that the program takes, in one order, and no other', () => {
    expect(Object.keys(app.schema)).toEqual(keys);
    expect(Object.keys(everything).toSorted()).toEqual(keys.toSorted());
    expect(new Set(appOptions.map(({ path }) => path)).size).toBe(keys.length);
    for (const { path } of appOptions) {
      if (!path.startsWith('app.')) expect(optionRows.map((row) => row.path)).toContain(path);
    }
  });

  it('requires what the program requires, and offers its defaults', () => {
    expect(keys.filter(isRequired)).toEqual(['email', 'password']);
    const { config } = load({ ...app.options, ...samples });
    const { config: usual } = load(samples);
    expect(config).toEqual(usual);
    // What is shown from the beginning need not be optional too.
    for (const key of Object.keys(app.options)) expect(typeOf(key)).not.toMatch(/\?$/);
  });

  it.each([
    ['max_concurrency', 'cloud.max_concurrency'],
    ['max_requests_per_minute', 'cloud.max_requests_per_minute'],
  ])('has the limits of the program: %s', (key) => {
    const [least = 0, most = 0] = (/\((\d+),(\d+)\)/.exec(typeOf(key)) ?? []).slice(1).map(Number);
    for (const value of [least, most]) expect(problemsOf({ ...samples, [key]: value })).toEqual([]);
    for (const value of [least - 1, most + 1])
      expect(problemsOf({ ...samples, [key]: value })).toHaveLength(1);
  });
});

describe('the options of the app', () => {
  it('each arrive where they belong', () => {
    const { config, file } = load(everything);
    expect(file).toBe(optionsFile);
    const { config: usual } = load(samples);
    const isChanged = ({ path }: { path: string }) => {
      const step = path.split('.');
      return JSON.stringify(valueAt(config, step)) !== JSON.stringify(valueAt(usual, step));
    };
    expect(
      optionRows
        .filter(isChanged)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(
      appOptions
        .map(({ path }) => path)
        .filter((path) => !/^app\.|^cloud\.(base_url|email|password)$/.test(path))
        .toSorted(),
    );
    expect(config).toMatchObject({
      cloud: {
        base_url: 'https://api.example.com',
        password: 'secret',
        routes: {
          read_sonic: 'GET /v9/sonics/{sonic_id}',
          read_hub: null,
          read_signal: 'GET /v9/signals/{signal_id}',
        },
      },
      http: { listen: { host: '0.0.0.0', port: 8099 } },
      schedules: { incidents: { everyMs: 31_000 }, properties: { expression: '0 5 * * *' } },
      control: { valves: false, account: true },
      filters: { properties: ['Home'] },
    });
  });

  it('are not given where a form has left them empty', () => {
    const empty = Object.fromEntries(keys.filter((key) => !isRequired(key)).map((key) => [key, '']));
    expect(load({ ...empty, ...samples, properties: [''], routes: [] }).config).toEqual(load(samples).config);
  });

  it('follow the time zone of Home Assistant, where they name none and the program knows it', () => {
    const zoneOf = (options: object, TZ: string) =>
      load({ ...samples, ...options }, { TZ }).config.schedules.timezone;
    expect(zoneOf({}, 'Europe/Berlin')).toBe('Europe/Berlin');
    expect(zoneOf({ timezone: 'Asia/Tokyo' }, 'Europe/Berlin')).toBe('Asia/Tokyo');
    expect(zoneOf({}, 'Nowhere/Land')).toBe('UTC');
  });

  it('leave the broker to the Supervisor unless they name one, and its user unless they name one', () => {
    const brokerOf = (options: object, env = {}) => load({ ...samples, ...options }, env).broker;
    expect(brokerOf({})).toEqual({ isWanted: true, hasOwnUser: false });
    expect(brokerOf({ mqtt_username: 'me' })).toEqual({ isWanted: true, hasOwnUser: true });
    expect(brokerOf({ mqtt_url: 'mqtt://broker' })).toMatchObject({ isWanted: false });
    expect(brokerOf({}, { SONIC2MQTT_MQTT__URL: 'mqtt://broker' })).toMatchObject({ isWanted: false });
  });

  it('are named in what is said of them, whatever it is', () => {
    for (const key of keys) {
      const found = problemsOf({ ...samples, [key]: { hush: 1 } });
      expect(found, key).not.toEqual([]);
      for (const words of found) expect(words).toMatch(/^\w+ \([^)]+\): /);
    }
  });
});
