// Times, dates and months as texts: ISO 8601, YYYY-MM-DD and YYYY-MM. Dates and months can be compared as texts.

const dayMs = 86_400_000;

// Later years have five digits, which few programs can read. They come from milliseconds that are taken for seconds.
const endOfTime = Date.UTC(10_000, 0);

/** By time zone: its format; null if the time zone is unknown. */
const formats = new Map<string, Intl.DateTimeFormat | null>();

function formatOf(timezone: string): Intl.DateTimeFormat | null {
  let format = formats.get(timezone);
  if (format === undefined) {
    format = newFormat(timezone);
    formats.set(timezone, format);
  }
  return format;
}

function newFormat(timeZone: string): Intl.DateTimeFormat | null {
  const [numeric, digits] = ['numeric', '2-digit'] as const;
  const date = { year: numeric, month: digits, day: digits } as const;
  const time = { hour: digits, minute: digits, second: digits, hourCycle: 'h23' } as const;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, calendar: 'gregory', ...date, ...time });
  } catch {
    return null;
  }
}

/** Whether this machine knows the zone. The cloud may send an offset; users write names (`isTimezoneName`). */
export function isTimezone(word: string): boolean {
  return formatOf(word) !== null;
}

/** The local date and time at a moment, as YYYY-MM-DDTHH:MM:SS; in UTC if the time zone is unknown. */
function localTime(atMs: number, timezone: string): string {
  const format = formatOf(timezone);
  if (!format) return new Date(atMs).toISOString().slice(0, 19);
  const parts = new Map<string, string>(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const at = (type: string) => parts.get(type) ?? '';
  const date = [at('year').padStart(4, '0'), at('month'), at('day')].join('-');
  return `${date}T${[at('hour'), at('minute'), at('second')].join(':')}`;
}

/** The date at a moment in a time zone. `atMs` is in ms since 1970. */
export function dateAt(atMs: number, timezone: string): string {
  return localTime(atMs, timezone).slice(0, 10);
}

/**
 * The first moment of a date in a time zone, in ms since 1970. It is found by a search, because a day may begin at
 * another hour than 0 if clocks change at midnight, and has 23 to 25 hours.
 */
export function startOfDay(date: string, timezone: string): number {
  // No time zone is more than 14 hours ahead of UTC or 12 hours behind it.
  let before = Date.parse(date) - 15 * 3_600_000;
  let start = Date.parse(date) + 13 * 3_600_000;
  while (start - before > 1) {
    const middle = Math.floor((before + start) / 2);
    if (dateAt(middle, timezone) < date) before = middle;
    else start = middle;
  }
  return start;
}

/** Unix seconds as ISO 8601 in UTC; null for null, for 0 (the cloud's word for unknown) and for years after 9999. */
export function isoFromUnixSeconds(seconds: number | null): string | null {
  const isTime = seconds !== null && seconds > 0 && seconds * 1_000 < endOfTime;
  return isTime ? new Date(seconds * 1_000).toISOString() : null;
}

/** A moment as ISO 8601, in whole seconds, with the offset that the time zone has at that moment. */
export function isoWithOffset(atMs: number, timezone: string): string {
  const local = localTime(atMs, timezone);
  const offsetMin = Math.round((Date.parse(`${local}Z`) - atMs) / 60_000);
  const digits = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(Math.abs(offsetMin) / 60), Math.abs(offsetMin) % 60];
  return `${local}${offsetMin < 0 ? '-' : '+'}${digits(hours)}:${digits(minutes)}`;
}

/** The date this many days later; earlier if negative. */
export function dateAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10);
}

export function isFirstOfMonth(date: string): boolean {
  return date.endsWith('-01');
}

export function monthOf(date: string): string {
  return date.slice(0, 7);
}

/** The month this many months later; earlier if negative. */
export function monthAfter(month: string, months: number): string {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year ?? 0, (number ?? 1) - 1 + months)).toISOString().slice(0, 7);
}

export interface Day {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** When the day began, as ISO 8601 with offset. */
  readonly startedAt: string;
}

/** The day at a moment in a time zone. `atMs` is in ms since 1970. */
export function dayAt(atMs: number, timezone: string): Day {
  const date = dateAt(atMs, timezone);
  return { date, startedAt: isoWithOffset(startOfDay(date, timezone), timezone) };
}
