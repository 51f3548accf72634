import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { type House, quick, startHouse } from '../support/house.ts';
import { ask } from '../support/httpHouse.ts';
import { ingressPath, startIngress } from '../support/ingress.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { type MqttService, type Supervisor, serviceOf, supervisorAt } from '../support/supervisor.ts';
import { waitFor } from '../support/waitFor.ts';

const user = { username: 'addons', password: 'p:ss/w@rd #%25 of the broker' };
const broker = { password: { user: user.username, password: user.password } };

/** A house whose bridge is an app: the Supervisor knows the broker, but is not up yet. */
async function startHome(options: Parameters<typeof startHouse>[0] = {}) {
  const cloud = { properties: 1, signals: 1, sonics: 1 };
  const house = await startHouse({ isStarted: false, cloud, broker, ...options });
  const supervisor = supervisorAt(await freePort(), serviceOf(house.broker.url, user));
  return { house, supervisor };
}

/** The options as the Supervisor writes them for a user who has filled in what must be. */
function optionsFor({ simulator }: House): Record<string, unknown> {
  const polls = Object.entries(quick).map(([slice, every]) => [`poll_${slice}`, every]);
  return {
    properties: [],
    control_valves: true,
    http: false,
    log_level: 'info',
    cloud_url: simulator.url,
    ...demoCredentials,
    valve_confirm_interval: '100ms',
    max_requests_per_minute: 100_000,
    ...Object.fromEntries(polls),
  };
}

function startApp(
  options: object | string,
  supervisor: Supervisor,
  { args = ['run'], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): RunningProgram {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'options.json'), typeof options === 'string' ? options : JSON.stringify(options));
  const own = {
    SUPERVISOR_TOKEN: supervisor.token,
    SUPERVISOR_URL: supervisor.url,
    // Apps have addresses of their own; these do not.
    SONIC2MQTT_HTTP__LISTEN: '127.0.0.1:0',
  };
  return startProgram(args, { cwd, env: { ...own, ...env } });
}

const isOnline = (house: House) =>
  house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online', 15_000);

describe('the app', () => {
  it('moves a valve with the options of its form and the broker of Home Assistant', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp(optionsFor(house), supervisor);
    await isOnline(house);
    const [id = ''] = house.simulator.world.sonics.ids;
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`, (text) => JSON.parse(text).valve === 'open');
    await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE');
    await waitFor(() => house.json(`sonic/${id}`)?.valve === 'closed', {
      what: 'the closed valve',
      timeoutMs: 10_000,
    });
    expect(house.simulator.requests.count('command_valve')).toBe(1);
    expect((await app.stop()).code).toBe(0);
    await house.watcher.settle();
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('offline');
    // What it keeps is for its user alone.
    for (const file of readdirSync(join(app.cwd, 'data'))) {
      expect(statSync(join(app.cwd, 'data', file)).mode & 0o077, file).toBe(0);
    }
  });

  it('tells nobody a password, however much it tells', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp({ ...optionsFor(house), log_level: 'trace' }, supervisor);
    await isOnline(house);
    await app.stop();
    const said = [app.output, ...house.watcher.messages.map(({ text }) => text)].join('\n');
    expect(app.output).toContain('options.json');
    for (const secret of [user.password, encodeURIComponent(user.password), supervisor.token]) {
      expect(said).not.toContain(secret);
    }
  });

  it('hides the password of the broker in its log where others say it', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp({ ...optionsFor(house), properties: ['Willow Cottage', user.password] }, supervisor);
    await app.waitForOutput(/the account has no property \[hidden\]/, 10_000);
    expect(app.output).not.toContain(user.password);
  });

  it('waits for the Supervisor, for a broker there, and goes on by itself', async () => {
    const { house, supervisor } = await startHome();
    const { service } = supervisor;
    supervisor.service = null;
    const app = startApp(optionsFor(house), supervisor);
    await app.waitForOutput(/the Supervisor does not answer: connection refused/);
    await supervisor.start();
    await app.waitForOutput(/Home Assistant has no MQTT broker: install and start the app Mosquitto/, 10_000);
    expect(app.isRunning).toBe(true);
    supervisor.service = service;
    await isOnline(house);
  });

  it.runIf(mosquittoAvailable())(
    'follows Home Assistant to another broker with another password',
    async () => {
      const { house, supervisor } = await startHome();
      await supervisor.start();
      startApp(optionsFor(house), supervisor);
      await isOnline(house);
      const next = { username: 'other', password: 'of its own' };
      const other = await startMosquitto({ password: { user: next.username, password: next.password } });
      supervisor.service = serviceOf(other.url, next);
      const watcher = await watchTopics(other.url, '#', next);
      await house.broker.stop();
      await watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online', 15_000);
    },
  );

  it.runIf(mosquittoAvailable())(
    'takes a broker that asks nobody who he is, and a port in words',
    async () => {
      const { house, supervisor } = await startHome({ broker: {} });
      const { host, port } = serviceOf(house.broker.url);
      supervisor.service = { host, port: String(port) };
      await supervisor.start();
      startApp(optionsFor(house), supervisor);
      await isOnline(house);
    },
  );
});

describe('the page of the app', () => {
  it.each([
    [false, 'ECONNRESET'],
    [true, 200],
  ])('is Home Assistant’s alone unless the option http is on: %s', async (http, expected) => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp({ ...optionsFor(house), http }, supervisor);
    const [, port] = await app.waitForOutput(/HTTP: listening on http:\/\/127\.0\.0\.1:(\d+)/);
    const ingress = await startIngress(`http://127.0.0.1:${port}`);
    const answered = await ask(`http://127.0.0.1:${port}/`).then(
      ({ status }) => status,
      ({ code }) => code,
    );
    expect(answered).toBe(expected);
    const below = await ask(`${ingress.url}${ingressPath}/status.json`);
    expect(below.status).toBe(http ? 200 : 502);
  });
});

