import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { CloudVisitor, type Heard } from '../../support/cloudVisitor.ts';
import { FakeClock } from '../../support/fakeClock.ts';

let clock: FakeClock;
let simulator: Simulator;
let visitor: CloudVisitor;
let sonicId: string;

beforeEach(async () => {
  clock = new FakeClock();
  simulator = new Simulator({ clock, quiet: true });
  await simulator.start();
  visitor = new CloudVisitor(simulator);
  await visitor.signIn();
  sonicId = simulator.world.sonics.ids[0] ?? '';
});
afterEach(() => simulator.stop());

const minuteMs = 60_000;
const read = ({ text }: Heard) => JSON.parse(text);
const path = () => `/iot-core/customer_app/things/${sonicId}/pressure_tests`;
const start = (body: unknown = { source: 'app' }) => visitor.ask('POST', path(), { body });
const byDay = async () => read(await visitor.ask('GET', path())).by_day;
const state = () => simulator.world.sonics.get(sonicId)?.valve_state;

describe('a pressure test', () => {
  it('starts on request: the valve shows it for three minutes and is then where it was', async () => {
    expect(await byDay()).toEqual({});
    expect((await start()).status).toBe(200);
    expect(state()).toBe('pressure_test');
    clock.advance(3 * minuteMs - 1);
    expect(state()).toBe('pressure_test');
    clock.advance(1);
    expect(state()).toBe('open');
    simulator.world.setValve(sonicId, 'closed');
    await start();
    clock.advance(3 * minuteMs);
    expect(state()).toBe('closed');
  });

  it('takes as long as it was set to', async () => {
    const quick = new Simulator({ clock, quiet: true, pressureTestMs: 500 });
    await quick.start();
    const guest = new CloudVisitor(quick);
    await guest.signIn();
    await guest.ask('POST', path(), { body: { source: 'app' } });
    clock.advance(499);
    expect(quick.world.sonics.get(sonicId)?.valve_state).toBe('pressure_test');
    clock.advance(1);
    expect(quick.world.sonics.get(sonicId)?.valve_state).toBe('open');
    await quick.stop();
  });

  it('is kept under its day with an id that is not its job, with all that was said of it', async () => {
    const { job_id } = read(await start({ source: 'app', note: 'before the holiday' }));
    const [test] = simulator.world.pressureTestsOf(sonicId);
    expect(await byDay()).toEqual({ '2025-01-15': [{ id: test?.id }] });
    expect(test).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      job_id,
      source: 'app',
      note: 'before the holiday',
      started_at: '2025-01-15T12:00:00.000Z',
    });
    expect(job_id).not.toBe(test?.id);
  });

  it('belongs to the day that the property had when it began', async () => {
    await start();
    clock.advance((11 * 60 + 59) * minuteMs);
    await start();
    clock.advance(3 * minuteMs);
    await start();
    const counts = (days: Record<string, unknown[]>) =>
      Object.entries(days).map(([date, tests]) => [date, tests.length]);
    expect(counts(await byDay())).toEqual([
      ['2025-01-15', 2],
      ['2025-01-16', 1],
    ]);
    const propertyId = simulator.world.propertyOf(sonicId) ?? '';
    simulator.world.settings.change(propertyId, { timezone: 'America/New_York' });
    expect(counts(await byDay())).toEqual([['2025-01-15', 3]]);
  });

  it.each([
    ['runs', 'a pressure test is running', async () => start()],
    [
      'waits for a moving valve',
      'the valve is moving or out of reach',
      () => simulator.world.commandValve(sonicId, 'close'),
    ],
    [
      'waits for a lost radio link',
      'the valve is moving or out of reach',
      () => simulator.world.dropRadio(sonicId),
    ],
  ])('does not start where one %s', async (_, message, prepare) => {
    await prepare();
    const before = [state(), simulator.world.pressureTestsOf(sonicId).length];
    const heard = await start();
    expect([heard.status, read(heard).message]).toEqual([409, message]);
    expect([state(), simulator.world.pressureTestsOf(sonicId).length]).toEqual(before);
  });

  it('that a hand ended does not end the next one', async () => {
    await start();
    clock.advance(2 * minuteMs);
    simulator.world.setValve(sonicId, 'open');
    await start();
    clock.advance(2 * minuteMs);
    expect(state()).toBe('pressure_test');
    clock.advance(minuteMs);
    expect(state()).toBe('open');
  });

  it('needs to be told its source', async () => {
    for (const body of [{}, { source: '' }, { source: 1 }, { note: 'x' }]) {
      expect((await start(body)).status, JSON.stringify(body)).toBe(422);
    }
    expect(state()).toBe('open');
  });

  it('is remembered for the newest hundred', async () => {
    for (let round = 0; round < 103; round++) {
      simulator.world.addPressureTest(sonicId, { source: `round ${round}` });
    }
    const kept = simulator.world.pressureTestsOf(sonicId);
    expect([kept.length, kept[0]?.source, kept.at(-1)?.source]).toEqual([100, 'round 3', 'round 102']);
  });
});

it('nightly pressure tests are kept where they began, and not where they were skipped', () => {
  const lively = new Simulator({ clock, properties: 1, signals: 1, sonics: 12, wifiSonics: 12 });
  clock.advance((14 * 60 + 59) * minuteMs);
  expect(lively.world.thingIds.flatMap((id) => lively.world.pressureTestsOf(id))).toEqual([]);
  clock.advance(2 * minuteMs);
  for (const id of lively.world.thingIds) {
    const tests = lively.world.pressureTestsOf(id);
    const isSkipped = lively.world.openIncidentOf('pressure_test_skipped', id) !== undefined;
    expect(tests).toHaveLength(isSkipped ? 0 : 1);
    if (!isSkipped)
      expect(tests).toMatchObject([{ source: 'schedule', started_at: '2025-01-16T03:00:00.000Z' }]);
  }
  const kinds = [lively.world.sonics, lively.world.wifiSonics].map(({ ids }) => ids);
  for (const ids of kinds) expect(ids.flatMap((id) => lively.world.pressureTestsOf(id))).not.toEqual([]);
});
