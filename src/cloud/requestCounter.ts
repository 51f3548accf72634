import type { Clock } from '../base/clock.ts';

/** How the requests ended so far, for the metrics. */
export interface RequestTotals {
  /**
   * The number of answers by the first digit of their status, for example `2xx`; `none` counts requests without an
   * answer.
   */
  readonly byStatus: Readonly<Record<string, number>>;
  /** The sum of all requests' durations in ms, from sending to the answer or the failure. */
  readonly ms: number;
}

const minutes = 60;

/** The mean duration is that of about so many requests. */
const meanOf = 100;

/** Counts the requests of the last hour by minute, and all requests by how they ended. */
export class RequestCounter {
  readonly #clock: Clock;
  readonly #perMinute = new Array<number>(minutes).fill(0);
  readonly #byStatus = new Map<string, number>();
  #ms = 0;
  #meanMs = 0;
  #count = 0;
  #minute: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#minute = this.#now();
  }

  /** A request is being sent. */
  recordSent(): void {
    this.#forgetOldMinutes();
    const slot = this.#minute % minutes;
    this.#perMinute[slot] = (this.#perMinute[slot] ?? 0) + 1;
  }

  /** A request has ended after this many ms. The status is null if there was no answer. */
  recordEnded(status: number | null, ms: number): void {
    const word = status === null ? 'none' : `${Math.floor(status / 100)}xx`;
    this.#byStatus.set(word, (this.#byStatus.get(word) ?? 0) + 1);
    this.#ms += ms;
    this.#count = Math.min(meanOf, this.#count + 1);
    this.#meanMs += (ms - this.#meanMs) / this.#count;
  }

  get lastHour(): number {
    this.#forgetOldMinutes();
    return this.#perMinute.reduce((sum, count) => sum + count, 0);
  }

  /** How long the latest requests have taken on average, in ms; 0 before the first. */
  get meanMs(): number {
    return this.#meanMs;
  }

  get totals(): RequestTotals {
    return { byStatus: Object.fromEntries(this.#byStatus), ms: this.#ms };
  }

  #now(): number {
    return Math.floor(this.#clock.monotonic() / 60_000);
  }

  #forgetOldMinutes(): void {
    const now = this.#now();
    for (let passed = Math.min(minutes, now - this.#minute); passed > 0; passed--) {
      this.#perMinute[(now - passed + 1) % minutes] = 0;
    }
    this.#minute = now;
  }
}
