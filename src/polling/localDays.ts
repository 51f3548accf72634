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

/** The current day at each sonic, by the time zone of its property. */
export class LocalDays {
  readonly #store: Store;
  readonly #state: StateFile;
  readonly #defaultTimezone: string;
  readonly #clock: Clock;
  /** By sonic: the time zone that was read last. */
  readonly #known = new Map<string, string>();
  readonly #days = new Map<string, CurrentDay>();
  #dates: ReadonlyMap<string, string> = new Map();
  #cancel: () => void = () => {};

  constructor(store: Store, state: StateFile, defaultTimezone: string, clock: Clock) {
    this.#store = store;
    this.#state = state;
    this.#defaultTimezone = defaultTimezone;
    this.#clock = clock;
  }

  /** Calls `onNewDay` whenever a new day has begun at a sonic. */
  start(onNewDay: () => void): void {
    const timezones = [...new Set(this.#store.ids('sonic').map((id) => this.#timezoneOf(id)))];
    const before = this.#dates;
    const days = timezones.map((timezone) => [timezone, this.#currentDay(timezone)] as const);
    this.#dates = new Map(days.map(([timezone, { date }]) => [timezone, date]));
    // The wall clock may jump, and the machine may sleep.
    const waitMs = Math.min(minuteMs, ...days.map(([, { endMs }]) => endMs - this.#clock.now()));
    this.#cancel = this.#clock.after(Math.max(1, waitMs), () => this.start(onNewDay));
    if (days.some(([timezone, { date }]) => (before.get(timezone) ?? date) !== date)) onNewDay();
  }

  stop(): void {
    this.#cancel();
  }

  /** The current day at a sonic; the same object until the day ends. */
  of(sonicId: string): Day {
    return this.#currentDay(this.#timezoneOf(sonicId));
  }

  /** When a date begins at a sonic, in ms since 1970. */
  startOf(sonicId: string, date: string): number {
    return startOfDay(date, this.#timezoneOf(sonicId));
  }

  /**
   * The time zone of the sonic's property that was read last, in this run or an earlier one; null if none was ever
   * read. An old time zone still counts, because a property does not move. With another zone, yesterday's water could
   * count as today's.
   */
  ownTimezoneOf(sonicId: string): string | null {
    const own = this.#store.timezoneOf(this.#store.propertyOf('sonic', sonicId));
    if (own !== null) this.#known.set(sonicId, own);
    return this.#known.get(sonicId) ?? this.#state.kept.usage.get(sonicId)?.timezone ?? null;
  }

  #timezoneOf(sonicId: string): string {
    return this.ownTimezoneOf(sonicId) ?? this.#defaultTimezone;
  }

  #currentDay(timezone: string): CurrentDay {
    const now = this.#clock.now();
    const known = this.#days.get(timezone);
    if (known && now >= known.startMs && now < known.endMs) return known;
    const day = dayAt(now, timezone);
    const endMs = startOfDay(dateAfter(day.date, 1), timezone);
    const current = { ...day, startMs: Date.parse(day.startedAt), endMs };
    this.#days.set(timezone, current);
    return current;
  }
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
