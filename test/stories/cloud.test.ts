import { describe, expect, it } from 'vitest';
import { between, seededRandom } from '../../src/simulator/random.ts';
import type { RequestFault } from '../simulation/virtualCloud.ts';
import { Home, hourMs, leisurely, minuteMs, secondMs, startedHome } from './home.ts';

describe('4: no errors, but the telemetry is old and nothing says so', () => {
  // In this home a sonic measures when its valve is moved, and then never again, which the cloud does not mind.
  const shown = (home: Home) => home.json(`sonic/${home.sonicId}/telemetry`);
  const nothing = { flow_l_min: null, pressure_bar: null, water_temperature_c: null };
  const about = (home: Home) =>
    home.linesFrom(0).filter((text) => /No new measurements from|Everything works/.test(text));

  /** The sonics of which the cloud has no new measurements from now on. */
  function silence({ world }: Home, ids: readonly string[]): Set<string> {
    const silent = new Set(ids);
    const telemetry = world.telemetry.bind(world);
    const since = world.now / 1_000;
    world.telemetry = (id) => {
      const measured = telemetry(id);
      return measured && silent.has(id) ? { ...measured, probed_at: since } : measured;
    };
    return silent;
  }

  it.each([
    ['as soon as it is older than stale_after', {}, 4 * minuteMs, 5 * minuteMs],
    ['no sooner than a schedule of hours can renew it', { telemetry: '1h' }, 119 * minuteMs, 121 * minuteMs],
  ])(
    'its values are unknown %s, between two polls too; its time stays, and the log says so once',
    async (_, schedules, fresh, old) => {
      const home = new Home({ config: { schedules } });
      const { sonicId } = home;
      const silent = silence(home, [sonicId]);
      const begunAt = home.time.now;
      await home.start();
      await home.pass(begunAt + fresh - home.time.now);
      expect(shown(home)).toMatchObject({
        probed_at: '2026-03-02T09:00:00.000Z',
        flow_l_min: expect.any(Number),
      });
      await home.pass(begunAt + old + secondMs - home.time.now);
      expect(shown(home)).toEqual({ ...nothing, probed_at: '2026-03-02T09:00:00.000Z' });
      await home.pass(hourMs);
      expect(home.entity(sonicId, 'sensor_flow').state).toBeNull();
      expect(home.entity(sonicId, 'sensor_telemetry_time').state).toBe('2026-03-02T09:00:00.000Z');
      expect(about(home)).toHaveLength(1);
      // What else is known of it is as good as ever.
      expect(home.entity(sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: true });

      // Nor is all well.
      expect(home.json('bridge/health')).toMatchObject({
        status: 'degraded',
        reason: expect.stringMatching(/^No new measurements from "Kitchen"\. /),
      });
      // The lists are read, so this is no outage of the cloud.
      const summary = home.entity(home.propertyId, 'sensor_summary').state;
      expect(summary).toContain('sonic2mqtt reports a problem.');

      silent.clear();
      await home.pass(hourMs + minuteMs);
      expect(about(home)[1]).toBe('info: Everything works');
      expect(home.json('bridge/health')).toMatchObject({ status: 'ok', reason: null });
    },
  );

  it.each([
    ['an hour ahead', hourMs],
    ['an hour behind', -hourMs],
  ])('the clock of the machine, be it %s, is not what it is judged by', async (_, wallErrorMs) => {
    const home = new Home();
    home.bridge.wallErrorMs = wallErrorMs;
    silence(home, [home.sonicId]);
    await home.start();
    expect(shown(home)).toMatchObject({ flow_l_min: expect.any(Number) });
    await home.pass(5 * minuteMs);
    expect(shown(home)).toMatchObject(nothing);
  });

  it('a cloud that is away changes no value; one that is back does not show what has grown old meanwhile', async () => {
    const home = await startedHome();
    home.strike = () => 'refused';
    await home.pass(hourMs);
    expect(home.text('bridge/cloud')).toBe('offline');
    expect(shown(home)).toMatchObject({ flow_l_min: expect.any(Number) });
    home.strike = ({ operation }) => (operation === 'read_telemetry' ? 'refused' : null);
    await home.pass(6 * minuteMs);
    expect(home.text('bridge/cloud')).toBe('online');
    expect(shown(home)).toMatchObject(nothing);
    // That it could not be read does not mean that it does not measure.
    expect(about(home)).toEqual([]);
  });
});

