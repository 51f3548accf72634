import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Day, dateAfter, dayAt, monthAfter, monthOf } from '../../src/model/calendar.ts';
import { type House, quick, startHouse } from '../support/house.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const often = { ...quick, usage: '200ms', pressure_tests: '200ms' };
const oneSonic = { properties: 1, signals: 1, sonics: 1 };

/** A house with one sonic, and what the cloud knows of it. */
async function startUsage(config: Parameters<typeof startHouse>[0] = {}) {
  const house = await startHouse({
    cloud: oneSonic,
    ...config,
    config: { schedules: often, ...config.config },
  });
  const { world } = house.simulator;
  const [id = ''] = world.sonics.ids;
  const timezone = world.timezoneOf(world.propertyOf(id));
  return {
    house,
    world,
    id,
    usage: () => house.json(`sonic/${id}/usage`),
    tests: () => house.json(`sonic/${id}/pressure_tests`),
    today: (): Day => dayAt(Date.now(), timezone),
    /** Litres by date of this month and last, as the cloud has them now. */
    cloudDays: (): Record<string, number> => {
      const month = monthOf(dayAt(Date.now(), timezone).date);
      const days = [monthAfter(month, -1), month].flatMap((each) => {
        const [year, number] = each.split('-').map(Number);
        return world.usage(id, { year, month: number }).daily;
      });
      return Object.fromEntries(days.map(({ date, liters }) => [date, liters]));
    },
  };
}

const sum = (days: Readonly<Record<string, number>>) =>
  Object.values(days).reduce((total, liters) => total + Math.round(liters * 1_000), 0) / 1_000;

const hasTotal = (house: House, id: string) =>
  house.watcher.waitForTopic(
    `sonic2mqtt/sonic/${id}/usage`,
    (text) => JSON.parse(text).total !== null,
    15_000,
  );

