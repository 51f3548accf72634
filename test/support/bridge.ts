import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import { type OperationName, operationRow } from '../../src/cloud/operations.ts';
import { type Fault, parseFault } from '../../src/simulator/faults.ts';
import type { LoggedRequest } from '../../src/simulator/server.ts';
import { demoCredentials, Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { atTestEnd } from './childProcess.ts';
import { logLines } from './logLines.ts';
import { type MosquittoOptions, mosquittoAvailable, startMosquitto } from './mosquitto.ts';
import { type MqttWatcher, watchTopics } from './mqttWatcher.ts';
import { type RunningProgram, startProgram, temporaryFolder } from './program.ts';
import { waitFor } from './waitFor.ts';

/** The part of a broker that tests use, for any kind of broker. */
export interface TestBroker {
  readonly url: string;
  readonly caFile: string | undefined;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

/** The outcome of a command, as published on `bridge/event`. */
export interface CommandOutcome {
  readonly topic: string;
  readonly status: string;
  readonly reason: string | null;
  readonly http_status: number | null;
}

/** The answer to a request that was sent over MQTT. */
export interface Answer {
  readonly status: 'ok' | 'error';
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of many shapes
  readonly data?: any;
  readonly error?: { readonly code: string; readonly message: string; readonly http_status: number | null };
  readonly transaction?: unknown;
}

export type Sections = Readonly<Record<string, object | string>>;

export interface BridgeOptions {
  /** Options of the simulated cloud. */
  readonly cloud?: SimulatorOptions;
  readonly broker?: MosquittoOptions;
  /** Sections that replace or extend the usual configuration. */
  readonly config?: Sections;
  /** False if the test calls `start()` itself. */
  readonly isStarted?: boolean;
  /** False to return before everything is published. */
  readonly isAwaited?: boolean;
}

/** Short schedules, so that tests do not wait long. */
export const quick = {
  incidents: '1s',
  sonics: '1s',
  telemetry: '2s',
  signals: '2s',
  properties: '2s',
};

/** Long schedules, for tests that count requests: polls add none. */
export const hourly = { sonics: '1h', incidents: '1h', telemetry: '1h', signals: '1h', properties: '1h' };

/** A fault of the simulated cloud, written as for the option `--fault`. */
export function fault(text: string): Fault {
  const read = parseFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}

/**
 * Starts a simulated cloud, a broker, an MQTT client that records every message, and the built program
 * between them. If called in a test, everything ends with the test. If called at the top of a file or in a
 * hook, it ends with the file.
 *
 * This folder holds what tests share. End-to-end tests start real programs with this file, `brokers.ts`,
 * `mosquitto.ts` and the proxies (`tcpProxy.ts`, `faultyCloud.ts`). Unit tests use a *bench*
 * (`clientBench.ts`, `commandBench.ts`): one part of the bridge with everything that it
 * needs, on a stub of the cloud. `views.ts` has sample data, and `discoveryViolations.ts` and
 * `stateViolations.ts` have the rules of Home Assistant. Stories (test/stories) use none of these: their
 * bench is the class `Home` in test/stories/home.ts, which runs the whole bridge in memory and in virtual
 * time.
 */
export async function startBridge(options: BridgeOptions = {}): Promise<TestBridge> {
  const cloud = new Simulator({ quiet: true, valveTravelMs: 1_200, ...options.cloud });
  const { world } = cloud;
  for (const id of world.properties.ids) world.settings.change(id, { timezone: timezoneAtNoon() });
  await cloud.start();
  atTestEnd(() => cloud.stop());
  const broker = await startBroker(options.broker);
  const { user: username, password } = options.broker?.password ?? {};
  const credentials = { ...(username && { username }), ...(password && { password }) };
  const config = merge(
    {
      cloud: {
        base_url: cloud.url,
        ...demoCredentials,
        request_timeout: '2s',
        max_requests_per_minute: 100_000,
      },
      mqtt: { url: broker.url, ...credentials, ...(broker.caFile && { ca_file: broker.caFile }) },
      schedules: quick,
      valve: { confirm_interval: '100ms' },
      data_dir: temporaryFolder(),
    },
    options.config ?? {},
  );
  const mqtt = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/#'], {
    ...credentials,
    ...(broker.caFile && { caFile: broker.caFile }),
  });
  const bridge = new TestBridge(cloud, broker, mqtt, config, temporaryFolder());
  atTestEnd(() => bridge.kill());
  if (options.isStarted !== false) {
    bridge.start();
    if (options.isAwaited !== false) await bridge.untilShown();
  }
  return bridge;
}

