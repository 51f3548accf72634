import { type Day, dateAfter, monthAfter, monthOf } from './calendar.ts';
import type { DailyUsage } from './records.ts';

/** The water of a sonic since the first day that was read, in whole ml, so that the sum of years is exact. */
export interface UsageRecord {
  /** This month and all months before it are in `frozenMl` and are no longer read. */
  readonly frozenThrough: string;
  readonly frozenMl: number;
  /** By later month: its days, from the first on. A day is null if the cloud has not sent it. */
  readonly months: Readonly<Record<string, readonly (number | null)[]>>;
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

/** A reading of one month, by the calendar of the property. */
interface MonthReading {
  readonly month: string;
  readonly daily: DailyUsage['daily'];
  /** The current month at the property when the reading began. */
  readonly presentMonth: string;
  /** The property's time zone; undefined if it has none, or if it is not known. */
  readonly timezone?: string | undefined;
  /** Ms since 1970. */
  readonly readAt: number;
  /** The months that this run has read, which may count for the sum; all of the record if not given. */
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
  const known = before.months[month];
  const days = mergedDays(known ?? [], reading);
  const isNews = days.some((ml, index) => ml !== (known?.[index] ?? null));
  const months = { ...before.months, [month]: days };
  const isRead = (each: string) => readMonths?.has(each) ?? each in months;
  return frozen(
    {
      ...before,
      months,
      isWhole: before.isWhole || isEveryMonthRead(before.frozenThrough, presentMonth, isRead),
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
    months: {},
    isWhole: false,
    changedAt: new Date(readAt).toISOString(),
    readAt: 0,
  };
}

/** Of two figures for one date the larger is newer, because a day's water only grows. */
function mergedDays(
  known: readonly (number | null)[],
  { month, daily }: MonthReading,
): readonly (number | null)[] {
  const read = new Map<number, number>();
  for (const { date, liters } of daily) {
    const ml = Math.round(liters * 1_000);
    if (monthOf(date) !== month || !(ml >= 0 && ml <= maxMlPerDay)) continue;
    const index = Number(date.slice(8)) - 1;
    read.set(index, Math.max(ml, read.get(index) ?? 0));
  }
  const length = Math.max(known.length, ...[...read.keys()].map((index) => index + 1));
  return Array.from({ length }, (_, index) => read.get(index) ?? known[index] ?? null);
}

/**
 * If the clock was ahead at the first reading, the record begins too late. Months whose litres are in the sum stay
 * closed, because they would count twice: the clock may also be behind now.
 */
function reopened(record: UsageRecord, presentMonth: string): UsageRecord {
  if (record.frozenThrough < presentMonth || record.frozenMl > 0) return record;
  return { ...record, frozenThrough: monthAfter(presentMonth, -1) };
}

function isEveryMonthRead(
  frozenThrough: string,
  presentMonth: string,
  isRead: (month: string) => boolean,
): boolean {
  for (let month = monthAfter(frozenThrough, 1); month <= presentMonth; month = monthAfter(month, 1)) {
    if (!isRead(month)) return false;
  }
  return true;
}

/**
 * Freezes a month that was just read for the last time: one number is enough for it then. A later month has begun if
 * the cloud has sent a day of it. Our own clock does not decide this, because it may be ahead.
 */
function frozen(record: UsageRecord, { month, presentMonth }: MonthReading): UsageRecord {
  const isLast = month === monthAfter(record.frozenThrough, 1) && month < monthAfter(presentMonth, -1);
  const hasLaterDay = ([later, days]: [string, readonly (number | null)[]]) =>
    later > month && days.some((ml) => ml !== null);
  if (!isLast || !Object.entries(record.months).some(hasLaterDay)) return record;
  const { [month]: days = [], ...months } = record.months;
  return { ...record, frozenThrough: month, frozenMl: record.frozenMl + sum(days), months };
}

/** Merges the records of two runs that did not know of each other. `later` has the newer readings. */
export function mergedRecords(earlier: UsageRecord, later: UsageRecord): UsageRecord {
  const through = earlier.frozenThrough > later.frozenThrough ? earlier.frozenThrough : later.frozenThrough;
  // The record with more water in these months has counted for longer.
  const base = mlThrough(later, through) > mlThrough(earlier, through) ? later : earlier;
  const months: Record<string, readonly (number | null)[]> = {};
  for (const [month, days] of [earlier, later].flatMap((record) => Object.entries(record.months))) {
    if (month <= base.frozenThrough) continue;
    const before = months[month] ?? [];
    const length = Math.max(days.length, before.length);
    months[month] = Array.from({ length }, (_, index) => days[index] ?? before[index] ?? null);
  }
  return {
    ...base,
    months,
    isWhole: earlier.isWhole || later.isWhole,
    changedAt: later.changedAt,
    readAt: later.readAt,
    timezone: later.timezone ?? earlier.timezone,
  };
}

/**
 * Makes a record from published usage of another bridge, or of this bridge before its state file was lost. Null if it
 * has no total. The latest months must be read before the total is known again.
 */
export function recordFromShown(shown: unknown): UsageRecord | null {
  const { total, days, last_reset: lastReset, updated_at: updatedAt } = Object(shown);
  const readAt = Date.parse(updatedAt);
  if (typeof total !== 'number' || !/^\d{4}-(0[1-9]|1[0-2])-/.test(lastReset) || Number.isNaN(readAt))
    return null;
  const months: Record<string, (number | null)[]> = {};
  for (const [date, liters] of Object.entries(Object(days))) {
    const index = Number(date.slice(8)) - 1;
    if (!/^\d{4}-\d\d-\d\d$/.test(date) || index < 0 || index > 30 || typeof liters !== 'number') return null;
    const known = months[monthOf(date)] ?? [];
    while (known.length < index) known.push(null);
    known[index] = Math.round(liters * 1_000);
    months[monthOf(date)] = known;
  }
  // All months before the days that are shown are in the sum. The other bridge may have closed the previous month
  // already, while its clock was ahead.
  const [first = monthOf(lastReset)] = Object.keys(months).sort();
  const frozenThrough = monthAfter(first, -1);
  const frozenMl = Math.round(total * 1_000) - Object.values(months).reduce((ml, each) => ml + sum(each), 0);
  if (!(frozenMl >= 0) || first < monthAfter(monthOf(lastReset), -1)) return null;
  return {
    frozenThrough,
    frozenMl,
    months,
    isWhole: false,
    changedAt: new Date(readAt).toISOString(),
    readAt,
  };
}

function mlThrough({ frozenMl, months }: UsageRecord, last: string): number {
  const days = Object.entries(months).flatMap(([month, each]) => (month <= last ? each : []));
  return frozenMl + sum(days);
}

/** The usage after readings have failed for too long: the total stays, and the current figures are unknown. */
export function withoutPresent(usage: Usage): Usage {
  return { ...usage, todayL: null, yesterdayL: null, monthL: null };
}

export function usageOn(day: Day, record: UsageRecord): Usage {
  const presentMonth = monthOf(day.date);
  const previous = monthAfter(presentMonth, -1);
  const { months, frozenMl, isWhole, changedAt } = record;
  // The cloud sends the days of a new month only once it has water. Until then, the previous month shows that usage is
  // known.
  const isKnown = presentMonth in months || previous in months;
  const dayBefore = dateAfter(day.date, -1);
  const totalMl = Object.values(months).reduce((total, days) => total + sum(days), frozenMl);
  const dayStart = new Date(day.startedAt).toISOString();
  return {
    todayL: isKnown ? litres(dayIn(record, day.date) ?? 0) : null,
    yesterdayL: isKnown ? yesterday(record, dayBefore) : null,
    monthL: isKnown ? litres(sum(months[presentMonth] ?? [])) : null,
    totalL: isWhole ? litres(totalMl) : null,
    lastReset: day.startedAt,
    days: daysShown(months, [previous, presentMonth]),
    // At midnight the figures change without a reading.
    updatedAt: changedAt > dayStart ? changedAt : dayStart,
  };
}

function yesterday(record: UsageRecord, date: string): number | null {
  const ml = dayIn(record, date);
  if (ml !== null) return litres(ml);
  return monthOf(date) in record.months ? 0 : null;
}

function dayIn({ months }: UsageRecord, date: string): number | null {
  return months[monthOf(date)]?.[Number(date.slice(8)) - 1] ?? null;
}

function daysShown(months: UsageRecord['months'], shown: readonly string[]): Record<string, number> {
  const days: Record<string, number> = {};
  for (const month of shown) {
    for (const [index, ml] of months[month]?.entries() ?? []) {
      if (ml !== null) days[`${month}-${String(index + 1).padStart(2, '0')}`] = litres(ml);
    }
  }
  return days;
}

function sum(days: readonly (number | null)[]): number {
  return days.reduce<number>((total, ml) => total + (ml ?? 0), 0);
}

function litres(ml: number): number {
  return ml / 1_000;
}
