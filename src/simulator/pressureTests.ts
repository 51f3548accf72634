import type { Random } from '../base/backoff.ts';
import { hourMs, minuteMs } from '../base/duration.ts';
import type { PressureTests } from '../model/records.ts';
import { localTime } from './localTime.ts';
import { pick } from './random.ts';
import type { PressureTest } from './records.ts';
import type { World } from './world.ts';

/** How long the incident of a test stays open, in ms. */
const incidentMs = 6 * hourMs;

const outcomes = ['passed', 'passed', 'passed', 'passed', 'passed', 'passed', 'failed', 'skipped', 'aborted'];

/** The ids of tests by the local day on which they began, the oldest first. */
export function testsByDay(tests: readonly PressureTest[], timeZone: string): PressureTests {
  const days = new Map<string, { id: string }[]>();
  for (const { id, started_at } of tests) {
    const { date } = localTime(Date.parse(started_at), timeZone);
    days.set(date, [...(days.get(date) ?? []), { id }]);
  }
  return { by_day: Object.fromEntries(days) };
}

/** Tests each sonic at the time in the settings of its property. */
export function runNightlyTests(world: World, random: Random): void {
  world.timeline.after(minuteMs, () => {
    for (const propertyId of world.properties.ids) {
      if (isTestTime(world, propertyId)) testProperty(world, propertyId, random);
    }
    runNightlyTests(world, random);
  });
}

function isTestTime(world: World, propertyId: string): boolean {
  const settings = world.settings.get(propertyId);
  const { time } = localTime(world.now, world.timezoneOf(propertyId));
  return Boolean(settings?.pressure_tests_enabled && settings.pressure_tests_schedule?.startsWith(time));
}

function testProperty(world: World, propertyId: string, random: Random): void {
  for (const sonicId of world.thingIdsOf(propertyId)) {
    const outcome = pick(random, outcomes);
    if (world.valve(sonicId)?.testing) continue;
    const request = { source: 'schedule' };
    const test = outcome === 'skipped' ? null : startPressureTest(world, sonicId, request, outcome);
    if (test === null) report(world, sonicId, 'skipped');
  }
}

/**
 * Tests the pipe behind a sonic: its valve stays closed for some minutes and then returns to its former position. A
 * test that fails or is aborted opens an incident. Returns null if the test cannot begin.
 */
export function startPressureTest(
  world: World,
  sonicId: string,
  request: { readonly source?: string | undefined },
  outcome = 'passed',
): PressureTest | null {
  const valve = world.valve(sonicId);
  if (!valve?.isResting) return null;
  const before = valve.settled;
  const test = world.addPressureTest(sonicId, request);
  valve.put('pressure_test');
  world.timeline.after(outcome === 'aborted' ? world.pressureTestMs / 3 : world.pressureTestMs, () => {
    // Somebody may have ended the test by hand, and another test may have begun.
    if (!valve.testing || world.pressureTestsOf(sonicId).at(-1) !== test) return;
    valve.put(before);
    if (outcome !== 'passed') report(world, sonicId, outcome);
  });
  return test;
}

function report(world: World, sonicId: string, outcome: string): void {
  const { id } = world.openIncident({ type: `pressure_test_${outcome}`, sonicId });
  world.timeline.after(incidentMs, () => world.closeIncident(id));
}
