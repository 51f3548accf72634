import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PollName } from '../../src/polling/pollStatus.ts';
import type { Account } from '../measure/account.ts';
import { type Part, startPart } from '../measure/part.ts';
import { cleanEnvironment, mainFile } from '../measure/program.ts';
import type { Message } from './script.ts';

/** A moment of the machine's clock, and the processor time that a process had used by then; in ms. */
export interface Mark {
  readonly atMs: number;
  readonly cpuMs: number;
}

/** What a socket has done; see gauge.mjs. */
export interface SocketMarks {
  /** Null while it is not connected. */
  readonly port: number | null;
  readonly opened: Mark;
  /** When it first sent and when it last received something. */
  readonly sent: Mark | null;
  readonly received: Mark | null;
}

/** What the gauge in the bridge and in the raw loop answers. */
export interface GaugeDeeds {
  mark(): Mark;
  rss(): number;
  memory(): { readonly rss: number; readonly heapUsed: number };
  sockets(): readonly SocketMarks[];
  lookAway(): void;
  watch(): void;
}

/** A request or message that is to be made again, so many ms from now. */
type Later<What> = What & { readonly inMs: number };

/** The order in which the raw loop asks and publishes everything. */
export type Order = 'one after the other' | 'overlapping';

/** What the raw loop does; see raw.mjs. */
export interface RawDeeds extends GaugeDeeds {
  load(folder: string): void;
  loadedMs(): number;
  signIn(): void;
  connect(): void;
  refresh(order: Order): void;
  request(paths: readonly string[]): void;
  publishAll(): void;
  publish(messages: readonly Message[]): void;
  serveCommands(): void;
  replay(requests: readonly Later<{ path: string }>[], messages: readonly Later<Message>[]): void;
}

/** What is measured: the bridge or the raw loop. */
export type Subject = Part<GaugeDeeds>;

/** How a subject is run. */
export interface Run {
  /** How often its sockets are looked at; they are not unless given. Without a gauge it cannot be asked for anything. */
  readonly sampleMs?: number;
  readonly hasGauge?: boolean;
  /** Where Node writes a profile of it. */
  readonly profileFolder?: string | null;
}

export interface BridgeOptions extends Run {
  readonly account: Account;
  readonly brokerUrl: string;
  readonly folder: string;
  /** Those that differ from never. */
  readonly schedules?: Partial<Record<PollName, string>>;
  /** Whether everything is as it is unless configured, and nothing switched off. */
  readonly isAsUsual?: boolean;
}

/** How long after a command the sonic is read again. */
export const confirmMs = 100;

/** So seldom that it does not happen again. */
const never = '500h';
const neverAny: Record<PollName, string> = {
  properties: never,
  signals: never,
  sonics: never,
  incidents: never,
  telemetry: never,
  usage: never,
  pressure_tests: never,
};

/** What is asked for sonic by sonic, and would make most of any figure. */
const switchedOff = {
  read_telemetry: null,
  read_wifi_telemetry: null,
  read_daily_usage: null,
  read_pressure_tests: null,
};

/** The broker is pinged every quarter of the timeout: less often than what is called quiet. */
const unusualCloud = { max_requests_per_minute: 1_000_000, request_timeout: '60s', routes: switchedOff };

const gauge = new URL('./gauge.mjs', import.meta.url);
const servedGauge = new URL('./servedGauge.mjs', import.meta.url);

const mostLogLines = 40;

/** Of the newest of each kind. */
const logs = new Map<string, readonly string[]>();
process.on('exit', (code) => {
  if (code !== 1) return;
  for (const [name, log] of logs) process.stderr.write(`The log of ${name} ends with:\n${log.join('')}\n`);
});

/** Starts the built bridge. */
export function startBridge(options: BridgeOptions): Subject {
  const { account, brokerUrl, folder, schedules, isAsUsual = false } = options;
  mkdirSync(folder);
  const unusual = {
    schedules: { ...neverAny, ...schedules },
    valve: { confirm_interval: `${confirmMs}ms` },
  };
  const config = {
    cloud: { ...account, ...(!isAsUsual && unusualCloud) },
    mqtt: { url: brokerUrl },
    ...(!isAsUsual && unusual),
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  return startSubject<GaugeDeeds>('the bridge', mainFile, ['run'], folder, options, [gauge, servedGauge]);
}

/** Starts the raw loop, or what is bundled of it. */
export function startRaw(
  folder: string,
  run: Run,
  args: readonly string[] = [],
  file = new URL('./raw.mjs', import.meta.url),
): Part<RawDeeds> {
  return startSubject<RawDeeds>('the raw loop', file, args, folder, run, [gauge]);
}

function startSubject<Deeds>(
  name: string,
  file: URL,
  args: readonly string[],
  cwd: string,
  { sampleMs = 0, hasGauge = true, profileFolder = null }: Run,
  preloads: readonly URL[],
): Part<Deeds> {
  const log: string[] = [];
  logs.set(name, log);
  const imports = preloads.flatMap(({ href }) => ['--import', href]);
  const profile = ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  return startPart<Deeds>(name, file, {
    args,
    nodeArgs: [...(hasGauge ? ['--expose-gc', ...imports] : []), ...(profileFolder === null ? [] : profile)],
    cwd,
    env: { ...cleanEnvironment(), GAUGE_SAMPLE_MS: `${sampleMs}` },
    onSaid: (text) => {
      log.push(text);
      if (log.length > mostLogLines) log.shift();
    },
  });
}
