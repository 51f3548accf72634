import { nowMs } from '../measure/now.ts';
import type { Part } from '../measure/part.ts';
import { type Heard, Listener } from './listener.ts';
import { writeScript } from './script.ts';
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
  /** The requests of one poll. */
  readonly paths: readonly string[];
}

/** So long that the raw loop has its turn between two polls. */
export const periodMsOf = (sonics: number) => (sonics >= 5_000 ? 8_000 : 1_500);
/** Code is compiled, and answers are seen for the first time. */
const warmUps = { usually: 3, quickly: 1 };
/** What a poll has to say is said at once. */
const publishedMs = 200;
const firstPage = '/ape/v1/sonics?page=1';

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
    const paths = lists.length > 0 ? await pathsOfPoll(stage) : [];
    const listener = await Listener.start(stage.broker.url);
    await listener.quiet();
    const raw = await readyRaw(stage, connections);
    const answer = await act({ stage, bridge, raw, listener, paths });
    await raw.stop();
    await bridge.stop();
    await listener.stop();
    return answer;
  });
}

/** Polls of both in turn, after some that are not counted; before each something may be changed. */
export async function pollInTurn(
  polling: Polling,
  runs: number,
  change: () => Promise<void> = async () => {},
): Promise<Polls> {
  const bridge: Polled[] = [];
  const raw: Polled[] = [];
  const { isQuick } = polling.stage.bench;
  for (let run = -(isQuick ? warmUps.quickly : warmUps.usually); run < runs; run++) {
    await cloudQuiet(polling.stage);
    await change();
    const { polled, heard } = await bridgePoll(polling);
    const imitated = await rawPoll(polling, heard);
    if (run < 0) continue;
    bridge.push(polled);
    raw.push(imitated);
  }
  return { bridge, raw };
}

/** Resolves to what is asked in the next poll once that is over. */
async function pathsOfPoll(stage: Stage): Promise<string[]> {
  await nextPoll(stage);
  return (await stage.cloud.ask('noted')).flatMap(({ method, path }) => (method === 'GET' ? [path] : []));
}

/** Resolves once a poll has begun and ended. */
async function nextPoll(stage: Stage): Promise<void> {
  await pollBegins(stage);
  await cloudQuiet(stage);
}

/** Resolves once the list of sonics begins to be read, which the cloud then notes. */
export async function pollBegins(stage: Stage): Promise<void> {
  await cloudQuiet(stage);
  await stage.cloud.ask('note');
  await stage.cloud.ask('nextRequest', 'GET', firstPage);
}

async function bridgePoll({ stage, bridge, listener }: Polling): Promise<{ polled: Polled; heard: Heard[] }> {
  listener.heard = [];
  const before = await bridge.ask('mark');
  await nextPoll(stage);
  await listener.quiet(publishedMs);
  const after = await bridge.ask('mark');
  const heard = listener.heard;
  const first = (await stage.cloud.ask('noted')).find(({ path }) => path === firstPage);
  const { lastAtMs } = await stage.cloud.ask('traffic');
  const endMs = Math.max(lastAtMs, ...heard.map(({ atMs }) => atMs));
  return { polled: polledBetween(before, after, first?.atMs ?? lastAtMs, endMs, heard.length), heard };
}

async function rawPoll({ raw, listener, paths }: Polling, heard: readonly Heard[]): Promise<Polled> {
  const messages = heard.map(({ topic, payload }) => ({ topic, payload }));
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
