import { expect } from 'vitest';
import { type FaultyCloud, startFaultyCloud, type Trouble } from './faultyCloud.ts';
import { type House, quick, startHouse } from './house.ts';
import type { SeenMessage } from './mqttWatcher.ts';
import { type RunningProgram, startProgram } from './program.ts';
import { waitFor } from './waitFor.ts';

/** Nothing innocent has it in it. */
const password = 'a-very-secret-password';

/** How long a poll may go on trying, with the waits between, or what is known takes to grow old, in ms. */
export const patienceMs = 20_000;
const startMs = 25_000;

/** What the houses here have polled, all of which an outage befalls. */
const polled = ['properties', 'signals', 'sonics', 'incidents', 'telemetry'];

/** A house whose way to the cloud can go wrong. */
export interface FaultyHouse {
  readonly house: House;
  readonly cloud: FaultyCloud;
  readonly bridge: RunningProgram;
  /** The sonic that is told to close while things go wrong. */
  readonly told: string;
  /** The sonic whose valve is moved by hand meanwhile. */
  readonly moved: string;
}

/** What is expected of the bridge while something goes wrong, and afterwards. */
export interface Expectation {
  readonly status: 'cloud_unreachable' | 'degraded';
  /** What is wrong, as the log and `bridge/health` word it. */
  readonly words: RegExp;
  /** How the command ends: that the cloud accepted it is seen by its status, whatever comes after that. */
  readonly command: 'accepted' | RegExp;
  readonly httpStatus?: number | 'any';
  /** Whether the cloud carries it out all the same. */
  readonly isActedOn?: boolean;
  /** Whether it lasts until what is known is too old. */
  readonly isLong?: boolean;
  /** The schedules that are to fail before it ends; all unless given. */
  readonly failing?: readonly string[];
}

/** Starts a house with two sonics, and resolves once all is well. */
export async function startFaultyHouse(
  options: {
    readonly cloud?: FaultyCloud;
    readonly baseUrl?: (port: number) => string;
    readonly env?: Record<string, string>;
    readonly config?: Readonly<Record<string, object | string>>;
  } = {},
): Promise<FaultyHouse> {
  const cloud = options.cloud ?? (await startFaultyCloud());
  const { baseUrl = (port) => `http://127.0.0.1:${port}`, env = {}, config = {} } = options;
  const { cloud: cloudConfig, ...otherConfig } = config;
  const house = await startHouse({
    isStarted: false,
    cloud: { properties: 1, signals: 1, sonics: 2, password, valveTravelMs: 100 },
    config: {
      // As by default, longer than a poll may try.
      stale_after: '10s',
      schedules: { ...quick, telemetry: '300ms', signals: '300ms', properties: '300ms' },
      valve: { confirm_timeout: '500ms', confirm_interval: '100ms' },
      ...otherConfig,
      cloud: {
        base_url: baseUrl(cloud.port),
        password,
        request_timeout: '700ms',
        ...(cloudConfig as object),
      },
    },
  });
  cloud.target = house.simulator.url;
  const bridge = startProgram(['run'], { config: house.config, env });
  const [told = '', moved = ''] = house.simulator.world.sonics.ids;
  const faulty = { house, cloud, bridge, told, moved };
  await untilWell(faulty, startMs);
  await allReadTwice(house);
  await house.watcher.waitForMessage(({ topic }) => topic.endsWith('/incident'), {
    what: 'the incident to be announced with which the world begins',
    timeoutMs: patienceMs,
  });
  return faulty;
}

/** Waits until the bridge says that all is well, and shows what the cloud says. */
export async function untilWell({ house, told, moved }: FaultyHouse, timeoutMs = patienceMs): Promise<void> {
  const { simulator, watcher } = house;
  const [hub] = simulator.world.signals.ids;
  const isWell = () =>
    watcher.last.get('sonic2mqtt/bridge/cloud') === 'online' &&
    house.json('bridge/health')?.status === 'ok' &&
    house.json(`signal/${hub}/homeassistant`)?.hub_status === 'online' &&
    [told, moved].every((id) => {
      const wanted = simulator.world.valve(id)?.settled;
      return (
        house.json(`sonic/${id}`)?.valve === wanted &&
        house.json(`sonic/${id}/homeassistant`)?.valve === wanted
      );
    });
  await waitFor(isWell, { what: 'all to be well', timeoutMs }).catch((error: Error) => {
    throw new Error(`${error.message}; health: ${JSON.stringify(house.json('bridge/health'))}`);
  });
}