/** The program, the simulated cloud and the broker of one test. */
export class TestBridge {
  readonly cloud: Simulator;
  readonly broker: TestBroker;
  /** Records every message below `sonic2mqtt` and `homeassistant`. */
  readonly mqtt: MqttWatcher;
  readonly config: Sections;
  readonly #folder: string;
  // Parsed events. A waiting test reads them again and again, so each is parsed only once.
  readonly #events: Record<string, unknown>[] = [];
  #readTo = 0;
  #program: RunningProgram | undefined;

  constructor(cloud: Simulator, broker: TestBroker, mqtt: MqttWatcher, config: Sections, folder: string) {
    this.cloud = cloud;
    this.broker = broker;
    this.mqtt = mqtt;
    this.config = config;
    this.#folder = folder;
  }

  /** The program that was started last. */
  get program(): RunningProgram {
    if (!this.#program) throw new Error('the bridge was not started');
    return this.#program;
  }

  /**
   * Starts the program, also for a second time. It keeps its data and its configuration, except for the given
   * sections.
   */
  start(changes: Sections = {}, env: Record<string, string> = {}): RunningProgram {
    // A program that one test restarts also serves the next tests of the file.
    const config = merge(this.config, changes);
    this.#program = startProgram(['run'], { config, env, cwd: this.#folder, outlivesTest: true });
    return this.#program;
  }

  /** Stops the program, starts it again, and waits until it has read the cloud. */
  async restart(changes: Sections = {}): Promise<void> {
    await this.program.stop();
    const from = this.mqtt.messages.length;
    this.start(changes);
    await this.mqtt.waitForMessage(
      ({ topic, text }) => topic === 'sonic2mqtt/bridge/cloud' && text === 'online',
      { what: 'the first poll after the restart', from },
    );
  }

  /** Waits until all sonics and properties are published. */
  async untilShown(): Promise<void> {
    const { sonics, properties } = this.cloud.world;
    for (const id of sonics.ids) {
      await this.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`);
    }
    for (const id of properties.ids) {
      await this.mqtt.waitForTopic(`sonic2mqtt/property/${id}`);
    }
  }

  /** The JSON on a topic below `sonic2mqtt/`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  json(path: string): any {
    return this.mqtt.json(`sonic2mqtt/${path}`);
  }

  /** Waits until the JSON on a topic below `sonic2mqtt/` satisfies the predicate. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  async untilJson(path: string, predicate: (document: any) => boolean): Promise<any> {
    return JSON.parse(
      await this.mqtt.waitForTopic(`sonic2mqtt/${path}`, (text) => predicate(JSON.parse(text))),
    );
  }

  /** The events on `bridge/event`, all or those with this name. */
  events(name?: string): Record<string, unknown>[] {
    const { messages } = this.mqtt;
    // The recorded messages were deleted by `forget()`.
    if (messages.length < this.#readTo) this.#readTo = 0;
    for (const { topic, text } of messages.slice(this.#readTo))
      if (topic === 'sonic2mqtt/bridge/event') this.#events.push(JSON.parse(text));
    this.#readTo = messages.length;
    return this.#events.filter(({ event }) => name === undefined || event === name);
  }

  /** The outcomes of commands on this topic below `sonic2mqtt/`, or of all commands, oldest first. */
  outcomes(path?: string): CommandOutcome[] {
    return this.events('command')
      .map(
        ({ topic, status, reason, http_status }) =>
          ({ topic, status, reason, http_status }) as CommandOutcome,
      )
      .filter(({ topic }) => path === undefined || topic === `sonic2mqtt/${path}`);
  }

  /** Publishes a command below `sonic2mqtt/`, and waits for its outcome. */
  async command(path: string, payload: string | Buffer): Promise<CommandOutcome> {
    const before = this.outcomes(path).length;
    await this.mqtt.publish(`sonic2mqtt/${path}`, payload);
    await waitFor(() => this.outcomes(path).length > before, { what: `the outcome of ${path}` });
    return this.outcomes(path)[before] as CommandOutcome;
  }

  /** Publishes a request (an object is sent as JSON), and waits for its answer. */
  async request(operation: string, content: object | string = {}): Promise<Answer> {
    const from = this.mqtt.messages.length;
    const payload = typeof content === 'string' ? content : JSON.stringify(content);
    await this.mqtt.publish(`sonic2mqtt/bridge/request/${operation}`, payload);
    const answer = await this.mqtt.waitForMessage(
      ({ topic }) => topic === `sonic2mqtt/bridge/response/${operation}`,
      { what: `the answer to ${operation}`, from },
    );
    return JSON.parse(answer.text);
  }

  /** The requests for an operation that reached the cloud. */
  sent(operation: OperationName): LoggedRequest[] {
    return this.cloud.requests.entries.filter((entry) => entry.operation === operation);
  }

  /** The requests that reached the cloud and change something. */
  changesSent(): LoggedRequest[] {
    return this.cloud.requests.entries.filter(({ operation }) => {
      if (operation === null) return false;
      const { retry, session } = operationRow(operation);
      return retry === 'never' && !session;
    });
  }

  /** Waits until the bridge has read the list of sonics this many more times. */
  async polls(times: number): Promise<void> {
    const before = this.cloud.requests.count('list_sonics');
    await waitFor(() => this.cloud.requests.count('list_sonics') >= before + times, {
      what: `${times} polls`,
    });
  }

  /** The address of the program's HTTP server, once the program logs it. */
  async httpUrl(): Promise<string> {
    const [, url] = await this.program.waitForOutput(/HTTP: listening on (http:\/\/127\.0\.0\.1:\d+)/);
    return String(url);
  }

  async kill(): Promise<void> {
    if (this.#program?.isRunning) await this.#program.stop('SIGKILL');
  }

  async close(): Promise<void> {
    await this.#program?.stop();
    await this.mqtt.close();
    await this.broker.stop();
    await this.cloud.stop();
  }
}

let isNotePrinted = false;

/** Starts Mosquitto. If it is not installed, starts the embedded broker and prints a note. */
async function startBroker(options: MosquittoOptions = {}): Promise<TestBroker> {
  if (mosquittoAvailable()) return startMosquitto(options);
  if (!isNotePrinted)
    console.info('Mosquitto is not installed: the end-to-end tests run on the embedded broker');
  isNotePrinted = true;
  let port = 0;
  let broker: EmbeddedBroker;
  const { user: username, password } = options.password ?? { user: undefined, password: undefined };
  const start = async () => {
    broker = new EmbeddedBroker({
      host: '127.0.0.1',
      port,
      username,
      password: async () => password,
      unreadMs: 2_500,
      log: logLines().log,
    });
    port = await broker.start();
  };
  await start();
  const stop = () => broker.stop();
  atTestEnd(stop);
  return {
    url: `mqtt://127.0.0.1:${port}`,
    caFile: undefined,
    stop,
    restart: async () => {
      await stop();
      await start();
    },
  };
}

/** A time zone in which it is about noon, so that no day ends while a test runs. */
function timezoneAtNoon(): string {
  const hour = new Date().getUTCHours();
  // The sign in these names is inverted: Etc/GMT-2 is two hours ahead of UTC.
  return hour === 12 ? 'Etc/GMT' : `Etc/GMT${hour > 12 ? '+' : '-'}${Math.abs(12 - hour)}`;
}

function merge(config: Sections, changes: Sections): Sections {
  const sections = Object.entries(changes).map(([name, section]) => {
    const before = config[name];
    const isSection = typeof section === 'object' && typeof before === 'object';
    return [name, isSection ? { ...before, ...section } : section];
  });
  return { ...config, ...Object.fromEntries(sections) };
}
