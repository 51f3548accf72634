import { describe, expect, it } from 'vitest';
import type { OperationName } from '../../src/cloud/operations.ts';
import { minuteMs, secondMs, startedHome } from './home.ts';

/** All that is asked for thing by thing: most of what is asked. */
const thingByThing = new Set<string | null>([
  ...['list_property_signals', 'read_property_settings', 'read_notification_settings', 'read_hub'],
  ...['read_telemetry', 'read_daily_usage', 'read_pressure_tests'],
]);

describe('while the cloud leaves everything unanswered', () => {
  it.each<[string, (operation: OperationName | null) => boolean, boolean]>([
    ['that is asked thing by thing', (operation) => thingByThing.has(operation), true],
    ['but leaks and valves', (operation) => !/^list_(incidents|sonics)$/.test(`${operation}`), true],
    ['but leaks', (operation) => operation !== 'list_incidents', false],
  ])('%s, these are shown within one request more, whenever they come', async (_, hangs, areValvesTold) => {
    const home = await startedHome({
      cloud: { properties: 5, signals: 5, sonics: 10 },
      config: { schedules: { incidents: '30s', sonics: '1m' } },
    });
    home.strike = ({ operation }) => (hangs(operation) ? 'hang-before' : null);
    const { sonicId, world } = home;
    for (let round = 0; round < 4; round++) {
      const at = home.time.now;
      const leak = world.openIncident({ type: 'long_flow_alert', sonicId });
      const valve = round % 2 === 0 ? 'closed' : 'open';
      world.setValve(sonicId, valve);
      await home.pass(5 * minuteMs + 3 * round * secondMs);
      const tookMs = (path: string, isIt: (payload: string) => boolean) =>
        (home.published(path).find((each) => each.at >= at && isIt(each.payload))?.at ?? Infinity) - at;
      const leakMs = tookMs(`incident/${leak.id}`, (payload) => payload !== '');
      const valveMs = tookMs(`sonic/${sonicId}`, (payload) => JSON.parse(payload).valve === valve);
      // Other lists that hang may be before it, twice.
      expect(leakMs).toBeLessThan((areValvesTold ? 41 : 51) * secondMs);
      if (areValvesTold) expect(valveMs).toBeLessThan(61 * secondMs);
    }
    expect(home.requests.filter(({ operation }) => hangs(operation)).length).toBeGreaterThan(6);
  });
});

it('while the cloud answers but one of the questions that are asked thing by thing, that one is still asked half as often as ever', async () => {
  const home = await startedHome({
    cloud: { properties: 5, signals: 5, sonics: 4 },
    config: { schedules: {} },
  });
  const inAThird = async () => {
    const before = home.asked('read_telemetry').length;
    await home.pass(20 * minuteMs);
    return home.asked('read_telemetry').length - before;
  };
  const usual = await inAThird();
  home.strike = ({ operation }) =>
    operation !== 'read_telemetry' && thingByThing.has(operation) ? 'hang-before' : null;
  await home.pass(10 * minuteMs);
  const meanwhile = await inAThird();
  expect(usual).toBeGreaterThan(66);
  expect(meanwhile).toBeGreaterThan(0.5 * usual);
});
