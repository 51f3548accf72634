import { readFileSync } from 'node:fs';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { quick } from '../support/bridge.ts';
import { atTestEnd } from '../support/childProcess.ts';
import { startGuardedMosquitto } from '../support/guardedMosquitto.ts';
import { type Mosquitto, mosquittoAvailable } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const securityPage = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const [, documentedAcl = ''] = /^```text\n# \/etc\/mosquitto\/acl\n([\s\S]*?)^```/m.exec(securityPage) ?? [];
/** The tests' clients hear by an echo that all is there. */
const acl = `${documentedAcl}\npattern readwrite watcher/#\n`;

const passwords = { sonic2mqtt: 'password-1', homeassistant: 'password-2', display: 'password-3' };
const as = (username: keyof typeof passwords) => ({ username, password: passwords[username] });
const refused = /not authorized/i;

interface Announced {
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const isCommandTopic = (topic: string) => /\/(set|action|start)$/.test(topic);

/** The topics at which the entities of a device take commands. */
function commandTopicsOf(discovery: Announced): string[] {
  return Object.values(discovery.components).flatMap((component) => {
    const topic = component['command_topic'];
    return typeof topic === 'string' ? [topic] : [];
  });
}

describe.skipIf(!mosquittoAvailable())('with the access control that docs/security.md shows', () => {
  let simulator: Simulator;
  let broker: Mosquitto;
  let program: RunningProgram;
  let homeAssistant: MqttWatcher;
  let display: MqttWatcher;
  let config: object;
  let valve = '';

  const valveCommands = () => simulator.requests.count('command_valve');
  const events = () =>
    homeAssistant.messages
      .filter(({ topic }) => topic === 'sonic2mqtt/bridge/event')
      .map(({ text }) => JSON.parse(text))
      .filter(({ event }) => event === 'command');

  beforeAll(async () => {
    simulator = new Simulator({ quiet: true, valveTravelMs: 300 });
    await simulator.start();
    broker = await startGuardedMosquitto(passwords, acl);
    homeAssistant = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/#'], {
      ...as('homeassistant'),
      protocolVersion: 5,
    });
    display = await watchTopics(broker.url, '#', { ...as('display'), protocolVersion: 5 });
    config = {
      cloud: { base_url: simulator.url, ...demoCredentials, max_requests_per_minute: 100_000 },
      mqtt: { url: broker.url, ...as('sonic2mqtt') },
      schedules: quick,
      valve: { confirm_interval: '100ms' },
      data_dir: temporaryFolder(),
    };
    program = startProgram(['run'], { config });
    valve = `sonic2mqtt/sonic/${simulator.world.sonics.ids[0]}/valve/set`;
    await homeAssistant.waitForTopic(
      'sonic2mqtt/bridge/info',
      (text) => JSON.parse(text).counts.sonics === 4,
      10_000,
    );
  });

  afterAll(async () => {
    await program.stop();
    await Promise.all([homeAssistant.close(), display.close()]);
    await broker.stop();
    await simulator.stop();
  });

  it('the bridge publishes all that it has, and hears Home Assistant start', async () => {
    const announced = () => homeAssistant.messages.filter(({ topic }) => topic.endsWith('/config')).length;
    const devices = 1 + 2 + 3 + 4;
    // Each message comes once more some seconds later.
    await waitFor(() => announced() >= 2 * devices, { what: 'every device to be announced' });
    await homeAssistant.publish('homeassistant/status', 'online');
    await waitFor(() => announced() >= 3 * devices, { what: 'every device to be announced again' });
    expect(program.stderr).not.toMatch(/WARN|ERROR/);
  });

  it('Home Assistant closes a valve', async () => {
    await homeAssistant.publish(valve, 'CLOSE');
    await waitFor(() => events().length === 1, { what: 'the outcome' });
    expect(events()[0]).toMatchObject({ topic: valve, status: 'ok' });
    const record = valve.replace(/\/valve\/set$/, '');
    await homeAssistant.waitForTopic(record, (text) => JSON.parse(text).valve === 'closed');
    expect(valveCommands()).toBe(1);
  });

  it('a display sees the valve, and nothing of who lives there', async () => {
    await display.waitForTopic(
      valve.replace(/\/valve\/set$/, ''),
      (text) => JSON.parse(text).valve === 'closed',
    );
    const seen = [...display.last.keys()].map((topic) => topic.split('/').slice(0, 2).join('/'));
    expect([...new Set(seen)].toSorted()).toEqual(['sonic2mqtt/bridge', 'sonic2mqtt/sonic']);
    expect(
      [...display.last.keys()].filter((topic) => topic.startsWith('sonic2mqtt/bridge/')).toSorted(),
    ).toEqual(['sonic2mqtt/bridge/cloud', 'sonic2mqtt/bridge/state']);
  });

