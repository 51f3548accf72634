import { monthOf } from '../model/calendar.ts';
import type { SonicView } from '../model/devices.ts';
import type { Usage } from '../model/usage.ts';

/** The water of this month, a figure a day. */
export interface ShownUsage {
  /** Of which sonic; null: of all in the property together. */
  readonly sonic: string | null;
  /** YYYY-MM, in the time zone of the property. */
  readonly month: string;
  /** From the first of the month until today, litres; null where nobody knows. */
  readonly days: readonly (number | null)[];
  /** Days of the month on which some sonics are not in the figure. */
  readonly incompleteDays: readonly number[];
  /** In the month so far, as far as is known; null where nothing is. */
  readonly litres: number | null;
  /** Whether today's figure is known: where it is not, the readings have failed for too long. */
  readonly isFresh: boolean;
}

/** Sums up the water of these sonics; null where none of them has any, or that is not known yet. */
export function usageOf(sonic: string | null, sonics: readonly SonicView[]): ShownUsage | null {
  const known = sonics.flatMap(({ usage }) => usage ?? []);
  const today = known.map(dateOf).toSorted().at(-1);
  if (today === undefined) return null;
  // One whose usage could not be asked for yet has some all the same.
  const expected = sonics.filter(({ usage }) => usage !== null).length;
  const days = Array.from({ length: Number(today.slice(8)) }, (_, index) => {
    const date = `${monthOf(today)}-${String(index + 1).padStart(2, '0')}`;
    return known.flatMap((usage) => litresOn(usage, date) ?? []);
  });
  const sums = days.map((figures) => (figures.length === 0 ? null : rounded(sum(figures))));
  const isIncomplete = ({ length }: readonly number[]) => length > 0 && length < expected;
  return {
    sonic,
    month: monthOf(today),
    days: sums,
    incompleteDays: days.flatMap((figures, index) => (isIncomplete(figures) ? [index + 1] : [])),
    litres: days.flat().length === 0 ? null : rounded(sum(days.flat())),
    isFresh: known.length === expected && known.every(({ todayL }) => todayL !== null),
  };
}

/** Litres of today of these sonics together; null where that is not known of one that has usage, or none has. */
export function todayOf(sonics: readonly SonicView[]): number | null {
  const having = sonics.flatMap(({ usage }) => (usage === null ? [] : [usage?.todayL ?? null]));
  const known = having.filter((litres) => litres !== null);
  return known.length === 0 || known.length < having.length ? null : rounded(sum(known));
}

/** The day in the property, whose start is told with its offset. */
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

/** Sums of thousandths are not exact. */
function rounded(litres: number): number {
  return Math.round(litres * 1_000) / 1_000;
}
