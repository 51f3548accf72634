import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import { type Fault, parseFault } from '../../src/simulator/faults.ts';
import { demoCredentials, Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { atTestEnd } from './childProcess.ts';
import { type MosquittoOptions, mosquittoAvailable, startMosquitto } from './mosquitto.ts';
import { type MqttWatcher, watchTopics } from './mqttWatcher.ts';
import { type RunningProgram, startProgram, temporaryFolder } from './program.ts';

/** What the tests need of a broker, whichever it is. */
export interface TestBroker {
  readonly url: string;
  readonly caFile: string | undefined;
  stop(): Promise<void>;
  restart(): Promise<void>;
}

let isSaid = false;

/** Mosquitto, or where it is not installed the embedded broker, and then it says so. */
async function startBroker(options: MosquittoOptions = {}): Promise<TestBroker> {
  if (mosquittoAvailable()) return startMosquitto(options);
  if (!isSaid) console.info('Mosquitto is not installed: the end-to-end tests run on the embedded broker');
  isSaid = true;
  let port = 0;
  let broker: EmbeddedBroker;
  const { user: username, password } = options.password ?? { user: undefined, password: undefined };
  const start = async () => {
    broker = new EmbeddedBroker({ host: '127.0.0.1', port, username, password });
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

/** A fault of the simulated cloud, as `--fault` words it. */
export function fault(text: string): Fault {
  const read = parseFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}

/** Schedules that leave a test no time to be bored. */
export const quick = {
  incidents: '300ms',
  sonics: '300ms',
  telemetry: '500ms',
  signals: '500ms',
  properties: '700ms',
};

/** Schedules that do not disturb what a test counts. */
export const hourly = { sonics: '1h', incidents: '1h', telemetry: '1h', signals: '1h', properties: '1h' };

/** A simulated cloud, a broker, the built bridge between them and a client that watches everything. */
export interface House {
  readonly simulator: Simulator;
  readonly broker: TestBroker;
  readonly watcher: MqttWatcher;
  readonly config: object;
  /** The bridge that was started last. */
  readonly bridge: RunningProgram;
  /** Starts the bridge (again), by default with the same configuration and data. */
  startBridge(changes?: Sections): RunningProgram;
  /** The state document or another JSON topic below `sonic2mqtt/`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  json(path: string): any;
  events(name?: string): Record<string, unknown>[];
  /** Ends everything in it, for a suite that has built it in a hook; what a test has built ends with that. */
  close(): Promise<void>;
}

type Sections = Readonly<Record<string, object | string>>;

/** Where it is about noon: days do not end while a test runs, whatever the time it is run at. */
function zoneOfNoon(): string {
  const hour = new Date().getUTCHours();
  // These names count from the other end: Etc/GMT-2 is two hours ahead.
  return hour === 12 ? 'Etc/GMT' : `Etc/GMT${hour > 12 ? '+' : '-'}${Math.abs(12 - hour)}`;
}

/** Builds the house; everything in it ends with the test that built it, and in a hook with the run, unless it is closed. */
export async function startHouse(
  options: {
    readonly cloud?: SimulatorOptions;
    readonly broker?: MosquittoOptions;
    readonly config?: Sections;
    /** false: the bridge is started by the test. */
    readonly isStarted?: boolean;
  } = {},
): Promise<House> {
  const simulator = new Simulator({ quiet: true, valveTravelMs: 1_200, ...options.cloud });
  const { world } = simulator;
  for (const id of world.properties.ids) world.settings.change(id, { timezone: zoneOfNoon() });
  await simulator.start();
  atTestEnd(() => simulator.stop());
  const broker = await startBroker(options.broker);
  const { user: username, password } = options.broker?.password ?? {};
  const credentials = { ...(username && { username }), ...(password && { password }) };
  const config = merged(
    {
      cloud: {
        base_url: simulator.url,
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
  const watcher = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/#'], {
    ...credentials,
    ...(broker.caFile && { caFile: broker.caFile }),
  });
  let bridge: RunningProgram | undefined;
  const house: House = {
    simulator,
    broker,
    watcher,
    config,
    get bridge() {
      if (!bridge) throw new Error('the bridge was not started');
      return bridge;
    },
    startBridge: (changes = {}) => {
      bridge = startProgram(['run'], { config: merged(config, changes) });
      return bridge;
    },
    json: (path) => watcher.json(`sonic2mqtt/${path}`),
    events: (name) =>
      watcher.messages
        .filter(({ topic }) => topic === 'sonic2mqtt/bridge/event')
        .map(({ text }) => JSON.parse(text))
        .filter(({ event }) => name === undefined || event === name),
    close: async () => {
      await bridge?.stop();
      await watcher.close();
      await broker.stop();
      await simulator.stop();
    },
  };
  if (options.isStarted !== false) house.startBridge();
  return house;
}

function merged(config: Sections, changes: Sections): Sections {
  const sections = Object.entries(changes).map(([name, section]) => {
    const before = config[name];
    const isSection = typeof section === 'object' && typeof before === 'object';
    return [name, isSection ? { ...before, ...section } : section];
  });
  return { ...config, ...Object.fromEntries(sections) };
}
