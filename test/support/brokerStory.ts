import { expect } from 'vitest';
import { type House, startHouse } from './house.ts';
import { watchTopics } from './mqttWatcher.ts';
import type { RunningProgram } from './program.ts';
import { waitFor } from './waitFor.ts';

/** A bridge that shows everything, about to lose its broker. */
export interface BrokerStory {
  readonly house: House;
  readonly bridge: RunningProgram;
  /** What it has said of the broker as a warning or worse. */
  warnings(): string[];
  /** Waits until the broker has missed the bridge, then lets the world go on: nothing of this is to be told later. */
  liveMeanwhile(): Promise<void>;
  /** Resolves once all that is retained is as it was; throws where anything else was told, deleted or carried out. */
  untilWhole(timeoutMs?: number): Promise<void>;
  /** Tells the bridge to stop, which it must do in time and well. */
  stop(): Promise<void>;
}

/** A house without a bridge, to be reached by ways that fail; built in a hook for many stories. */
export function startQuietHouse(): Promise<House> {
  return startHouse({ cloud: { properties: 1, signals: 1, sonics: 2 }, isStarted: false });
}

/** What a newly come client is told: all that is retained, by topic, but for what passes. */
async function retainedPicture(house: House): Promise<ReadonlyMap<string, string>> {
  const newcomer = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
  await newcomer.close();
  return new Map([...newcomer.last].map(([topic, text]) => [topic, text.replaceAll(passing, '')]));
}

/** Times, what is measured anew when a valve has moved, and the water that runs meanwhile. */
export const passing =
  /\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)|"(flow|pressure|water)[a-z_]*":[\d.]+|"(today|yesterday|month|total)":[\d.]+|"days":\{[^}]*\}/g;

/** Starts the bridge by this way to the broker; resolves once everything is shown. */
export async function beginStory(house: House, url: string, mqtt: object = {}): Promise<BrokerStory> {
  const { world } = house.simulator;
  for (const id of world.sonics.ids) world.setValve(id, 'open');
  const from = house.watcher.messages.length;
  const bridge = house.startBridge({ mqtt: { url, ...mqtt } });
  await untilShown(house, from);
  return storyOf(house, bridge);
}

/** The story of a bridge that shows everything now. */
async function storyOf(house: House, bridge: RunningProgram): Promise<BrokerStory> {
  // Devices are shown once they are listed, and their telemetry and usage follow: the last of it changes nothing more.
  const areDetailsRead = () =>
    JSON.parse(house.watcher.last.get('sonic2mqtt/bridge/info') ?? '{}').last_update != null;
  await waitFor(areDetailsRead, { what: 'the details of all devices', timeoutMs: 20_000 });
  let before = await retainedPicture(house);
  const isAtRest = async () => {
    const last = before;
    before = await retainedPicture(house);
    return differences(last, before).length === 0;
  };
  await waitFor(isAtRest, { what: 'the broker to have all', timeoutMs: 20_000, intervalMs: 500 });
  const { world, requests } = house.simulator;
  const [sonic = ''] = world.sonics.ids;
  const sinceMessages = house.watcher.messages.length;
  const sinceCommands = requests.count('command_valve');
  const polled = async (times: number) => {
    const count = requests.count('list_sonics');
    await waitFor(() => requests.count('list_sonics') >= count + times, { what: 'polls', timeoutMs: 20_000 });
  };
  return {
    house,
    bridge,
    warnings: () => warningsOf(bridge),
    async liveMeanwhile() {
      await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline', 20_000);
      world.setValve(sonic, 'closed');
      await house.watcher.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, 'CLOSE');
      await polled(2);
      world.setValve(sonic, 'open');
      await polled(2);
    },
    async untilWhole(timeoutMs = 40_000) {
      const isOnline = () => house.watcher.last.get('sonic2mqtt/bridge/state') === 'online';
      await waitFor(isOnline, { what: 'the bridge to be back', timeoutMs });
      const isWhole = async () => differences(before, await retainedPicture(house)).length === 0;
      // What is different says more than a wait in vain.
      await waitFor(isWhole, { what: 'all to be whole', timeoutMs: 10_000, intervalMs: 100 }).catch(
        () => undefined,
      );
      expect(differences(before, await retainedPicture(house))).toEqual([]);
      const told = house.watcher.messages.slice(sinceMessages);
      expect(told.filter(({ topic, text }) => text === '' && before.has(topic))).toEqual([]);
      const valves = told.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}`);
      expect(valves.filter(({ text }) => JSON.parse(text).valve !== 'open')).toEqual([]);
      expect(
        told.filter(({ topic, text }) => topic.endsWith('/event') && text.includes('"command"')),
      ).toEqual([]);
      expect(requests.count('command_valve')).toBe(sinceCommands);
    },
    async stop() {
      const { code, durationMs } = await bridge.stop();
      expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
    },
  };
}

/** Waits until everything was published since that message. */
async function untilShown(house: House, from: number, timeoutMs = 40_000): Promise<void> {
  const { properties, signals, sonics, incidents } = house.simulator.world;
  const wanted = [
    ...[...properties.ids, ...signals.ids, ...sonics.ids].map(
      (id) => `homeassistant/device/sonic2mqtt_${id}/config`,
    ),
    ...sonics.ids.map((id) => `sonic2mqtt/sonic/${id}/homeassistant`),
    ...incidents.ids.map((id) => `sonic2mqtt/incident/${id}`),
  ];
  const isShown = () => {
    const told = new Set(house.watcher.messages.slice(from).map(({ topic }) => topic));
    const isOnline = house.watcher.last.get('sonic2mqtt/bridge/cloud') === 'online';
    const isInfoWhole = house.json('bridge/info')?.appliance_categories !== null;
    return wanted.every((topic) => told.has(topic)) && isOnline && isInfoWhole;
  };
  await waitFor(isShown, { what: 'everything to be shown', timeoutMs });
}

/** What a bridge has said of the broker as a warning or worse. */
function warningsOf(bridge: RunningProgram): string[] {
  return bridge.stderr.split('\n').filter((line) => /(WARN|ERROR|FATAL).*MQTT broker/.test(line));
}

/** What is not the same, as the topic with what it had and what it has. */
function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): object[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((topic) => before.get(topic) !== after.get(topic))
    .map((topic) => ({ topic, before: before.get(topic), after: after.get(topic) }));
}
