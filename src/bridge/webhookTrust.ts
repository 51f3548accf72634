import type { Clock } from '../base/clock.ts';

/** A webhook that has not called for so long may be broken; one that was silent when it should have called waits as long. */
const trustMs = 24 * 3_600_000;

/** A poll may be quicker than the delivery, and a delivery than what the polls see. */
const slackMs = 60_000;

/**
 * Judges by what the polls find whether the webhook tells of all that happens. It is trusted while it has called
 * lately, and lately no poll has found anything that it had not told.
 */
export class WebhookTrust {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #deliveredAt = Number.NEGATIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;
  /** When a poll has last found all there was; null before the first, which finds what is old. */
  #polledAt: number | null = null;
  #isInDoubt = false;
  #cancelDoubt: () => void = () => {};

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Whether polls need not look so often. */
  get isTrusted(): boolean {
    const now = this.#clock.monotonic();
    return now - this.#deliveredAt < trustMs && now - this.#missedAt >= trustMs;
  }

  /** The webhook has called. */
  delivered(): void {
    const before = this.isTrusted;
    this.#deliveredAt = this.#clock.monotonic();
    this.#settle();
    if (this.isTrusted !== before) this.#onChange();
  }

  /** A poll has found something that happened: if the webhook has not told of it, it still has a while to do so. */
  found(): void {
    if (this.#polledAt === null || this.#isInDoubt || this.#deliveredAt >= this.#polledAt - slackMs) return;
    this.#isInDoubt = true;
    this.#cancelDoubt = this.#clock.after(slackMs, () => this.#missed());
  }

  /** A poll has found all there was; to be called after `found`. */
  polled(): void {
    this.#polledAt = this.#clock.monotonic();
  }

  /** Judges no more. */
  stop(): void {
    this.#settle();
  }

  #missed(): void {
    const before = this.isTrusted;
    this.#settle();
    this.#missedAt = this.#clock.monotonic();
    if (this.isTrusted !== before) this.#onChange();
  }

  #settle(): void {
    this.#isInDoubt = false;
    this.#cancelDoubt();
  }
}
