import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/base/backoff.ts';
import { type PollName, pollNames } from '../../src/polling/pollStatus.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { type Broker, startBroker } from '../measure/broker.ts';
import { type Part, startPart, typescript } from '../measure/part.ts';
import { waitUntil } from '../measure/time.ts';
import { type Bridge, startBridge } from './bridge.ts';
import type { CloudDeeds, CloudSize, Truth } from './cloud.ts';
import type { Tally } from './tally.ts';
import { type Shown, Watcher } from './watcher.ts';

/** The cloud, the broker and the bridge between them, each a process of its own, and a client that watches. */
export interface House {
  readonly cloud: Part<CloudDeeds>;
  readonly broker: Broker;
  readonly bridge: Bridge;
  readonly watcher: Watcher;
  readonly random: Random;
  readonly sonics: number;
  /** How long an outage lasts. */
  readonly outageMs: number;
  readonly happened: Happened;
}

/** What was done to the bridge so far. */
export interface Happened {
  /** How often each trouble came. */
  readonly troubles: Record<string, number>;
  commands: number;
  /** Of these, those that found the bridge without a broker: they are never carried out. */
  unheard: number;
}

/** Starts everything; resolves once all sonics are shown. */
export async function startHouse(size: CloudSize, outageMs: number, folder: string): Promise<House> {
  const file = new URL('./cloud.ts', import.meta.url);
  const cloud = startPart<CloudDeeds>('the cloud', file, {
    args: [JSON.stringify(size)],
    nodeArgs: typescript,
  });
  const account = await cloud.ask('start');
  const broker = await startBroker(folder);
  const watcher = new Watcher();
  await watcher.start(broker.url);
  const bridgeFolder = join(folder, 'bridge');
  mkdirSync(bridgeFolder);
  const bridge = startBridge(account, broker.url, bridgeFolder);
  const { sonics, seed } = size;
  const random = seededRandom(seed + 1);
  const happened = { troubles: {}, commands: 0, unheard: 0 };
  const house = { cloud, broker, bridge, watcher, random, sonics, outageMs, happened };
  await agreed(house, 'the bridge to show all');
  return house;
}

/** Ends everything; resolves to how the bridge ended. */
export async function endHouse({ cloud, broker, bridge, watcher }: House): Promise<number | null> {
  const code = await bridge.part.stop();
  await watcher.stop();
  await broker.stop();
  await cloud.stop();
  return code;
}

/**
 * Lets the cloud work again, has everything read anew, and resolves once all is well and the broker keeps what the
 * cloud has: the same quiet state at the end of each round.
 */
export async function calmDown(house: House): Promise<void> {
  const { cloud, bridge, watcher } = house;
  await cloud.ask('setFaults', []);
  await cloud.ask('restore');
  const before = await cloud.ask('tally');
  await watcher.publish('sonic2mqtt/bridge/refresh', 'now');
  await waitUntil(
    'everything to be read',
    async () => running(bridge) ?? unread(before, await cloud.ask('tally')),
  );
  await waitUntil('the bridge to be well', () => running(bridge) ?? complaint(watcher));
  await agreed(house, 'the broker to keep what the cloud has');
}

/** Resolves once the broker keeps what the cloud has. */
export async function agreed({ cloud, bridge, watcher }: House, what: string): Promise<void> {
  await waitUntil(what, async () => running(bridge) ?? difference(await cloud.ask('truth'), watcher));
}

/** Resolves once the lists were read again. */
export async function readAgain({ cloud, bridge }: House): Promise<void> {
  const before = await cloud.ask('tally');
  const lists: readonly PollName[] = ['sonics', 'incidents', 'signals'];
  await waitUntil('the lists to be read again', async () => {
    const { polls } = await cloud.ask('tally');
    // One of them may have been under way.
    const missing = lists.filter((slice) => polls[slice] < before.polls[slice] + 2);
    return running(bridge) ?? (missing.length === 0 ? null : `${missing.join()} not read`);
  });
}

function running({ part }: Bridge): null {
  if (!part.isRunning) throw new Error('the bridge has ended');
  return null;
}

/** What is not well, in words. */
function complaint({ state, cloud, health }: Shown): string | null {
  if (state !== 'online') return `bridge/state is ${state}`;
  if (cloud !== 'online') return `bridge/cloud is ${cloud}`;
  return health?.status === 'ok' ? null : `bridge/health is ${health?.status}: ${health?.reason}`;
}

/** Some sonics have no radio link and are not asked for their telemetry. */
const shareAsked = 0.8;

/** The slices that were not read since. */
function unread(before: Tally, { polls }: Tally): string | null {
  const missing = pollNames.filter((slice) => polls[slice] - before.polls[slice] < shareAsked);
  return missing.length === 0 ? null : `${missing.join(', ')} not read`;
}

const mostNamed = 5;

/** Where the broker keeps something else than the cloud has. */
function difference(truth: Truth, shown: Shown): string | null {
  const sonics = Object.entries(truth.valves);
  const wrong = [
    ...sonics.flatMap(([id, state]) =>
      shown.valves.get(id) === state ? [] : [`sonic ${id} is ${state}, shown ${shown.valves.get(id)}`],
    ),
    ...[...shown.valves.keys()].flatMap((id) => (id in truth.valves ? [] : [`sonic ${id} is gone`])),
    ...truth.incidents.flatMap((id) => (shown.incidents.has(id) ? [] : [`incident ${id} is not shown`])),
    ...[...shown.incidents].flatMap((id) =>
      truth.incidents.includes(id) ? [] : [`incident ${id} is closed`],
    ),
    ...sonics.flatMap(([id]) => (shown.devices.has(`sonic2mqtt_${id}`) ? [] : [`${id} is not announced`])),
  ];
  if (wrong.length === 0) return null;
  return `${wrong.length} differences, ${wrong.slice(0, mostNamed).join('; ')}`;
}
