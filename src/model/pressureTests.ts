import { dateAfter } from './calendar.ts';
import { hasOpenOf, newestFirst, typeOf, type WithIncidents } from './incidents.ts';
import type { PressureTests } from './records.ts';

/** The pressure tests of a sonic in the form that is shown. */
export interface PressureTestDays {
  /** The latest date with a test; null if there was none. */
  readonly lastDay: string | null;
  /** When that date began at the property, in ms since 1970; null if there was none. */
  readonly lastDayStart: number | null;
  /** Null if readings have failed for too long. */
  readonly todayCount: number | null;
  /** The ids of the tests of the last days, by date and sorted. */
  readonly days: Readonly<Record<string, readonly string[]>>;
}

const daysShown = 60;

/** The tests after readings have failed for too long: the number of today is unknown. */
export function withoutToday(tests: PressureTestDays): PressureTestDays {
  return { ...tests, todayCount: null };
}

/** The results of a pressure test, according to the alerts about it. */
export const pressureTestResults = ['failed', 'skipped', 'aborted', 'no_problem'] as const;
type PressureTestResult = (typeof pressureTestResults)[number];

/**
 * The result of the last test, as far as an open alert shows it: the newest about a test since the beginning of the last
 * test's day. Null if there was no test, if the readings are too old, or if it is not known whether such an alert is open.
 */
export function lastPressureTestResult(
  tests: PressureTestDays | null | undefined,
  view: WithIncidents,
): PressureTestResult | null {
  if (!tests || tests.todayCount === null || tests.lastDayStart === null) return null;
  const { lastDayStart } = tests;
  const problems = pressureTestResults.filter((result) => result !== 'no_problem');
  const found = newestFirst(view.incidents)
    // An alert without a time may be a new one.
    .filter(({ detected_at: at }) => !(Date.parse(at ?? '') < lastDayStart))
    .flatMap((incident) => problems.filter((result) => typeOf(incident) === `pressure_test_${result}`));
  if (found[0] !== undefined) return found[0];
  const areKnown = problems.every((result) => hasOpenOf(view, `pressure_test_${result}`) !== null);
  return areKnown ? 'no_problem' : null;
}

/** The tests to show on a date. `startOf` returns when a date begins at the property, in ms since 1970. */
export function pressureTestsOn(
  date: string,
  { by_day }: PressureTests,
  startOf: (date: string) => number,
): PressureTestDays {
  const tests = Object.entries(by_day)
    .filter(([, ofDay]) => ofDay.length > 0)
    .map(([day, ofDay]): [string, string[]] => [day, ofDay.map(({ id }) => id)])
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  const days = Object.fromEntries(tests.filter(([day]) => day > dateAfter(date, -daysShown)));
  const lastDay = tests.at(-1)?.[0] ?? null;
  return {
    lastDay,
    lastDayStart: lastDay === null ? null : startOf(lastDay),
    todayCount: days[date]?.length ?? 0,
    days,
  };
}
