import { dateAfter, monthOf } from '../model/calendar.ts';
import type { SonicView } from '../model/devices.ts';
import { sumOfLitres, type Usage } from '../model/usage.ts';

/** How many days the page shows, including today: as many as the longest month has. */
const daysShown = 31;

/** Today is compared with the mean of this many days before it. */
const daysCompared = 7;

/** The water usage of the last 31 days, one figure for each day. */
export interface ShownUsage {
  /** The name of its sonic; null for all sonics of the property together. */
  readonly sonic: string | null;
  /** YYYY-MM-DD, in the time zone of the property. */
  readonly today: string;
  /** Litres by day; the last one is today. Null if they are not known. */
  readonly days: readonly (number | null)[];
  /** The indexes of days for which some sonics have no figure. */
  readonly incompleteDays: readonly number[];
  /** The mean of the complete days among the seven before today; null if none is complete. */
  readonly averageL: number | null;
  readonly averageDays: number;
  /** The litres of this month so far, as far as they are known; null if none are. */
  readonly monthL: number | null;
  /** Whether every day of the month so far is complete. */
  readonly isMonthWhole: boolean;
  /** Whether today's figure is known. It is not if the readings have failed for too long. */
  readonly isFresh: boolean;
}

/** Null if none has usage, or if it is not known yet. In an outage, the last reading is not present. */
export function usageOf(
  sonic: string | null,
  sonics: readonly SonicView[],
  isPresent = true,
): ShownUsage | null {
  const known = sonics.flatMap(({ usage }) => usage ?? []);
  const today = known.map(dateOf).toSorted().at(-1);
  if (today === undefined) return null;
  // A sonic whose usage was not read yet is expected to have some.
  const expected = sonics.filter(({ usage }) => usage !== null).length;
  const days = Array.from({ length: daysShown }, (_, index) => {
    const date = dateAfter(today, index - daysShown + 1);
    const figures = known.flatMap((usage) => litresOn(usage, date) ?? []);
    const litres = figures.length === 0 ? null : sumOfLitres(figures);
    return { date, litres, isWhole: figures.length > 0 && figures.length === expected };
  });
  const compared = days.slice(-daysCompared - 1, -1).filter(({ isWhole }) => isWhole);
  const month = days.filter(({ date }) => monthOf(date) === monthOf(today));
  const inMonth = month.flatMap(({ litres }) => litres ?? []);
  return {
    sonic,
    today,
    days: days.map(({ litres }) => litres),
    incompleteDays: days.flatMap(({ litres, isWhole }, index) => (litres === null || isWhole ? [] : [index])),
    averageL: compared.length === 0 ? null : mean(compared.map(({ litres }) => litres ?? 0)),
    averageDays: compared.length,
    monthL: inMonth.length === 0 ? null : sumOfLitres(inMonth),
    isMonthWhole: month.every(({ isWhole }) => isWhole),
    isFresh: isPresent && known.length === expected && known.every(({ todayL }) => todayL !== null),
  };
}

/** The local date at the property. It is in the start of the day, which has the offset of the time zone. */
function dateOf({ lastReset }: Usage): string {
  return lastReset.slice(0, 10);
}

/** A day gets its figure once water has run. No figure for today means no water, if readings are fresh. */
function litresOn(usage: Usage, date: string): number | null {
  return usage.days[date] ?? (date === dateOf(usage) ? usage.todayL : null);
}

function mean(figures: readonly number[]): number {
  return Math.round(sumOfLitres(figures) / figures.length);
}