describe('water usage', () => {
  it('is that of the cloud, day by day and in all, in Home Assistant too', async () => {
    const { house, id, usage, cloudDays, today } = await startUsage();
    await hasTotal(house, id);
    // The present day grows while it is looked at.
    let cloud = cloudDays();
    const isSame = () => {
      cloud = cloudDays();
      return sum(cloud) === usage().total;
    };
    await waitFor(isSame, { what: 'the sum of the cloud', timeoutMs: 10_000 });
    const shown = usage();
    const { date, startedAt } = today();
    const ofMonth = Object.entries(cloud).filter(([day]) => monthOf(day) === monthOf(date));
    expect(shown).toEqual({
      today: cloud[date] ?? 0,
      yesterday: cloud[dateAfter(date, -1)],
      month: sum(Object.fromEntries(ofMonth)),
      total: sum(cloud),
      last_reset: startedAt,
      days: cloud,
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(Object.keys(usage().days)).toEqual(Object.keys(usage().days).toSorted());
    await waitFor(() => house.json(`sonic/${id}/homeassistant`)?.water_total === usage().total, {
      what: 'the sum in Home Assistant',
    });
    expect(house.json(`sonic/${id}/homeassistant`)).toMatchObject({
      water_yesterday: usage().yesterday,
      last_reset: usage().last_reset,
    });
    const { components } = house.watcher.json(`homeassistant/device/sonic2mqtt_${id}/config`) as {
      components: object;
    };
    for (const key of ['today', 'yesterday', 'month', 'total'])
      expect(components).toHaveProperty(`sensor_water_${key}`);
    await waitFor(() => house.json('bridge/health')?.schedules.usage.last_success, { what: 'the schedule' });
  });

  it('follows the cloud when days are corrected, also over a restart, and loses nothing', async () => {
    const { house, world, id, usage, cloudDays, today } = await startUsage();
    await hasTotal(house, id);
    const { date } = today();
    const lastMonth = `${monthAfter(monthOf(date), -1)}-05`;
    const corrected = Math.round(usage().days[lastMonth] * 10 - 7) / 10;
    expect(corrected).toBeGreaterThan(0);
    await house.bridge.stop('SIGTERM');
    world.correctUsage(id, lastMonth, corrected);
    house.startBridge();
    await waitFor(() => usage().days[lastMonth] === corrected && usage().total === sum(cloudDays()), {
      what: 'the correction of last month',
      timeoutMs: 15_000,
    });
    const yesterday = dateAfter(date, -1);
    world.correctUsage(id, yesterday, 1_234.5);
    // Last month is read once a day, and after a start.
    if (date.endsWith('-01')) {
      await house.bridge.stop('SIGTERM');
      house.startBridge();
    }
    await waitFor(() => usage().yesterday === 1_234.5 && usage().total === sum(cloudDays()), {
      what: 'the correction of yesterday',
      timeoutMs: 15_000,
    });
    const totals = house.watcher.messages
      .filter(({ topic }) => topic === `sonic2mqtt/sonic/${id}/usage`)
      .map(({ text }) => JSON.parse(text).total);
    // Never less than by what was corrected, and never null once it was known.
    expect(totals.slice(totals.findIndex((total) => total !== null))).not.toContain(null);
    expect(Math.min(...totals.filter((total) => total !== null))).toBeGreaterThan(
      totals.at(-1) - 1_234.5 - 1,
    );
  });

  it('is polled early when everything is asked for anew', async () => {
    const { house, world, id, usage, today } = await startUsage({
      config: { schedules: { ...quick, usage: '1h', pressure_tests: '1h' } },
    });
    await hasTotal(house, id);
    const yesterday = dateAfter(today().date, -1);
    world.addPressureTest(id, { source: 'app' });
    await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
    await waitFor(() => house.json(`sonic/${id}/pressure_tests`)?.today_count === 1, { what: 'the test' });
    expect(usage().days).toHaveProperty(yesterday);
  });

  it('has no topic and no entity where the cloud does not offer it, and what is left over goes', async () => {
    const { house, id, usage, tests } = await startUsage();
    await hasTotal(house, id);
    await waitFor(tests, { what: 'the tests' });
    await house.bridge.stop('SIGTERM');
    house.startBridge({
      cloud: {
        ...(house.config as { cloud: object }).cloud,
        routes: { read_daily_usage: null, read_pressure_tests: null },
      },
    });
    await waitFor(() => usage() === undefined && tests() === undefined, {
      what: 'the topics to go',
      timeoutMs: 15_000,
    });
    await house.watcher.waitForTopic(
      `homeassistant/device/sonic2mqtt_${id}/config`,
      (text) =>
        !/water_(today|total)|pressure_tests_today/.test(
          text.replace(/"sensor_[a-z_]+":\{"platform":"sensor"\}/g, ''),
        ),
      15_000,
    );
    expect(house.json('bridge/health').status).toBe('ok');
  });

  it('has no sum where data_dir cannot be used, and the rest works', async () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, 'no folder');
    const { house, usage, cloudDays, today } = await startUsage({ config: { data_dir: file } });
    const yesterday = dateAfter(today().date, -1);
    await waitFor(() => usage()?.yesterday === cloudDays()[yesterday], { what: 'usage', timeoutMs: 15_000 });
    expect(usage()).toMatchObject({ total: null, month: expect.any(Number) });
    expect(house.json('bridge/health').reason).toContain('data directory cannot be used');
  });
});

describe('pressure tests', () => {
  it('are shown by day, with how many there were today', async () => {
    const { house, world, id, tests, today } = await startUsage();
    await waitFor(tests, { what: 'the tests', timeoutMs: 15_000 });
    expect(tests()).toEqual({ last_day: null, today_count: 0, days: {}, job_id: null });
    const ids = [
      world.addPressureTest(id, { source: 'app' }).id,
      world.addPressureTest(id, { source: 'app' }).id,
    ];
    const { date } = today();
    await waitFor(() => tests().today_count === 2, { what: 'both tests' });
    expect(tests()).toEqual({ last_day: date, today_count: 2, days: { [date]: ids }, job_id: null });
    await waitFor(() => house.json(`sonic/${id}/homeassistant`).pressure_tests_today === 2, {
      what: 'both tests in Home Assistant',
    });
    expect(house.json(`sonic/${id}/homeassistant`).pressure_test_last_day).toBe(date);
  });
});
