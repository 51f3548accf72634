import { dateAfter } from './calendar.ts';
import type { PressureTests } from './records.ts';

/** The pressure tests of a sonic, as they are shown. */
export interface PressureTestDays {
  /** The latest date with a test; null where there was none. */
  readonly lastDay: string | null;
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

/** The days to show on a date. */
export function pressureTestsOn(date: string, { by_day }: PressureTests): PressureTestDays {
  const tests = Object.entries(by_day)
    .filter(([, ofDay]) => ofDay.length > 0)
    .map(([day, ofDay]): [string, string[]] => [day, ofDay.map(({ id }) => id)])
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  const days = Object.fromEntries(tests.filter(([day]) => day > dateAfter(date, -daysShown)));
  return {
    lastDay: tests.at(-1)?.[0] ?? null,
    todayCount: days[date]?.length ?? 0,
    days,
  };
}
