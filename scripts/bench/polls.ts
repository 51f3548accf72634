import { nowMs } from '../measure/now.ts';
import type { Part } from '../measure/part.ts';
import type { NotedRequest } from './cloud.ts';
import { Listener } from './listener.ts';
import { type Message, writeScript } from './script.ts';
import { type Bench, cloudQuiet, onStage, raiseBridge, type Stage, sampleMs, settled } from './stage.ts';
import { type Mark, type RawDeeds, type Subject, startRaw } from './subjects.ts';

/** What one poll took, in ms, and what came of it. */
export interface Polled {
  /** From the first request to the last answer or message. */
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly messages: number;
}

/** The polls of the bridge, and in turn with them those of the raw loop. */
export interface Polls {
  readonly bridge: readonly Polled[];
  readonly raw: readonly Polled[];
}

/** What goes on around them. */
export interface Polling {
  readonly stage: Stage;
  readonly bridge: Subject;
  readonly raw: Part<RawDeeds>;
  readonly listener: Listener;
}

/** What the bridge did in a poll, for the raw loop to do the same. */
interface Imitable {
  readonly paths: readonly string[];
  readonly messages: readonly Message[];
}

/** What goes on in a poll. */
interface Turn {
  /** Changes something before it. */
  readonly change?: () => Promise<void>;
  /** Resolves once it has begun and the cloud notes what it is asked; the next by the schedules unless given. */
  readonly begin?: (polling: Polling) => Promise<void>;
}

/** So long that the raw loop has its turn between two polls. */
export const periodMsOf = (sonics: number) => (sonics >= 5_000 ? 8_000 : 1_500);
/** Code is compiled, and answers are seen for the first time. */
const warmUps = { usually: 3, quickly: 1 };
/** What a poll has to say is said at once. */
const publishedMs = 200;
const firstPage = '/ape/v1/sonics?page=1';
const refreshTopic = 'sonic2mqtt/bridge/refresh';

/** How the bridge and the raw loop are set up. */
export interface Setting {
  /** The lists that the bridge reads again and again; without any it only does what it is told. */
  readonly lists: readonly ('sonics' | 'incidents')[];
  /** Of the raw loop to the cloud. */
  readonly connections?: number;
}

/** Has a bridge that has shown everything, and beside it a raw loop that waits for its turn. */
export function withBoth<T>(
  bench: Bench,
  sonics: number,
  { lists, connections }: Setting,
  act: (polling: Polling) => Promise<T>,
): Promise<T> {
  return onStage(bench, sonics, async (stage) => {
    const period = `${periodMsOf(sonics)}ms`;
    const schedules = Object.fromEntries(lists.map((list) => [list, period]));
    const bridge = raiseBridge(stage, { schedules, sampleMs });
    // One that polls never keeps quiet for long.
    await settled(stage, bridge, 1_000);
    await bridge.ask('lookAway');
    const listener = await Listener.start(stage.broker.url);
    await listener.quiet();
    const raw = await readyRaw(stage, connections);
    const answer = await act({ stage, bridge, raw, listener });
    await raw.stop();
    await bridge.stop();
    await listener.stop();
    return answer;
  });
}

/** Polls of both in turn, after some that are not counted. */
export async function pollInTurn(polling: Polling, runs: number, turn: Turn = {}): Promise<Polls> {
  const bridge: Polled[] = [];
  const raw: Polled[] = [];
  const { isQuick } = polling.stage.bench;
  for (let run = -(isQuick ? warmUps.quickly : warmUps.usually); run < runs; run++) {
    const { polled, done } = await bridgePoll(polling, turn);
    const imitated = await rawPoll(polling, done);
    if (run < 0) continue;
    bridge.push(polled);
    raw.push(imitated);
  }
  return { bridge, raw };
}

/** What is asked in the next poll by the schedules, once that is over. */
export async function pathsOfPoll(stage: Stage): Promise<string[]> {
  await pollBegins(stage);
  await cloudQuiet(stage);
  return pathsOf(await stage.cloud.ask('noted'));
}

function pathsOf(requests: readonly NotedRequest[]): string[] {
  return requests.flatMap(({ method, path }) => (method === 'GET' ? [path] : []));
}

/** Resolves once the list of sonics begins to be read, which the cloud then notes. */
export async function pollBegins(stage: Stage): Promise<void> {
  await cloudQuiet(stage);
  await stage.cloud.ask('note');
  await stage.cloud.ask('nextRequest', 'GET', firstPage);
}

/** Tells the bridge to poll everything, which it begins at once. */
export async function askedToPoll({ stage: { cloud }, listener }: Polling): Promise<void> {
  await cloud.ask('note');
  const begun = cloud.ask('nextRequest', 'GET', firstPage);
  // An answer means that the cloud looks out for it.
  await cloud.ask('traffic');
  await listener.publish(refreshTopic, 'now');
  await begun;
}

async function bridgePoll(
  polling: Polling,
  { change = async () => {}, begin = ({ stage }) => pollBegins(stage) }: Turn,
): Promise<{ polled: Polled; done: Imitable }> {
  const { stage, bridge, listener } = polling;
  await cloudQuiet(stage);
  await change();
  listener.heard = [];
  const before = await bridge.ask('mark');
  await begin(polling);
  await cloudQuiet(stage);
  await listener.quiet(publishedMs);
  const after = await bridge.ask('mark');
  const heard = listener.heard.filter(({ topic }) => topic !== refreshTopic);
  const requests = await stage.cloud.ask('noted');
  const { lastAtMs } = await stage.cloud.ask('traffic');
  const beganAtMs = requests[0]?.atMs ?? lastAtMs;
  const endMs = Math.max(lastAtMs, heard.at(-1)?.atMs ?? 0);
  const messages = heard.map(({ topic, payload }) => ({ topic, payload }));
  const done = { paths: pathsOf(requests), messages };
  return { polled: polledBetween(before, after, beganAtMs, endMs, messages.length), done };
}

async function rawPoll({ raw, listener }: Polling, { paths, messages }: Imitable): Promise<Polled> {
  const before = await raw.ask('mark');
  const beganAtMs = nowMs();
  await raw.ask('request', paths);
  await raw.ask('publish', messages);
  const endMs = nowMs();
  const after = await raw.ask('mark');
  await listener.quiet(publishedMs);
  return polledBetween(before, after, beganAtMs, endMs, messages.length);
}

function polledBetween(
  before: Mark,
  after: Mark,
  beganAtMs: number,
  endMs: number,
  messages: number,
): Polled {
  return { wallMs: endMs - beganAtMs, cpuMs: after.cpuMs - before.cpuMs, messages };
}

/** A raw loop that is signed in and connected. */
async function readyRaw({ bench, account, broker }: Stage, connections?: number): Promise<Part<RawDeeds>> {
  const folder = bench.newFolder();
  writeScript(folder, { paths: [], messages: [] }, { account, broker, connections });
  const raw = startRaw(folder, {});
  await raw.ask('load', folder);
  await raw.ask('signIn');
  await raw.ask('connect');
  return raw;
}
