// The cloud's own reckoning of days: it shares nothing with the bridge's, which is judged by it.

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** What calendar and clock show somewhere. */
export interface LocalTime {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** HH:MM. */
  readonly time: string;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(timeZone, format);
  }
  return format;
}

/** What calendar and clock show in that time zone. */
export function localTime(now: number, timeZone: string): LocalTime {
  const parts = new Map<string, string>();
  for (const { type, value } of formatOf(timeZone).formatToParts(now)) parts.set(type, value);
  const at = (type: string) => parts.get(type) ?? '';
  return { date: `${at('year')}-${at('month')}-${at('day')}`, time: `${at('hour')}:${at('minute')}` };
}

/**
 * The first moment of a date (YYYY-MM-DD) in that time zone, in ms since 1970. Clocks may be changed at midnight, so
 * it is looked for and not worked out.
 */
function startOfDay(date: string, timeZone: string): number {
  const utcMidnight = Date.parse(date);
  let before = utcMidnight - dayMs;
  let start = utcMidnight + dayMs;
  while (start - before > minuteMs) {
    const middle = before + Math.floor((start - before) / minuteMs / 2) * minuteMs;
    if (localTime(middle, timeZone).date < date) before = middle;
    else start = middle;
  }
  return start;
}

/** A day of a calendar, in ms since 1970: it is longer or shorter than others when clocks are changed. */
export interface LocalDay {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly startMs: number;
  /** The next one's start. */
  readonly endMs: number;
}

// The newest of each time zone, since all ask for the present one.
const days = new Map<string, LocalDay>();

/** The day that it is in that time zone. */
export function dayAt(now: number, timeZone: string): LocalDay {
  const known = days.get(timeZone);
  if (known && known.startMs <= now && now < known.endMs) return known;
  const { date } = localTime(now, timeZone);
  const startMs = startOfDay(date, timeZone);
  const day = { date, startMs, endMs: startOfDay(nextDate(date), timeZone) };
  days.set(timeZone, day);
  return day;
}

function nextDate(date: string): string {
  return new Date(Date.parse(date) + dayMs).toISOString().slice(0, 10);
}

/** Whether the word names a time zone. */
export function isTimezone(word: string): boolean {
  try {
    formatOf(word);
    return true;
  } catch {
    return false;
  }
}
