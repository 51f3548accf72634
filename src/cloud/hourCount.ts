import type { Clock } from '../base/clock.ts';

const minutes = 60;

/** How often something happened in the last hour, to the minute, in constant memory. */
export class HourCount {
  readonly #clock: Clock;
  readonly #counts = new Array<number>(minutes).fill(0);
  #minute: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#minute = this.#now();
  }

  add(): void {
    this.#forget();
    const slot = this.#minute % minutes;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
  }

  total(): number {
    this.#forget();
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #now(): number {
    return Math.floor(this.#clock.monotonic() / 60_000);
  }

  #forget(): void {
    const now = this.#now();
    for (let passed = Math.min(minutes, now - this.#minute); passed > 0; passed--) {
      this.#counts[(now - passed + 1) % minutes] = 0;
    }
    this.#minute = now;
  }
}
