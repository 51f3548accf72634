import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Account } from '../measure/account.ts';
import { type Broker, type BrokerKind, startBroker } from '../measure/broker.ts';
import { nowMs } from '../measure/now.ts';
import { type Part, startPart } from '../measure/part.ts';
import { typescript } from '../measure/program.ts';
import { waitUntil } from '../measure/waitUntil.ts';
import type { CloudDeeds, CloudOptions } from './cloud.ts';
import { retainedOn } from './listener.ts';
import { inOrder, type Script } from './script.ts';
import { type BridgeOptions, type Mark, type SocketMarks, type Subject, startBridge } from './subjects.ts';

/** What all cases are given. */
export interface Bench {
  /** How often each thing is measured, of that many sonics. */
  readonly runs: (sonics: number) => number;
  /** Whether all is to be over soon, whatever the figures are worth. */
  readonly isQuick: boolean;
  readonly broker: BrokerKind;
  /** Those that were started, by their options. */
  readonly clouds: Map<string, Part<CloudDeeds>>;
  /** A folder that nothing else has used. */
  readonly newFolder: () => string;
  /** Where profiles of the bridge are written. */
  readonly profileFolder: string | null;
  /** Tells how far it is. */
  readonly say: (words: string) => void;
  /** Tells what is to be known about the figures. */
  readonly note: (words: string) => void;
}

/** The cloud and the broker, each a process of its own, between which something is measured. */
export interface Stage {
  readonly bench: Bench;
  readonly sonics: number;
  readonly cloud: Part<CloudDeeds>;
  readonly account: Account;
  readonly broker: Broker;
}

const seed = 1;
/** What keeps silent for so long is done: the longest pause is before a second discovery message. */
const settledMs = { usually: 4_000, quickly: 1_000 };
const longestMs = 600_000;
/** How often sockets are looked at, where that is wanted. */
export const sampleMs = 5;

/** Does something between a cloud of that size and a broker of its own. */
export async function onStage<T>(
  bench: Bench,
  sonics: number,
  act: (stage: Stage) => Promise<T>,
  options: Partial<CloudOptions> = {},
): Promise<T> {
  const cloud = cloudOf(bench, JSON.stringify({ sonics, seed, isAlive: false, ...options }));
  const account = await cloud.ask('start');
  return withBroker(bench, (broker) => act({ bench, sonics, cloud, account, broker }));
}

/** It is kept for the next case, since its code is compiled then; what the cases change in it disturbs no other. */
function cloudOf({ clouds }: Bench, options: string): Part<CloudDeeds> {
  const known = clouds.get(options);
  if (known) return known;
  const file = new URL('./cloud.ts', import.meta.url);
  const cloud = startPart<CloudDeeds>('the cloud', file, { args: [options], nodeArgs: typescript });
  clouds.set(options, cloud);
  return cloud;
}

/** A broker of its own for something. */
export async function withBroker<T>(bench: Bench, act: (broker: Broker) => Promise<T>): Promise<T> {
  const broker = await startBroker(bench.newFolder(), bench.broker);
  try {
    return await act(broker);
  } finally {
    await broker.stop();
  }
}

/** Starts the built bridge on the stage. */
export function raiseBridge(
  { bench, account, broker }: Stage,
  options: Partial<BridgeOptions> = {},
): Subject {
  const folder = join(bench.newFolder(), 'bridge');
  const { profileFolder } = bench;
  if (profileFolder !== null) mkdirSync(profileFolder, { recursive: true });
  return startBridge({ account, brokerUrl: broker.url, folder, profileFolder, ...options });
}

/** Resolves once the bridge has shown everything and neither asks nor publishes any more. */
export async function settled(
  { bench, cloud, broker }: Stage,
  subject: Subject,
  quietMs = settledMs.usually,
): Promise<void> {
  const port = portOf(broker);
  const enoughMs = bench.isQuick ? settledMs.quickly : quietMs;
  await waitUntil(
    'everything to be asked and published',
    async () => {
      const { open, lastAtMs } = await cloud.ask('traffic');
      const heardAtMs = lastReceived(await subject.ask('sockets'), port)?.atMs ?? null;
      if (open > 0 || heardAtMs === null) return 'requests are under way';
      return nowMs() - Math.max(heardAtMs, lastAtMs) > enoughMs ? null : 'it is not quiet yet';
    },
    longestMs,
  );
}

/** Resolves once the cloud is not asked any more, for a little while. */
export async function cloudQuiet({ cloud }: Stage, quietMs = 300): Promise<void> {
  await waitUntil(
    'the cloud not to be asked',
    async () => {
      const { open, lastAtMs } = await cloud.ask('traffic');
      return open === 0 && nowMs() - lastAtMs > quietMs ? null : 'requests are under way';
    },
    longestMs,
  );
}

/** The port of a broker, by which its sockets are known. */
export function portOf({ url }: Broker): number {
  return Number(new URL(url).port);
}

/** When something was last received by that port; null if never. */
export function lastReceived(sockets: readonly SocketMarks[], port: number): Mark | null {
  const marks = sockets.flatMap((each) => (each.port === port && each.received ? [each.received] : []));
  return marks.reduce<Mark | null>((last, mark) => (last && last.atMs > mark.atMs ? last : mark), null);
}

/** Lets the bridge start once, to see what it asks and what it leaves on the broker, which is empty again in the end. */
export async function recordScript(stage: Stage): Promise<Script> {
  const { cloud, broker, sonics, bench } = stage;
  bench.say(`${sonics} sonics: what the bridge asks and publishes`);
  await cloud.ask('note');
  const bridge = raiseBridge(stage, { sampleMs, profileFolder: null });
  await settled(stage, bridge);
  const script = await scriptOf(stage);
  await bridge.stop();
  await broker.restart();
  return script;
}

/** What a bridge that was started since the cloud began to note has asked, and what the broker keeps. */
export async function scriptOf({ cloud, broker }: Stage): Promise<Script> {
  const requests = await cloud.ask('noted');
  const paths = requests.flatMap(({ method, path }) => (method === 'GET' ? [path] : []));
  return { paths, messages: inOrder(await retainedOn(broker.url)) };
}

/** Whether the broker keeps as many messages as it should; throws if not. */
export async function mustKeep(broker: Broker, { messages }: Script): Promise<void> {
  const kept = await retainedOn(broker.url);
  if (kept.length === messages.length) return;
  throw new Error(`the broker keeps ${kept.length} messages, not ${messages.length}`);
}

/** Lets the machine come to rest. */
export function rest(): Promise<void> {
  return pause(300);
}
