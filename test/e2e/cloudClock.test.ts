import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { OperationName } from '../../src/cloud/operations.ts';
import { type BentWorld, bentWorld } from '../support/bentWorld.ts';
import { startHouse } from '../support/house.ts';
import { expectToStopInTime, type FaultyHouse, startFaultyHouse, untilWell } from '../support/outageJudge.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const hourMs = 3_600_000;
const perMinute = 900;

/** How far the bridge takes itself to be ahead, as its last event tells. */
function aheadMs({ house }: FaultyHouse): number {
  return Date.parse(String(house.events().at(-1)?.['at'])) - Date.now();
}

describe('a wall clock that jumps', () => {
  let faulty: FaultyHouse;
  let world: BentWorld;
  beforeAll(async () => {
    world = bentWorld();
    faulty = await startFaultyHouse({
      env: world.env,
      config: {
        cloud: { max_requests_per_minute: perMinute, request_timeout: '10s' },
        valve: { confirm_timeout: '20s', confirm_interval: '100ms' },
        // Cron is what knows the wall clock; what is read by day must not be read more often for it.
        schedules: { sonics: '* * * * * *', incidents: '1s', usage: '1h', pressure_tests: '1h' },
        stale_after: '8s',
      },
    });
  });

  it.each([
    ['an hour ahead', hourMs],
    ['back to where it was', 0],
    ['an hour back', -hourMs],
    ['back to where it was, from behind', 0],
  ])(
    'changes nothing but the time: %s',
    async (_what, shiftMs) => {
      const { house, bridge, told, moved } = faulty;
      const { simulator, watcher } = house;
      const { requests } = simulator;
      const from = watcher.messages.length;
      const logged = bridge.stderr.length;
      const commands = house.events('command').length;
      const count = () =>
        requests.count('sign_in') + requests.count('refresh_token') + requests.count('read_daily_usage');
      const seldom = count();
      const asked = requests.count();
      const startedAt = performance.now();

      world.bend({ shiftMs });
      simulator.world.setValve(moved, simulator.world.valve(moved)?.settled === 'open' ? 'closed' : 'open');
      const { id } = simulator.world.openIncident({ type: 'high_volume_alert', sonicId: moved });
      const announced = () => watcher.messages.slice(from).filter(({ topic }) => topic.endsWith('/incident'));
      await waitFor(() => announced().length > 0, {
        what: 'the incident to be announced',
        timeoutMs: 10_000,
      });
      const action = simulator.world.valve(told)?.settled === 'open' ? 'CLOSE' : 'OPEN';
      await watcher.publish(`sonic2mqtt/sonic/${told}/valve/set`, action);
      await waitFor(() => house.events('command').length > commands, { what: 'the outcome' });
      expect(Math.abs(aheadMs(faulty) - shiftMs)).toBeLessThan(5_000);
      // The cron schedule is looked after every five seconds.
      const lists = requests.count('list_sonics');
      await waitFor(() => requests.count('list_sonics') > lists + 3, {
        what: 'the schedule',
        timeoutMs: 20_000,
      });
      await untilWell(faulty);
      simulator.world.closeIncident(id);
      await waitFor(() => house.json(`incident/${id}`) === undefined, { what: 'the incident to be closed' });

      expect(announced().map(({ text }) => JSON.parse(text).id)).toEqual([id]);
      expect(house.events('command').slice(commands)).toMatchObject([{ status: 'ok' }]);
      expect(bridge.stderr.slice(logged)).not.toMatch(/WARN|ERROR/);
      expect(watcher.messages.slice(from).filter(({ topic }) => topic === 'sonic2mqtt/bridge/cloud')).toEqual(
        [],
      );
      expect(count()).toBe(seldom);
      const minutes = (performance.now() - startedAt) / 60_000;
      expect(requests.count() - asked).toBeLessThan(perMinute * (1 + minutes));
    },
    40_000,
  );

  it('closes no month that is not over: days are not asked for while it is two months ahead', async () => {
    const { house, told } = faulty;
    const { requests } = house.simulator;
    const water = () => house.json(`sonic/${told}/usage`);
    const askedAgain = async (operation: OperationName, times: number) => {
      const asked = requests.count(operation);
      await waitFor(() => requests.count(operation) >= asked + times, { what: operation, timeoutMs: 20_000 });
    };
    const before = water();
    expect(before.today).toEqual(expect.any(Number));
    world.bend({ shiftMs: 61 * 24 * hourMs });
    const words = /the clock of this machine says \S+, so no day can be asked for/;
    for (let polls = 0; polls < 3; polls++) {
      await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
      await askedAgain('list_properties', 1);
    }
    await waitFor(() => words.test(house.json('bridge/health').reason), {
      what: 'the words',
      timeoutMs: 20_000,
    });
    const asked = requests.count('read_daily_usage');
    world.bend({});
    // The clock is right within milliseconds, which a refresh may be ahead of.
    const isAsked = async () => {
      await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
      return requests.count('read_daily_usage') >= asked + 2;
    };
    await waitFor(isAsked, { what: 'the days', timeoutMs: 20_000, intervalMs: 250 });
    await untilWell(faulty);
    expect(water().today).toEqual(expect.any(Number));
    expect(water().total).toBeGreaterThanOrEqual(before.total);
  }, 60_000);

  it('does not keep the bridge from stopping in time', () => expectToStopInTime(faulty));
});

it('a clock that is an hour ahead at the start keeps no leak from being announced where the memory was lost', async () => {
  const world = bentWorld();
  world.bend({ shiftMs: hourMs });
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'ledger.json'), '{"torn');
  const { config, watcher, simulator } = await startHouse({ isStarted: false, config: { data_dir: folder } });
  const bridge = startProgram(['run'], { config, env: world.env });
  await bridge.waitForOutput(/Found properties/, 20_000);
  const [sonicId = ''] = simulator.world.sonics.ids;
  const { id } = simulator.world.openIncident({ type: 'high_volume_alert', sonicId });
  const announced = () => watcher.messages.filter(({ topic }) => topic.endsWith('/incident'));
  await waitFor(() => announced().some(({ text }) => JSON.parse(text).id === id), {
    what: 'the announcement',
    timeoutMs: 10_000,
  });
}, 60_000);
