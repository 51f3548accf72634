import type { Clock } from '../base/clock.ts';

/** A webhook of which nothing was seen for so long may be broken; one that was silent when it should have called waits as long. */
const trustMs = 24 * 3_600_000;

/** A poll may be quicker than the delivery, and a delivery than what the polls see. */
const slackMs = 60_000;

/**
 * Judges by what the polls find whether the webhook tells of all that happens. It is trusted while they have lately
 * found what it had told of, as anybody may call, and lately nothing that it had not.
 */
export class WebhookTrust {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #deliveredAt = Number.NEGATIVE_INFINITY;
  #provenAt = Number.NEGATIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;
  /** When a poll has last found all there was; null before the first, which finds what is old. */
  #polledAt: number | null = null;
  #isInDoubt = false;
  #cancelDoubt: () => void = () => {};

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Whether it can be relied on. */
  get isTrusted(): boolean {
    const now = this.#clock.monotonic();
    return now - this.#provenAt < trustMs && now - this.#missedAt >= trustMs;
  }

  /** Whether polls need not look so often: it can be relied on, and what it told of last was to be seen since. */
  get isEnough(): boolean {
    return this.isTrusted && this.#polledAt !== null && this.#polledAt >= this.#deliveredAt + slackMs;
  }

  /** The webhook has called. */
  delivered(): void {
    this.#deliveredAt = this.#clock.monotonic();
    if (this.#isInDoubt) this.#judge(true);
  }

  /** A poll has found something that happened: if the webhook has not told of it, it still has a while to do so. */
  found(): void {
    if (this.#polledAt === null || this.#isInDoubt) return;
    if (this.#deliveredAt >= this.#polledAt - slackMs) {
      this.#judge(true);
      return;
    }
    this.#isInDoubt = true;
    this.#cancelDoubt = this.#clock.after(slackMs, () => this.#judge(false));
  }

  /** A poll has found all there was; to be called after `found`. */
  polled(): void {
    this.#polledAt = this.#clock.monotonic();
  }

  /** Judges no more. */
  stop(): void {
    this.#settle();
  }

  #judge(hasTold: boolean): void {
    const before = this.isTrusted;
    this.#settle();
    if (hasTold) this.#provenAt = this.#clock.monotonic();
    else this.#missedAt = this.#clock.monotonic();
    if (this.isTrusted !== before) this.#onChange();
  }

  #settle(): void {
    this.#isInDoubt = false;
    this.#cancelDoubt();
  }
}
