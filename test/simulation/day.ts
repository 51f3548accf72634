import { configSchema } from '../../src/config/schema.ts';
import { between, pick, seededRandom } from '../../src/simulator/random.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { type Bounds, boundsOf, slackMs } from '../oracle/bounds.ts';
import { isSelected } from '../oracle/leakJudge.ts';
import { Oracle } from '../oracle/oracle.ts';
import { type BridgeEnvironment, BridgeProcess, bridgeConfig } from './bridgeProcess.ts';
import { checkSettledState } from './checkpoint.ts';
import { Observer } from './observer.ts';
import { type Order, randomOrder } from './orders.ts';
import { aCacheTrouble } from './routeFaults.ts';
import { describeTrouble, kindOf, type PlannedTrouble, planTroubles, type Trouble } from './troublePlan.ts';
import { Troubles } from './troubles.ts';
import { type BrokerTap, VirtualBroker } from './virtualBroker.ts';
import type { CloudTap } from './virtualCloud.ts';
import { VirtualDisk } from './virtualDisk.ts';
import { VirtualTime } from './virtualTime.ts';
import { applyRandomEvent } from './worldEvents.ts';

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

/** From this seed on there are caches before the cloud. The days before it stay as they were when they were judged bad. */
export const firstSeedWithCaches = 100_000;

/** Schedules: few as they are by default, where a day is twenty thousand requests, and many that are asked for less. */
const rare = {
  incidents: '20m',
  sonics: '20m',
  telemetry: '30m',
  signals: '30m',
  usage: '30m',
  pressure_tests: '30m',
  properties: '30m',
};
const rareIncidents = { ...rare, incidents: '30m', sonics: '12m' };
const scheduleChoices = [{}, ...Array(29).fill(rare), ...Array(20).fill(rareIncidents)];

/** Long enough for each schedule to come round twice, as what is gone must be missed twice, and for every wait. */
function quietMsOf(bounds: Bounds): number {
  return Math.max(...Object.values(bounds.maxAgeMs)) - slackMs + 10 * minuteMs;
}

/** Until when a list of devices that the cloud has told to wait an hour for may not be read; it is not a vital one. */
function unreadUntil({ trouble, startMs, durationMs }: PlannedTrouble): number {
  const isLong = trouble.at === 'route' && trouble.fault.endsWith('-hour');
  const isOfDevices = isLong && /^list_(properties|signals|property_signals)$/.test(trouble.operation);
  return isOfDevices ? startMs + durationMs + 60 * minuteMs : 0;
}

