import type { Clock } from '../base/clock.ts';
import { minuteMs } from '../base/duration.ts';

export class RequestCounter {
  readonly #clock: Clock;
  /** By minute of the monotonic clock. */
  readonly #sent = new Map<number, number>();
  /** How many answers came, by status such as `2xx` or `none`, and the sum of their durations in ms. */
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

  /** The status is null if there was no answer. */
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
      if (minute <= this.#minute() - 60) this.#sent.delete(minute);
    }
    return [...this.#sent.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The time of the cloud's clock, in ms since 1970; of this machine's clock until the cloud has answered. */
  get cloudNow(): number {
    return this.#cloudOffsetMs === null ? this.#clock.now() : this.#clock.monotonic() + this.#cloudOffsetMs;
  }

  get aheadMs(): number {
    const aheadMs = this.#clock.now() - this.cloudNow;
    // A smaller difference may only be the time that an answer took.
    return Math.abs(aheadMs) < minuteMs ? 0 : aheadMs;
  }

  #minute(): number {
    return Math.floor(this.#clock.monotonic() / minuteMs);
  }
}
