import { expect, onTestFinished, TestRunner } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Connect } from '../../src/broker/clientOptions.ts';
import { configSchema } from '../../src/config/schema.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { boundsOf } from '../oracle/bounds.ts';
import { Oracle } from '../oracle/oracle.ts';
import { type BridgeEnvironment, BridgeProcess, bridgeConfig } from '../simulation/bridgeProcess.ts';
import { VirtualBroker } from '../simulation/virtualBroker.ts';
import type { SeenRequest, Strike } from '../simulation/virtualCloud.ts';
import { VirtualDisk } from '../simulation/virtualDisk.ts';
import { VirtualTime } from '../simulation/virtualTime.ts';
import { Wire } from '../simulation/wire.ts';
import { withoutStubs } from '../support/discoveries.ts';
import { withRoot } from '../support/homeAssistantRules.ts';
import { isJudged } from './unjudged.ts';

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** The schedules of a home unless a story gives others: polls are most of what a story costs. `{}` are those of the bridge. */
export const leisurely = {
  incidents: '10m',
  sonics: '10m',
  telemetry: '1h',
  signals: '6h',
  usage: '6h',
  pressure_tests: '6h',
  properties: '6h',
} as const;

/** Valves and incidents are read as often as by default, everything else seldom. */
export const prompt = { ...leisurely, incidents: '30s', sonics: '60s' } as const;

/** A message that the broker took, from whomever. */
export interface TakenMessage {
  /** Ms since the story began. */
  readonly at: number;
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

/** A request that left the bridge, and what the cloud said to it. */
export interface Request extends SeenRequest {
  readonly at: number;
  /** Null where it did not reach the cloud. */
  status: number | null;
}

/** A line of the log, as `warn: gone`. */
export interface LogLine {
  readonly at: number;
  readonly text: string;
}

/** What Home Assistant makes of an entity. */
export interface SeenEntity {
  readonly platform: string;
  readonly isAvailable: boolean;
  readonly state: string | number | null;
}

export type Sections = Readonly<Record<string, object | string>>;

export interface HomeOptions {
  readonly cloud?: SimulatorOptions;
  /** Sections of the configuration; the schedules are `leisurely` unless they are given. */
  readonly config?: Sections;
  /** When the story begins, ISO 8601 in UTC. */
  readonly begins?: string;
  /** Whether mqtt.js itself speaks with the broker, in bytes, in which a script can meddle. */
  readonly isWired?: boolean;
  /** Comes between the bridge and its connection. */
  readonly tapDial?: (dial: Connect) => Connect;
  /** Why the oracle does not judge this story, in a sentence: it judges each that does not say so. */
  readonly unjudged?: string;
}

/**
 * The bench of a story: the whole bridge in memory, with a simulated cloud (`world`), a broker, a disk and a
 * clock of its own. Virtual time lets weeks pass in seconds. It is called *home* because it simulates one
 * household. The test starts the bridge, changes the world or the environment, lets time pass, and checks
 * messages, requests and the log. The oracle (test/oracle) judges everything meanwhile, and fails the test if
 * the bridge breaks a promise.
 */
export class Home {
  readonly time = new VirtualTime();
  readonly random = seededRandom(25);
  readonly simulator: Simulator;
  readonly broker: VirtualBroker;
  readonly disk: VirtualDisk;
  /** The scripted connection to the broker, if `isWired`. */
  readonly wire: Wire;
  /** What runs the bridge. */
  bridge: BridgeProcess;
  readonly messages: TakenMessage[] = [];
  readonly requests: Request[] = [];
  readonly lines: LogLine[] = [];
  /** When a connection to the broker began. */
  readonly links: number[] = [];
  /** Decides for each request whether it fails, and how. By default none fails. */
  strike: Strike = () => null;
  /** Told each connection to the broker as it begins. */
  onLinked: () => void = () => {};
  /** Told each message that the broker took. */
  onTaken: (message: TakenMessage) => void = () => {};
  /** Told each line of the log, as JSON. */
  onLogged: (line: string) => void = () => {};
  /** Told each message that the bridge handed to its connection. */
  onHandedOver: (message: TakenMessage) => void = () => {};
  /** Judges all that the bridges of the home show and do. */
  readonly oracle: Oracle;
  readonly #environment: BridgeEnvironment;
  readonly #worldClock: Clock;
  readonly propertyId: string;
  readonly signalId: string;
  readonly sonicId: string;