describe('a broker in the options', () => {
  it('goes before that of Home Assistant, which nobody asks for then', async () => {
    const { house, supervisor } = await startHome();
    supervisor.service = { host: '127.0.0.1', port: 1, ...user };
    await supervisor.start();
    const { username, password } = user;
    const own = { mqtt_url: house.broker.url, mqtt_username: username, mqtt_password: password };
    startApp({ ...optionsFor(house), ...own }, supervisor);
    await isOnline(house);
    expect(supervisor.asked).toBe(0);
  });

  it('without a password is not given that of another', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp({ ...optionsFor(house), mqtt_url: house.broker.url }, supervisor);
    await app.waitForOutput(/MQTT broker mqtt:.*(not authori[sz]ed|user name or password|refuse)/i, 10_000);
    expect(supervisor.asked).toBe(0);
  });

  it('may be a user alone, at the address of Home Assistant’s', async () => {
    const { house, supervisor } = await startHome();
    supervisor.service = serviceOf(house.broker.url, { username: 'addons', password: 'wrong' });
    await supervisor.start();
    const own = { mqtt_username: user.username, mqtt_password: user.password, mqtt_url: '' };
    startApp({ ...optionsFor(house), ...own }, supervisor);
    await isOnline(house);
  });
});

describe('what the Supervisor says', () => {
  const unreadable = /the Supervisor’s answer about the MQTT broker cannot be read/;
  it.each<[string, Supervisor['mood'], RegExp]>([
    ['no token is right', { status: 401 }, /does not let the app ask for the MQTT broker \(HTTP 401\)/],
    ['the app may not ask', { status: 403 }, /does not let the app ask for the MQTT broker \(HTTP 403\)/],
    ['there is no such service', { status: 404 }, /Home Assistant has no MQTT broker/],
    ['it fails', { status: 502 }, /does not tell of the MQTT broker \(HTTP 502\)/],
    ['no JSON', { text: '<html>' }, unreadable],
    ['nothing of a broker', { text: '{"result":"ok","data":{"host":"","port":1883}}' }, unreadable],
    ['a port that is none', { text: '{"data":{"host":"core-mosquitto","port":"x"}}' }, unreadable],
  ])('is told in words, and asked again: %s', async (_, mood, words) => {
    const { house, supervisor } = await startHome();
    supervisor.mood = mood;
    await supervisor.start();
    const app = startApp(optionsFor(house), supervisor);
    await app.waitForOutput(words, 10_000);
    supervisor.mood = 'well';
    await isOnline(house);
  });

  it('is a token of another app: wrong', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp(optionsFor(house), supervisor, { env: { SUPERVISOR_TOKEN: 'another token' } });
    await app.waitForOutput(/HTTP 401/, 10_000);
    expect(app.output).not.toContain('another token');
  });

  it('may take for ever: the app stops all the same', async () => {
    const { house, supervisor } = await startHome();
    supervisor.mood = 'silent';
    await supervisor.start();
    const app = startApp(optionsFor(house), supervisor);
    await waitFor(() => supervisor.asked > 0, { what: 'a question', timeoutMs: 10_000 });
    const { code, durationMs } = await app.stop();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
  });
});

