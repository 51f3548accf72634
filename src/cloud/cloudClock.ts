import type { Clock } from '../base/clock.ts';

/** A smaller difference between two clocks may only be the time that an answer took. */
const minAheadMs = 60_000;

/** The cloud's clock, as the Date header of its latest answer shows it. */
export class CloudClock {
  readonly #clock: Clock;
  /** The cloud's time minus the monotonic time, in ms; null until the first answer. */
  #offsetMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes an answer's Date header. */
  record(date: string | null): void {
    const at = Date.parse(date ?? '');
    if (!Number.isNaN(at)) this.#offsetMs = at - this.#clock.monotonic();
  }

  /** The cloud's time in ms since 1970; this machine's time until the first answer. */
  get now(): number {
    return this.#offsetMs === null ? this.#clock.now() : this.#clock.monotonic() + this.#offsetMs;
  }

  /** How far this machine's clock is ahead of the cloud's, in ms; 0 if by less than a minute. */
  get aheadMs(): number {
    const aheadMs = this.#clock.now() - this.now;
    return Math.abs(aheadMs) < minAheadMs ? 0 : aheadMs;
  }
}