/**
 * Lets something go wrong, and judges all that the bridge says and does until all is well again: it lives, says what is
 * wrong once, shows nothing that is not true, tells the cloud at most once to move a valve, and recovers by itself.
 */
export async function judgeOutage(
  faulty: FaultyHouse,
  trouble: Trouble,
  expected: Expectation,
): Promise<void> {
  const { house, cloud, bridge, told, moved } = faulty;
  const { simulator, watcher } = house;
  await makeWell(faulty);
  const before = new Map(watcher.last);
  const logged = bridge.stderr.length;
  const commands = house.events('command').length;
  const commanded = simulator.requests.count('command_valve');
  const outcomes = () => house.events('command').slice(commands);

  await cloud.begin(trouble);
  const from = watcher.messages.length;
  simulator.world.setValve(moved, 'closed');
  await watcher.publish(`sonic2mqtt/sonic/${told}/valve/set`, 'CLOSE');
  await waitFor(() => outcomes().length > 0, { what: 'the outcome of the command' });
  const isAccepted = expected.command === 'accepted';
  if (isAccepted) await waitFor(() => outcomes().length > 1, { what: 'the command to be given up' });
  await waitFor(() => isTold(house, expected), { what: 'words about it', timeoutMs: patienceMs }).catch(
    (error) => {
      throw new Error(`${error.message}; health: ${JSON.stringify(house.json('bridge/health'))}`);
    },
  );
  if (expected.isLong) {
    await watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'offline', patienceMs);
  }
  expectNothingElseShown(before, watcher.messages.slice(from), isAccepted ? told : null);
  expect(bridge.isRunning).toBe(true);

  await cloud.mend();
  await untilWell(faulty);
  expect(simulator.world.valve(told)?.settled).toBe(expected.isActedOn ? 'closed' : 'open');
  await layOpen(faulty);
  expect(simulator.world.valve(told)?.settled).toBe('open');
  expect(simulator.requests.count('command_valve') - commanded).toBe(expected.isActedOn ? 1 : 0);
  expect(outcomes()).toMatchObject(outcomesOf(expected));
  expect(outcomes()).toHaveLength(outcomesOf(expected).length);
  expectSaidOnce(bridge.stderr.slice(logged), expected.words, !trouble.sparesConnections);
  expectNoSecret(faulty, from);
}

/** Judges that something odd on the way does no harm: all is shown, commands are carried out, nobody is alarmed. */
export async function judgeOddity(faulty: FaultyHouse, trouble: Trouble): Promise<void> {
  const { house, cloud, bridge, told, moved } = faulty;
  const { simulator, watcher } = house;
  await makeWell(faulty);
  const logged = bridge.stderr.length;
  const commands = house.events('command').length;
  const commanded = simulator.requests.count('command_valve');
  await cloud.begin(trouble);
  const from = watcher.messages.length;
  simulator.world.setValve(moved, 'closed');
  await watcher.publish(`sonic2mqtt/sonic/${told}/valve/set`, 'CLOSE');
  await waitFor(() => /: closed after/.test(bridge.stderr.slice(logged)), { what: 'the valve to move' });
  await untilWell(faulty);
  await layOpen(faulty);
  await cloud.mend();
  expect(house.events('command').slice(commands)).toMatchObject([
    { status: 'ok', reason: null, http_status: 200 },
  ]);
  expect(simulator.requests.count('command_valve') - commanded).toBe(1);
  expect(bridge.stderr.slice(logged)).not.toMatch(/WARN|ERROR/);
  const weather = watcher.messages.slice(from).filter(({ topic }) => topic === 'sonic2mqtt/bridge/cloud');
  expect(weather).toEqual([]);
  expectNoSecret(faulty, from);
}

/** Ends the bridge as a service manager does. */
export async function expectToStopInTime({ bridge, house }: FaultyHouse): Promise<void> {
  const { code, durationMs } = await bridge.stop();
  expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
  await house.watcher.settle();
  expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('offline');
}

/** A story that failed leaves nothing to the next. */
async function makeWell(faulty: FaultyHouse): Promise<void> {
  await faulty.cloud.mend();
  const { world } = faulty.house.simulator;
  const isOpen = [faulty.told, faulty.moved].every((id) => world.valve(id)?.settled === 'open');
  await (isOpen ? untilWell(faulty) : layOpen(faulty));
}