describe('5: it goes offline many times a day', () => {
  it('no outage below five minutes makes anything unavailable; each is a few lines of the log, not one an attempt', async () => {
    const home = await startedHome();
    await home.pass(10 * minuteMs);
    const random = seededRandom(5);
    const from = home.time.now;
    const flaps = 3;
    for (let flap = 0; flap < flaps; flap++) {
      home.strike = () => 'reset-before';
      // The last good answer may be a minute old, and after this it is a while until the next attempt.
      await home.pass(between(random, 70, 150) * secondMs);
      const { schedules } = home.json('bridge/health');
      expect(
        schedules.sonics.consecutive_failures + schedules.incidents.consecutive_failures,
      ).toBeGreaterThan(0);
      home.strike = () => null;
      await home.pass(15 * minuteMs);
    }
    const offline = home.messages.filter(({ at, payload }) => at > from && payload === 'offline');
    expect(offline).toEqual([]);
    expect(home.events('cloud_offline')).toEqual([]);
    const lines = home.linesFrom(from);
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(4 * flaps);
    expect(lines.filter((text) => /Cloud: works again after/.test(text)).length).toBeLessThanOrEqual(flaps);
  });
});

describe('6: the vendor\'s domain expires, and "invalid credentials" is said for days', () => {
  // That a name cannot be looked up is shown with the process itself.
  it.each<[RequestFault, string, RegExp]>([
    ['html', 'degraded', /not JSON|HTML/i],
    ['refused', 'cloud_unreachable', /connection refused/],
    ['error-502', 'cloud_unreachable', /502/],
    ['hang-before', 'cloud_unreachable', /timeout/],
  ])('it says what it is, and asks for no other password: %s', async (fault, status, words) => {
    const home = await startedHome({
      config: { schedules: leisurely },
    });
    const from = home.time.now;
    home.strike = () => fault;
    await home.pass(hourMs);
    // And where not signed in any more, so that it is a sign-in that is answered so.
    await home.stop();
    home.disk.files.clear();
    await home.start();
    await home.pass(hourMs);
    const told = home.published('bridge/health').filter(({ at }) => at > from);
    const statuses = told.map(({ payload }) => JSON.parse(payload).status);
    expect(statuses).not.toContain('auth_failed');
    expect(home.json('bridge/health')).toMatchObject({ reason: expect.stringMatching(words) });
    expect(statuses).toContain(status);
    expect(home.linesFrom(from).join('\n')).not.toMatch(/password|credential|rejected/i);
    home.strike = () => null;
    await home.pass(hourMs);
    expect(home.json('bridge/health').status).toBe('ok');
  });
});

describe('10: a minute times a dozen endpoints burns the quota of a day, and nobody sees why', () => {
  it('all schedules share one budget, each has its turn in it, and the count is shown', async () => {
    const budget = 3;
    const home = await startedHome({
      cloud: { sonics: 3 },
      config: { cloud: { max_requests_per_minute: budget } },
    });
    // The first burst of a minute's worth is over.
    await home.pass(10 * minuteMs);
    const from = home.time.now;
    const perHour: number[] = [];
    for (let hour = 0; hour < 3; hour++) {
      const before = home.requests.length;
      await home.pass(hourMs);
      perHour.push(home.requests.length - before);
    }
    // Wanted is more than twice as much. Of the vital lists each is asked for once a minute, whatever the budget.
    const vital = 3;
    expect(Math.max(...perHour)).toBeLessThanOrEqual(60 * (budget + vital));
    for (const operation of [
      'list_incidents',
      'list_sonics',
      'read_telemetry',
      'list_signals',
      'read_daily_usage',
    ]) {
      const times = home.asked(operation).map((request) => request.at);
      expect(times.filter((time) => time > from + 2 * hourMs).length, operation).toBeGreaterThan(0);
    }
    const shown = Number(home.entity('bridge', 'sensor_requests_last_hour').state);
    expect(Math.abs(shown - (perHour.at(-1) ?? 0))).toBeLessThanOrEqual(budget * 2);
  });
});

describe('19: 5406 identical errors in an evening without internet', () => {
  it('three hours are a line at the beginning, one an hour, and one with the duration at the end', async () => {
    const home = await startedHome();
    const from = home.time.now;
    home.strike = () => 'refused';
    await home.pass(3 * hourMs);
    home.strike = () => null;
    await home.pass(15 * minuteMs);
    const lines = home.linesFrom(from);
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(8);
    expect(lines.filter((text) => /^(error|fatal)/.test(text))).toEqual([]);
    expect(
      lines.filter((text) => /offline for \d+ (min|h), \d+ attempts/.test(text)).length,
    ).toBeLessThanOrEqual(3);
    expect(lines.filter((text) => /works again after 3 h \(\d+ failed attempts\)/.test(text))).toHaveLength(
      1,
    );
  });
});
