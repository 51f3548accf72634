// Times, dates and months as texts: ISO 8601, YYYY-MM-DD and YYYY-MM. Dates and months compare as texts do.

const dayMs = 86_400_000;

// Years of five digits, as milliseconds taken for seconds give, are read by few.
const endOfTime = Date.UTC(10_000, 0);

/** Formats by time zone; null for an unknown one. */
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

/** Whether this machine knows the cloud's word for a time zone. Users may write only names (`isTimezoneName`), no offsets. */
export function isTimezone(word: string): boolean {
  return formatOf(word) !== null;
}

/** The local date and time at that moment, YYYY-MM-DDTHH:MM:SS; UTC for an unknown time zone. */
function localTime(atMs: number, timezone: string): string {
  const format = formatOf(timezone);
  if (!format) return new Date(atMs).toISOString().slice(0, 19);
  const parts = new Map<string, string>(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const at = (type: string) => parts.get(type) ?? '';
  const date = [at('year').padStart(4, '0'), at('month'), at('day')].join('-');
  return `${date}T${[at('hour'), at('minute'), at('second')].join(':')}`;
}

/** The date at that moment, in ms since 1970, in that time zone. */
export function dateAt(atMs: number, timezone: string): string {
  return localTime(atMs, timezone).slice(0, 10);
}

/**
 * The first moment of a date in that time zone, in ms since 1970. It is searched for and not computed: where clocks
 * change at midnight the day begins at another hour, and days have 23 to 25 hours.
 */
export function startOfDay(date: string, timezone: string): number {
  // No clock is more than 14 hours ahead of UTC or 12 behind.
  let before = Date.parse(date) - 15 * 3_600_000;
  let start = Date.parse(date) + 13 * 3_600_000;
  while (start - before > 1) {
    const middle = Math.floor((before + start) / 2);
    if (dateAt(middle, timezone) < date) before = middle;
    else start = middle;
  }
  return start;
}

/** ISO 8601 in UTC of Unix seconds; null for null, for 0 (the cloud's unknown) and for no date. */
export function isoFromUnixSeconds(seconds: number | null): string | null {
  const isTime = seconds !== null && seconds > 0 && seconds * 1_000 < endOfTime;
  return isTime ? new Date(seconds * 1_000).toISOString() : null;
}

/** ISO 8601 with the offset that the time zone has at that moment, in whole seconds. */
export function isoWithOffset(atMs: number, timezone: string): string {
  const local = localTime(atMs, timezone);
  const offsetMin = Math.round((Date.parse(`${local}Z`) - atMs) / 60_000);
  const digits = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(Math.abs(offsetMin) / 60), Math.abs(offsetMin) % 60];
  return `${local}${offsetMin < 0 ? '-' : '+'}${digits(hours)}:${digits(minutes)}`;
}

/** The date so many days later, or earlier. */
export function dateAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10);
}

/** Whether a month begins with that date. */
export function isFirstOfMonth(date: string): boolean {
  return date.endsWith('-01');
}

/** The month of a date. */
export function monthOf(date: string): string {
  return date.slice(0, 7);
}

/** The month so many months later, or earlier. */
export function monthAfter(month: string, months: number): string {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year ?? 0, (number ?? 1) - 1 + months)).toISOString().slice(0, 7);
}

/** A day in a time zone. */
export interface Day {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** When it began: ISO 8601 with offset. */
  readonly startedAt: string;
}

/** The day at that moment, in ms since 1970, in that time zone. */
export function dayAt(atMs: number, timezone: string): Day {
  const date = dateAt(atMs, timezone);
  return { date, startedAt: isoWithOffset(startOfDay(date, timezone), timezone) };
}
