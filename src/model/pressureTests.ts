import { dateAfter } from './calendar.ts';
import { hasOpenOf, newestFirst, typeOf, type WithIncidents } from './incidents.ts';
import type { PressureTests } from './records.ts';

/** The pressure tests of a sonic, as they are shown. */
export interface PressureTestDays {
  /** The latest date with a test; null where there was none. */
  readonly lastDay: string | null;
  /** When that date began at the property, in ms since 1970; null where there was none. */
  readonly lastDayStart: number | null;
  /** Null where the latest readings failed for too long. */
  readonly todayCount: number | null;
  /** The ids of the tests by date, sorted, of the last days. */
  readonly days: Readonly<Record<string, readonly string[]>>;
}

const daysShown = 60;

/** What old readings say: nothing of today. */
export function withoutToday(tests: PressureTestDays): PressureTestDays {
  return { ...tests, todayCount: null };
}

/** What can become of a pressure test, by the alerts of it. */
export const pressureTestResults = ['failed', 'skipped', 'aborted', 'no_problem'] as const;
type PressureTestResult = (typeof pressureTestResults)[number];

/**
 * The result of the last test: that of the newest open alert about a test since the day of the last one began. Null if there
 * was no test, or if what was read of tests is too old, and while such an alert may be open that is not known.
 */
export function lastPressureTestResult(
  tests: PressureTestDays | null | undefined,
  view: WithIncidents,
): PressureTestResult | null {
  if (!tests || tests.todayCount === null || tests.lastDayStart === null) return null;
  const { lastDayStart } = tests;
  const problems = pressureTestResults.filter((result) => result !== 'no_problem');
  const found = newestFirst(view.incidents)
    // One without a time may be new.
    .filter(({ detected_at: at }) => !(Date.parse(at ?? '') < lastDayStart))
    .flatMap((incident) => problems.filter((result) => typeOf(incident) === `pressure_test_${result}`));
  if (found[0] !== undefined) return found[0];
  const areKnown = problems.every((result) => hasOpenOf(view, `pressure_test_${result}`) !== null);
  return areKnown ? 'no_problem' : null;
}

/** The days to show on a date, with the moment when a date begins at the property, in ms since 1970. */
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
