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
import {
  describeTrouble,
  kindOf,
  type PlannedTrouble,
  planSingleTroubles,
  planTroubles,
  type Trouble,
} from './troublePlan.ts';
import { Troubles } from './troubles.ts';
import { type BrokerTap, VirtualBroker } from './virtualBroker.ts';
import type { CloudTap } from './virtualCloud.ts';
import { VirtualDisk } from './virtualDisk.ts';
import { VirtualTime } from './virtualTime.ts';
import { applyRandomEvent } from './worldEvents.ts';

export interface DayOptions {
  readonly seed: number;
  /** How many hours to simulate. Times with faults and quiet times take turns. */
  readonly hours: number;
  /** Called with each line of the trace. */
  readonly onLine?: (line: string) => void;
}

/** The result of a simulated day. */
export interface DayReport {
  readonly seed: number;
  readonly violations: readonly string[];
  /** The last lines of the trace before the first violation. */
  readonly lastLines: readonly string[];
  readonly troubles: ReadonlyMap<string, number>;
  readonly checks: ReadonlyMap<string, number>;
  readonly requests: number;
  readonly orders: number;
  readonly starts: number;
  /** A hash of the trace. The same seed gives the same hash. */
  readonly fingerprint: number;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const password = 'the-password-of-the-simulation';
const linesKept = 300;

/** In quiet times, what a list shows is on the broker so many ms later. */
const promptMs = 5_000;

/** In every fourth day faults come one at a time, as in a home, and the vital lists are read as often as there. Every fourth has caches in front of the cloud besides. */
const kindsOfDays = ['many', 'single', 'many', 'caches'] as const;

/**
 * Schedules of the bridge. Only a few days have the default ones, with which a day takes 20,000 requests. The
 * other days ask less often, so that more days can be simulated.
 */
const rare = {
  incidents: '20m',
  sonics: '20m',
  telemetry: '30m',
  signals: '30m',
  usage: '30m',
  pressure_tests: '30m',
  properties: '30m',
};
const rareIncidents = { ...rare, sonics: '8m' };
const vital = { incidents: '30s', sonics: '60s' };
const scheduleChoices = [{}, ...Array(29).fill(rare), ...Array(20).fill(rareIncidents)];

/**
 * The length of a quiet time. Each schedule must run twice, because a device is removed only after two lists
 * without it, and every wait must end. Three lists must be without an incident that cannot be read by itself.
 */
function quietMsOf({ maxAgeMs, maxGapMs }: Bounds): number {
  const twiceMs = Math.max(...Object.values(maxAgeMs)) - slackMs;
  return Math.max(twiceMs, 3 * maxGapMs.incidents) + 10 * minuteMs;
}

/**
 * A list of devices is not vital. If the cloud asks to wait an hour for it, it may stay unread until then.
 */
function unreadUntil({ trouble, startMs, durationMs }: PlannedTrouble): number {
  const isLong = trouble.at === 'route' && trouble.fault.endsWith('-hour');
  const isOfDevices = isLong && /^list_(properties|signals|property_signals)$/.test(trouble.operation);
  return isOfDevices ? startMs + durationMs + 60 * minuteMs : 0;
}

/**
 * A simulated day runs the whole bridge for hours of virtual time, which pass in seconds. Around it are a
 * simulated cloud, and a broker, a network, a disk and a clock in memory (the `virtual*.ts` files). Three
 * things happen at random: events in the cloud (`worldEvents.ts`), commands and other messages of clients
 * (`orders.ts`), and faults, called troubles (`troublePlan.ts` plans them, `troubles.ts` carries them out).
 *
 * Meanwhile the oracle (test/oracle) and an `Observer` judge the bridge. After each time with faults comes a
 * quiet time, and then `checkpoint.ts` compares the broker with the cloud. Each random choice comes from the
 * seed, so the same seed gives exactly the same day.
 */
export async function simulateDay({ seed, hours, onLine }: DayOptions): Promise<DayReport> {
  const kind = kindsOfDays[seed % kindsOfDays.length] ?? 'many';
  // Each part has its own random numbers, so that a change in one part does not change the others.
  const random = {
    plan: seededRandom(seed * 8 + 1),
    troubles: seededRandom(seed * 8 + 2),
    network: seededRandom(seed * 8 + 3),
    broker: seededRandom(seed * 8 + 4),
    disk: seededRandom(seed * 8 + 5),
    events: seededRandom(seed * 8 + 6),
    orders: seededRandom(seed * 8 + 7),
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
      maxRequestsPerMinute: 300,
      password,
      isSelected: (id) => {
        const { world } = simulator;
        const incident = world.incidents.get(id);
        // Nobody can tell to which of several properties a sonic on Wi-Fi belongs. The bridge learns how many
        // properties there are only from lists that it reads less often.
        const isNowhere = world.wifiSonics.has(incident?.sonic_id ?? id);
        if (selection.length > 0 && (isNowhere || oracle.hasMoved(incident?.sonic_id ?? id))) return false;
        return isSelected(
          world,
          incident ? world.propertyOfIncident(incident) : world.propertyOf(id),
          selection,
        );
      },
      canRemember: () => disk.memory === 'kept',
      isTruthful: () => kind !== 'caches' || !oracle.isMisled('incidents'),
      isOnBroker: (id) => !broker.isFlagLost && broker.retained.has(`sonic2mqtt/incident/${id}`),
      mayChangeUnasked: (request) => oracle.pauses.mayTurnOn(request),
    },
    () => time.now,
    () => simulator.world,
    trace,
  );
  const disk = new VirtualDisk(random.disk);
  const [property] = simulator.world.properties.values();
  // Some configurations select the property by its name, which may change later.
  const selection =
    property && random.plan() < 0.15
      ? [random.plan() < 0.7 ? (property.name ?? property.id) : property.id]
      : [];
  const config = {
    cloud: { password },
    mqtt: { protocol_version: pick(random.plan, [4, 5]) },
    schedules: { ...pick(random.plan, scheduleChoices), ...(kind === 'single' && vital) },
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
  // The largest error that `troubles.ts` gives to the clock.
  oracle.wallErrorMs = 60 * 60 * secondMs;
  oracle.memory = () => disk.memory;
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
      observer.asked(request);
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
    void bridge.shown.then(() => disk.found());
  };
  const startLater = () =>
    time.after((random.troubles() < 0.7 ? 10 : 300) * secondMs * random.troubles(), start);