/** Simulates a seed's time of trouble; the same seed gives the same. */
export async function simulateDay({ seed, hours, onLine }: DayOptions): Promise<DayReport> {
  // Streams of their own, so that what one draws leaves the others as they are.
  const random = {
    plan: seededRandom(seed * 8 + 1),
    troubles: seededRandom(seed * 8 + 2),
    network: seededRandom(seed * 8 + 3),
    broker: seededRandom(seed * 8 + 4),
    disk: seededRandom(seed * 8 + 5),
    events: seededRandom(seed * 8 + 6),
    people: seededRandom(seed * 8 + 7),
    process: seededRandom(seed * 8 + 8),
    caches: seededRandom(-seed),
  };
  const time = new VirtualTime();
  const epochMs = randomStart(random.plan);
  const lines: string[] = [];
  let fingerprint = 0;
  const trace = (text: string) => {
    const line = `${new Date(epochMs + time.now).toISOString().slice(5, 23)} ${text}`;
    for (let index = 0; index < line.length; index += 7)
      fingerprint = (fingerprint * 31 + line.charCodeAt(index)) | 0;
    onLine?.(line);
    if (observer.violations.length + (oracle?.violations.length ?? 0) > 1) return;
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
  const observer = new Observer(
    {
      requestTimeoutMs: 10 * secondMs,
      maxConcurrency: 4,
      password,
      isSelected: (id) => {
        const { world } = simulator;
        const incident = world.incidents.get(id);
        // To which of several properties a sonic on Wi-Fi belongs nobody can tell, and that there are several, or are
        // no longer, is known only from lists that are read more rarely.
        const isNowhere = world.wifiSonics.has(incident?.sonic_id ?? id);
        if (selection.length > 0 && (isNowhere || oracle.hasMoved(incident?.sonic_id ?? id))) return false;
        return isSelected(
          world,
          incident ? world.propertyOfIncident(incident) : world.propertyOf(id),
          selection,
        );
      },
      canRemember: () => disk.fault === null || disk.fault === 'slow',
      isTruthful: () => seed < firstSeedWithCaches || !oracle.isMisled('incidents'),
      showsRetained: () => !broker.isFlagLost,
      mayChangeUnasked: (request) => oracle.pauses.mayTurnOn(request),
    },
    () => time.now,
    () => simulator.world,
    trace,
  );
  const disk = new VirtualDisk(random.disk);
  const [home] = simulator.world.properties.values();
  // Some name their property, which may be called something else later.
  const selection =
    home && random.plan() < 0.15 ? [random.plan() < 0.7 ? (home.name ?? home.id) : home.id] : [];
  const config = {
    cloud: { password },
    mqtt: { protocol_version: pick(random.plan, [4, 5]) },
    schedules: { ...pick(random.plan, scheduleChoices) },
    filters: { properties: selection },
  };
  const bounds = boundsOf(configSchema.parse(bridgeConfig(config)));
  const quietMs = quietMsOf(bounds);
  const broker: VirtualBroker = new VirtualBroker(
    time,
    random.broker,
    bothBrokerTaps(observer.broker, () => ({
      ...oracle.broker,
      delivered: (topic, payload, isRetained, publishedAt) => {
        oracle.broker.delivered(topic, payload, isRetained, publishedAt);
        if (publishedAt !== null && /\/(set|start)$|\/request\//.test(topic)) troubles.commandDelivered();
      },
    })),
  );
  const oracle: Oracle = new Oracle({
    ...{ time, epochMs, simulator, trace },
    retained: broker.retained,
    bounds,
  });
  // A clock may be set wrong by so much (`troubles.ts`).
  oracle.wallErrorMs = 60 * 60 * secondMs;
  oracle.canRemember = () => disk.fault === null || disk.fault === 'slow';
  oracle.showsRetained = () => !broker.isFlagLost && broker.shownShare === 1;
  const environment: BridgeEnvironment = {
    time,
    random: random.process,
    epochMs,
    simulator,
    broker,
    disk,
    strike: (request) => {
      oracle.asked(request);
      return troubles.strike(request, random.network);
    },
    tap: bothCloudTaps(observer.cloud, oracle.cloud),
    onStart: () => oracle.runBegan(),
    onEnd: () => oracle.runEnded(),
    logged: (line) => observer.logged(line),
    config,
  };
  const bridge = new BridgeProcess(environment);
  const troubleCounts = new Map<string, number>();
  let orders = 0;
  let isTroubled = true;

  const start = () => {
    if (bridge.isRunning) return;
    if (bridge.machine.isAsleep) {
      startLater();
      return;
    }
    trace('** the bridge starts');
    observer.runBegan();
    bridge.start();
  };
  const startLater = () =>
    time.after((random.troubles() < 0.7 ? 10 : 300) * secondMs * random.troubles(), start);

  const troubles = new Troubles({
    ...{ environment, bridge, oracle, observer, password },
    random: random.troubles,
    startLater,
    publish: (order) => publish(order),
  });
  const begin = (trouble: Trouble) => {
    trace(`** ${describeTrouble(trouble)} begins`);
    const name = kindOf(trouble);
    troubleCounts.set(name, (troubleCounts.get(name) ?? 0) + 1);
    troubles.begin(trouble);
  };
  const end = (trouble: Trouble) => {
    trace(`** ${describeTrouble(trouble)} ends`);
    troubles.end(trouble);
  };
  const schedule = ({ trouble, startMs, durationMs }: PlannedTrouble) => {
    time.after(startMs - time.now, () => begin(trouble));
    time.after(startMs + durationMs - time.now, () => end(trouble));
  };

  const publish = (order: Order) => {
    observer.addOrder(order);
    trace(`** somebody publishes ${order.topic} ${order.payload}${order.isRetained ? ' (retained)' : ''}`);
    broker.publish(order.topic, order.payload, order.isRetained === true, random.people() < 0.1 ? 2 : 1);
  };
  const scheduleEvents = () => {
    time.after(between(random.events, 5, 1_500) * secondMs, () => {
      if (isTroubled) {
        trace(`** ${applyRandomEvent(simulator.world, random.events)}`);
        observer.worldChanged();
      }
      scheduleEvents();
    });
  };
  const scheduleOrders = () => {
    const isBurst = random.people() < 0.3;
    time.after(isBurst ? 3 * secondMs * random.people() : between(random.people, 5, 2_400) * secondMs, () => {
      if (isTroubled) {
        publish(randomOrder(simulator.world, random.people, ++orders));
      }
      scheduleOrders();
    });
  };
  const scheduleChecks = () => {
    time.after(10 * secondMs, () => {
      observer.checkOutcomes();
      observer.checkLoad(bridge.load);
      scheduleChecks();
    });
  };

  observer.worldChanged();
  start();
  scheduleEvents();
  scheduleOrders();
  scheduleChecks();
  const rounds = Math.max(1, Math.round((hours * 60 * minuteMs) / (4 * quietMs)));
  const roundMs = (hours * 60 * minuteMs) / rounds;
  let addedMs = 0;
  const hasFailed = () => observer.violations.length + oracle.violations.length > 0;
  for (let round = 0; round < rounds && !hasFailed(); round++) {
    const startMs = round * roundMs + addedMs;
    const quietAt = startMs + roundMs - quietMs;
    const planned = planTroubles(random.troubles, startMs, quietAt);
    for (const each of planned) schedule(each);
    if (seed >= firstSeedWithCaches)
      for (const each of planTroubles(random.caches, startMs, quietAt, [aCacheTrouble])) schedule(each);
    isTroubled = true;
    for (let at = startMs; at < quietAt && !hasFailed(); at += minuteMs)
      await time.runUntil(Math.min(at + minuteMs, quietAt));
    trace('** quiet');
    isTroubled = false;
    troubles.settle();
    observer.worldChanged();
    // It is quiet for a machine that still sleeps once it wakes, and for a list that waits once it is read.
    const quietFrom = Math.max(quietAt, bridge.machine.wakesAt, ...planned.map(unreadUntil));
    addedMs += quietFrom - quietAt;
    const quietUntil = quietFrom + quietMs;
    for (let at = quietAt; at < quietUntil && !hasFailed(); at += minuteMs) {
      await time.runUntil(Math.min(at + minuteMs, quietUntil));
      if (!bridge.isRunning) start();
    }
    if (!hasFailed()) await checkSettledState(environment, observer, oracle, selection);
  }
  troubles.settle();
  bridge.kill();
  return {
    seed,
    violations: [...observer.violations, ...oracle.violations],
    lastLines: lines.slice(-linesKept),
    troubles: troubleCounts,
    checks: new Map([...observer.checks, ...oracle.checks]),
    requests: observer.requests,
    orders,
    starts: bridge.runs,
    fingerprint,
  };
}

function bothCloudTaps(one: CloudTap, other: CloudTap): CloudTap {
  return {
    sent: (request) => both(one.sent, other.sent)(request),
    processed: (request, answer) => both(one.processed, other.processed)(request, answer),
    answered: (request, answer) => both(one.answered, other.answered)(request, answer),
    truncated: (request, status) => both(one.truncated, other.truncated)(request, status),
    ended: (request) => both(one.ended, other.ended)(request),
  };
}

function bothBrokerTaps(one: BrokerTap, other: () => BrokerTap): BrokerTap {
  return {
    handedOver: (...message) => both(one.handedOver, other().handedOver)(...message),
    taken: (...message) => both(one.taken, other().taken)(...message),
    delivered: (...message) => both(one.delivered, other().delivered)(...message),
    deliveredToOther: (...message) => other().deliveredToOther?.(...message),
    linked: (isLinked) => both(one.linked, other().linked)(isLinked),
    refused: (...message) => both(one.refused, other().refused)(...message),
  };
}

function both<Told extends readonly unknown[]>(
  one: ((...told: Told) => void) | undefined,
  other: ((...told: Told) => void) | undefined,
): (...told: Told) => void {
  return (...told) => {
    one?.(...told);
    other?.(...told);
  };
}

/** Days on which calendars are interesting, and others. */
function randomStart(random: () => number): number {
  const days = [
    ...['2026-01-31', '2026-02-28', '2026-03-28', '2026-03-31', '2026-04-30', '2026-06-15'],
    ...['2026-10-24', '2026-10-31', '2026-11-30', '2026-12-31', '2028-02-28', '2028-02-29'],
  ];
  return Date.parse(`${pick(random, days)}T00:00:00Z`) + between(random, 0, 86_399) * secondMs;
}
