import { describe, expect, it } from 'vitest';
import { operationRow } from '../../src/cloud/operations.ts';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { RequestFault } from '../simulation/virtualCloud.ts';
import { changingCommands } from '../support/commandTable.ts';
import { Home, leisurely, minuteMs, type Request, secondMs, startedHome } from './home.ts';

/** A home with something to do for each kind of command, which shows all of it. */
async function startHome(options: ConstructorParameters<typeof Home>[0] = {}): Promise<Home> {
  const home = new Home({
    cloud: { properties: 2, signals: 2, sonics: 4 },
    config: { schedules: leisurely },
    ...options,
  });
  const { world } = home;
  const [first = '', second = ''] = world.signals.ids;
  const [sonicId = ''] = world.thingIdsOf(world.propertyOf(first) ?? '');
  const [elsewhere = ''] = world.thingIdsOf(world.propertyOf(second) ?? '');
  world.openIncident({ type: 'low_temperature', sonicId });
  world.openIncident({ type: 'cloud_disconnection', signalId: first });
  world.openIncident({ type: 'legionella_risk', sonicId: elsewhere });
  await home.start();
  await home.pass(2 * minuteMs);
  return home;
}

/** The requests that change something, from a moment on. */
const changes = (home: Home, from = 0): readonly Request[] =>
  home.requests.filter(({ operation, at }) => {
    if (operation === null || at < from) return false;
    const { retry, session } = operationRow(operation);
    return retry === 'never' && !session;
  });

/** Publishes one command of each kind, and lets the time pass in which each must have its outcome. */
async function commandAll(home: Home): Promise<Record<string, unknown>[]> {
  const commands = changingCommands({ cloud: home.simulator });
  const told = home.events('command').length;
  for (const { topic, payload } of commands) home.broker.publish(topic, String(payload), false);
  await home.pass(minuteMs);
  const outcomes = home.events('command').slice(told);
  expect(outcomes.map(({ topic }) => topic).toSorted()).toEqual(
    commands.map(({ topic }) => topic).toSorted(),
  );
  return outcomes;
}

/** The state of everything that a command could have changed. */
const truth = ({ world }: Home) =>
  JSON.stringify([
    [...world.sonics.values()].map(({ name, valve_state }) => [name, valve_state]),
    [...world.signals.values()].map(({ name }) => name),
    [...world.properties.values()],
    [...world.incidents.values()],
    world.properties.ids.map((id) => [world.settings.get(id), world.notifications.get(id)]),
  ]);

const limited: SimulatedAnswer = { status: 429, headers: { 'retry-after': '60' }, text: '{}' };
const broken: SimulatedAnswer = { status: 503, headers: {}, text: '{}' };

describe('while the cloud is away, a command of any kind fails once, in time, and is not sent later', () => {
  it.each<[string, RequestFault | SimulatedAnswer, object]>([
    ['it answers 503', broken, { status: 'error', http_status: 503 }],
    ['it asks to wait for a minute', limited, { status: expect.stringMatching(/^(error|refused)$/) }],
    ['it never answers', 'hang-before', { status: 'error', http_status: null }],
    ['nobody listens', 'refused', { status: 'error', http_status: null }],
  ])('where %s', async (_, fault, outcome) => {
    const home = await startHome();
    const before = truth(home);
    home.strike = () => fault;
    for (const told of await commandAll(home))
      expect(told).toMatchObject({ ...outcome, reason: expect.any(String) });
    const sent = changes(home);
    // A read is asked again; a change only where the cloud plainly did not act, and within its time.
    if (fault !== limited)
      expect(new Set(sent.map(({ target, body }) => target + body)).size).toBe(sent.length);
    const from = home.time.now;
    home.strike = () => null;
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(30 * minuteMs);
    expect(home.text('bridge/cloud')).toBe('online');
    expect(changes(home, from)).toEqual([]);
    expect(truth(home)).toBe(before);
  });
});

