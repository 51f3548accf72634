import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { byPoll, type PollName } from '../../src/model/polls.ts';
import { type Broker, startBroker } from '../measure/broker.ts';
import { mainFile, type Part, startPart, typescript } from '../measure/part.ts';
import { nowMs, waitUntil } from '../measure/time.ts';
import type { CloudFunctions, CloudOptions } from './cloud.ts';
import type { Figure } from './figures.ts';
import { Listener } from './listener.ts';

/** Something that an owner waits or pays for. */
export interface Story {
  readonly name: string;
  /** It is measured with each of these numbers of sonics, unless the options give others. */
  readonly sizes: readonly number[];
  readonly run: (bench: Bench, sonics: number, isLargest: boolean) => Promise<readonly Figure[]>;
}

/** What all stories are given. */
export interface Bench {
  /** How often each figure is measured. */
  readonly runs: number;
  /** Whether the benchmark itself is tested, and the figures do not matter. */
  readonly isQuick: boolean;
  /** Where profiles of the bridge are written. */
  readonly profileFolder: string | null;
  /** A new folder. */
  readonly newFolder: () => string;
  readonly say: (words: string) => void;
}

/** The cloud and two brokers, each a process of its own. The bridge does not hear what the raw loop publishes. */
export interface Stage {
  readonly bench: Bench;
  readonly sonics: number;
  readonly cloud: Part<CloudFunctions>;
  readonly account: object;
  readonly broker: Broker;
  readonly rawBroker: Broker;
}

/** What the gauge answers, in the bridge and in the raw loop; see gauge.mjs. */
interface Gauge {
  mark(): { readonly atMs: number; readonly cpuMs: number };
  watch(): void;
  work(): (Work & { readonly endMs: number }) | null;
}

/** What was done, from the first bytes sent to the last bytes received. */
export interface Work {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly sentBytes: number;
}

/** In which order the raw loop requests and publishes; `idle`, it then goes on as a program that has nothing to do. */
export type Order = 'one after the other' | 'overlapping' | 'idle';

/** What else the raw loop answers; see raw.mjs. */
interface RawFunctions extends Gauge {
  load(folder: string): void;
  signIn(): void;
  connect(): void;
  run(order: Order): void;
  refresh(order: Order): void;
  serveCommands(): void;
}

/** The bridge or the raw loop. */
export type Subject = Part<Gauge>;
export type Raw = Part<RawFunctions>;

interface Message {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
}

/** What the bridge has requested and published, for the raw loop to do the same. */
export interface Script {
  readonly paths: readonly string[];
  readonly messages: readonly Message[];
}

export const emptyScript: Script = { paths: [], messages: [] };

export interface BridgeOptions {
  /** The polls that are repeated. The others are made once at the start. */
  readonly schedules?: Partial<Record<PollName, string>>;
  /** A sonic is read again this long after a command. */
  readonly confirmMs?: number;
  /** Whether measurements, water use and pressure tests are read, sonic by sonic. */
  readonly readsDetails?: boolean;
  /** Whether all options have their defaults. */
  readonly isAsUsual?: boolean;
  /** Whether its work can be measured from inside. */
  readonly hasGauge?: boolean;
}

const never = '500h';
const neverAny = byPoll(() => never);

/** Nothing is limited. */
const unlimited = { max_requests_per_minute: 1_000_000, request_timeout: '60s' };
/** What is read sonic by sonic would make up most of any other figure. */
const noDetails = {
  read_telemetry: null,
  read_wifi_telemetry: null,
  read_daily_usage: null,
  read_pressure_tests: null,
};

const longestMs = 600_000;
const gauge = new URL('./gauge.mjs', import.meta.url);
const rawFile = new URL('./raw.mjs', import.meta.url);

/** The end of the newest log of each kind of process, which is shown if something fails. */
const logs = new Map<string, string>();
const mostOfLog = 4_000;
process.on('exit', (code) => {
  if (code !== 1) return;
  for (const [name, log] of logs) process.stderr.write(`The log of ${name} ends with:\n${log}\n`);
});

/** Lets something happen between a cloud and brokers of its own. */
export async function onStage<T>(
  bench: Bench,
  options: CloudOptions,
  act: (stage: Stage) => Promise<T>,
): Promise<T> {
  const file = new URL('./cloud.ts', import.meta.url);
  const args = [JSON.stringify(options)];
  const cloud = startPart<CloudFunctions>('the cloud', file, { args, nodeArgs: typescript });
  const account = await cloud.ask('start');
  const broker = await startBroker(bench.newFolder());
  const rawBroker = await startBroker(bench.newFolder());
  const answer = await act({ bench, sonics: options.sonics, cloud, account, broker, rawBroker });
  await Promise.all([broker.stop(), rawBroker.stop(), cloud.stop()]);
  return answer;
}

