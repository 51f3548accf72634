import type { Clock } from '../base/clock.ts';

const minutesPerHour = 60;

/** A smaller difference between two clocks, in ms, may only be the time that an answer took. */
const minAheadMs = 60_000;

/** Counts the requests, measures their answers, and reads the cloud's clock from them. */
export class RequestCounter {
  readonly #clock: Clock;
  /** By minute of the monotonic clock. */
  readonly #sent = new Map<number, number>();
  /** How many answers came, by the first digit of their status, such as `2xx`, or `none`; and the sum of their durations in ms. */
  readonly totals: { readonly byStatus: Record<string, number>; ms: number } = { byStatus: {}, ms: 0 };
  /** The cloud's time minus the monotonic time, in ms; null until the first answer. */
  #cloudOffsetMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  recordSent(): void {
    const minute = this.#minute();
    this.#sent.set(minute, (this.#sent.get(minute) ?? 0) + 1);
  }

  /** A request has ended after this many ms. The status is null if there was no answer. */
  recordEnded(status: number | null, ms: number): void {
    const word = status === null ? 'none' : `${Math.floor(status / 100)}xx`;
    this.totals.byStatus[word] = (this.totals.byStatus[word] ?? 0) + 1;
    this.totals.ms += ms;
  }

  recordDate(date: string | null): void {
    const at = Date.parse(date ?? '');
    if (!Number.isNaN(at)) this.#cloudOffsetMs = at - this.#clock.monotonic();
  }

  get lastHour(): number {
    for (const minute of this.#sent.keys()) {
      if (minute <= this.#minute() - minutesPerHour) this.#sent.delete(minute);
    }
    return [...this.#sent.values()].reduce((sum, count) => sum + count, 0);
  }

  get cloudNow(): number {
    return this.#cloudOffsetMs === null ? this.#clock.now() : this.#clock.monotonic() + this.#cloudOffsetMs;
  }

  get aheadMs(): number {
    const aheadMs = this.#clock.now() - this.cloudNow;
    return Math.abs(aheadMs) < minAheadMs ? 0 : aheadMs;
  }

  #minute(): number {
    return Math.floor(this.#clock.monotonic() / 60_000);
  }
}
