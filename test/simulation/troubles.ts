import type { Random } from '../../src/base/backoff.ts';
import { isVitalList, type OperationName } from '../../src/cloud/operations.ts';
import { parseFault } from '../../src/simulator/faults.ts';
import { pick, seededRandom } from '../../src/simulator/random.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import type { Bounds } from '../oracle/bounds.ts';
import { moveOf } from '../oracle/moveJudge.ts';
import type { Oracle } from '../oracle/oracle.ts';
import { type BridgeEnvironment, BridgeProcess } from './bridgeProcess.ts';
import type { Observer } from './observer.ts';
import { closeOrder, floodOrder, type Order, pauseOrder, valveOrder } from './orders.ts';
import { strikeRoute } from './routeFaults.ts';
import { type FloodTrouble, recoveryMs, type Trouble } from './troublePlan.ts';
import type { SeenRequest, Strike } from './virtualCloud.ts';
import { VirtualDisk } from './virtualDisk.ts';

/** The parts of the simulation on which troubles act. */
export interface TroubleTargets {
  readonly environment: BridgeEnvironment;
  readonly bridge: BridgeProcess;
  readonly oracle: Oracle;
  readonly observer: Observer;
  readonly bounds: Bounds;
  readonly random: Random;
  readonly password: string;
  /** Starts the bridge after a while. */
  readonly startLater: () => void;
  readonly publish: (order: Order) => void;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
/** Twelve messages a second. */
const floodEveryMs = 83;
const floodMs = 2 * minuteMs;
/** A cloud that limits requests answers with this. */
const limited = { status: 429, headers: { 'retry-after': '40' }, text: '' };
/** A broker closes a connection after one and a half keepalives without a packet. */
const givenUpMs = 90 * secondMs;

/** Carries out troubles: begins each of them, lets requests fail while it lasts, and ends it. */
export class Troubles {
  readonly #targets: TroubleTargets;
  readonly #inForce = new Set<Trouble>();
  #other: BridgeProcess | null = null;
  #oldInfo: string | undefined;
  #sleepsAtCommand = 0;
  /** Whether the lists of the cloud contain wrong data. */
  #areListsOdd = false;
  /** Troubles that have begun and not ended, without floods, and when there was one last. */
  readonly #others = new Set<Trouble>();
  #othersUntil = 0;

  constructor(targets: TroubleTargets) {
    this.#targets = targets;
    targets.environment.broker.isWatched = (clientId) => clientId === 'sonic2mqtt';
  }

