import type { Random } from '../base/backoff.ts';
import { pick } from './random.ts';
import type { PressureTest } from './testLog.ts';
import type { World } from './world.ts';
import { localTime } from './zone.ts';

const minuteMs = 60_000;
const incidentMs = 6 * 60 * minuteMs;

const outcomes = ['passed', 'passed', 'passed', 'passed', 'passed', 'passed', 'failed', 'skipped', 'aborted'];

/** Looks every minute whether the settings of a property say that its pressure tests begin. */
export function runNightlyTests(world: World, random: Random): void {
  const look = () => {
    for (const propertyId of world.properties.ids) {
      if (isTestTime(world, propertyId)) testProperty(world, propertyId, random);
    }
    world.agenda.after(minuteMs, look);
  };
  world.agenda.after(minuteMs, look);
}

function isTestTime(world: World, propertyId: string): boolean {
  const settings = world.settings.get(propertyId);
  if (!settings?.pressure_tests_enabled || !settings.pressure_tests_schedule) return false;
  const { time } = localTime(world.now, world.timezoneOf(propertyId));
  return settings.pressure_tests_schedule.startsWith(time);
}

function testProperty(world: World, propertyId: string, random: Random): void {
  for (const sonicId of world.thingIdsOf(propertyId)) {
    const outcome = pick(random, outcomes);
    if (world.valve(sonicId)?.testing) continue;
    const test = outcome === 'skipped' ? null : startPressureTest(world, sonicId, schedule, outcome);
    if (test === null) report(world, sonicId, 'skipped');
  }
}

const schedule = { source: 'schedule' };

/**
 * Tests the pipe behind a sonic: its valve rests closed for some minutes and then returns to where it was. A test
 * that fails or is aborted is an incident; null where it cannot begin.
 */
export function startPressureTest(
  world: World,
  sonicId: string,
  request: { readonly source: string },
  outcome = 'passed',
): PressureTest | null {
  const valve = world.valve(sonicId);
  if (!valve?.isResting) return null;
  const before = valve.settled;
  const test = world.addPressureTest(sonicId, request);
  valve.put('pressure_test');
  world.agenda.after(outcome === 'aborted' ? world.pressureTestMs / 3 : world.pressureTestMs, () => {
    // A hand may have ended it, and another one begun.
    if (!valve.testing || world.pressureTestsOf(sonicId).at(-1) !== test) return;
    valve.put(before);
    if (outcome !== 'passed') report(world, sonicId, outcome);
  });
  return test;
}

function report(world: World, sonicId: string, outcome: string): void {
  const { id } = world.openIncident({ type: `pressure_test_${outcome}`, sonicId });
  world.agenda.after(incidentMs, () => world.closeIncident(id));
}
