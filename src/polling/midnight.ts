import type { Clock } from '../base/clock.ts';
import type { LocalDays } from './localDays.ts';

/** The wall clock may jump, and a machine may sleep: the calendar is looked at so often. */
const longestWaitMs = 60_000;

/** Says when another day begins in any of the time zones in use. */
export class Midnight {
  readonly #days: LocalDays;
  readonly #timezones: () => Iterable<string>;
  readonly #onNewDay: () => void;
  readonly #clock: Clock;
  #dates: ReadonlyMap<string, string> = new Map();
  #cancel: () => void = () => {};

  constructor(days: LocalDays, timezones: () => Iterable<string>, onNewDay: () => void, clock: Clock) {
    this.#days = days;
    this.#timezones = timezones;
    this.#onNewDay = onNewDay;
    this.#clock = clock;
  }

  /** Looks at the calendar, and from then on whenever a day may have ended. */
  start(): void {
    const timezones = [...new Set(this.#timezones())];
    const before = this.#dates;
    this.#dates = new Map(timezones.map((timezone) => [timezone, this.#days.in(timezone).date]));
    const waitMs = Math.min(longestWaitMs, ...timezones.map((timezone) => this.#days.leftMs(timezone)));
    this.#cancel();
    this.#cancel = this.#clock.after(Math.max(1, waitMs), () => this.start());
    if ([...this.#dates].some(([timezone, date]) => (before.get(timezone) ?? date) !== date)) {
      this.#onNewDay();
    }
  }

  /** Looks no more. */
  stop(): void {
    this.#cancel();
  }
}