/** Starts the built bridge. */
export function startBridge({ bench, account, broker }: Stage, options: BridgeOptions = {}): Subject {
  const { schedules, confirmMs = 100, readsDetails = false, isAsUsual = false, hasGauge = true } = options;
  const folder = bench.newFolder();
  const config = {
    cloud: { ...account, ...(!isAsUsual && { ...unlimited, routes: readsDetails ? {} : noDetails }) },
    mqtt: { url: broker.url },
    ...(!isAsUsual && {
      schedules: { ...neverAny, ...schedules },
      valve: { confirm_interval: `${confirmMs}ms` },
    }),
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  const isProfiled = hasGauge && bench.profileFolder !== null;
  return startSubject('the bridge', mainFile, ['run'], folder, hasGauge, [
    ...(isProfiled ? ['--cpu-prof', `--cpu-prof-dir=${bench.profileFolder}`] : []),
  ]);
}

/** Starts the raw loop with a written script. With an order it does everything at once, and has no gauge. */
export async function startRaw(
  folder: string,
  { order, file = rawFile }: { readonly order?: Order; readonly file?: URL } = {},
): Promise<Raw> {
  const args = order === undefined ? [] : [folder, order];
  const raw = startSubject<RawFunctions>('the raw loop', file, args, folder, order === undefined, []);
  if (order === undefined) await raw.ask('load', folder);
  return raw;
}

function startSubject<Functions>(
  name: string,
  file: URL,
  args: readonly string[],
  cwd: string,
  hasGauge: boolean,
  nodeArgs: readonly string[],
): Part<Functions> {
  logs.set(name, '');
  return startPart<Functions>(name, file, {
    args,
    nodeArgs: [...nodeArgs, ...(hasGauge ? ['--import', gauge.href] : [])],
    cwd,
    onSaid: (text) => void logs.set(name, (logs.get(name) + text).slice(-mostOfLog)),
  });
}

/** Writes a script as raw.mjs reads it; resolves to its folder. */
export function writeScript(
  { bench, account, rawBroker }: Stage,
  { paths, messages }: Script,
  command?: object,
): string {
  const folder = bench.newFolder();
  const heads = messages.map(({ topic, retain, payload }) => ({ topic, retain, length: payload.length }));
  const script = { account, brokerUrl: rawBroker.url, paths, messages: heads, command };
  writeFileSync(join(folder, 'script.json'), JSON.stringify(script));
  writeFileSync(join(folder, 'payloads'), Buffer.concat(messages.map(({ payload }) => payload)));
  return folder;
}

/** The raw loop with its packages in one file, as the bridge is built. */
export async function bundledRaw(bench: Bench): Promise<URL> {
  const bundle = await rolldown({ input: fileURLToPath(rawFile), platform: 'node', logLevel: 'silent' });
  const file = join(bench.newFolder(), 'raw.mjs');
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  await bundle.close();
  return pathToFileURL(file);
}

/** Resolves to what was done since `watch`, once nothing more is done for a while. */
export async function workOf({ cloud }: Stage, subject: Subject, quietMs = 1_500): Promise<Work> {
  await waitUntil(
    'everything to be requested and published',
    async () => {
      const { open } = await cloud.ask('traffic');
      const work = await subject.ask('work');
      if (open > 0 || work === null) return 'requests are under way';
      return nowMs() - work.endMs > quietMs ? null : 'it is not quiet yet';
    },
    longestMs,
  );
  const work = await subject.ask('work');
  if (work === null) throw new Error('nothing was done');
  return work;
}

/** Resolves when the list of sonics begins to be read, so that the work since then is that of the list. */
export async function listBegins({ cloud }: Stage, bridge: Subject): Promise<Subject> {
  await bridge.ask('watch');
  await cloud.ask('nextRequest', 'GET', '/ape/v1/sonics?page=1');
  return bridge;
}

/** What the bridge did, and how many messages it published for that. */
interface Recorded {
  readonly bridge: Subject;
  readonly script: Script;
  readonly published: number;
}

/** Lets the bridge do something, and writes down what it requests and what it leaves on the broker. */
export async function record(
  stage: Stage,
  act: () => Subject | Promise<Subject>,
  // The longest pause is before a second discovery message.
  quietMs = stage.bench.isQuick ? 1_500 : 4_000,
): Promise<Recorded> {
  const { cloud, broker } = stage;
  const listener = await Listener.start(broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
  await cloud.ask('note');
  const bridge = await act();
  await workOf(stage, bridge, quietMs);
  const noted = await cloud.ask('noted');
  await listener.stop();
  const paths = noted.flatMap(({ method, path }) => (method === 'GET' ? [path] : []));
  // Of each topic only the last message is needed.
  const messages = new Map<string, Message>();
  for (const message of listener.heard) {
    if (!message.retain) continue;
    messages.delete(message.topic);
    messages.set(message.topic, message);
  }
  if (paths.length === 0 && messages.size === 0) throw new Error('the bridge has done nothing');
  const script = { paths, messages: [...messages.values()] };
  return { bridge, script, published: listener.heard.length };
}