  const troubles = new Troubles({
    ...{ environment, bridge, oracle, observer, bounds, password },
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
    broker.publish(order.topic, order.payload, order.isRetained === true, random.orders() < 0.1 ? 2 : 1);
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
    const isBurst = random.orders() < 0.3;
    time.after(isBurst ? 3 * secondMs * random.orders() : between(random.orders, 5, 2_400) * secondMs, () => {
      if (isTroubled) {
        publish(randomOrder(simulator.world, random.orders, ++orders));
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

  /** Without any trouble, a leak is told as soon as its list was read: nothing may be as slow as the slack allows. */
  const leakInQuiet = () => {
    const isPublished = (id: string) =>
      broker.retained.get(`sonic2mqtt/sonic/${id}/availability`) === 'online';
    const sonicId = simulator.world.thingIds.find(isPublished);
    if (!sonicId || !bridge.isRunning) return;
    const { id } = simulator.world.openIncident({ type: 'water_presence_detected', sonicId });
    trace(`** incident ${id} opens in quiet at ${sonicId}`);
    observer.worldChanged();
    time.after(bounds.maxGapMs.incidents + promptMs, () => {
      observer.countCheck('a leak is told at once in quiet');
      const isShown = broker.retained.get(`sonic2mqtt/sonic/${sonicId}/incidents`)?.includes(id) === true;
      if (!observer.isAnnounced(id) || !isShown)
        observer.reportViolation(`leak ${id} at ${sonicId} was not told at once in quiet`);
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
    const planned =
      kind === 'single'
        ? planSingleTroubles(random.troubles, startMs, quietAt)
        : planTroubles(random.troubles, startMs, quietAt);
    if (kind === 'caches') planned.push(...planTroubles(random.caches, startMs, quietAt, [aCacheTrouble]));
    for (const each of planned) schedule(each);
    isTroubled = true;
    for (let at = startMs; at < quietAt && !hasFailed(); at += minuteMs)
      await time.runUntil(Math.min(at + minuteMs, quietAt));
    trace('** quiet');
    isTroubled = false;
    troubles.settle();
    observer.worldChanged();
    // A machine that still sleeps must wake first, and a list that still waits must be read first.
    const quietFrom = Math.max(quietAt, bridge.machine.wakesAt, ...planned.map(unreadUntil));
    addedMs += quietFrom - quietAt;
    const quietUntil = quietFrom + quietMs;
    time.after(quietUntil - bounds.maxGapMs.incidents - minuteMs - time.now, leakInQuiet);
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

function both<Args extends readonly unknown[]>(
  one: ((...args: Args) => void) | undefined,
  other: ((...args: Args) => void) | undefined,
): (...args: Args) => void {
  return (...args) => {
    one?.(...args);
    other?.(...args);
  };
}

/** A random start: the end of a month, a change of the clocks, a leap day, or an ordinary day. */
function randomStart(random: () => number): number {
  const days = [
    ...['2026-01-31', '2026-02-28', '2026-03-28', '2026-03-31', '2026-04-30', '2026-06-15'],
    ...['2026-10-24', '2026-10-31', '2026-11-30', '2026-12-31', '2028-02-28', '2028-02-29'],
  ];
  return Date.parse(`${pick(random, days)}T00:00:00Z`) + between(random, 0, 86_399) * secondMs;
}
