import type { Clock } from '../base/clock.ts';
import { pressureTestsOn } from '../model/pressureTests.ts';
import type { PressureTests } from '../model/records.ts';
import { Ages } from '../store/ages.ts';
import type { Store } from '../store/store.ts';
import type { SonicDays } from './sonicDays.ts';

/** Knows the pressure tests of each sonic, and shows in the store what they are on the present day. */
export class PressureTestBook {
  readonly #store: Store;
  readonly #days: SonicDays;
  readonly #allowedMs: () => number;
  readonly #clock: Clock;
  readonly #ages = new Ages();
  readonly #tests = new Map<string, PressureTests>();

  /** What could not be read by itself for longer than allowed is old. */
  constructor(store: Store, days: SonicDays, allowedMs: () => number, clock: Clock) {
    this.#store = store;
    this.#days = days;
    this.#allowedMs = allowedMs;
    this.#clock = clock;
  }

  /** Takes in a sonic's tests. */
  take(sonicId: string, tests: PressureTests): void {
    this.#tests.set(sonicId, tests);
    this.#ages.read(sonicId, this.#clock.monotonic());
    this.#show(sonicId);
  }

  /** Notes that a sonic could not be read at that time, in ms of the monotonic clock. */
  missed(sonicId: string, at: number): void {
    if (this.#ages.missed(sonicId, at, this.#allowedMs())) this.#show(sonicId);
  }

  /** The cloud has no tests of this sonic; one that has ever had any goes on having them. */
  without(sonicId: string, at: number): void {
    if (this.#tests.has(sonicId)) this.missed(sonicId, at);
    else this.#store.setPressureTests(sonicId, null);
  }

  /** Shows everything as it is now: after a midnight, or when sonics or time zones have changed. */
  refresh(): void {
    const present = new Set(this.#store.ids('sonic'));
    for (const id of this.#tests.keys()) {
      if (present.has(id)) {
        this.#show(id);
        continue;
      }
      this.#tests.delete(id);
      this.#ages.forget(id);
    }
  }

  #show(sonicId: string): void {
    const tests = this.#tests.get(sonicId);
    if (!tests) return;
    const { date } = this.#days.of(sonicId);
    this.#store.setPressureTests(sonicId, pressureTestsOn(date, tests, this.#ages.isOld(sonicId)));
  }
}
