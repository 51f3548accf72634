import { join } from 'node:path';
import { expect } from 'vitest';
import { bridgeOf } from '../../src/model/shard.ts';
import type { World } from '../../src/simulator/world.ts';
import { propertyOf } from './entityTruths.ts';
import { type House, quick, startHouse } from './house.ts';
import { type RunningProgram, startProgram } from './program.ts';
import { waitFor } from './waitFor.ts';

const schedules = { ...quick, usage: '2s', pressure_tests: '2s' };

/** A house for several bridges: five properties with something in each; no bridge is started yet. */
export async function startShardHouse(
  options: NonNullable<Parameters<typeof startHouse>[0]> = {},
): Promise<House> {
  const house = await startHouse({
    ...options,
    // Of these ids two bridges have three and two properties, three bridges two, two and one.
    cloud: { seed: 4, properties: 5, signals: 6, sonics: 8, ...options.cloud },
    config: { schedules, ...options.config },
    isStarted: false,
  });
  const { world } = house.simulator;
  for (const id of world.incidents.ids) world.closeIncident(id);
  return house;
}

/** Starts the bridge of that index, one of so many, with files of its own. */
export function startShard(
  house: House,
  index: number,
  count: number,
  changes: Parameters<House['startBridge']>[0] = {},
): RunningProgram {
  const own = Object(house.config);
  const mqtt = { ...own.mqtt, ...Object(changes['mqtt']) };
  const data_dir = join(own.data_dir, String(index));
  return startProgram(['run'], { config: { ...own, data_dir, ...changes, mqtt, shard: { index, count } } });
}

/** Starts all of so many bridges, and waits until they have shown everything. */
export async function startShards(house: House, count: number): Promise<RunningProgram[]> {
  const { world } = house.simulator;
  const from = house.watcher.messages.length;
  const bridges = Array.from({ length: count }, (_, index) => startShard(house, index, count));
  // What the broker has kept from before says nothing of these.
  const announced = () =>
    new Set(
      house.watcher.messages.slice(from).flatMap(({ topic, text }) => {
        const id = /^homeassistant\/device\/sonic2mqtt_(.+)\/config$/.exec(topic)?.[1] ?? '';
        return deviceIds(world).includes(id) && text.includes(`/${ownerOf(world, id, count)}/state`)
          ? [id]
          : [];
      }),
    );
  const isDone = () => announced().size === deviceIds(world).length;
  await waitFor(isDone, { what: 'the bridges to show everything', timeoutMs: 20_000 });
  await untilShared(house, count);
  return bridges;
}

/** The name of the bridge to which a device of the world belongs. */
export function ownerOf(world: World, id: string, count: number): string {
  if (count === 1) return 'bridge';
  const property = world.properties.get(id) ? id : propertyOf(world, id);
  return `bridge_${bridgeOf(property ?? id, count)}`;
}

/** The ids of everything in the account. */
export function deviceIds(world: World): string[] {
  return [...world.properties.ids, ...world.signals.ids, ...world.sonics.ids];
}

/** The ids of those that belong to a bridge. */
export function idsOf(
  house: House,
  bridge: string,
  count: number,
  kind: 'properties' | 'signals' | 'sonics',
) {
  const { world } = house.simulator;
  return world[kind].ids.filter((id) => ownerOf(world, id, count) === bridge);
}

/** One of those that belong to a bridge; throws where there is none. */
export function oneOf(
  house: House,
  bridge: string,
  count: number,
  kind: 'properties' | 'signals' | 'sonics' = 'sonics',
) {
  const [id] = idsOf(house, bridge, count, kind);
  if (id === undefined) throw new Error(`no ${kind} belong to ${bridge}`);
  return id;
}

/** What Home Assistant has, by identifier without its beginning: the bridge on which each device depends. */
export function shown({ watcher }: House): Record<string, string> {
  const rows = [...watcher.last].flatMap(([topic, text]) => {
    const id = /^homeassistant\/device\/sonic2mqtt_(.+)\/config$/.exec(topic)?.[1];
    if (id === undefined) return [];
    const [first, ...others] = JSON.parse(text).availability.map(
      (each: { topic: string }) => each.topic.split('/')[1],
    );
    expect(others.every((name: string) => name === first || /^(sonic|signal)$/.test(name))).toBe(true);
    return [[id, first]];
  });
  return Object.fromEntries(rows);
}

/** Waits until every device of the account depends on its bridge, the bridges on themselves, and nothing else is there. */
export async function untilShared(house: House, count: number, bridges?: readonly string[]): Promise<void> {
  const { world } = house.simulator;
  const names =
    bridges ?? Array.from({ length: count }, (_, index) => (count === 1 ? 'bridge' : `bridge_${index}`));
  const wanted = () =>
    Object.fromEntries([
      ...deviceIds(world).map((id) => [id, ownerOf(world, id, count)]),
      ...names.map((name) => [name, name]),
    ]);
  const isSo = () => {
    const [left, right] = [wanted(), shown(house)];
    return Object.keys({ ...left, ...right }).every((id) => left[id] === right[id]);
  };
  await waitFor(isSo, { what: 'each device at its bridge', timeoutMs: 15_000 }).catch(() => undefined);
  expect(shown(house)).toEqual(wanted());
}

/** The events that a bridge has told, of that name if one is given. */
export function eventsOf({ watcher }: House, bridge: string, name?: string): Record<string, unknown>[] {
  return watcher.messages
    .filter(({ topic }) => topic === `sonic2mqtt/${bridge}/event`)
    .map(({ text }) => JSON.parse(text))
    .filter(({ event }) => name === undefined || event === name);
}

/** The topics at which the broker keeps something of a bridge. */
export function topicsOf({ watcher }: House, bridge: string): string[] {
  const passing = /\/(event|response\/.*|refresh)$/;
  return [...watcher.last.keys()].filter(
    (topic) => topic.startsWith(`sonic2mqtt/${bridge}/`) && !passing.test(topic),
  );
}

/** Every message that has deleted something of a device that is in the account now, or was kept by a bridge of it. */
export function deletions({ watcher, simulator }: House): string[] {
  const ids = deviceIds(simulator.world);
  return watcher.messages
    .filter(({ topic, text }) => text === '' && ids.some((id) => topic.includes(id)))
    .map(({ topic }) => topic);
}

/** Takes a sonic to another signal. */
export function moveSonic(world: World, sonicId: string, signalId: string): void {
  const from = world.sonics.get(sonicId)?.signal_id ?? '';
  move(
    sonicId,
    [from, signalId].map((id) => world.sonicIdsOf(id)),
  );
  world.sonics.change(sonicId, { signal_id: signalId });
}

/** Takes a signal to another property, with all that hangs on it. */
export function moveSignal(world: World, signalId: string, propertyId: string): void {
  move(
    signalId,
    [propertyOf(world, signalId) ?? '', propertyId].map((id) => world.signalIdsOf(id)),
  );
}

/** Between two of the world's own lists, which only it has to leave as they are. */
function move(id: string, lists: readonly (readonly string[])[]): void {
  const [before, after] = lists as string[][];
  before?.splice(before.indexOf(id), 1);
  after?.push(id);
}
