import type { Clock } from '../base/clock.ts';

/** A smaller difference of two clocks may only be the time that an answer took, and is no matter. */
const minAheadMs = 60_000;

/** The cloud's clock, as the Date header of its latest answer shows it. */
export class CloudClock {
  readonly #clock: Clock;
  /** What the cloud's clock shows less what the monotonic one does, in ms; null until an answer has told. */
  #offsetMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes an answer's Date header. */
  record(date: string | null): void {
    const at = Date.parse(date ?? '');
    if (!Number.isNaN(at)) this.#offsetMs = at - this.#clock.monotonic();
  }

  /** In ms since 1970; what this machine's clock shows until an answer has told. */
  get now(): number {
    return this.#offsetMs === null ? this.#clock.now() : this.#clock.monotonic() + this.#offsetMs;
  }

  /** How far this machine's clock is ahead, in ms; 0 if not by a minute. */
  get aheadMs(): number {
    const aheadMs = this.#clock.now() - this.now;
    return Math.abs(aheadMs) < minAheadMs ? 0 : aheadMs;
  }
}
