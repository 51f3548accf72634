import { dateAfter, monthOf } from '../model/calendar.ts';
import type { SonicView } from '../model/devices.ts';
import type { Usage } from '../model/usage.ts';

/** How many days the page shows, with today: those of the longest month. */
const daysShown = 31;

/** Today is compared with so many days before it. */
const daysCompared = 7;

/** The water of the last 31 days, a figure a day. */
export interface ShownUsage {
  /** Of which sonic; null: of all in the property together. */
  readonly sonic: string | null;
  /** YYYY-MM-DD, in the time zone of the property. */
  readonly today: string;
  /** Litres; the last is today's. Null where unknown. */
  readonly days: readonly (number | null)[];
  /** Which of them lack some sonics. */
  readonly incompleteDays: readonly number[];
  /** The mean of those of the seven days before today that are known wholly; null where none is. */
  readonly averageL: number | null;
  /** How many these are. */
  readonly averageDays: number;
  /** In the month so far, as far as is known; null where nothing is. */
  readonly monthL: number | null;
  /** Whether no day of it is missing or incomplete. */
  readonly isMonthWhole: boolean;
  /** Whether today's figure is known: where it is not, the readings have failed for too long. */
  readonly isFresh: boolean;
}

/**
 * Sums up the water of these sonics; null where none of them has any, or that is not known yet. `isPresent`: whether what was
 * read last counts as today's figure, as it does not in an outage.
 */
export function usageOf(
  sonic: string | null,
  sonics: readonly SonicView[],
  isPresent = true,
): ShownUsage | null {
  const known = sonics.flatMap(({ usage }) => usage ?? []);
  const today = known.map(dateOf).toSorted().at(-1);
  if (today === undefined) return null;
  // One whose usage could not be asked for yet has some all the same.
  const expected = sonics.filter(({ usage }) => usage !== null).length;
  const days = Array.from({ length: daysShown }, (_, index) => {
    const date = dateAfter(today, index - daysShown + 1);
    const figures = known.flatMap((usage) => litresOn(usage, date) ?? []);
    const litres = figures.length === 0 ? null : rounded(sum(figures));
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
    monthL: inMonth.length === 0 ? null : rounded(sum(inMonth)),
    isMonthWhole: month.every(({ isWhole }) => isWhole),
    isFresh: isPresent && known.length === expected && known.every(({ todayL }) => todayL !== null),
  };
}

/** The local date in the property: the start of the day has the offset of the time zone. */
function dateOf({ lastReset }: Usage): string {
  return lastReset.slice(0, 10);
}

/** A day has its figure once water has run; that none has today is known as long as readings are fresh. */
function litresOn(usage: Usage, date: string): number | null {
  return usage.days[date] ?? (date === dateOf(usage) ? usage.todayL : null);
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, each) => total + each, 0);
}

function mean(figures: readonly number[]): number {
  return Math.round(sum(figures) / figures.length);
}

/** Sums of thousandths are not exact. */
function rounded(litres: number): number {
  return Math.round(litres * 1_000) / 1_000;
}