/** Opens both valves as by hand, and waits until all is shown that follows from it. */
async function layOpen(faulty: FaultyHouse): Promise<void> {
  const { house, told, moved } = faulty;
  for (const id of [told, moved]) house.simulator.world.setValve(id, 'open');
  await untilWell(faulty);
  await allReadTwice(house);
}

/** What is asked for after this is answered as the world is now; a command that was kept back would have gone out. */
async function allReadTwice({ simulator: { requests, world }, config }: House): Promise<void> {
  const lists = requests.count('list_sonics');
  const readings = requests.count('read_telemetry');
  const hubs = requests.count('read_hub');
  // They come with the properties, which a house may read by the hour.
  const { schedules } = config as { schedules: Readonly<Record<string, string>> };
  const areHubsRead = !schedules['properties']?.endsWith('h');
  const isRead = () =>
    requests.count('list_sonics') > lists + 2 &&
    (!areHubsRead || requests.count('read_hub') > hubs + 1) &&
    requests.count('read_telemetry') > readings + 2 * world.sonics.size;
  await waitFor(isRead, { what: 'all to be read twice' });
}

function isTold(house: House, { status, words, failing = polled }: Expectation): boolean {
  const health = house.json('bridge/health');
  const haveFailed = failing.every((schedule) => health.schedules[schedule].last_error !== null);
  return health.status === status && words.test(health.reason) && haveFailed;
}

function outcomesOf({ command, httpStatus }: Expectation): object[] {
  if (command !== 'accepted') {
    return [
      {
        status: 'error',
        reason: expect.stringMatching(command),
        http_status: httpStatus === 'any' ? expect.any(Number) : (httpStatus ?? null),
      },
    ];
  }
  return [
    { status: 'ok', reason: null, http_status: expect.any(Number) },
    { status: 'error', reason: 'not_confirmed' },
  ];
}

/** What was shown stays; only a valve that was told to close, and may do so, is shown to be closing. */
function expectNothingElseShown(
  before: ReadonlyMap<string, string>,
  messages: readonly SeenMessage[],
  closing: string | null,
): void {
  const isOwn = ({ topic }: SeenMessage) => topic.startsWith('sonic2mqtt/bridge/') || topic.endsWith('/set');
  for (const { topic, text } of messages.filter((message) => !isOwn(message))) {
    const isMoving = closing !== null && topic.startsWith(`sonic2mqtt/sonic/${closing}`);
    const known = isMoving ? text.replaceAll('"closing"', '"open"') : text;
    expect({ topic, text: known }).toEqual({ topic, text: before.get(topic) });
  }
}

/**
 * Two lines at most: what is away alone may be said before the outage as a whole. None is said twice. Where connections
 * are cut, a request may be under way on one; that it broke is true, and then the outage is told so. A poll that was
 * halfway when it began is told as what it is, the rest of a list or some of the sonics.
 */
function expectSaidOnce(log: string, words: RegExp, areConnectionsCut: boolean): void {
  const warnings = log
    .split('\n')
    .filter((line) => / (WARN|ERROR)/.test(line) && !line.includes('WARN: Command for '));
  const saysWhy = (line: string) =>
    words.test(line) || (areConnectionsCut && line.includes('broke before the answer was complete'));
  const saying = warnings.filter(saysWhy).map((line) => line.replace(/\d+/g, 'N'));
  expect(saying.length, warnings.join('\n')).toBeGreaterThan(0);
  const isHalfway = (line: string) => /: (N of N sonics|Wi-Fi sonics): /.test(line);
  expect(saying.filter((line) => !isHalfway(line)).length, warnings.join('\n')).toBeLessThanOrEqual(2);
  expect(new Set(saying).size, warnings.join('\n')).toBe(saying.length);
}

function expectNoSecret({ house, cloud, bridge }: FaultyHouse, from: number): void {
  const told = house.watcher.messages.slice(from).map(({ topic, text }) => `${topic} ${text}`);
  const everything = [bridge.output, ...told].join('\n');
  expect(cloud.tokens.size).toBeGreaterThan(0);
  for (const secret of [password, ...cloud.tokens]) expect(everything).not.toContain(secret);
}
