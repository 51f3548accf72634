// The simulated cloud's own calendar. It shares no code with the bridge's calendar, because tests compare the two.

const quarterMs = 15 * 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  // The Swedish format of dates and times is that of ISO 8601.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  formats.set(timeZone, format);
  return format;
}

/** Date (YYYY-MM-DD) and time (HH:MM) in a time zone. */
export function localTime(now: number, timeZone: string): { readonly date: string; readonly time: string } {
  const [date = '', time = ''] = formatOf(timeZone).format(now).split(' ');
  return { date, time };
}

/** A day of a calendar, in ms since 1970. If clocks change on it, it is longer or shorter than others. */
interface LocalDay {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly startMs: number;
  readonly endMs: number;
}

// By time zone: the last day that was computed. Most callers ask for the current day.
const days = new Map<string, LocalDay>();

export function localDayAt(now: number, timeZone: string): LocalDay {
  const known = days.get(timeZone);
  if (known && known.startMs <= now && now < known.endMs) return known;
  const { date } = localTime(now, timeZone);
  const isSameDay = (time: number) => localTime(time, timeZone).date === date;
  // Clocks may change at midnight, so the start and the end are searched for. Changes only happen at quarters of an
  // hour.
  let startMs = now - (now % quarterMs);
  while (isSameDay(startMs - 1)) startMs -= quarterMs;
  let endMs = startMs + quarterMs;
  while (isSameDay(endMs)) endMs += quarterMs;
  const day = { date, startMs, endMs };
  days.set(timeZone, day);
  return day;
}

export function isKnownTimezone(word: string): boolean {
  try {
    formatOf(word);
    return true;
  } catch {
    return false;
  }
}
