import type { Clock } from '../../src/base/clock.ts';
import { dayAt, monthAfter, monthOf, startOfDay } from '../../src/model/calendar.ts';
import type { PropertyView, SignalView, SonicView } from '../../src/model/devices.ts';
import { isOpen } from '../../src/model/incidents.ts';
import { type PressureTestDays, pressureTestsOn } from '../../src/model/pressureTests.ts';
import { type Usage, type UsageRecord, usageOn, withReading } from '../../src/model/usage.ts';
import { settledValve, valveShown } from '../../src/model/valve.ts';
import { testsByDay } from '../../src/simulator/pressureTests.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import type { World } from '../../src/simulator/world.ts';

/** When all examples happen. */
export const exampleTime = '2026-11-20T07:30:00.000Z';

const stoppedClock: Clock = {
  now: () => Date.parse(exampleTime),
  monotonic: () => 0,
  after: () => () => {},
};

function present<T>(value: T | undefined | null): T {
  if (value === undefined || value === null) throw new Error('the simulated cloud is not as it was');
  return value;
}

/** A sonic of the simulated cloud with all around it, always the same. */
export function exampleHome(): { property: PropertyView; signal: SignalView; sonic: SonicView } {
  const { world } = new Simulator({ quiet: true, clock: stoppedClock });
  const sonic = present([...world.sonics.values()][0]);
  const signal = present(world.signals.get(sonic.signal_id ?? ''));
  const propertyId = present(world.propertyOf(signal.id));
  const incidents = [...world.incidents.values()].filter(isOpen);
  return {
    property: {
      kind: 'property',
      property: present(world.properties.get(propertyId)),
      isStale: false,
      // The cloud does not show the webhook's address.
      settings: { ...present(world.settings.get(propertyId)), webhook_url: null },
      notifications: present(world.notifications.get(propertyId)),
      pause: { until: '2026-11-20T08:30:00.000Z', minutes: 60, state: 'paused', reason: null },
      failedChange: null,
      incidents,
      possibleIncidents: [],
      areIncidentsFresh: true,
      unconfirmedSince: null,
      isReporting: true,
      contents: { signals: [], sonics: [], strays: [], mayHaveMore: false },
    },
    signal: {
      kind: 'signal',
      reach: 'up',
      isChecked: false,
      signal,
      propertyId,
      hub: null,
      incidents: [],
      possibleIncidents: [],
      areIncidentsFresh: true,
      isReporting: true,
    },
    sonic: {
      kind: 'sonic',
      reach: 'up',
      isChecked: false,
      sonic,
      isWifi: false,
      signal,
      propertyId,
      valve: valveShown(sonic.valve_state, settledValve(sonic.valve_state)),
      travelTimeS: 6.1,
      restedAt: null,
      valveRecord: { command: null, failed: null, stopped: null, movement: null },
      telemetry: present(world.telemetry(sonic.id)),
      usage: exampleUsage(world, sonic.id),
      pressureTests: examplePressureTests(world, sonic.id),
      pressureTestJobId: null,
      incidents,
      possibleIncidents: [],
      areIncidentsFresh: true,
      isReporting: true,
    },
  };
}

/** As after the first reading of the month and of the one before. */
function exampleUsage(world: World, sonicId: string): Usage {
  const day = dayAt(world.now, world.timezoneOf(world.propertyOf(sonicId)));
  const presentMonth = monthOf(day.date);
  let record: UsageRecord | null = null;
  for (const month of [presentMonth, monthAfter(presentMonth, -1)]) {
    const [year, number] = month.split('-').map(Number);
    const { daily } = world.usage(sonicId, { year, month: number });
    record = withReading(record, { month, daily, presentMonth, readAt: world.now });
  }
  const { days, ...usage } = usageOn(day, present(record));
  // Two months of days tell no more than three days do.
  return { ...usage, days: Object.fromEntries(Object.entries(days).slice(-3)) };
}

function examplePressureTests(world: World, sonicId: string): PressureTestDays {
  const timezone = world.timezoneOf(world.propertyOf(sonicId));
  world.addPressureTest(sonicId, { source: 'schedule' });
  const tests = testsByDay(world.pressureTestsOf(sonicId), timezone);
  return pressureTestsOn(dayAt(world.now, timezone).date, tests, (date) => startOfDay(date, timezone));
}