  /** Decides whether a request fails. Null if it does not. */
  strike(request: SeenRequest, random: Random): ReturnType<Strike> {
    if (this.#areListsOdd) this.#mislead();
    for (const trouble of this.#inForce) {
      if (trouble.at === 'route') {
        const outcome = strikeRoute(trouble, request, random);
        if (outcome !== null) return outcome;
      }
      if (trouble.at === 'flood' && trouble.isLimited && isLimited(request)) return limited;
      if (trouble.at !== 'cloud') continue;
      const { whom } = trouble;
      if (whom === 'changes' && request.method === 'GET') continue;
      if (whom === 'some' && lengthOf(request.operation) % 3 !== 0) continue;
      if (trouble.share === 1 || random() < trouble.share) return trouble.fault;
    }
    return null;
  }

  /** A command has reached the bridge. */
  commandDelivered(): void {
    const { environment, random } = this.#targets;
    const sleepMs = this.#sleepsAtCommand;
    this.#sleepsAtCommand = 0;
    if (sleepMs > 0) environment.time.after(3 * secondMs * random() ** 3, () => this.#sleep(sleepMs));
  }

  begin(trouble: Trouble): void {
    const { environment, bridge, observer, startLater } = this.#targets;
    const { simulator, disk } = environment;
    if (trouble.at !== 'flood') this.#others.add(trouble);
    if (trouble.at === 'cloud' || trouble.at === 'route') this.#inForce.add(trouble);
    else if (trouble.at === 'flood') this.#flood(trouble);
    else if (trouble.at === 'lists') {
      this.#areListsOdd = true;
      this.#mislead();
      simulator.setFaults([faultOf(trouble.fault)]);
    } else if (trouble.at === 'session') this.#strikeSession(trouble.fault);
    else if (trouble.at === 'broker') this.#strikeBroker(trouble);
    else if (trouble.at === 'disk') disk.fault = trouble.fault;
    else if (trouble.at === 'clock') bridge.wallErrorMs = (trouble.fault === 'ahead' ? 60 : -60) * minuteMs;
    else if (trouble.at === 'machine') {
      if (trouble.fault === 'sleep') this.#sleep(trouble.sleepMs);
      else this.#sleepsAtCommand = trouble.sleepMs;
    } else if (trouble.at === 'people') this.#commandTogether();
    else if (trouble.at === 'state-file') this.#damageState(trouble);
    else if (trouble.at === 'others') this.#startOther(trouble.fault);
    else if (trouble.fault === 'killed') {
      bridge.kill();
      startLater();
    } else if (!bridge.machine.isAsleep) {
      bridge.stop((tookMs) => {
        if (tookMs === null) observer.reportViolation('the bridge has not stopped within five seconds');
        observer.countCheck('the bridge stops in time');
        startLater();
      });
    }
  }

  end(trouble: Trouble): void {
    const { environment, bridge, password } = this.#targets;
    const { simulator, disk } = environment;
    if (this.#others.delete(trouble)) this.#othersUntil = environment.time.now;
    if (trouble.at === 'cloud' || trouble.at === 'route') this.#inForce.delete(trouble);
    else if (trouble.at === 'lists') {
      this.#areListsOdd = false;
      this.#mislead();
      simulator.setFaults([]);
    } else if (trouble.at === 'session' && trouble.fault === 'rejected') simulator.setPassword(password);
    else if (trouble.at === 'broker') this.#repairBroker();
    else if (trouble.at === 'disk') disk.fault = null;
    else if (trouble.at === 'clock') bridge.wallErrorMs = 0;
    else if (trouble.at === 'machine') this.#sleepsAtCommand = 0;
    else if (trouble.at === 'others') this.#endOther();
  }

  /** Ends all troubles and repairs all links, so that nothing goes wrong in the quiet time. */
  settle(): void {
    const { simulator, broker } = this.#targets.environment;
    this.#areListsOdd = false;
    simulator.setFaults([]);
    const { world } = simulator;
    for (const id of world.signals.ids) world.connectCloud(id);
    for (const id of world.thingIds) world.connectRadio(id);
    this.#inForce.clear();
    this.#sleepsAtCommand = 0;
    this.#endOther();
    this.#repairBroker();
    // If the broker delivered only a part of its messages, the next connection reads all of them.
    broker.cut();
  }

  #mislead(): void {
    this.#targets.oracle.misled('sonics', 'signals', 'properties', 'incidents', 'usage', 'telemetry');
  }

  #strikeSession(fault: string): void {
    const { environment, password } = this.#targets;
    if (fault === 'expired') environment.simulator.expireTokens();
    else if (fault === 'revoked') environment.simulator.setPassword(password);
    else environment.simulator.setPassword(null);
  }

  #strikeBroker(trouble: Extract<Trouble, { readonly at: 'broker' }>): void {
    const { environment, oracle, random } = this.#targets;
    const { broker, config } = environment;
    switch (trouble.fault) {
      case 'cut':
      case 'taken-over':
        broker.cut(trouble.fault);
        break;
      case 'restart':
        this.#oldInfo ??= broker.retained.get('sonic2mqtt/bridge/info');
        broker.restart(pick(random, [0, 0.5, 1]) ?? 0);
        break;
      case 'partial':
        broker.shownShare = 0.5;
        broker.cut();
        break;
      case 'flag-lost':
        broker.isFlagLost = true;
        broker.cut();
        break;
      case 'remembers-all':
        broker.remembersAll = true;
        broker.isFlagLost = true;
        break;
      case 'old-info':
        if (this.#oldInfo) broker.publish('sonic2mqtt/bridge/info', this.#oldInfo, true);
        break;
      case 'refuses':
        // With MQTT 3.1.1 a broker cannot report a refusal. It would drop the message silently.
        if ((config['mqtt'] as { protocol_version?: number }).protocol_version === 5)
          broker.refuses = (topic) => trouble.what.test(topic);
        break;
      default:
        broker.fault = trouble.fault;
        if (trouble.fault === 'frozen') oracle.excuse(2 * minuteMs);
        if (trouble.fault === 'away' || trouble.fault === 'subscriptions-refused') broker.cut();
    }
  }

  #repairBroker(): void {
    const { broker } = this.#targets.environment;
    broker.fault = null;
    broker.shownShare = 1;
    broker.refuses = () => false;
    // The broker marks its stored messages again, and delivers them once more, from the next connection on.
    if (broker.isFlagLost) broker.cut();
    broker.isFlagLost = false;
    this.#targets.environment.time.after(20 * secondMs, () => {
      broker.remembersAll = false;
    });
  }

  #sleep(ms: number): void {
    const { environment, bridge, oracle, observer } = this.#targets;
    if (!bridge.isRunning || bridge.machine.isAsleep) return;
    oracle.excuse(ms + minuteMs);
    observer.excuse(ms);
    bridge.machine.sleep(ms);
    if (ms > givenUpMs) environment.time.after(givenUpMs, () => environment.broker.cut('Keepalive timeout'));
  }

  /** The flood lasts some minutes, whenever the trouble ends. */
  #flood(trouble: FloodTrouble): void {
    const { environment, random, publish } = this.#targets;
    const { time, simulator, broker } = environment;
    const { world } = simulator;
    this.#inForce.add(trouble);
    time.after(floodMs, () => this.#inForce.delete(trouble));
    const spared = pick(
      random,
      world.thingIds.filter((id) => broker.retained.get(`sonic2mqtt/sonic/${id}/availability`) === 'online'),
    );
    const isOnline = ['state', 'cloud'].every(
      (half) => broker.retained.get(`sonic2mqtt/bridge/${half}`) === 'online',
    );
    const isWatched = spared !== undefined && isOnline && this.#isAloneSince(time.now - recoveryMs);
    let leakId: string | undefined;
    const send = (count: number) => {
      if (!this.#inForce.has(trouble)) return;
      const order = floodOrder(trouble.fault, simulator.world, random, count);
      // Nobody moves the spared valve, or ends its leak.
      if (![spared, leakId].some((id) => id !== undefined && order.topic.includes(id))) publish(order);
      time.after(floodEveryMs, () => send(count + 1));
    };
    send(1);
    if (!isWatched) return;
    time.after(minuteMs / 2, () => {
      if (simulator.world.things.get(spared)) leakId = this.#leak(spared);
    });
  }

  /** A leak must be told in time, and a valve must close, whatever else comes. Returns the incident's ID. */
  #leak(sonicId: string): string {
    const { environment, bounds, oracle, observer, publish } = this.#targets;
    const { time, simulator, broker, epochMs } = environment;
    const began = time.now;
    const { id } = simulator.world.openIncident({ type: 'water_presence_detected', sonicId });
    publish(closeOrder(sonicId));
    const isJudged = () => this.#isAloneSince(began) && simulator.world.things.get(sonicId) !== undefined;
    time.after(bounds.requestTimeoutMs, () => {
      if (!isJudged()) return;
      observer.countCheck('a valve is closed in a flood');
      if ((oracle.requestedAt(sonicId, 'close') ?? 0) < epochMs + began)
        observer.reportViolation(`CLOSE for ${sonicId} was not sent in a flood`);
    });
    time.after(bounds.maxGapMs.incidents + 5 * secondMs, () => {
      if (!isJudged() || simulator.world.incidents.get(id)?.open !== true) return;
      observer.countCheck('a leak is told in a flood');
      const isShown = broker.retained.get(`sonic2mqtt/sonic/${sonicId}/incidents`)?.includes(id) === true;
      if (!observer.isAnnounced(id) || !isShown)
        observer.reportViolation(`leak ${id} at ${sonicId} was not told in a flood`);
    });
    return id;
  }

  /** Whether there was no trouble but floods since then. */
  #isAloneSince(at: number): boolean {
    const since = Math.max(this.#othersUntil, this.#targets.bridge.machine.wakesAt);
    return this.#others.size === 0 && since < at;
  }

  #commandTogether(): void {
    const { environment, random, publish } = this.#targets;
    for (let count = 0; count < 40; count++) publish(valveOrder(environment.simulator.world, random));
  }

  #damageState({ fault }: Extract<Trouble, { readonly at: 'state-file' }>): void {
    const { environment, bridge, random, publish, startLater } = this.#targets;
    publish(pauseOrder(environment.simulator.world, random));
    environment.time.after(2 * minuteMs * random(), () => {
      bridge.kill();
      environment.disk.damage(fault);
      startLater();
    });
  }

  #startOther(fault: 'trial' | 'account'): void {
    const { environment, oracle } = this.#targets;
    if (this.#other) return;
    const { simulator, config, time, epochMs } = environment;
    const clock = { now: () => epochMs + time.now, monotonic: () => time.now, after: time.after.bind(time) };
    const otherAccount = () =>
      new Simulator({ seed: 4_711, clock, quiet: true, properties: 1, signals: 1, sonics: 1 });
    const sections = {
      ...config,
      ...(fault === 'account' && { cloud: {}, filters: {} }),
      mqtt: { ...config['mqtt'], base_topic: fault },
    };
    const silent = { sent: () => {}, processed: () => {}, answered: () => {}, truncated: () => {} };
    const { onStart: _, onEnd: __, ...surroundings } = environment;
    this.#other = new BridgeProcess({
      ...surroundings,
      simulator: fault === 'account' ? otherAccount() : simulator,
      disk: new VirtualDisk(seededRandom(3)),
      strike: () => null,
      tap: fault === 'account' ? silent : oracle.cloudOfOther,
      logged: () => {},
      config: sections,
    });
    this.#other.start();
  }

  #endOther(): void {
    const { oracle } = this.#targets;
    if (!this.#other) return;
    this.#other.kill();
    this.#other = null;
    oracle.bridges = 1;
  }
}

/** Vital lists, the session and the valves keep working. */
function isLimited(request: SeenRequest): boolean {
  const { operation } = request;
  const isSession = operation === 'sign_in' || operation === 'refresh_token';
  return operation !== null && !isVitalList(operation) && !isSession && moveOf(request) === null;
}

function lengthOf(operation: OperationName | null): number {
  return operation?.length ?? 0;
}

function faultOf(text: string) {
  const read = parseFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}
