import { describe, expect, it } from 'vitest';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { RequestFault } from '../simulation/virtualCloud.ts';
import { type Home, minuteMs, startedHome } from './home.ts';

const schedules = { properties: '5m', signals: '5m', usage: '12h', pressure_tests: '12h' };
/** What the home polls often enough for an outage to befall it. */
const polled = ['properties', 'signals', 'sonics', 'incidents', 'telemetry'];

const json = (body: unknown, status = 200): SimulatedAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(body),
});
const answer = (status: number, text: string, headers: Record<string, string> = {}): SimulatedAnswer => ({
  status,
  headers,
  text,
});

/** What is expected of the bridge while something goes wrong, and afterwards. */
interface Expectation {
  readonly status: 'cloud_unreachable' | 'degraded';
  /** What is wrong, as the log and `bridge/health` word it. */
  readonly words: RegExp;
  /** How the command ends: that the cloud accepted it is seen by its status, whatever comes after that. */
  readonly command: 'accepted' | RegExp;
  readonly httpStatus?: number;
  /** Whether the cloud carries it out all the same. */
  readonly isActedOn?: boolean;
  /** The schedules that fail; all unless given. */
  readonly failing?: readonly string[];
}

/** A home with two sonics, of which nothing is measured any more. */
async function startHome(): Promise<Home> {
  const home = await startedHome({ cloud: { sonics: 2 }, config: { schedules } });
  await home.pass(12 * minuteMs);
  return home;
}

/**
 * Lets something go wrong, and judges all that the bridge says and does until all is well again: it says what is wrong
 * once, shows nothing that is not true, tells the cloud at most once to move a valve, and recovers by itself.
 */
async function judgeOutage(trouble: RequestFault | SimulatedAnswer, expected: Expectation): Promise<Home> {
  const home = await startHome();
  const { world } = home;
  const [told = '', moved = ''] = world.sonics.ids;
  const before = new Map(home.broker.retained);
  const from = home.time.now;
  home.strike = () => trouble;
  world.setValve(moved, 'closed');
  home.broker.publish(`sonic2mqtt/sonic/${told}/valve/set`, 'CLOSE', false);
  const isAccepted = expected.command === 'accepted';
  // Every schedule has its turn, and what is known grows old.
  await home.pass(12 * minuteMs);
  expect(home.events('command')).toMatchObject(outcomesOf(expected));
  const health = home.json('bridge/health');
  expect(health).toMatchObject({
    status: expected.status,
    reason: expect.stringMatching(expected.words),
  });
  for (const schedule of expected.failing ?? polled)
    expect([schedule, health.schedules[schedule].last_error]).not.toContain(null);
  expect(home.text('bridge/cloud')).toBe('offline');
  expectNothingElseShown(home, from, before, isAccepted ? told : null);

  home.strike = () => null;
  await home.pass(20 * minuteMs);
  expect(home.json('bridge/health')).toMatchObject({ status: 'ok', reason: null });
  expect(home.text('bridge/cloud')).toBe('online');
  expect(home.json(`sonic/${moved}`).valve).toBe('closed');
  const settled = expected.isActedOn ? 'closed' : 'open';
  expect(world.valve(told)?.settled).toBe(settled);
  expect(home.json(`sonic/${told}`).valve).toBe(settled);
  const { status } = home.json(`sonic/${told}/last_command`);
  expect(isAccepted ? ['not_confirmed'] : ['error', 'confirmed']).toContain(status);
  // Not sent again, and nothing is told later.
  await home.pass(6 * minuteMs);
  expect(world.valve(told)?.settled).toBe(settled);
  expect(home.valveCommands.length).toBeLessThanOrEqual(1);
  expect(home.events('command')).toHaveLength(outcomesOf(expected).length);
  expectSaidOnce(home, from, expected.words);
  home.bridge.kill();
  return home;
}

function outcomesOf({ command, httpStatus = null as never }: Expectation): object[] {
  if (command !== 'accepted')
    return [{ status: 'error', reason: expect.stringMatching(command), http_status: httpStatus }];
  return [
    { status: 'ok', reason: null, http_status: expect.any(Number) },
    { status: 'error', reason: 'not_confirmed' },
  ];
}

/** What was shown stays; only a valve that was told to close, and may do so, is shown to be closing. */
function expectNothingElseShown(
  home: Home,
  from: number,
  before: ReadonlyMap<string, string>,
  closing: string | null,
): void {
  const shown = home.messages.filter(
    ({ at, topic }) => at > from && !topic.startsWith('sonic2mqtt/bridge/') && !topic.endsWith('/set'),
  );
  for (const { topic, payload } of shown) {
    const isMoving = closing !== null && topic.startsWith(`sonic2mqtt/sonic/${closing}`);
    // That the command failed is news, and is to be shown.
    if (topic.endsWith('/last_command')) continue;
    const text = withoutSummary(payload).replace('"command_failed":"ON"', '"command_failed":"OFF"');
    const known = isMoving ? text.replaceAll('"closing"', '"open"') : text;
    expect({ topic, text: known }).toEqual({ topic, text: withoutSummary(before.get(topic) ?? '') });
  }
}

/** It tells of the command and of the movement, too. */
const withoutSummary = (payload: string) => payload.replace(/"summary":"[^"]*"/, '');

/**
 * Two lines at most: what is away alone may be said before the outage as a whole. None is said twice. The line by which
 * everything becomes unavailable gives the reason too.
 */