  constructor({
    cloud = {},
    config: sections = {},
    begins = '2026-03-02T09:00:00Z',
    isWired = false,
    tapDial,
    unjudged,
  }: HomeOptions = {}) {
    const config = { schedules: leisurely, ...sections };
    const epochMs = Date.parse(begins);
    const { time } = this;
    this.#worldClock = {
      now: () => epochMs + time.now,
      monotonic: () => time.now,
      after: time.after.bind(time),
    };
    this.simulator = new Simulator({
      clock: this.#worldClock,
      quiet: true,
      properties: 1,
      signals: 1,
      sonics: 1,
      ...cloud,
    });
    this.broker = new VirtualBroker(time, seededRandom(1), {
      handedOver: (topic, payload, retain) => this.onHandedOver({ at: time.now, topic, payload, retain }),
      refused: (...message) => this.oracle.broker.refused?.(...message),
      taken: (topic, payload, retain) => {
        this.oracle.broker.taken(topic, payload, retain);
        const message = { at: time.now, topic, payload, retain };
        this.messages.push(message);
        this.onTaken(message);
      },
      delivered: (...message) => this.oracle.broker.delivered(...message),
      linked: (isLinked) => {
        this.oracle.broker.linked(isLinked);
        if (!isLinked) return;
        this.links.push(time.now);
        this.onLinked();
      },
    });
    const parsed = configSchema.parse(bridgeConfig(config as BridgeEnvironment['config']));
    this.oracle = new Oracle({
      ...{ time, epochMs, simulator: this.simulator },
      retained: this.broker.retained,
      bounds: boundsOf(parsed),
      base: parsed.mqtt.base_topic,
    });
    // Test by test: files of one worker share this module, so a hook of its own would hold for the first file alone.
    const story = TestRunner.getCurrentTest();
    if (story && unjudged === undefined && isJudged(story.name))
      onTestFinished(() => expect(this.oracle.violations, 'what the oracle says of the story').toEqual([]));
    this.wire = new Wire(this.broker);
    this.disk = newDisk();
    this.oracle.memory = () => this.disk.memory;
    const byNumber = new Map<number, Request>();
    this.#environment = {
      time,
      random: seededRandom(3),
      epochMs,
      simulator: this.simulator,
      broker: this.broker,
      disk: this.disk,
      strike: (request) => {
        this.oracle.asked(request);
        return this.strike(request);
      },
      onStart: () => this.oracle.runBegan(),
      onEnd: () => this.oracle.runEnded(),
      tap: {
        ...this.oracle.cloud,
        sent: (request) => {
          this.oracle.cloud.sent(request);
          const seen = { ...request, at: time.now, status: null };
          byNumber.set(request.number, seen);
          this.requests.push(seen);
        },
        processed: (request, answer) => {
          this.oracle.cloud.processed(request, answer);
          const { status } = answer;
          const seen = byNumber.get(request.number);
          if (seen) seen.status = status;
          byNumber.delete(request.number);
        },
      },
      logged: (line) => {
        this.lines.push({ at: time.now, text: lineOf(line) });
        this.onLogged(line);
      },
      config: config as BridgeEnvironment['config'],
      ...(isWired && { dialFrom: (clock) => this.wire.dialFrom(clock) }),
      ...(tapDial && { dialFrom: (clock) => tapDial(this.broker.dialFrom(clock)) }),
    };
    if (isWired) time.turnsToRest = 8;
    this.bridge = new BridgeProcess(this.#environment);
    const { world } = this.simulator;
    this.propertyId = world.properties.ids[0] ?? '';
    this.signalId = world.signals.ids[0] ?? '';
    this.sonicId = world.thingIds[0] ?? '';
  }

  /**
   * The true state of everything in the simulated cloud: properties, hubs, valves and incidents. Tests change
   * it here.
   */
  get world() {
    return this.simulator.world;
  }

  /** Starts the bridge, and lets a minute pass, in which it shows all that there is. */
  async start(): Promise<void> {
    this.bridge.start();
    await this.pass(minuteMs);
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.time.runUntil(this.time.now + ms);
  }

  /** Lets time pass until it is so, a second at a time; throws where that takes longer. */
  async until(isSo: () => boolean, what: string | (() => string), longestMs = 10 * minuteMs): Promise<void> {
    const end = this.time.now + longestMs;
    while (!isSo()) {
      if (this.time.now >= end) {
        throw new Error(`waited in vain for ${typeof what === 'string' ? what : what()}`);
      }
      await this.pass(secondMs);
    }
  }