describe('options that cannot be used', () => {
  const nowhere = supervisorAt(1, null as MqttService | null);

  async function complaints(options: object | string): Promise<string[]> {
    const app = startApp(options, nowhere);
    expect((await app.ended()).code).toBe(2);
    expect(app.output).not.toContain('hush');
    const [first, ...others] = app.stderr.trimEnd().split('\n');
    expect(first).toBe('The configuration cannot be used:');
    return others.map((line) => line.trim());
  }

  it('are named as the form names them, all at once', async () => {
    const options = {
      cloud_url: 'api.example.com',
      email: '',
      password: 'hush',
      poll_incidents: 'soon',
      log_level: 'inof',
      mqtt_key_file: '/nowhere/key.pem',
      max_concurrency: 99,
      routes: ['read_sonik GET /v1/x', 'read_sonic FETCH /v1/x'],
      webhook_register: true,
      controls_valves: 'hush',
      base_topic: 'homeassistant',
    };
    expect(await complaints(options)).toEqual([
      'cloud_url (Cloud address): must be a URL that begins with https:// or http://; got "api.example.com"',
      'email (E-mail): is required',
      'log_level (Log level): must be one of trace, debug, info, warn, error; got "inof"; did you mean info?',
      'mqtt_key_file (Client key): needs mqtt_cert_file too',
      'mqtt_key_file (Client key): cannot read /nowhere/key.pem: there is no such file',
      'base_topic (Base topic): must be a topic of its own, not the one of discovery_prefix',
      'poll_incidents (Poll incidents): must be a duration such as 30s or a cron expression of 5 or 6 fields; got "soon"',
      'max_concurrency (Requests at the same time): must be a whole number from 1 to 32; got 99',
      expect.stringMatching(
        /^routes \(Routes\): read_sonic: must be a method and a path .*; got "FETCH \/v1\/x"$/,
      ),
      'routes (Routes): read_sonik: unknown operation; did you mean read_sonic?',
      'routes (Routes): read_sonic: the path must hold {sonic_id}',
      'webhook_register (Register the webhook): needs webhook_public_url too',
      'controls_valves: unknown option; did you mean control_valves?',
    ]);
  });

  it('are those that nobody has filled in', async () => {
    expect(await complaints({})).toEqual([
      'cloud_url (Cloud address): is required',
      'email (E-mail): is required',
      'password (Password): is required',
    ]);
  });

  it('are a file that is broken', async () => {
    expect(await complaints('{"password": "hush"')).toEqual([
      expect.stringMatching(/options\.json is not JSON$/),
    ]);
    expect(await complaints('["hush"]')).toEqual([
      expect.stringMatching(/does not hold the options of the app$/),
    ]);
  });
});

describe('check', () => {
  it('looks at the options and at the broker of Home Assistant', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const app = startApp(optionsFor(house), supervisor, { args: ['check'] });
    expect((await app.ended()).code, app.output).toBe(0);
    expect(app.stdout).toMatch(/^OK {3}configuration: .*options\.json/);
    expect(app.stdout).toMatch(/^OK {3}MQTT broker: the one that Home Assistant names lets the bridge in$/m);
    supervisor.service = null;
    const again = startApp(optionsFor(house), supervisor, { args: ['check'] });
    expect((await again.ended()).code).toBe(1);
    expect(again.stdout).toMatch(/^FAIL MQTT broker: Home Assistant has no MQTT broker/m);
  });

  it('says what a bad choice lets others do with the names of the form', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const options = {
      ...optionsFor(house),
      mqtt_reject_unauthorized: false,
      webhook_secret: 'long and random',
    };
    const app = startApp(options, supervisor, { args: ['check'] });
    await app.ended();
    expect(app.stdout).toMatch(/^WARN configuration: mqtt_reject_unauthorized is false: /m);
    expect(app.stdout).toMatch(
      /^WARN configuration: the webhook does nothing while http lets nobody but Home Assistant in$/m,
    );
    expect(app.stdout).not.toContain('http.');
  });
});

describe('without Home Assistant', () => {
  it('a file options.json is nothing to the program', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'options.json'), '{"email":"other@example.com"}');
    const program = startProgram(['check'], { cwd });
    expect((await program.ended()).code).toBe(2);
    expect(program.output).toContain('No configuration found');
  });

  it('a file that somebody names is the configuration, also in a shell of Home Assistant', async () => {
    const { house, supervisor } = await startHome();
    await supervisor.start();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'options.json'), '{}');
    const env = { SUPERVISOR_TOKEN: supervisor.token, SUPERVISOR_URL: supervisor.url };
    startProgram(['run', '--config', 'config.yaml'], { cwd, env, config: house.config });
    await isOnline(house);
    expect(supervisor.asked).toBe(0);
    expect(existsSync(join(cwd, 'config.yaml'))).toBe(true);
  });
});