function expectSaidOnce(home: Home, from: number, words: RegExp): void {
  const warnings = home
    .linesFrom(from)
    .filter((line) => /^(warn|error)/.test(line) && !/^warn: (Command for |No fresh data)/.test(line));
  const saying = warnings.filter((line) => words.test(line)).map((line) => line.replace(/\d+/g, 'N'));
  expect(saying.length, warnings.join('\n')).toBeGreaterThan(0);
  expect(saying.length, warnings.join('\n')).toBeLessThanOrEqual(2);
  expect(new Set(saying).size, warnings.join('\n')).toBe(saying.length);
}

const broke = /broke before the answer was complete/;
const late = /timeout: .* without an answer/;

describe('the network may fail so that', () => {
  const status = 'cloud_unreachable';
  it.each<[string, RequestFault, Expectation]>([
    [
      'nobody listens',
      'refused',
      { status, words: /connection refused by/, command: /connection refused by/ },
    ],
    ['connections are hung up on', 'reset-before', { status, words: broke, command: broke }],
    [
      'connections break once the cloud has acted',
      'reset-after',
      { status, words: broke, command: broke, isActedOn: true },
    ],
    ['the other end goes away without a word', 'hang-before', { status, words: late, command: /timeout/ }],
    [
      'the cloud acts, but does not answer',
      'hang-after',
      { status, words: late, command: /timeout/, isActedOn: true },
    ],
    [
      'bodies never come to their end',
      'stalled',
      { status, words: /timeout: .* within the answer/, command: 'accepted', isActedOn: true },
    ],
    [
      'bodies are shorter than promised',
      'truncated',
      { status, words: broke, command: 'accepted', isActedOn: true },
    ],
    [
      'a gateway loses its patience',
      'gateway-timeout-after',
      { status, words: /504/, command: /504/, httpStatus: 504, isActedOn: true },
    ],
  ])('%s', async (_what, fault, expected) => void (await judgeOutage(fault, expected)));

  it('the session runs out meanwhile, which is renewed once afterwards', async () => {
    const home = await startHome();
    const renewals = () => home.asked('sign_in').length + home.asked('refresh_token').length;
    const before = renewals();
    home.strike = () => 'refused';
    await home.pass(5 * minuteMs);
    home.simulator.expireTokens();
    home.strike = () => null;
    await home.pass(20 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
    expect(renewals() - before).toBe(1);
  });

  it.each<RequestFault>(['hang-before', 'stalled'])(
    'the bridge is told to stop, which it does in time: %s',
    async (fault) => {
      const home = await startHome();
      home.strike = () => fault;
      await home.pass(5 * minuteMs);
      await home.stop();
      expect(home.text('bridge/state')).toBe('offline');
    },
  );
});

describe('an answer that is none is reported as what it is, and changes nothing:', () => {
  const page = '<!doctype html><html><body><h1>Hotel Wi-Fi: please sign in</h1></body></html>';
  it.each<[string, SimulatedAnswer, RegExp]>([
    ['a web page', answer(200, page, { 'content-type': 'text/html' }), /is not JSON: <!doctype html>/],
    ['a list without its envelope', json([]), /has an unexpected format/],
    ['an envelope without a list', json({ data: 5, page_number: 1 }), /has an unexpected format/],
    ['nothing at all, with a 204', answer(204, ''), /the cloud's answer is empty/],
  ])('%s', async (_what, trouble, words) => {
    await judgeOutage(trouble, { status: 'degraded', words, command: 'accepted' });
  });

  it('an error of its own', async () => {
    const words = /cloud answered 520/;
    await judgeOutage(answer(520, '{}'), {
      status: 'cloud_unreachable',
      words,
      command: words,
      httpStatus: 520,
    });
  });

  it.each([
    [307, 'http://elsewhere.example.com/elsewhere'],
    [308, '/elsewhere'],
  ])('a redirect, which is not followed: %i to %s', async (status, location) => {
    const words = new RegExp(`the cloud answered ${status}, a redirect to ${location}`);
    const trouble = answer(status, '', { location });
    const home = await judgeOutage(trouble, {
      status: 'degraded',
      words,
      command: words,
      httpStatus: status,
    });
    expect(home.requests.filter(({ target }) => target.includes('/elsewhere'))).toEqual([]);
    expect(new Set(home.requests.map(({ origin }) => origin))).toEqual(new Set(['http://cloud.example.com']));
  });
});

it('a list of something else leaves what is known, but not for the present', async () => {
  const home = await startHome();
  home.strike = () => json({ data: [1, 'two'] });
  await home.pass(12 * minuteMs);
  expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('offline');
  expect(home.json('bridge/health')).toMatchObject({
    status: 'degraded',
    reason: expect.stringMatching(/records without a usable id: 2/),
  });
  expect(home.json(`sonic/${home.sonicId}`).valve).toBe('open');
  home.strike = () => null;
  await home.pass(20 * minuteMs);
  expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('online');
  expect(home.json('bridge/health').status).toBe('ok');
});

describe('the end of an outage', () => {
  it('makes devices available only after their new values, also if the broker answers slowly', async () => {
    const home = await startHome();
    const { sonicId, world } = home;
    home.strike = () => ({ status: 503, headers: {}, text: '' });
    await home.pass(12 * minuteMs);
    expect(home.text('bridge/cloud')).toBe('offline');
    world.changeSonic(sonicId, { valve_state: 'closed' });
    home.broker.fault = 'slow';
    const from = home.messages.length;
    home.strike = () => null;
    await home.until(() => home.text('bridge/cloud') === 'online', 'the cloud to be back');
    const topics = home.messages.slice(from).map(({ topic, payload }) => `${topic} ${payload}`);
    const at = (words: RegExp) => topics.findIndex((message) => words.test(message));
    expect(at(/\/bridge\/cloud online$/)).toBeGreaterThan(at(/\/sonic\/[^/]+ .*"valve":"closed"/));
    expect(at(/"valve":"closed"/)).toBeGreaterThan(-1);
  });
});
