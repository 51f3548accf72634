import type { Clock } from '../base/clock.ts';
import { type Day, dateAfter, dayAt, startOfDay } from '../model/calendar.ts';

interface CurrentDay extends Day {
  /** Ms since 1970. */
  readonly startMs: number;
  readonly endMs: number;
}

/** What day it is, zone by zone. */
export class LocalDays {
  readonly #clock: Clock;
  readonly #days = new Map<string, CurrentDay>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The present day in a time zone, the same until it ends. */
  in(timezone: string): Day {
    return this.#current(timezone);
  }

  /** How long the present day lasts, in ms. */
  leftMs(timezone: string): number {
    return this.#current(timezone).endMs - this.#clock.now();
  }

  #current(timezone: string): CurrentDay {
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
