import { dateAfter, startOfDay } from './calendar.ts';
import type { DailyUsage } from './records.ts';

/*
 * How past days become statistics of Home Assistant. Home Assistant keeps a sum for each hour and shows the
 * differences. The sum was 0 at the first hour that it recorded. Earlier hours must end at that 0, so that no recorded
 * sum changes. So their sums are negative. The cloud knows only whole days, so the water of a day is spread evenly over
 * its hours.
 */

/** Litres by date (YYYY-MM-DD), in order. */
export type DaysOfUsage = ReadonlyMap<string, number>;

export interface Joint {
  /** The first existing hour, in ms since 1970. */
  readonly atMs: number;
  /** The sum before that hour. */
  readonly sumL: number;
  /** Litres on the day of that hour, before that hour; null if they are not known. */
  readonly sameDayL: number | null;
  /** Whether an earlier import has added that hour. If it was interrupted, a part of its day may be missing. */
  readonly isImported: boolean;
}

/** The hours to add, in order, and the sum before the first of them. */
interface PastHours {
  readonly beforeL: number;
  readonly hours: readonly { readonly startMs: number; readonly sumL: number }[];
  readonly dates: readonly string[];
}

const hourMs = 3_600_000;

/** A larger figure for one day, in litres, is an error of the cloud. */
const maxLitersPerDay = 1e9;

/** The days of these answers, in order. If a date comes twice, the larger figure is newer. */
export function daysIn(answers: Iterable<DailyUsage>): DaysOfUsage {
  const days = new Map<string, number>();
  for (const { daily } of answers) {
    for (const { date, liters } of daily) {
      if (liters >= 0 && liters <= maxLitersPerDay) days.set(date, Math.max(liters, days.get(date) ?? 0));
    }
  }
  return new Map([...days].toSorted());
}

/** The hours of these days before the joint, by the calendar of the time zone. */
export function hoursBefore(joint: Joint, days: DaysOfUsage, timezone: string): PastHours {
  const { atMs, sumL, sameDayL, isImported } = joint;
  const hours: { startMs: number; sumL: number }[] = [];
  const dates: string[] = [];
  let laterMl = 0;
  for (const [date, liters] of [...days].toReversed()) {
    // Home Assistant's hours are hours of UTC, even in time zones that differ from UTC by half an hour.
    const startMs = fullHour(startOfDay(date, timezone));
    const endMs = fullHour(startOfDay(dateAfter(date, 1), timezone));
    const count = (Math.min(endMs, atMs) - startMs) / hourMs;
    // An import spreads the water evenly, so the water of the missing hours of its day is known.
    const evenlyL = (liters * count * hourMs) / (endMs - startMs);
    const addedL = endMs <= atMs || isImported ? evenlyL : sameDayL;
    if (count <= 0 || addedL === null) continue;
    const ml = Math.round(addedL * 1_000);
    for (let hour = count; hour > 0; hour -= 1) {
      const toComeMl = laterMl + ml - Math.round((ml * hour) / count);
      hours.push({ startMs: startMs + (hour - 1) * hourMs, sumL: sumL - toComeMl / 1_000 });
    }
    laterMl += ml;
    dates.push(date);
  }
  return { beforeL: sumL - laterMl / 1_000, hours: hours.toReversed(), dates: dates.toReversed() };
}

function fullHour(ms: number): number {
  return Math.ceil(ms / hourMs) * hourMs;
}
