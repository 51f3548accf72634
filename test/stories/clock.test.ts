import { expect, it } from 'vitest';
import { dayMs, type Home, hourMs, minuteMs, startedHome } from './home.ts';

const begins = Date.parse('2026-03-02T09:00:00Z');
/** How far the bridge takes itself to be ahead, as its last event tells. */
function aheadMs(home: Home): number {
  const [last] = home.published('bridge/event').slice(-1);
  return Date.parse(JSON.parse(last?.payload ?? '{}').at) - begins - (last?.at ?? 0);
}

it('a wall clock that jumps changes nothing but the time', async () => {
  const home = await startedHome({
    cloud: { sonics: 2 },
    // Cron is what knows the wall clock.
    config: { schedules: { sonics: '* * * * *' } },
  });
  await home.pass(10 * minuteMs);
  const [told = '', moved = ''] = home.world.sonics.ids;
  const seldom = () =>
    home.asked('sign_in').length + home.asked('refresh_token').length + home.asked('read_daily_usage').length;
  for (const shiftMs of [hourMs, 0, -hourMs, 0]) {
    const from = home.time.now;
    const [before, usage] = [home.requests.length, seldom()];
    const commands = home.events('command').length;
    home.bridge.wallErrorMs = shiftMs;
    home.oracle.wallErrorMs = hourMs;
    const valve = home.world.valve(moved)?.settled === 'open' ? 'closed' : 'open';
    home.world.setValve(moved, valve);
    const { id } = home.world.openIncident({ type: 'high_volume_alert', sonicId: moved });
    const action = home.world.valve(told)?.settled === 'open' ? 'CLOSE' : 'OPEN';
    home.broker.publish(`sonic2mqtt/sonic/${told}/valve/set`, action, false);
    await home.pass(5 * minuteMs);
    expect(Math.abs(aheadMs(home) - shiftMs)).toBeLessThan(1_000);
    home.world.closeIncident(id);
    await home.pass(5 * minuteMs);
    expect(home.text(`incident/${id}`)).toBeUndefined();
    expect(home.json(`sonic/${moved}`).valve).toBe(valve);
    expect(home.opened(moved).at(-1)).toBe(id);
    expect(home.opened(moved).filter((each) => each === id)).toHaveLength(1);
    expect(home.events('command').slice(commands)).toMatchObject([{ status: 'ok' }]);
    expect(
      home.linesFrom(from).filter((line) => /^(warn|error)(?!.*No new measurements)/.test(line)),
    ).toEqual([]);
    expect(home.published('bridge/cloud').filter(({ at }) => at > from)).toEqual([]);
    // What is read by the quarter of an hour is not read more often for it, and all else neither.
    expect(seldom() - usage).toBeLessThanOrEqual(4);
    expect(home.requests.length - before).toBeLessThan(100);
    const lists = home.asked('list_sonics').filter(({ at }) => at > from);
    expect(lists.length).toBeGreaterThanOrEqual(9);
  }
  await home.stop();
});

it('a clock that is two months ahead closes no month that is not over: days are not asked for meanwhile', async () => {
  const home = await startedHome({ config: { schedules: {} } });
  const water = () => home.json(`sonic/${home.sonicId}/usage`);
  const before = water();
  expect(before.today).toEqual(expect.any(Number));
  home.bridge.wallErrorMs = 61 * dayMs;
  await home.pass(20 * minuteMs);
  expect(home.json('bridge/health').reason).toMatch(/the clock of this computer is wrong \(\S+\)/);
  const asked = home.asked('read_daily_usage').length;
  await home.pass(hourMs);
  expect(home.asked('read_daily_usage')).toHaveLength(asked);
  home.bridge.wallErrorMs = 0;
  await home.pass(40 * minuteMs);
  expect(home.json('bridge/health')).toMatchObject({ status: 'ok', reason: null });
  expect(water().today).toEqual(expect.any(Number));
  expect(water().total).toBeGreaterThanOrEqual(before.total);
});
