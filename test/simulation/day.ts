import type { OperationName } from '../../src/cloud/operations.ts';
import { parseFault } from '../../src/simulator/faults.ts';
import { between, pick, seededRandom } from '../../src/simulator/random.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { BridgeProcess, type Place } from './bridgeProcess.ts';
import { checkPicture } from './checkpoint.ts';
import { happen } from './life.ts';
import { anOrder } from './people.ts';
import { VirtualBroker } from './virtualBroker.ts';
import type { RequestFault, SeenRequest } from './virtualCloud.ts';
import { VirtualDisk } from './virtualDisk.ts';
import { VirtualTime } from './virtualTime.ts';
import { Watch } from './watch.ts';
import { describe, forecast, type Storm, type Trouble } from './weather.ts';

/** What is simulated. */
export interface DayOptions {
  readonly seed: number;
  /** Virtual hours; troubled and quiet times take turns. */
  readonly hours: number;
  /** Told each line of what happens. */
  readonly onLine?: (line: string) => void;
}

/** What became of it. */
export interface DayReport {
  readonly seed: number;
  readonly violations: readonly string[];
  /** The last lines before the first violation. */
  readonly lastLines: readonly string[];
  readonly troubles: ReadonlyMap<string, number>;
  readonly checks: ReadonlyMap<string, number>;
  readonly requests: number;
  readonly orders: number;
  readonly starts: number;
  /** A digest of all lines: the same seed gives the same. */
  readonly fingerprint: number;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const password = 'the-password-of-the-simulation';
const linesKept = 300;
/** Long enough for each schedule to come round twice, as what is gone must be missed twice, and for every wait. */
const quietMs = 130 * minuteMs;

/** Schedules: few as they are by default, where a day is twenty thousand requests, and many that are asked for less. */
const calm = {
  incidents: '20m',
  sonics: '20m',
  telemetry: '40m',
  signals: '1h',
  usage: '1h',
  pressure_tests: '2h',
};
const patient = {
  incidents: '30m',
  sonics: '12m',
  telemetry: '30m',
  signals: '40m',
  usage: '40m',
  pressure_tests: '1h',
};
const tempers = [{}, ...Array(29).fill(calm), ...Array(20).fill(patient)];

/** Simulates a seed's time of trouble; the same seed gives the same. */
export async function simulateDay({ seed, hours, onLine }: DayOptions): Promise<DayReport> {
  // Streams of their own, so that what one draws leaves the others as they are.
  const random = {
    plan: seededRandom(seed * 8 + 1),
    weather: seededRandom(seed * 8 + 2),
    network: seededRandom(seed * 8 + 3),
    broker: seededRandom(seed * 8 + 4),
    disk: seededRandom(seed * 8 + 5),
    life: seededRandom(seed * 8 + 6),
    people: seededRandom(seed * 8 + 7),
    process: seededRandom(seed * 8 + 8),
  };
  const time = new VirtualTime();
  const epochMs = anEpoch(random.plan);
  const lines: string[] = [];
  let fingerprint = 0;
  const trace = (text: string) => {
    const line = `${new Date(epochMs + time.now).toISOString().slice(5, 23)} ${text}`;
    for (let index = 0; index < line.length; index += 7)
      fingerprint = (fingerprint * 31 + line.charCodeAt(index)) | 0;
    onLine?.(line);
    if (watch.violations.length > 1) return;
    lines.push(line);
    if (lines.length > 2 * linesKept) lines.splice(0, linesKept);
  };

  const worldClock = {
    now: () => epochMs + time.now,
    monotonic: () => time.now,
    after: time.after.bind(time),
  };
  const properties = between(random.plan, 1, 2);
  const simulator = new Simulator({
    seed,
    clock: worldClock,
    quiet: true,
    password,
    properties,
    signals: properties,
    sonics: between(random.plan, 2, 3),
    wifiSonics: between(random.plan, 0, 1),
    pageSize: between(random.plan, 1, 4),
    tokenLifetimeMs: (pick(random.plan, [1, 14, 14 * 24]) ?? 14) * 60 * minuteMs,
  });
  const watch = new Watch(
    {
      requestTimeoutMs: 10 * secondMs,
      maxConcurrency: 4,
      password,
      canRemember: () => disk.fault === null || disk.fault === 'slow',
    },
    () => time.now,
    () => simulator.world,
    trace,
  );
  const broker = new VirtualBroker(time, random.broker, watch.broker);
  const disk = new VirtualDisk(random.disk);
  const config = {
    cloud: { password },
    mqtt: { protocol_version: pick(random.plan, [4, 5]) },
    schedules: { ...pick(random.plan, tempers) },
  };
  const inForce = new Set<Trouble>();
  const place: Place = {
    time,
    random: random.process,
    epochMs,
    simulator,
    broker,
    disk,
    strike: (request) => strike(inForce, request, random.network),
    tap: watch.cloud,
    logged: (line) => watch.logged(line),
    config,
  };
  const bridge = new BridgeProcess(place);
  const troubles = new Map<string, number>();
  let orders = 0;
  let isTroubled = true;

  const start = () => {
    if (bridge.isRunning) return;
    trace('** the bridge starts');
    watch.runBegan();
    bridge.start();
  };
  const startLater = () =>
    time.after((random.weather() < 0.7 ? 10 : 300) * secondMs * random.weather(), start);

  const begin = (trouble: Trouble) => {
    trace(`** ${describe(trouble)} begins`);
    troubles.set(describe(trouble), (troubles.get(describe(trouble)) ?? 0) + 1);
    if (trouble.at === 'cloud') inForce.add(trouble);
    else if (trouble.at === 'lists') simulator.setFaults([faultOf(trouble.fault)]);
    else if (trouble.at === 'session') {
      if (trouble.fault === 'expired') simulator.expireTokens();
      else if (trouble.fault === 'revoked') simulator.setPassword(password);
      else simulator.rejectPassword();
    } else if (trouble.at === 'broker') {
      if (trouble.fault === 'cut' || trouble.fault === 'taken-over') broker.cut(trouble.fault);
      else if (trouble.fault === 'restart') broker.restart(pick(random.weather, [0, 0.5, 1]) ?? 0);
      else if (trouble.fault === 'partial') {
        broker.shownShare = 0.5;
        broker.cut();
      } else {
        broker.fault = trouble.fault;
        if (trouble.fault === 'away' || trouble.fault === 'subscriptions-refused') broker.cut();
      }
    } else if (trouble.at === 'disk') disk.fault = trouble.fault;
    else if (trouble.at === 'clock') bridge.wallErrorMs = (trouble.fault === 'ahead' ? 60 : -60) * minuteMs;
    else if (trouble.fault === 'killed') {
      bridge.kill();
      startLater();
    } else {
      bridge.stop((tookMs) => {
        if (tookMs === null) watch.violated('the bridge has not stopped within five seconds');
        watch.counted('the bridge stops in time');
        startLater();
      });
    }
  };
  const end = (trouble: Trouble) => {
    trace(`** ${describe(trouble)} ends`);
    if (trouble.at === 'cloud') inForce.delete(trouble);
    else if (trouble.at === 'lists') simulator.setFaults([]);
    else if (trouble.at === 'session' && trouble.fault === 'rejected') simulator.setPassword(password);
    else if (trouble.at === 'broker') {
      broker.fault = null;
      broker.shownShare = 1;
    } else if (trouble.at === 'disk') disk.fault = null;
    else if (trouble.at === 'clock') bridge.wallErrorMs = 0;
  };
  const schedule = ({ trouble, startMs, durationMs }: Storm) => {
    time.after(startMs - time.now, () => begin(trouble));
    time.after(startMs + durationMs - time.now, () => end(trouble));
  };

  const live = () => {
    time.after(between(random.life, 5, 1_500) * secondMs, () => {
      if (isTroubled) {
        trace(`** ${happen(simulator.world, random.life)}`);
        watch.worldChanged();
      }
      live();
    });
  };
  const speak = () => {
    const isBurst = random.people() < 0.3;
    time.after(isBurst ? 3 * secondMs * random.people() : between(random.people, 5, 2_400) * secondMs, () => {
      if (isTroubled) {
        const order = anOrder(simulator.world, random.people, ++orders);
        watch.ordered(order);
        trace(
          `** somebody publishes ${order.topic} ${order.payload}${order.isRetained ? ' (retained)' : ''}`,
        );
        broker.publish(order.topic, order.payload, order.isRetained === true, random.people() < 0.1 ? 2 : 1);
      }
      speak();
    });
  };
  const look = () => {
    time.after(10 * secondMs, () => {
      watch.checkOutcomes();
      watch.checkLoad(bridge.load);
      look();
    });
  };

  watch.worldChanged();
  start();
  live();
  speak();
  look();
  const rounds = Math.max(1, Math.round((hours * 60 * minuteMs) / (4 * quietMs)));
  const roundMs = (hours * 60 * minuteMs) / rounds;
  const deadline = () => watch.violations.length > 0;
  for (let round = 0; round < rounds && !deadline(); round++) {
    const startMs = round * roundMs;
    const quietAt = startMs + roundMs - quietMs;
    for (const storm of forecast(random.weather, startMs, quietAt)) schedule(storm);
    isTroubled = true;
    for (let at = startMs; at < quietAt && !deadline(); at += minuteMs)
      await time.runUntil(Math.min(at + minuteMs, quietAt));
    trace('** quiet');
    isTroubled = false;
    settle(simulator, broker);
    watch.worldChanged();
    for (let at = quietAt; at < quietAt + quietMs && !deadline(); at += minuteMs) {
      await time.runUntil(Math.min(at + minuteMs, quietAt + quietMs));
      if (!bridge.isRunning) start();
    }
    if (!deadline()) await checkPicture(place, watch, trace);
  }
  bridge.kill();
  return {
    seed,
    violations: watch.violations,
    lastLines: lines.slice(-linesKept),
    troubles,
    checks: watch.checks,
    requests: watch.requests,
    orders,
    starts: bridge.runs,
    fingerprint,
  };
}

/** Nobody holds a valve any longer, and nothing is left behind that will begin by itself. */
function settle(simulator: Simulator, broker: VirtualBroker): void {
  simulator.setFaults([]);
  const { world } = simulator;
  for (const id of world.signals.ids) world.connectCloud(id);
  for (const id of world.thingIds) world.connectRadio(id);
  broker.fault = null;
  broker.shownShare = 1;
  // A broker that once showed only a part is read again with the next connection.
  broker.cut();
}

/** Days on which calendars are interesting, and others. */
function anEpoch(random: () => number): number {
  const days = [
    ...['2026-01-31', '2026-02-28', '2026-03-28', '2026-03-31', '2026-04-30', '2026-06-15'],
    ...['2026-10-24', '2026-10-31', '2026-11-30', '2026-12-31', '2028-02-28', '2028-02-29'],
  ];
  return Date.parse(`${pick(random, days)}T00:00:00Z`) + between(random, 0, 86_399) * secondMs;
}

function strike(
  inForce: ReadonlySet<Trouble>,
  { operation, method }: SeenRequest,
  random: () => number,
): RequestFault | null {
  for (const trouble of inForce) {
    if (trouble.at !== 'cloud') continue;
    const { whom } = trouble;
    if (whom === 'changes' && method === 'GET') continue;
    if (whom === 'some' && lengthOf(operation) % 3 !== 0) continue;
    if (trouble.share === 1 || random() < trouble.share) return trouble.fault;
  }
  return null;
}

function lengthOf(operation: OperationName | null): number {
  return operation?.length ?? 0;
}

function faultOf(text: string) {
  const read = parseFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}
