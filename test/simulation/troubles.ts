import type { Random } from '../../src/base/backoff.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import { parseFault } from '../../src/simulator/faults.ts';
import { pick, seededRandom } from '../../src/simulator/random.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import type { Oracle } from '../oracle/oracle.ts';
import { type BridgeEnvironment, BridgeProcess } from './bridgeProcess.ts';
import type { Observer } from './observer.ts';
import { floodOrder, type Order } from './orders.ts';
import { strikeRoute } from './routeFaults.ts';
import type { Trouble } from './troublePlan.ts';
import type { SeenRequest, Strike } from './virtualCloud.ts';
import { VirtualDisk } from './virtualDisk.ts';

/** What troubles strike, and what they need to strike it. */
export interface TroubleTargets {
  readonly environment: BridgeEnvironment;
  readonly bridge: BridgeProcess;
  readonly oracle: Oracle;
  readonly observer: Observer;
  readonly random: Random;
  readonly password: string;
  /** Starts the bridge after a while. */
  readonly startLater: () => void;
  readonly publish: (order: Order) => void;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
/** Twelve a second for a minute. */
const floodEveryMs = 83;
const floodMs = minuteMs;
/** A broker gives a client up after one and a half times its keepalive. */
const givenUpMs = 90 * secondMs;

/** The troubles that are in force: what each does where it strikes, and how it ends. */
export class Troubles {
  readonly #targets: TroubleTargets;
  readonly #inForce = new Set<Trouble>();
  #other: BridgeProcess | null = null;
  #oldInfo: string | undefined;
  #sleepsAtCommand = 0;
  /** Whether lists tell something else than the truth. */
  #areListsOdd = false;
  #floods = 0;

  constructor(targets: TroubleTargets) {
    this.#targets = targets;
    targets.environment.broker.isWatched = (clientId) => clientId === 'sonic2mqtt';
  }

  /** What becomes of a request. */
  strike(request: SeenRequest, random: Random): ReturnType<Strike> {
    if (this.#areListsOdd) this.#mislead();
    for (const trouble of this.#inForce) {
      if (trouble.at === 'route') {
        const outcome = strikeRoute(trouble, request, random);
        if (outcome !== null) return outcome;
      }
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
    if (trouble.at === 'cloud' || trouble.at === 'route') this.#inForce.add(trouble);
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
    } else if (trouble.at === 'people') this.#flood(environment.time.now + floodMs);
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

  /** Nobody holds a valve any longer, and nothing is left behind that will begin by itself. */
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
    // A broker that once showed only a part is read again with the next connection.
    broker.cut();
  }

  #mislead(): void {
    this.#targets.oracle.misled('sonics', 'signals', 'properties', 'incidents', 'usage', 'telemetry');
  }

  #strikeSession(fault: string): void {
    const { environment, password } = this.#targets;
    if (fault === 'expired') environment.simulator.expireTokens();
    else if (fault === 'revoked') environment.simulator.setPassword(password);
    else environment.simulator.rejectPassword();
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
        // By the older protocol a broker cannot tell: it takes a message and drops it.
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
    // What it remembers it delivers at the end, with the next subscription.
    if (broker.remembersAll) broker.cut();
    broker.fault = null;
    broker.shownShare = 1;
    broker.refuses = () => false;
    const { time } = this.#targets.environment;
    time.after(20 * secondMs, () => {
      broker.remembersAll = false;
      broker.isFlagLost = false;
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

  #flood(until: number): void {
    const { environment, random, publish } = this.#targets;
    publish(floodOrder(environment.simulator.world, random, ++this.#floods));
    if (environment.time.now + floodEveryMs < until)
      environment.time.after(floodEveryMs, () => this.#flood(until));
  }

  #startOther(fault: 'second' | 'trial' | 'account'): void {
    const { environment, oracle } = this.#targets;
    if (this.#other) return;
    const { simulator, config, time, epochMs } = environment;
    const clock = { now: () => epochMs + time.now, monotonic: () => time.now, after: time.after.bind(time) };
    const otherAccount = () =>
      new Simulator({ seed: 4_711, clock, quiet: true, properties: 1, signals: 1, sonics: 1 });
    const sections = {
      ...config,
      ...(fault === 'account' && { cloud: {}, filters: {} }),
      mqtt: { ...config['mqtt'], client_id: 'another', ...(fault !== 'second' && { base_topic: fault }) },
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
    if (fault === 'second') oracle.bridges = 2;
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

function lengthOf(operation: OperationName | null): number {
  return operation?.length ?? 0;
}

function faultOf(text: string) {
  const read = parseFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}
