// The cloud's own calendar: it shares nothing with the bridge's, which the tests compare with it.

const quarterMs = 15 * 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  // Swedish writes dates and times as ISO 8601 does.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  formats.set(timeZone, format);
  return format;
}

/** Date (YYYY-MM-DD) and time (HH:MM) in that time zone. */
export function localTime(now: number, timeZone: string): { readonly date: string; readonly time: string } {
  const [date = '', time = ''] = formatOf(timeZone).format(now).split(' ');
  return { date, time };
}

/** A day of a calendar, in ms since 1970: it is longer or shorter than others when clocks are changed. */
interface LocalDay {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly startMs: number;
  /** The next one's start. */
  readonly endMs: number;
}

// The newest of each time zone, since most callers ask for the present one.
const days = new Map<string, LocalDay>();

/** The day that it is in that time zone. */
export function localDayAt(now: number, timeZone: string): LocalDay {
  const known = days.get(timeZone);
  if (known && known.startMs <= now && now < known.endMs) return known;
  const { date } = localTime(now, timeZone);
  const isSameDay = (time: number) => localTime(time, timeZone).date === date;
  // Clocks may be changed at midnight, so its start and end are searched for: all changes are at a quarter of an hour.
  let startMs = now - (now % quarterMs);
  while (isSameDay(startMs - 1)) startMs -= quarterMs;
  let endMs = startMs + quarterMs;
  while (isSameDay(endMs)) endMs += quarterMs;
  const day = { date, startMs, endMs };
  days.set(timeZone, day);
  return day;
}

/** Whether the word names a time zone. */
export function isKnownTimezone(word: string): boolean {
  try {
    formatOf(word);
    return true;
  } catch {
    return false;
  }
}
