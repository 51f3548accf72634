import { describe, expect, it } from 'vitest';
import { Home, hourMs, minuteMs, startedHome } from './home.ts';

const schedules = { usage: '1m', pressure_tests: '1m' };
const [lastMonth, yesterday, today] = ['2026-02-05', '2026-03-01', '2026-03-02'];

/** Litres by date of this month and last, as the cloud has them now. */
function daysOf({ world, sonicId }: Home): Record<string, number> {
  const months = [2, 3].flatMap((month) => world.usage(sonicId, { year: 2026, month }).daily);
  return Object.fromEntries(months.map(({ date, liters }) => [date, liters]));
}

const sum = (litres: readonly number[]) =>
  litres.reduce((total, each) => total + Math.round(each * 10), 0) / 10;

const usageOf = (home: Home) => home.json(`sonic/${home.sonicId}/usage`);

const totalsOf = (home: Home): readonly (number | null)[] =>
  home.published(`sonic/${home.sonicId}/usage`).map(({ payload }) => JSON.parse(payload).total);

describe('the water that has run', () => {
  it('is that of the cloud, day by day and in total, and follows its corrections, also over a restart', async () => {
    const home = new Home({ config: { schedules } });
    const { world, sonicId } = home;
    await home.start();
    const expectSame = async () => {
      // Water runs while it is read.
      const days = () => daysOf(home);
      await home.until(() => usageOf(home).days[today] === days()[today], 'the water of today');
      const all = Object.entries(days());
      expect(usageOf(home)).toEqual({
        today: days()[today],
        yesterday: days()[yesterday],
        month: sum(all.filter(([date]) => date.startsWith('2026-03')).map(([, litres]) => litres)),
        total: sum(all.map(([, litres]) => litres)),
        last_reset: '2026-03-02T00:00:00+00:00',
        days: days(),
        updated_at: expect.stringMatching(/^2026-03-02T\d\d:/),
      });
    };
    await expectSame();
    await home.stop();
    world.correctUsage(sonicId, lastMonth, 1.5);
    await home.start();
    await expectSame();
    world.correctUsage(sonicId, yesterday, 1_234.5);
    await home.pass(2 * minuteMs);
    expect(usageOf(home)).toMatchObject({ yesterday: 1_234.5, days: { [lastMonth]: 1.5 } });
    await expectSame();
    expect(totalsOf(home)).not.toContain(null);
  });

  it('is read early on request, with the pressure tests, which are shown by day', async () => {
    const home = new Home({ config: { schedules: { usage: '6h', pressure_tests: '6h' } } });
    const { world, sonicId } = home;
    await home.start();
    const tests = () => home.json(`sonic/${sonicId}/pressure_tests`);
    expect(tests()).toEqual({ last_day: null, today_count: 0, days: {}, job_id: null });
    const ids = [0, 1].map(() => world.addPressureTest(sonicId, { source: 'app' }).id);
    world.correctUsage(sonicId, yesterday, 1_234.5);
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(minuteMs);
    expect(usageOf(home).yesterday).toBe(1_234.5);
    expect(tests()).toEqual({ last_day: today, today_count: 2, days: { [today]: ids }, job_id: null });
    expect(home.entity(sonicId, 'sensor_pressure_tests_today').state).toBe(2);
    expect(home.entity(sonicId, 'sensor_pressure_test_last_day').state).toBe(today);
  });

  it('has no topic and no entity if the cloud does not offer it, and what is left over goes', async () => {
    const home = new Home({ config: { schedules } });
    const paths = ['usage', 'pressure_tests'].map((leaf) => `sonic/${home.sonicId}/${leaf}`);
    const entities = () => Object.keys(home.discovery(home.sonicId).components);
    await home.start();
    for (const path of paths) expect(home.text(path), path).toBeDefined();
    expect(entities()).toEqual(expect.arrayContaining(['sensor_water_total', 'sensor_pressure_tests_today']));
    await home.stop();
    await home.startWith({ cloud: { routes: { read_daily_usage: null, read_pressure_tests: null } } });
    await home.pass(10 * minuteMs);
    for (const path of paths) expect(home.text(path), path).toBeUndefined();
    expect(entities().filter((id) => /water_(today|total)|pressure_tests_today/.test(id))).toEqual([]);
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it('has no smaller total after a restart where the run before could not write on the disk either', async () => {
    const home = new Home({ config: { schedules } });
    const { world, sonicId } = home;
    await home.start();
    await home.stop();
    home.disk.fault = 'EROFS';
    await home.start();
    world.correctUsage(sonicId, yesterday, 5_000);
    await home.pass(5 * minuteMs);
    const { total } = usageOf(home);
    expect(total).toBeGreaterThan(5_000);
    home.bridge.kill();
    // And the broker has lost it.
    home.broker.retained.delete(`sonic2mqtt/sonic/${sonicId}/usage`);
    const from = totalsOf(home).length;
    await home.start();
    await home.pass(5 * minuteMs);
    const shown = totalsOf(home).slice(from);
    expect(shown.filter((each) => each !== null && each < total)).toEqual([]);
    expect(shown.at(-1)).toBeGreaterThanOrEqual(total);
  });

  it('has no smaller total than the broker where the file is one of before', async () => {
    const home = await startedHome({ config: { schedules } });
    await home.stop();
    const before = new Map(home.disk.files);
    await home.start();
    home.world.correctUsage(home.sonicId, yesterday, 5_000);
    await home.pass(5 * minuteMs);
    home.bridge.kill();
    for (const [path, text] of before) home.disk.files.set(path, text);
    const from = totalsOf(home).length;
    await home.start();
    await home.pass(minuteMs);
    const shown = totalsOf(home).slice(from);
    expect(shown.filter((each) => each !== null && each < 5_000)).toEqual([]);
    expect(shown.at(-1)).toBeGreaterThan(5_000);
  });

  it('has no total on a disk that cannot be used, and the rest works', async () => {
    const home = new Home({ config: { schedules } });
    home.disk.fault = 'EROFS';
    await home.start();
    expect(usageOf(home)).toMatchObject({ yesterday: daysOf(home)[yesterday], total: null });
    expect(usageOf(home).month).toBeGreaterThan(0);
    expect(home.json('bridge/health').reason).toContain('cannot write to the folder');
    home.disk.fault = null;
    await home.pass(hourMs);
    expect(usageOf(home).total).toBeGreaterThan(0);
  });
});
