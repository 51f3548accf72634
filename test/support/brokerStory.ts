import { expect } from 'vitest';
import { startBridge, type TestBridge } from './bridge.ts';
import { watchTopics } from './mqttWatcher.ts';
import type { RunningProgram } from './program.ts';
import { waitFor } from './waitFor.ts';

/** A bridge that shows everything, about to lose its broker. */
export interface BrokerStory {
  readonly bridge: TestBridge;
  readonly program: RunningProgram;
  /** What it has said of the broker as a warning or worse. */
  warnings(): string[];
  /** Waits until the broker has missed the bridge, then lets the world go on: nothing of this is to be told later. */
  liveMeanwhile(): Promise<void>;
  /** Resolves once all that is retained is as it was; throws where anything else was told, deleted or carried out. */
  untilWhole(timeoutMs?: number): Promise<void>;
  /** Tells the bridge to stop, which it must do in time and well. */
  stop(): Promise<void>;
}

/** A bridge that is not started yet, to be reached by ways that fail; built in a hook for many stories. */
export function startCloudAndBroker(): Promise<TestBridge> {
  return startBridge({ cloud: { properties: 1, signals: 1, sonics: 2 }, isStarted: false });
}

/** What a newly come client is told: all that is retained, by topic, but for what passes. */
async function retainedPicture(bridge: TestBridge): Promise<ReadonlyMap<string, string>> {
  const newcomer = await watchTopics(bridge.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
  await newcomer.close();
  // What is told live meanwhile is not retained.
  const retained = newcomer.messages.filter(({ retain }) => retain);
  return new Map(retained.map(({ topic, text }) => [topic, text.replaceAll(passing, '')]));
}

/** Times, what a run is known by, who moved a valve meanwhile, what is measured anew then, and the water that runs. */
export const passing =
  /"(at|by|moved_at|moved_by|water_at_rest)":("[^"]*"|null)|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)|"instance_id":"\w+"|"(flow|pressure|water)[a-z_]*":([\d.]+|null)|"(today|yesterday|month|total|requests)[a-z_]*":[\d.]+|"days":\{[^}]*\}/g;

/** Starts the bridge by this way to the broker; resolves once everything is shown. */
export async function beginStory(bridge: TestBridge, url: string, mqtt: object = {}): Promise<BrokerStory> {
  const { world } = bridge.cloud;
  for (const id of world.sonics.ids) world.setValve(id, 'open');
  const from = bridge.mqtt.messages.length;
  const program = bridge.start({ mqtt: { url, ...mqtt } });
  await untilShown(bridge, from);
  return storyOf(bridge, program);
}

/** The story of a bridge that shows everything now. */
async function storyOf(bridge: TestBridge, program: RunningProgram): Promise<BrokerStory> {
  // Devices are shown once they are listed, and their telemetry and usage follow: the last of it changes nothing more.
  const areDetailsRead = () =>
    JSON.parse(bridge.mqtt.last.get('sonic2mqtt/bridge/info') ?? '{}').last_update != null;
  await waitFor(areDetailsRead, { what: 'the details of all devices' });
  let before = await retainedPicture(bridge);
  const isAtRest = async () => {
    const last = before;
    before = await retainedPicture(bridge);
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
    async liveMeanwhile() {
      await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
      world.setValve(sonic, 'closed');
      await bridge.mqtt.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'CLOSE');
      await polled(2);
      world.setValve(sonic, 'open');
      await polled(2);
    },
    async untilWhole(timeoutMs = 40_000) {
      const isOnline = () => bridge.mqtt.last.get('sonic2mqtt/bridge/state') === 'online';
      await waitFor(isOnline, { what: 'the bridge to be back', timeoutMs });
      const isWhole = async () => differences(before, await retainedPicture(bridge)).length === 0;
      // What is different says more than a wait in vain.
      await waitFor(isWhole, { what: 'all to be whole', intervalMs: 100 }).catch(() => undefined);
      expect(differences(before, await retainedPicture(bridge))).toEqual([]);
      const told = bridge.mqtt.messages.slice(sinceMessages);
      expect(told.filter(({ topic, text }) => text === '' && before.has(topic))).toEqual([]);
      const valves = told.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}`);
      expect(valves.filter(({ text }) => JSON.parse(text).valve !== 'open')).toEqual([]);
      expect(
        told.filter(({ topic, text }) => topic.endsWith('/event') && text.includes('"command"')),
      ).toEqual([]);
      expect(requests.count('command_valve')).toBe(sinceCommands);
    },
    async stop() {
      const { code, durationMs } = await program.stop();
      expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
    },
  };
}

/** Waits until everything was published since that message. */
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
    const told = new Set(bridge.mqtt.messages.slice(from).map(({ topic }) => topic));
    const isOnline = bridge.mqtt.last.get('sonic2mqtt/bridge/cloud') === 'online';
    const isInfoWhole = bridge.json('bridge/info')?.appliance_categories !== null;
    return wanted.every((topic) => told.has(topic)) && isOnline && isInfoWhole;
  };
  await waitFor(isShown, { what: 'everything to be shown', timeoutMs });
}

/** What a bridge has said of the broker as a warning or worse. */
function warningsOf(program: RunningProgram): string[] {
  return program.stderr.split('\n').filter((line) => /(WARN|ERROR|FATAL).*MQTT broker/.test(line));
}

/** What is not the same, as the topic with what it had and what it has. */
function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): object[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((topic) => before.get(topic) !== after.get(topic))
    .map((topic) => ({ topic, before: before.get(topic), after: after.get(topic) }));
}
