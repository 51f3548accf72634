import { expect } from 'vitest';
import { startBridge, type TestBridge } from './bridge.ts';
import { watchTopics } from './mqttWatcher.ts';
import type { RunningProgram } from './program.ts';
import { waitFor } from './waitFor.ts';

/** A test of a bridge that has published everything and then loses its broker. */
export interface BrokerStory {
  readonly bridge: TestBridge;
  readonly program: RunningProgram;
  /** The warnings and errors about the broker in the log. */
  warnings(): string[];
  /**
   * Waits until the broker has noticed the loss. Then changes the cloud for a while, and changes it back. The
   * bridge must not report any of this later.
   */
  changeCloudMeanwhile(): Promise<void>;
  /**
   * Waits until the retained messages are as before. Fails if the bridge has published anything else, deleted
   * a message or carried out a command.
   */
  untilRestored(timeoutMs?: number): Promise<void>;
  /** Stops the bridge. It must exit within five seconds and without an error. */
  stop(): Promise<void>;
}

/**
 * A cloud, a broker and a bridge that is not started yet. The test starts it with the address of a proxy.
 * Made once in a hook, for many tests.
 */
export function startCloudAndBroker(): Promise<TestBridge> {
  return startBridge({ cloud: { properties: 1, signals: 1, sonics: 2 }, isStarted: false });
}

/**
 * The retained messages that a new client receives, by topic, without the parts that change by themselves.
 */
async function retainedMessages(bridge: TestBridge): Promise<ReadonlyMap<string, string>> {
  const newcomer = await watchTopics(bridge.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
  await newcomer.close();
  // Live messages are not retained.
  const retained = newcomer.messages.filter(({ retain }) => retain);
  return new Map(retained.map(({ topic, text }) => [topic, text.replaceAll(changingParts, '')]));
}

/**
 * The parts of messages that change by themselves: times, IDs of a run, the mover of a valve, measurements
 * and water.
 */
export const changingParts =
  /"(at|by|moved_at|moved_by|water_at_rest)":("[^"]*"|null)|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)|"instance_id":"\w+"|"(flow|pressure|water)[a-z_]*":([\d.]+|null)|"(today|yesterday|month|total|requests)[a-z_]*":[\d.]+|"days":\{[^}]*\}/g;

/** Starts the bridge with this address of the broker. Resolves once everything is published. */
export async function beginStory(bridge: TestBridge, url: string, mqtt: object = {}): Promise<BrokerStory> {
  const { world } = bridge.cloud;
  for (const id of world.sonics.ids) world.setValve(id, 'open');
  const from = bridge.mqtt.messages.length;
  const program = bridge.start({ mqtt: { url, ...mqtt } });
  await untilShown(bridge, from);
  return storyOf(bridge, program);
}

/** The test of a bridge that has published everything. */
async function storyOf(bridge: TestBridge, program: RunningProgram): Promise<BrokerStory> {
  // The bridge publishes devices once they are listed, and their details later. After the last details
  // nothing changes any more.
  const areDetailsRead = () =>
    JSON.parse(bridge.mqtt.last.get('sonic2mqtt/bridge/info') ?? '{}').last_update != null;
  await waitFor(areDetailsRead, { what: 'the details of all devices' });
  let before = await retainedMessages(bridge);
  const isAtRest = async () => {
    const last = before;
    before = await retainedMessages(bridge);
    return differences(last, before).length === 0;
  };
  await waitFor(isAtRest, { what: 'the broker to have all', intervalMs: 500 });
  const { world, requests } = bridge.cloud;
  const [sonic = ''] = world.sonics.ids;
  const sinceMessages = bridge.mqtt.messages.length;
  const sinceCommands = requests.count('command_valve');
  const polled = async (times: number) => {
    const count = requests.count('list_sonics');
    await waitFor(() => requests.count('list_sonics') >= count + times, { what: 'polls' });
  };
  return {
    bridge,
    program: program,
    warnings: () => warningsOf(program),
    async changeCloudMeanwhile() {
      await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
      world.setValve(sonic, 'closed');
      await bridge.mqtt.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'CLOSE');
      await polled(2);
      world.setValve(sonic, 'open');
      await polled(2);
    },
    async untilRestored(timeoutMs = 40_000) {
      const isOnline = () => bridge.mqtt.last.get('sonic2mqtt/bridge/state') === 'online';
      await waitFor(isOnline, { what: 'the bridge to be back', timeoutMs });
      const isWhole = async () => differences(before, await retainedMessages(bridge)).length === 0;
      // If the wait fails, the comparison below shows why.
      await waitFor(isWhole, { what: 'all to be whole', intervalMs: 100 }).catch(() => undefined);
      expect(differences(before, await retainedMessages(bridge))).toEqual([]);
      const published = bridge.mqtt.messages.slice(sinceMessages);
      expect(published.filter(({ topic, text }) => text === '' && before.has(topic))).toEqual([]);
      const valves = published.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}`);
      expect(valves.filter(({ text }) => JSON.parse(text).valve !== 'open')).toEqual([]);
      expect(
        published.filter(({ topic, text }) => topic.endsWith('/event') && text.includes('"command"')),
      ).toEqual([]);
      expect(requests.count('command_valve')).toBe(sinceCommands);
    },
    async stop() {
      const { code, durationMs } = await program.stop();
      expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
    },
  };
}

/** Waits until everything was published after message number `from`. */
async function untilShown(bridge: TestBridge, from: number, timeoutMs = 40_000): Promise<void> {
  const { properties, signals, sonics, incidents } = bridge.cloud.world;
  const wanted = [
    ...[...properties.ids, ...signals.ids, ...sonics.ids].map(
      (id) => `homeassistant/device/sonic2mqtt_${id}/config`,
    ),
    ...sonics.ids.map((id) => `sonic2mqtt/sonic/${id}/homeassistant`),
    ...incidents.ids.map((id) => `sonic2mqtt/incident/${id}`),
  ];
  const isShown = () => {
    const published = new Set(bridge.mqtt.messages.slice(from).map(({ topic }) => topic));
    const isOnline = bridge.mqtt.last.get('sonic2mqtt/bridge/cloud') === 'online';
    const isInfoWhole = bridge.json('bridge/info')?.appliance_categories !== null;
    return wanted.every((topic) => published.has(topic)) && isOnline && isInfoWhole;
  };
  await waitFor(isShown, { what: 'everything to be shown', timeoutMs });
}

/** The warnings and errors of a bridge about the broker. */
function warningsOf(program: RunningProgram): string[] {
  return program.stderr.split('\n').filter((line) => /(WARN|ERROR|FATAL).*MQTT broker/.test(line));
}

/** The topics that differ, each with its old and new message. */
function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): object[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((topic) => before.get(topic) !== after.get(topic))
    .map((topic) => ({ topic, before: before.get(topic), after: after.get(topic) }));
}
