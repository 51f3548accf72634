import type { Random } from '../base/backoff.ts';
import { pick } from './random.ts';
import type { World } from './world.ts';

const minuteMs = 60_000;
const testMs = 3 * minuteMs;
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
  return settings.pressure_tests_schedule.startsWith(timeOfDay(world.now, settings.timezone ?? 'UTC'));
}

function testProperty(world: World, propertyId: string, random: Random): void {
  for (const signalId of world.signalIdsOf(propertyId)) {
    for (const sonicId of world.sonicIdsOf(signalId)) {
      startPressureTest(world, sonicId, pick(random, outcomes));
    }
  }
}

/**
 * Tests the pipe behind a sonic: its valve rests closed for some minutes and then returns to where it was. A test
 * that fails, is skipped or aborted is an incident; one that cannot begin is skipped.
 */
function startPressureTest(world: World, sonicId: string, outcome = 'passed'): void {
  const valve = world.valve(sonicId);
  if (!valve || valve.testing) return;
  if (outcome === 'skipped' || !valve.isResting) {
    report(world, sonicId, 'skipped');
    return;
  }
  const before = valve.settled;
  valve.put('pressure_test');
  world.agenda.after(outcome === 'aborted' ? testMs / 3 : testMs, () => {
    if (!valve.testing) return;
    valve.put(before);
    if (outcome !== 'passed') report(world, sonicId, outcome);
  });
}

function report(world: World, sonicId: string, outcome: string): void {
  const { id } = world.openIncident({ type: `pressure_test_${outcome}`, sonicId });
  world.agenda.after(incidentMs, () => world.closeIncident(id));
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** HH:MM on a clock in that time zone. */
function timeOfDay(now: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(timeZone, format);
  }
  return format.format(now);
}

/** Whether the word names a time zone. */
export function isTimezone(word: string): boolean {
  try {
    timeOfDay(0, word);
    return true;
  } catch {
    return false;
  }
}