  /** Starts the bridge with another configuration, on the same disk; the one before must have ended. */
  async startWith(sections: Sections): Promise<void> {
    const config = { schedules: leisurely, ...sections };
    this.bridge = new BridgeProcess({ ...this.#environment, config: config as BridgeEnvironment['config'] });
    this.#widen(config);
    await this.start();
  }

  /** Another bridge on the same broker, with a disk of its own unless one is given. The test starts it. */
  anotherBridge(sections: Sections, { simulator = this.simulator, disk = newDisk() } = {}): BridgeProcess {
    const config = { schedules: leisurely, ...sections };
    this.#widen(config);
    const isOfAccount = simulator === this.simulator;
    this.oracle.isAlone = false;
    const silent = { sent: () => {}, processed: () => {}, answered: () => {}, truncated: () => {} };
    const { onStart: _, onEnd: __, ...environment } = this.#environment;
    return new BridgeProcess({
      ...(isOfAccount ? this.#environment : { ...environment, tap: silent }),
      ...{ simulator, disk },
      config: config as BridgeEnvironment['config'],
    });
  }

  /** What the most patient of the bridges may do counts. */
  #widen(config: Sections): void {
    this.oracle.widen(boundsOf(configSchema.parse(bridgeConfig(config as BridgeEnvironment['config']))));
  }

  /** Another account in the same cloud. */
  anotherAccount(cloud: SimulatorOptions): Simulator {
    const simulator = new Simulator({ clock: this.#worldClock, quiet: true, ...cloud });
    const { world } = simulator;
    this.oracle.isOfOtherAccount = (id) =>
      world.properties.has(id) || world.signals.has(id) || world.things.get(id) !== undefined;
    return simulator;
  }

  /** Stops a bridge, as SIGTERM does. */
  async stop(bridge = this.bridge): Promise<void> {
    let isStopped = false;
    bridge.stop((tookMs) => {
      isStopped = tookMs !== null;
    });
    await this.pass(6 * secondMs);
    if (!isStopped) throw new Error('the bridge has not stopped within five seconds');
  }

  /** Stops it, waits, and starts it again. */
  async restart(pauseMs = 10 * secondMs): Promise<void> {
    await this.stop();
    await this.pass(pauseMs);
    await this.start();
  }

  /** A retained document below `sonic2mqtt/`; throws where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: documents have many shapes
  json(path: string): any {
    const payload = this.broker.retained.get(`sonic2mqtt/${path}`);
    if (payload === undefined) throw new Error(`nothing is retained at ${path}`);
    return JSON.parse(payload);
  }

  /** A retained plain text below `sonic2mqtt/`. */
  text(path: string): string | undefined {
    return this.broker.retained.get(`sonic2mqtt/${path}`);
  }

  /** Everything that was published at a topic below `sonic2mqtt/`, oldest first. */
  published(path: string): readonly TakenMessage[] {
    return this.messages.filter(({ topic }) => topic === `sonic2mqtt/${path}`);
  }

  /** The events of this name on `bridge/event`. */
  events(name: string): readonly Record<string, unknown>[] {
    return this.published('bridge/event')
      .map(({ payload }) => JSON.parse(payload))
      .filter(({ event }) => event === name);
  }

  /** The ids of the incidents of a sonic that were announced as opened. */
  opened(sonicId: string): readonly unknown[] {
    return this.events('incident_opened').flatMap((event) =>
      event['sonic_id'] === sonicId ? [event['id']] : [],
    );
  }

  /** The requests of this operation. */
  asked(operation: string): readonly Request[] {
    return this.requests.filter((request) => request.operation === operation);
  }

  /** All requests by which a valve is told to move. */
  get valveCommands(): readonly Request[] {
    return this.requests.filter(({ target }) => /\/(valve|changeState|state)$/i.test(target));
  }

  /** A device's discovery message without the components that the device lacks; null where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: as Home Assistant takes it
  discovery(deviceId: string): any {
    const payload = this.broker.retained.get(`homeassistant/device/sonic2mqtt_${deviceId}/config`);
    return payload === undefined ? null : withoutStubs(JSON.parse(payload));
  }

  /** What Home Assistant, having just read what the broker keeps, makes of an entity; throws where there is none. */
  entity(deviceId: string, componentId: string): SeenEntity {
    const discovery = this.discovery(deviceId);
    const own = discovery?.components[componentId];
    if (!own?.unique_id) throw new Error(`${deviceId} has no entity ${componentId}`);
    const component = withRoot(discovery, own) as typeof own;
    const availability: { readonly topic: string }[] = component.availability;
    const [, key = ''] = /^\{\{ value_json\.(\w+) \}\}$/.exec(component.value_template ?? '') ?? [];
    const document = this.broker.retained.get(component.state_topic);
    return {
      platform: component.platform,
      isAvailable: availability.every(({ topic }) => this.broker.retained.get(topic) === 'online'),
      state: document === undefined ? null : (JSON.parse(document)[key] ?? null),
    };
  }

  /** The lines of the log from a moment on. */
  linesFrom(at: number): readonly string[] {
    return this.lines.filter((line) => line.at >= at).map(({ text }) => text);
  }
}

/** A home whose bridge has started and shows all that there is. */
export async function startedHome(options?: HomeOptions): Promise<Home> {
  const home = new Home(options);
  await home.start();
  return home;
}

/** What the log has said of the broker as a warning or worse. */
export function brokerWarnings(home: Home, from = 0): readonly string[] {
  return home.linesFrom(from).filter((text) => /^(warn|error|fatal):.*MQTT broker/.test(text));
}

/** A disk with nothing on it. */
export function newDisk(): VirtualDisk {
  return new VirtualDisk(seededRandom(2));
}

function lineOf(json: string): string {
  const { level, msg } = JSON.parse(json) as { level: string; msg: string };
  return `${level}: ${msg}`;
}