  it('a display moves no valve, asks for nothing and makes nothing up', async () => {
    const before = valveCommands();
    for (const [topic, payload] of [
      [valve, 'OPEN'],
      ['sonic2mqtt/bridge/request/command_valve', '{}'],
      ['sonic2mqtt/bridge/refresh', 'PRESS'],
      ['sonic2mqtt/bridge/state', 'offline'],
      [valve.replace(/\/valve\/set$/, ''), '{"valve":"open"}'],
      ['homeassistant/device/sonic2mqtt_bridge/config', ''],
    ] as const) {
      await expect(display.publish(topic, payload, { retain: true }), topic).rejects.toThrow(refused);
    }
    // What the bridge hears after them is all that it heard.
    await homeAssistant.publish(valve, 'OPEN');
    await waitFor(() => events().length === 2, { what: 'the outcome' });
    expect(events()[1]).toMatchObject({ status: 'ok' });
    expect(valveCommands()).toBe(before + 1);
    expect(homeAssistant.last.get('sonic2mqtt/bridge/state')).toBe('online');
  });

  it('nobody is let in without a name', async () => {
    await expect(connectAsync(broker.url, { reconnectPeriod: 0 })).rejects.toThrow(refused);
  });

  it('Home Assistant may use every control that it is told of, and none of the states', async () => {
    const discoveries = [...homeAssistant.last].filter(([topic]) => topic.endsWith('/config'));
    const topics = new Set(discoveries.flatMap(([, text]) => commandTopicsOf(JSON.parse(text))));
    expect(topics.size).toBeGreaterThan(30);
    const states = [...homeAssistant.last.keys()].filter((topic) => topic.startsWith('sonic2mqtt/'));
    for (const topic of topics) await homeAssistant.publish(topic, 'nonsense');
    for (const topic of states.filter((each) => !isCommandTopic(each))) {
      await expect(homeAssistant.publish(topic, ''), topic).rejects.toThrow(refused);
    }
    const request = homeAssistant.publish('sonic2mqtt/bridge/request/sign_out', '{}');
    await expect(request).rejects.toThrow(refused);
  });

  it('a killed bridge is told as offline, and cleanup takes away all that it left', async () => {
    await program.stop('SIGKILL');
    await homeAssistant.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    const cleanup = startProgram(['cleanup'], { config });
    expect((await cleanup.ended()).code).toBe(0);
    const isLeft = (topic: string) => topic.startsWith('sonic2mqtt/') || topic.endsWith('/config');
    const late = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/#'], as('homeassistant'));
    expect([...late.last.keys()].filter(isLeft)).toEqual([]);
  });
});

it.skipIf(!mosquittoAvailable())(
  'an access list that keeps the commands for valves back is told: not ready, and why',
  async () => {
    const simulator = new Simulator({ quiet: true });
    await simulator.start();
    atTestEnd(() => simulator.stop());
    const topics = ['write sonic2mqtt/#', 'read sonic2mqtt/bridge/#', 'readwrite homeassistant/#'];
    const list = topics.map((topic) => `topic ${topic}\n`).join('');
    const guarded = await startGuardedMosquitto(passwords, `user sonic2mqtt\n${list}`);
    atTestEnd(() => guarded.stop());
    const bridge = startProgram(['run'], {
      config: {
        cloud: { base_url: simulator.url, ...demoCredentials, max_requests_per_minute: 100_000 },
        mqtt: { url: guarded.url, ...as('sonic2mqtt') },
        http: { listen: '127.0.0.1:0' },
        data_dir: temporaryFolder(),
      },
    });
    const [, url] = await bridge.waitForOutput(/HTTP: listening on (http:\/\/127\.0\.0\.1:\d+)/);
    // biome-ignore lint/suspicious/noExplicitAny: as the body is documented
    const readiness = async (): Promise<any> => (await fetch(`${url}/readyz`)).json();
    const reason = /does not send sonic2mqtt\/sonic\/check\/valve\/set back\. Commands may have no effect/;
    await waitFor(async () => reason.test((await readiness()).broker.reason), {
      what: 'the reason',
      timeoutMs: 60_000,
    });
    expect(await readiness()).toMatchObject({ status: 'not_ready', broker: { status: 'down' } });
    expect((await bridge.stop()).code).toBe(0);
  },
);
