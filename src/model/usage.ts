import { type Day, dateAfter, monthAfter, monthOf } from './calendar.ts';
import type { DailyUsage } from './records.ts';

/** The water of a sonic since the first day that was read, in whole ml, so that the sum of years is exact. */
export interface UsageRecord {
  /** This month and all months before it are in `frozenMl` and are no longer read. */
  readonly frozenThrough: string;
  readonly frozenMl: number;
  /** By date, the days of later months. */
  readonly days: Readonly<Record<string, number>>;
  /** The later months that were read, even if the cloud has sent no day of them. */
  readonly months: readonly string[];
  /**
   * Whether every month that counts was read once. Before that, the sum would jump later, as if so much water had run.
   */
  readonly isWhole: boolean;
  /** When a reading last changed a figure, as ISO 8601. */
  readonly changedAt: string;
  /** When the current month was last read, in ms since 1970. */
  readonly readAt: number;
  /** The property's time zone at the last reading; undefined if it had none, or if it was not known. */
  readonly timezone?: string | undefined;
}

/** By the calendar of the property. */
interface MonthReading {
  readonly month: string;
  readonly daily: DailyUsage['daily'];
  /** The current month at the property when the reading began. */
  readonly presentMonth: string;
  /** The property's time zone; undefined if it has none, or if it is not known. */
  readonly timezone?: string | undefined;
  /** Ms since 1970. */
  readonly readAt: number;
  /** The months that this run has read, which may count for the sum; those of the record if not given. */
  readonly readMonths?: ReadonlySet<string>;
}

/** The usage of a sonic in the form that is shown, in litres. */
export interface Usage {
  /** Null if readings have failed for too long. */
  readonly todayL: number | null;
  readonly yesterdayL: number | null;
  readonly monthL: number | null;
  /** Since the first day that was read; null if it is not known. */
  readonly totalL: number | null;
  /** When the property's day began, as ISO 8601 with offset. */
  readonly lastReset: string;
  /** The days of the current and the previous month, by date and sorted. */
  readonly days: Readonly<Record<string, number>>;
  /** When the figures last changed, as ISO 8601 in UTC. */
  readonly updatedAt: string;
}

/** A larger figure for one day, in ml, is an error of the cloud and is ignored. */
const maxMlPerDay = 1e12;

/**
 * The months to read next: the current month, the oldest month that was not read to its end, and the previous month.
 * The cloud may still correct the previous month. An older month is read once more and then frozen.
 */
export function monthsDue(
  record: UsageRecord | null,
  presentMonth: string,
  isPreviousRead: boolean,
): readonly string[] {
  const previous = monthAfter(presentMonth, -1);
  const oldest = monthAfter(record?.frozenThrough ?? monthAfter(previous, -1), 1);
  return [
    presentMonth,
    ...(oldest < previous ? [oldest] : []),
    ...(oldest <= previous && !isPreviousRead ? [previous] : []),
  ];
}

/** Adds the reading of a month. If the cloud no longer sends a day, the day keeps its litres. */
export function withReading(record: UsageRecord | null, reading: MonthReading): UsageRecord {
  const { month, presentMonth, readAt, readMonths } = reading;
  const before = reopened(record ?? newRecord(presentMonth, readAt), presentMonth);
  if (month <= before.frozenThrough) return before;
  const read = daysRead(reading);
  const isNews = Object.entries(read).some(([date, ml]) => ml !== before.days[date]);
  const months = [...new Set([...before.months, month])];
  const isRead = (each: string) => (readMonths ?? new Set(months)).has(each);
  return frozen(
    {
      ...before,
      days: { ...before.days, ...read },
      months,
      isWhole: before.isWhole || monthsAfter(before.frozenThrough, presentMonth).every(isRead),
      changedAt: isNews ? new Date(readAt).toISOString() : before.changedAt,
      readAt: month === presentMonth ? readAt : before.readAt,
      timezone: reading.timezone ?? before.timezone,
    },
    reading,
  );
}

/** A new record, which counts from the previous month on. */
function newRecord(presentMonth: string, readAt: number): UsageRecord {
  return {
    frozenThrough: monthAfter(presentMonth, -2),
    frozenMl: 0,
    days: {},
    months: [],
    isWhole: false,
    changedAt: new Date(readAt).toISOString(),
    readAt: 0,
  };
}

/** The ml by date. Of two figures for one date the larger is newer, because a day's water only grows. */
function daysRead({ month, daily }: MonthReading): Record<string, number> {
  const read: Record<string, number> = {};
  for (const { date, liters } of daily) {
    const ml = Math.round(liters * 1_000);
    if (monthOf(date) === month && ml >= 0 && ml <= maxMlPerDay) read[date] = Math.max(ml, read[date] ?? 0);
  }
  return read;
}

/**
 * If the clock was ahead at the first reading, the record begins too late. Months whose litres are in the sum stay
 * closed, because they would count twice: the clock may also be behind now.
 */
function reopened(record: UsageRecord, presentMonth: string): UsageRecord {
  if (record.frozenThrough < presentMonth || record.frozenMl > 0) return record;
  return { ...record, frozenThrough: monthAfter(presentMonth, -1) };
}

function monthsAfter(frozenThrough: string, last: string): readonly string[] {
  const months: string[] = [];
  for (let month = monthAfter(frozenThrough, 1); month <= last; month = monthAfter(month, 1))
    months.push(month);
  return months;
}