describe('while nobody is signed in, a command of any kind', () => {
  it('fails once with the reason where the password is rejected, and is not sent later', async () => {
    const home = await startHome();
    const before = truth(home);
    home.simulator.setPassword(null);
    for (const told of await commandAll(home)) {
      const reason = expect.stringMatching(/rejects the e-mail or the password|not signed in|not sent/);
      expect(told).toMatchObject({ status: 'error', reason });
    }
    const from = home.time.now;
    home.simulator.setPassword('demo');
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(60 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
    expect(changes(home, from)).toEqual([]);
    expect(truth(home)).toBe(before);
  });

  it('is carried out once where the token was revoked meanwhile', async () => {
    const home = await startHome();
    home.simulator.expireTokens();
    const told = await commandAll(home);
    for (const outcome of told) expect(outcome).toMatchObject({ status: 'ok', http_status: 200 });
    expect(changes(home).filter(({ status }) => status === 200)).toHaveLength(told.length);
    expect(changes(home).filter(({ status }) => status !== 200 && status !== 401)).toEqual([]);
  });

  it('fails within the time of one sign-in more where that hangs, and is not sent later', async () => {
    const home = await startHome();
    const before = truth(home);
    home.simulator.expireTokens();
    home.strike = ({ operation }) =>
      operation === 'sign_in' || operation === 'refresh_token' ? 'hang-before' : null;
    for (const told of await commandAll(home)) expect(told).toMatchObject({ status: 'error' });
    const from = home.time.now;
    home.strike = () => null;
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(30 * minuteMs);
    expect(changes(home, from)).toEqual([]);
    expect(truth(home)).toBe(before);
  });
});

describe('of valve commands in quick succession', () => {
  const valve = (home: Home) => `sonic2mqtt/sonic/${home.sonicId}/valve/set`;
  const statuses = (home: Home) => home.events('command').map(({ status }) => status);
  const actions = (home: Home) => home.valveCommands.map(({ body }) => JSON.parse(body).action);

  it.each([
    ['the same twice', ['CLOSE', 'CLOSE']],
    ['opposite ones', ['OPEN', 'CLOSE', 'CLOSE']],
  ])('%s at once are one request: what is still connecting gives way to the newest', async (_, words) => {
    const home = await startedHome();
    for (const word of words) home.broker.publish(valve(home), word, false);
    await home.pass(2 * minuteMs);
    expect(statuses(home).toSorted()).toEqual(['ok', ...words.slice(1).map(() => 'superseded')]);
    expect(actions(home)).toEqual(['close']);
  });

  it('one that hangs at the cloud is given up for a newer one, which is sent with most of its time left', async () => {
    const home = await startedHome();
    home.strike = ({ body }) => (body.includes('"open"') ? 'hang-after' : null);
    home.broker.publish(valve(home), 'OPEN', false);
    await home.pass(secondMs);
    const from = home.time.now;
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(2 * minuteMs);
    expect(statuses(home)).toEqual(['error', 'ok']);
    expect(home.valveCommands.map(({ status }) => status)).toEqual([200, 200]);
    // Its time is ten seconds from when it was sent.
    expect((home.valveCommands[1]?.at ?? 0) - from).toBeLessThan(5 * secondMs);
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closed');
  });

  it.each([
    ['all thirty valves close at once', 1],
    ['twelve commands come in each second', 75],
  ])('while %s, each vital list is asked for at least once a minute', async (_, rounds) => {
    const home = await startedHome({ cloud: { properties: 3, signals: 3, sonics: 30 } });
    const ids = home.world.sonics.ids;
    const from = home.time.now;
    for (let round = 0; round < rounds; round++) {
      for (const id of rounds === 1 ? ids : ids.slice(0, 12)) {
        const word = round % 2 === 0 ? 'CLOSE' : 'OPEN';
        home.broker.publish(`sonic2mqtt/sonic/${id}/valve/set`, word, false);
      }
      await home.pass(secondMs);
    }
    await home.pass(Math.max(0, 90 - rounds) * secondMs);
    for (const operation of ['list_incidents', 'list_sonics', 'list_wifi_sonics'] as const) {
      const times = [from, ...home.asked(operation).map(({ at }) => at), home.time.now];
      const gaps = times.slice(1).map((at, index) => at - Math.max(from, times[index] ?? 0));
      expect(Math.max(...gaps), operation).toBeLessThan(minuteMs + 5 * secondMs);
    }
  });

  it('opposite ones end where the last one says, confirmed once, and the first is not shown as failed', async () => {
    const home = await startedHome();
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(secondMs);
    home.broker.publish(valve(home), 'OPEN', false);
    await home.pass(5 * minuteMs);
    expect(statuses(home)).toEqual(['ok', 'ok']);
    const shown = home.published(`sonic/${home.sonicId}`).map(({ payload }) => JSON.parse(payload).valve);
    expect(shown).not.toContain('closed');
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('open');
    const lines = home.linesFrom(0).join('\n');
    expect(lines).toMatch(/: open after /);
    expect(lines).not.toMatch(/: closed after|not_confirmed/);
  });

  it.each([5, 4] as const)(
    'one that the broker delivers again moves no valve again, with MQTT version %i',
    async (version) => {
      const home = await startedHome({ isWired: true, config: { mqtt: { protocol_version: version } } });
      const deliver = async (payload: string, messageId: number, dup: boolean) => {
        for (const connection of home.wire.connections)
          connection.toBridge({
            cmd: 'publish',
            topic: valve(home),
            payload,
            messageId,
            dup,
            qos: 1,
            retain: false,
          });
        await home.pass(minuteMs);
      };
      await deliver('CLOSE', 7, false);
      await deliver('CLOSE', 7, true);
      // Its first delivery was lost somewhere.
      await deliver('OPEN', 8, true);
      await deliver('OPEN', 8, true);
      // The number is used again.
      await deliver('CLOSE', 7, false);
      expect(statuses(home)).toEqual(['ok', 'ok', 'ok']);
      expect(actions(home)).toEqual(['close', 'open', 'close']);
      await home.stop();
    },
  );
});
