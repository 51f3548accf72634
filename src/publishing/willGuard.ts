import type { Clock } from '../base/clock.ts';

/** Two that contradict each other say so no more often. */
const insistEveryMs = 5_000;

/**
 * Contradicts who says `offline` of a bridge that is here: a cluster may learn late that an earlier connection, to a node
 * that died, is over. Without that all would be unavailable for good.
 */
export class WillGuard {
  readonly #clock: Clock;
  readonly #insist: () => void;
  #insistedAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock, insist: () => void) {
    this.#clock = clock;
    this.#insist = insist;
  }

  /** Somebody has said `offline`: says again that the bridge is here, now or soon. */
  denied(): void {
    if (this.#isStopped) return;
    const waitMs = this.#insistedAt + insistEveryMs - this.#clock.monotonic();
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(Math.max(0, waitMs), () => {
      this.#insistedAt = this.#clock.monotonic();
      this.#insist();
    });
  }

  /** Contradicts nobody any more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }
}
