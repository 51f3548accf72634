import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/base/backoff.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { type Broker, startBroker } from '../measure/broker.ts';
import { mainFile, type Part, startPart, typescript } from '../measure/part.ts';
import { waitUntil } from '../measure/time.ts';
import type { CloudFunctions, CloudSize, Truth } from './cloud.ts';
import type { Figures } from './verdict.ts';
import { Watcher } from './watcher.ts';

/** What the probe in the bridge answers; see probe.mjs. */
interface Probe {
  look(): Figures;
  warnings(): readonly string[];
  snapshot(file: string): string;
}

/** The cloud, the broker and the bridge between them, each a process of its own, and a client that watches. */
export interface House {
  readonly cloud: Part<CloudFunctions>;
  readonly broker: Broker;
  readonly bridge: Part<Probe>;
  readonly watcher: Watcher;
  /** Lines of the bridge's log by level, and the lines that tell of a mistake in the bridge itself. */
  readonly log: { readonly lines: Record<string, number>; readonly errors: string[] };
  readonly random: Random;
  readonly sonics: number;
  readonly outageMs: number;
  /** How often each trouble came, how many commands were sent, and how many of these found the bridge without a broker. */
  readonly happened: { readonly troubles: Record<string, number>; commands: number; unheard: number };
}

/** The lists are read this often. */
export const listPeriodMs = 250;

const schedules = {
  incidents: `${listPeriodMs}ms`,
  sonics: `${listPeriodMs}ms`,
  signals: `${listPeriodMs}ms`,
  properties: '5s',
  telemetry: '10s',
  usage: '30s',
  pressure_tests: '30s',
};

const mostErrors = 20;

/** Starts everything, and resolves once all sonics are shown. */
export async function startHouse(size: CloudSize, outageMs: number, folder: string): Promise<House> {
  const file = new URL('./cloud.ts', import.meta.url);
  const args = [JSON.stringify(size)];
  const cloud = startPart<CloudFunctions>('the cloud', file, { args, nodeArgs: typescript });
  const account = await cloud.ask('start');
  const broker = await startBroker(folder);
  const watcher = new Watcher();
  await watcher.start(broker.url);
  const log: House['log'] = { lines: {}, errors: [] };
  const bridge = startBridge({ account, brokerUrl: broker.url, folder, log });
  const { sonics, seed } = size;
  const random = seededRandom(seed + 1);
  const happened = { troubles: {}, commands: 0, unheard: 0 };
  const house = { cloud, broker, bridge, watcher, log, random, sonics, outageMs, happened };
  await agreed(house, 'the bridge to show all');
  return house;
}

function startBridge(parts: {
  account: object;
  brokerUrl: string;
  folder: string;
  log: House['log'];
}): Part<Probe> {
  const { account, brokerUrl, folder, log } = parts;
  const cloud = { request_timeout: '1500ms', max_concurrency: 8, max_requests_per_minute: 1_000_000 };
  const config = {
    cloud: { ...account, ...cloud },
    mqtt: { url: brokerUrl },
    schedules,
    // An outage lasts longer.
    stale_after: '2s',
    valve: { confirm_timeout: '3s', confirm_interval: '200ms' },
    log: { format: 'json' },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  const probe = new URL('./probe.mjs', import.meta.url);
  let rest = '';
  return startPart<Probe>('the bridge', mainFile, {
    args: ['run'],
    nodeArgs: ['--expose-gc', '--disable-warning=ExperimentalWarning', '--import', probe.href],
    cwd: folder,
    onSaid: (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const level = levelOf(line);
        log.lines[level] = (log.lines[level] ?? 0) + 1;
        if (level === 'error' && log.errors.length < mostErrors) log.errors.push(line);
      }
    },
  });
}

/** The level of a line; `error` for text that is no line of the log, such as a warning of Node.js. */
function levelOf(line: string): string {
  try {
    return JSON.parse(line).level ?? 'error';
  } catch {
    return 'error';
  }
}

/** Ends everything. */
export async function endHouse({ cloud, broker, bridge, watcher }: House): Promise<void> {
  const code = await bridge.stop();
  await watcher.stop();
  await broker.stop();
  await cloud.stop();
  if (code !== 0) throw new Error(`the bridge ended with ${code}`);
}

/**
 * Lets the cloud work again, has everything read again, and resolves once all is well and the broker has what the cloud
 * has: the same quiet state at the end of each round.
 */
export async function calmDown(house: House): Promise<void> {
  const { cloud, watcher, sonics } = house;
  await cloud.ask('setFaults', []);
  await cloud.ask('restore');
  const before = await cloud.ask('read');
  await watcher.publish('sonic2mqtt/bridge/refresh', 'now');
  // Some sonics have no radio link, and their telemetry is not read.
  const most = 0.8 * sonics;
  const details = { read_telemetry: most, read_daily_usage: most, read_pressure_tests: most };
  await readSince(house, before, { list_properties: 1, ...details });
  await waitUntil('the bridge to be well', () => {
    const { bridge } = watcher;
    const [state, link, health] = [bridge.get('state'), bridge.get('cloud'), bridge.get('health')];
    const isWell = JSON.parse(health ?? '{}').status === 'ok';
    return state === 'online' && link === 'online' && isWell ? null : `${state}, ${link}, ${health}`;
  });
  await agreed(house, 'the broker to have what the cloud has');
}

/** Resolves once the lists were read again. One of them may have been under way. */
export async function readAgain(house: House): Promise<void> {
  const before = await house.cloud.ask('read');
  await readSince(house, before, { list_sonics: 2, list_incidents: 2, list_signals: 2 });
}

type Counts = Partial<Record<OperationName, number>>;

function readSince(house: House, before: Counts, wanted: Counts): Promise<void> {
  const names = Object.keys(wanted) as OperationName[];
  return waitUntil('everything to be read', async () => {
    mustRun(house);
    const now = await house.cloud.ask('read');
    const missing = names.filter((name) => (now[name] ?? 0) - (before[name] ?? 0) < (wanted[name] ?? 0));
    return missing.length === 0 ? null : `${missing.join()} not read`;
  });
}

/** Resolves once the broker has what the cloud has. */
export async function agreed(house: House, what: string): Promise<void> {
  await waitUntil(what, async () => {
    mustRun(house);
    return difference(await house.cloud.ask('truth'), house.watcher);
  });
}

function mustRun({ bridge, log }: House): void {
  if (!bridge.isRunning) throw new Error(`the bridge has ended: ${log.errors.join('\n')}`);
}

const mostNamed = 5;

/** In what the broker and the cloud differ. */
function difference({ valves, incidents }: Truth, shown: Watcher): string | null {
  const wrong = [
    ...Object.entries(valves).flatMap(([id, state]) => [
      ...(shown.valves.get(id) === state ? [] : [`sonic ${id} is ${state}, shown ${shown.valves.get(id)}`]),
      ...(shown.devices.has(`sonic2mqtt_${id}`) ? [] : [`${id} is not announced`]),
    ]),
    ...[...shown.valves.keys()].flatMap((id) => (id in valves ? [] : [`sonic ${id} is removed`])),
    ...incidents.flatMap((id) => (shown.incidents.has(id) ? [] : [`incident ${id} is not shown`])),
    ...[...shown.incidents].flatMap((id) => (incidents.includes(id) ? [] : [`incident ${id} is closed`])),
  ];
  if (wrong.length === 0) return null;
  return `${wrong.length} differences, ${wrong.slice(0, mostNamed).join('; ')}`;
}