/**
 * Freezes a month that was just read for the last time. A later month has begun if the cloud has sent a day of it. Our own
 * clock does not decide this, because it may be ahead.
 */
function frozen(record: UsageRecord, { month, presentMonth }: MonthReading): UsageRecord {
  const isLast = month === monthAfter(record.frozenThrough, 1) && month < monthAfter(presentMonth, -1);
  const later = after(month, record);
  if (!isLast || Object.keys(later.days).length === 0) return record;
  return { ...record, ...later, frozenThrough: month, frozenMl: mlThrough(record, month) };
}

/** The days and months after a month. */
function after(month: string, { days, months }: Pick<UsageRecord, 'days' | 'months'>) {
  const later = Object.entries(days).filter(([date]) => monthOf(date) > month);
  return { days: Object.fromEntries(later), months: months.filter((each) => each > month) };
}

/** Merges the records of two runs that did not know of each other. `later` has the newer readings. */
export function mergedRecords(earlier: UsageRecord, later: UsageRecord): UsageRecord {
  const through = earlier.frozenThrough > later.frozenThrough ? earlier.frozenThrough : later.frozenThrough;
  // The record with more water in these months has counted for longer.
  const base = mlThrough(later, through) > mlThrough(earlier, through) ? later : earlier;
  const days = { ...earlier.days, ...later.days };
  const months = [...new Set([...earlier.months, ...later.months])];
  return {
    ...base,
    ...after(base.frozenThrough, { days, months }),
    isWhole: earlier.isWhole || later.isWhole,
    changedAt: later.changedAt,
    readAt: later.readAt,
    timezone: later.timezone ?? earlier.timezone,
  };
}

/**
 * Makes a record from the usage that was published before the state file was lost. Null if it has no total. The latest
 * months must be read before the total is known again.
 */
export function recordFromShown(shown: unknown): UsageRecord | null {
  const { total, days, last_reset: lastReset, updated_at: updatedAt } = Object(shown);
  const readAt = Date.parse(updatedAt);
  if (typeof total !== 'number' || !/^\d{4}-(0[1-9]|1[0-2])-/.test(lastReset) || Number.isNaN(readAt))
    return null;
  const read: Record<string, number> = {};
  for (const [date, liters] of Object.entries(Object(days))) {
    if (!/^\d{4}-\d\d-(0[1-9]|[12]\d|3[01])$/.test(date) || typeof liters !== 'number') return null;
    read[date] = Math.round(liters * 1_000);
  }
  const months = [...new Set(Object.keys(read).map(monthOf))].toSorted();
  // All months before the days that are shown are in the sum. The other bridge may have closed the previous month
  // already, while its clock was ahead.
  const [first = monthOf(lastReset)] = months;
  const frozenMl = Math.round(total * 1_000) - sum(Object.values(read));
  if (!(frozenMl >= 0) || first < monthAfter(monthOf(lastReset), -1)) return null;
  return {
    frozenThrough: monthAfter(first, -1),
    frozenMl,
    days: read,
    months,
    isWhole: false,
    changedAt: new Date(readAt).toISOString(),
    readAt,
  };
}

function mlThrough({ frozenMl, days }: UsageRecord, last: string): number {
  return frozenMl + sum(Object.entries(days).map(([date, ml]) => (monthOf(date) <= last ? ml : 0)));
}

/** The usage after readings have failed for too long: the total stays, and the current figures are unknown. */
export function withoutPresent(usage: Usage): Usage {
  return { ...usage, todayL: null, yesterdayL: null, monthL: null };
}

export function usageOn(day: Day, record: UsageRecord): Usage {
  const presentMonth = monthOf(day.date);
  const previous = monthAfter(presentMonth, -1);
  const { days, months, frozenMl, isWhole, changedAt } = record;
  // The cloud sends the days of a new month only once it has water. Until then, the previous month shows that usage is
  // known.
  const isKnown = months.includes(presentMonth) || months.includes(previous);
  const dayBefore = dateAfter(day.date, -1);
  const dayStart = new Date(day.startedAt).toISOString();
  const shown = Object.entries(days).filter(
    ([date]) => date.startsWith(previous) || date.startsWith(presentMonth),
  );
  const present = shown.flatMap(([date, ml]) => (date.startsWith(presentMonth) ? ml : []));
  return {
    todayL: isKnown ? litres(days[day.date] ?? 0) : null,
    yesterdayL: isKnown && months.includes(monthOf(dayBefore)) ? litres(days[dayBefore] ?? 0) : null,
    monthL: isKnown ? litres(sum(present)) : null,
    totalL: isWhole ? litres(frozenMl + sum(Object.values(days))) : null,
    lastReset: day.startedAt,
    days: Object.fromEntries(shown.toSorted().map(([date, ml]) => [date, litres(ml)])),
    // At midnight the figures change without a reading.
    updatedAt: changedAt > dayStart ? changedAt : dayStart,
  };
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, each) => total + each, 0);
}

/** Rounded, because sums of thousandths are not exact. */
export function sumOfLitres(figures: readonly number[]): number {
  return Math.round(sum(figures) * 1_000) / 1_000;
}

function litres(ml: number): number {
  return ml / 1_000;
}
