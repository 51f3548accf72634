import type { Clock } from '../base/clock.ts';
import { dayMs, minuteMs } from '../base/duration.ts';
import type { CloudClient } from '../cloud/client.ts';
import { type Day, dateAfter, dayAt, startOfDay } from '../model/calendar.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import type { PollProblem } from './pollProblem.ts';

interface CurrentDay extends Day {
  /** Ms since 1970. */
  readonly startMs: number;
  readonly endMs: number;
}

/** The earliest time that a clock may show, in ms since 1970. A computer whose clock is not set yet is in 1970. */
const minPlausibleTime = Date.UTC(2024, 0);

export type LocalDays = ReturnType<typeof localDays>;

/** The current day at each sonic, by the time zone of its property. */
export function localDays(store: Store, state: StateFile, defaultTimezone: string, clock: Clock) {
  /** By sonic: the time zone that was read last. */
  const known = new Map<string, string>();
  const days = new Map<string, CurrentDay>();
  let dates: ReadonlyMap<string, string> = new Map();
  let cancel = () => {};

  /** Calls `onNewDay` whenever a new day has begun at a sonic. */
  function start(onNewDay: () => void): void {
    const timezones = [...new Set(store.ids('sonic').map(timezoneOf))];
    const before = dates;
    const current = timezones.map((timezone) => [timezone, currentDay(timezone)] as const);
    dates = new Map(current.map(([timezone, { date }]) => [timezone, date]));
    // The wall clock may jump, and the machine may sleep.
    const waitMs = Math.min(minuteMs, ...current.map(([, { endMs }]) => endMs - clock.now()));
    cancel = clock.after(Math.max(1, waitMs), () => start(onNewDay));
    if (current.some(([timezone, { date }]) => (before.get(timezone) ?? date) !== date)) onNewDay();
  }

  /**
   * The time zone of the sonic's property that was read last, in this run or an earlier one; null if none was ever
   * read. An old time zone still counts, because a property does not move. With another zone, yesterday's water could
   * count as today's.
   */
  function ownTimezoneOf(sonicId: string): string | null {
    const own = store.timezoneOf(store.propertyOf('sonic', sonicId));
    if (own !== null) known.set(sonicId, own);
    return known.get(sonicId) ?? state.kept.usage.get(sonicId)?.timezone ?? null;
  }

  function timezoneOf(sonicId: string): string {
    return ownTimezoneOf(sonicId) ?? defaultTimezone;
  }

  function currentDay(timezone: string): CurrentDay {
    const now = clock.now();
    const last = days.get(timezone);
    if (last && now >= last.startMs && now < last.endMs) return last;
    const day = dayAt(now, timezone);
    const endMs = startOfDay(dateAfter(day.date, 1), timezone);
    const current = { ...day, startMs: Date.parse(day.startedAt), endMs };
    days.set(timezone, current);
    return current;
  }

  return {
    start,
    stop: () => cancel(),
    ownTimezoneOf,
    /** The current day at a sonic; the same object until the day ends. */
    of: (sonicId: string): Day => currentDay(timezoneOf(sonicId)),
    /** When a date begins at a sonic, in ms since 1970. */
    startOf: (sonicId: string, date: string) => startOfDay(date, timezoneOf(sonicId)),
  };
}

/** Why data cannot be read day by day; null if the clock of this machine is plausible. */
export function clockProblem(client: CloudClient, clock: Clock): PollProblem | null {
  // With a clock that is off by more, months would close too early, and past days would count as today.
  const isWrong = clock.now() < minPlausibleTime || Math.abs(client.clockAheadMs) > dayMs;
  if (!isWrong) return null;
  const date = new Date(clock.now()).toISOString().slice(0, 10);
  return {
    message: `the clock of this computer is wrong (${date}). Water usage cannot be read`,
    key: 'the clock of this computer is wrong',
  };
}
