import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { quick, startBridge } from '../support/bridge.ts';
import { runProgram } from '../support/callProgram.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { ingressPath, startIngress } from '../support/ingress.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { type Supervisor, serviceOf, supervisorAt } from '../support/supervisor.ts';
import { waitFor } from '../support/waitFor.ts';

const user = { username: 'addons', password: 'p:ss/w@rd #%25 of the broker' };

const bridge = await startBridge({
  isStarted: false,
  cloud: { properties: 1, signals: 1, sonics: 1, valveTravelMs: 400 },
  broker: { password: { user: user.username, password: user.password } },
});
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const [sonic = ''] = cloud.world.sonics.ids;

/** The options as the Supervisor writes them for a user who has filled in what must be. */
const options: Record<string, unknown> = {
  control: ['valves'],
  log_level: 'info',
  ...demoCredentials,
};

/** The file with the options that the form does not have. */
const file = {
  cloud: { base_url: cloud.url, max_requests_per_minute: 100_000 },
  valve: { confirm_interval: '100ms' },
  schedules: quick,
};

/** A Supervisor that knows the broker. */
const newSupervisor = async () => supervisorAt(await freePort(), serviceOf(bridge.broker.url, user));

/** What the Supervisor gives the program: a folder with these options of the form, the file, and variables. */
function placeOf(
  changes: object,
  supervisor: Supervisor,
  { cwd = temporaryFolder(), others = file as object } = {},
) {
  writeFileSync(join(cwd, 'options.json'), JSON.stringify(changes));
  writeFileSync(join(cwd, 'app.yaml'), stringify(others));
  const env = {
    // The app has a folder of its own for it.
    SONIC2MQTT_CONFIG: join(cwd, 'app.yaml'),
    SUPERVISOR_TOKEN: supervisor.token,
    SUPERVISOR_URL: supervisor.url,
    // Apps have addresses of their own; these do not.
    SONIC2MQTT_HTTP__LISTEN: '127.0.0.1:0',
  };
  return { cwd, env };
}

/** Starts the program as the Supervisor does. */
function startApp(...given: Parameters<typeof placeOf>): RunningProgram {
  return startProgram(['run'], placeOf(...given));
}

/** Waits until the program that was started last is connected and has read the cloud. */
const untilOnline = (from: number) =>
  mqtt.waitForMessage(({ topic, text }) => topic === 'sonic2mqtt/bridge/cloud' && text === 'online', {
    what: 'the app to be online',
    from,
  });

describe('the app', () => {
  it('waits for the Supervisor and for a broker there, and then moves a valve without telling a secret; with the option cleanup it deletes its messages and stops', async () => {
    const supervisor = await newSupervisor();
    const { service } = supervisor;
    supervisor.service = null;
    const from = mqtt.messages.length;
    const app = startApp({ ...options, log_level: 'trace' }, supervisor);
    await app.waitForOutput(/the Supervisor does not answer: connection refused/);
    await supervisor.start();
    await app.waitForOutput(/Home Assistant has no MQTT broker\. Install and start the app Mosquitto/);
    supervisor.service = service;
    await untilOnline(from);
    await bridge.untilShown();
    expect(await bridge.command(`sonic/${sonic}/valve/set`, 'CLOSE')).toMatchObject({ status: 'ok' });
    await bridge.untilJson(`sonic/${sonic}`, ({ valve }) => valve === 'closed');
    expect(await app.stop()).toMatchObject({ code: 0 });
    const readable = [app.output, ...mqtt.messages.map(({ text }) => text)].join('\n');
    for (const secret of [user.password, encodeURIComponent(user.password), supervisor.token]) {
      expect(readable).not.toContain(secret);
    }
    for (const file of readdirSync(join(app.cwd, 'data'))) {
      expect(statSync(join(app.cwd, 'data', file)).mode & 0o077, file).toBe(0);
    }
    const clean = startApp({ ...options, cleanup: true }, supervisor);
    expect((await clean.ended()).code, clean.output).toBe(0);
    expect(clean.output).toMatch(/Deleted \d+ retained messages/);
    expect(clean.output).toMatch(
      /WARN: The option cleanup is on, so the app stops now\. Uninstall it, or turn off/,
    );
  });

  it('stops in time although the Supervisor does not answer', async () => {
    const supervisor = await newSupervisor();
    supervisor.behaviour = 'silent';
    await supervisor.start();
    const app = startApp(options, supervisor);
    await waitFor(() => supervisor.asked > 0, { what: 'a question' });
    const { code, durationMs } = await app.stop();
    expect({ code, isInTime: durationMs < 5_000 }).toEqual({ code: 0, isInTime: true });
  });

  it('answers another address than that of Home Assistant only if the file lets it in', async () => {
    const supervisor = await newSupervisor();
    await supervisor.start();
    for (const [only_from, expected] of [
      [undefined, 'ECONNRESET'],
      [['127.0.0.0/8'], 200],
    ] as const) {
      const app = startApp(options, supervisor, { others: { ...file, http: only_from && { only_from } } });
      const [, url = ''] = await app.waitForOutput(/HTTP: listening on (http:\/\/127\.0\.0\.1:\d+)/);
      const answered = await httpRequest(`${url}/`).then(
        ({ status }) => status,
        ({ code }) => code,
      );
      expect(answered).toBe(expected);
      const ingress = await startIngress(url);
      // This ingress comes from another address than Home Assistant's, too.
      const below = await httpRequest(`${ingress.url}${ingressPath}/status.json`);
      expect(below.status).toBe(only_from ? 200 : 502);
      await app.stop();
    }
  });

  it('checks its options and the broker of Home Assistant', async () => {
    const supervisor = await newSupervisor();
    await supervisor.start();
    const place = placeOf(options, supervisor, { others: { ...file, mqtt: { reject_unauthorized: false } } });
    const { code, stdout } = await runProgram(['check'], place);
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/^WARN configuration: mqtt\.reject_unauthorized is false\. /m);
    expect(stdout).toMatch(/^OK {3}MQTT broker: connected to the broker of Home Assistant$/m);
  });

  it.runIf(mosquittoAvailable())(
    'follows Home Assistant to another broker with another password',
    async () => {
      const supervisor = await newSupervisor();
      await supervisor.start();
      const from = mqtt.messages.length;
      startApp(options, supervisor);
      await untilOnline(from);
      const next = { username: 'other', password: 'of its own' };
      const other = await startMosquitto({ password: { user: next.username, password: next.password } });
      supervisor.service = serviceOf(other.url, next);
      const client = await watchTopics(other.url, '#', next);
      await bridge.broker.stop();
      await client.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    },
  );
});

it('without Home Assistant, a file options.json means nothing', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'options.json'), '{"email":"other@example.com"}');
  const { code, stdout, stderr } = await runProgram(['check'], { cwd });
  expect([code, stdout + stderr]).toEqual([2, expect.stringContaining('No configuration found')]);
});
