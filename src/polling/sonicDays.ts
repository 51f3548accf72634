import { type Day, isTimezone } from '../model/calendar.ts';
import type { Ledger } from '../state/ledger.ts';
import type { Store } from '../store/store.ts';
import type { LocalDays } from './localDays.ts';

/** What day it is where each sonic is. */
export class SonicDays {
  readonly #store: Store;
  readonly #ledger: Ledger;
  readonly #days: LocalDays;
  readonly #otherwise: string;

  /** The last is the time zone of a place whose own is none, or was never known. */
  constructor(store: Store, ledger: Ledger, days: LocalDays, otherwise: string) {
    this.#store = store;
    this.#ledger = ledger;
    this.#days = days;
    this.#otherwise = otherwise;
  }

  /** The present day of a sonic. */
  of(sonicId: string): Day {
    return this.#days.in(this.timezoneOf(sonicId));
  }

  /** The time zone that counts for a sonic. */
  timezoneOf(sonicId: string): string {
    return this.ownTimezoneOf(sonicId) ?? this.#otherwise;
  }

  /**
   * The time zone of its property, null where that has none. While nobody knows, it is the one by which its water was
   * counted last: a property does not move, and in another zone a past day's water would pass for today's.
   */
  ownTimezoneOf(sonicId: string): string | null {
    const known = this.#store.timezoneOf(sonicId);
    const own = known === undefined ? this.#ledger.usageOf(sonicId)?.timezone : known;
    return own && isTimezone(own) ? own : null;
  }
}
