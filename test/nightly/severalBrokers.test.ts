import { describe, expect, it } from 'vitest';
import { startBridge, type TestBridge } from '../support/bridge.ts';
import { changingParts } from '../support/changingParts.ts';
import { type Mosquitto, mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { startProgram } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const everything = ['sonic2mqtt/#', 'homeassistant/#'];

/** How long a valve has taken. */
const moved = /"valve_travel_time(_s)?":[\d.a-z]+/g;

/** All that is retained there, by topic, but for what passes. */
async function picture(url: string): Promise<ReadonlyMap<string, string>> {
  const newcomer = await watchTopics(url, everything);
  await newcomer.close();
  return new Map(
    [...newcomer.last]
      .filter(([topic]) => !topic.endsWith('/last_command'))
      .map(([topic, text]) => [topic, text.replaceAll(changingParts, '').replaceAll(moved, '')]),
  );
}

/** A bridge that knows two brokers that know nothing of each other, and the second of them. */
async function startTwo(): Promise<{ bridge: TestBridge; brokers: readonly [Mosquitto, Mosquitto] }> {
  const second = await startMosquitto();
  const first = await startMosquitto();
  const bridge = await startBridge({
    cloud: { properties: 1, signals: 1, sonics: 2 },
    config: { mqtt: { url: [first.url, second.url] } },
    isAwaited: false,
  });
  return { bridge, brokers: [first, second] };
}

/** Waits until everything is retained there, and that it is the same as there. */
async function untilWhole(url: string, wanted: ReadonlyMap<string, string>): Promise<void> {
  const isWhole = async () => (await picture(url)).size >= wanted.size;
  await waitFor(isWhole, { what: 'all to be retained', intervalMs: 100 });
  const untilSame = async () => JSON.stringify(sorted(await picture(url))) === JSON.stringify(sorted(wanted));
  // What is different says more than a wait in vain.
  await waitFor(untilSame, { what: 'all to be as it was', intervalMs: 100 }).catch(() => undefined);
  expect(sorted(await picture(url))).toEqual(sorted(wanted));
}

const sorted = (messages: ReadonlyMap<string, string>) =>
  [...messages].toSorted(([a], [b]) => (a < b ? -1 : 1));

const outcomes = ({ messages }: MqttWatcher) =>
  messages
    .filter(({ topic, text }) => topic === 'sonic2mqtt/bridge/event' && text.includes('"command"'))
    .map(({ text }) => JSON.parse(text).status);

describe.skipIf(!mosquittoAvailable())('a bridge that knows several brokers', () => {
  it('goes on with the other when one is killed, back and forth, and all is whole there', async () => {
    const { bridge, brokers } = await startTwo();
    const { requests, world } = bridge.cloud;
    const [sonic = ''] = world.sonics.ids;
    const [first] = brokers;
    const isShown = (shown: ReadonlyMap<string, string>) =>
      shown.has(`sonic2mqtt/sonic/${sonic}/usage`) && shown.get('sonic2mqtt/bridge/cloud') === 'online';
    await waitFor(async () => isShown(await picture(first.url)), {
      what: 'everything',
      intervalMs: 100,
    });
    const wanted = await picture(first.url);
    let [here, there] = brokers;
    for (const [round, action] of (['CLOSE', 'OPEN', 'CLOSE'] as const).entries()) {
      const mqtt = await watchTopics(there.url, everything);
      const commanded = requests.count('command_valve');
      await here.kill('SIGKILL');
      await mqtt.waitForMessage(
        ({ topic, text }) => topic === 'sonic2mqtt/bridge/state' && text === 'online',
        { what: `the bridge at the other broker, time ${round + 1}` },
      );
      await untilWhole(there.url, wanted);

      // A broker that has stored nothing yet first shows in some milliseconds that it marks what is stored.
      const isDone = async () => {
        const before = outcomes(mqtt).length;
        await mqtt.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, action);
        await waitFor(() => outcomes(mqtt).length > before, { what: 'the outcome' });
        return outcomes(mqtt).at(-1) === 'ok';
      };
      await waitFor(isDone, { what: 'the valve command to be accepted' });
      const valve = action === 'CLOSE' ? 'closed' : 'open';
      await mqtt.waitForTopic(`sonic2mqtt/sonic/${sonic}`, (text) => JSON.parse(text).valve === valve);
      expect(requests.count('command_valve')).toBe(commanded + 1);
      expect(mqtt.messages.filter(({ text, topic }) => text === '' && topic.includes('/config'))).toEqual([]);

      world.setValve(sonic, 'open');
      await mqtt.waitForTopic(`sonic2mqtt/sonic/${sonic}`, (text) => JSON.parse(text).valve === 'open');
      await mqtt.close();
      await here.restart();
      [here, there] = [there, here];
    }
    const told = bridge.program.stderr.split('\n').filter((line) => /WARN: MQTT broker:/.test(line));
    // Each outage is told once of each address, at most.
    expect(told.length).toBeLessThanOrEqual(3 * brokers.length);
    for (const line of told) expect(brokers.filter(({ url }) => line.includes(`: ${url}: `))).toHaveLength(1);
    const { code, durationMs } = await bridge.program.stop();
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
    expect((await picture(here.url)).get('sonic2mqtt/bridge/state')).toBe('offline');
  }, 90_000);

  it('says again that it is there when a broker says late that it is gone, but does not quarrel', async () => {
    const bridge = await startBridge({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    const { mqtt } = bridge;
    const state = 'sonic2mqtt/bridge/state';
    const said = (words: string) =>
      mqtt.messages.filter(({ topic, text }) => topic === state && text === words).length;
    await mqtt.waitForTopic(`sonic2mqtt/sonic/${bridge.cloud.world.sonics.ids[0]}/usage`);
    await mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    await mqtt.settle();
    const before = {
      online: said('online'),
      devices: mqtt.messages.filter(({ topic }) => topic.includes('/sonic/')).length,
    };
    await mqtt.publish(state, 'offline', { retain: true });
    await mqtt.waitForTopic(state, (text) => text === 'online');
    expect(said('online')).toBe(before.online + 1);
    // Only what the bridge says of itself is said again.
    expect(mqtt.messages.filter(({ topic }) => topic.includes('/sonic/')).length).toBe(before.devices);
    for (let times = 0; times < 50; times++) await mqtt.publish(state, 'offline', { retain: true });
    await mqtt.waitForTopic(state, (text) => text === 'online');
    expect(said('offline')).toBe(51);
    expect(said('online')).toBe(before.online + 2);
    await bridge.program.stop();
    await mqtt.waitForTopic(state, (text) => text === 'offline');
  });
});

describe.skipIf(!mosquittoAvailable())('with several brokers', () => {
  const account = (bridge: TestBridge) => ({ ...bridge.config }) as { mqtt: object };
  const withUrls = (bridge: TestBridge, url: readonly string[]) => ({ ...account(bridge), mqtt: { url } });

  it('`check` looks at each and says one line of each, without secrets', async () => {
    const bridge = await startBridge({ isStarted: false });
    const other = await startMosquitto({ password: { user: 'me', password: 'pass-word' } });
    const good = `mqtt://me:pass-word@127.0.0.1:${other.port}`;
    const away = `mqtt://me:pass-word@127.0.0.1:${await freePort()}`;
    const check = (url: readonly string[]) => startProgram(['check'], { config: withUrls(bridge, url) });
    const received = 'OK   MQTT broker: published a message and received it';
    const all = check([bridge.broker.url, good]);
    expect((await all.ended()).code).toBe(0);
    expect(all.stdout.split('\n').filter((line) => line.includes('broker'))).toEqual([
      `OK   MQTT broker: connected to ${bridge.broker.url}`,
      received,
      `OK   MQTT broker: connected to ${other.url}`,
      received,
    ]);
    const some = check([away, bridge.broker.url]);
    expect((await some.ended()).code).toBe(1);
    expect(some.stdout.split('\n').filter((line) => line.includes('broker'))).toEqual([
      `FAIL MQTT broker: ${away.replace('me:pass-word@', '')}: connection refused. Check the broker and its port`,
      `OK   MQTT broker: connected to ${bridge.broker.url}`,
      received,
    ]);
    expect(all.output + some.output).not.toContain('pass-word');
  }, 60_000);

  it('`cleanup` uses the first that works, and names all where none does', async () => {
    const bridge = await startBridge({ isStarted: false });
    await bridge.mqtt.publish('sonic2mqtt/sonic/old', '{}', { retain: true });
    const away = [1, 2].map(freePort);
    const [first = '', second = ''] = (await Promise.all(away)).map((port) => `mqtt://127.0.0.1:${port}`);
    const cleanup = startProgram(['cleanup'], {
      config: withUrls(bridge, [first, second, bridge.broker.url]),
    });
    expect((await cleanup.ended()).code).toBe(0);
    expect(cleanup.stdout).toBe('Deleted 1 retained message\n');
    expect((await picture(bridge.broker.url)).size).toBe(0);
    const nowhere = startProgram(['cleanup'], { config: withUrls(bridge, [first, second]) });
    expect((await nowhere.ended()).code).toBe(1);
    const refused = 'connection refused. Check the broker and its port';
    // Once, and without promising to try again.
    expect(nowhere.stderr).toBe(`MQTT broker: ${first}: ${refused}. ${second}: ${refused}\n`);
  }, 60_000);

  it('`bridge/info` shows all of them without secrets', async () => {
    const bridge = await startBridge({ cloud: { properties: 1, signals: 1, sonics: 1 }, isStarted: false });
    const other = `mqtt://me:pass-word@127.0.0.1:${await freePort()}`;
    bridge.start({ mqtt: { url: [other, bridge.broker.url] } });
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/info');
    expect(bridge.json('bridge/info').configuration.mqtt.url).toEqual([
      `${other.replace('me:pass-word@', '')}/[hidden]`,
      bridge.broker.url,
    ]);
    expect(bridge.program.output + [...bridge.mqtt.last.values()].join()).not.toContain('pass-word');
  });
});
