import type { Clock } from '../base/clock.ts';

/**
 * Polls when it is asked to: at once, but no more often than this; who asks sooner is served by one poll after that
 * time, so that none is lost.
 */
export class EarlyPoll {
  readonly #poll: () => void;
  readonly #everyMs: number;
  readonly #clock: Clock;
  #polledAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;
  #cancel: () => void = () => {};

  constructor(poll: () => void, everyMs: number, clock: Clock) {
    this.#poll = poll;
    this.#everyMs = everyMs;
    this.#clock = clock;
  }

  /** Asks for a poll. */
  ask(): void {
    if (this.#isWaiting) return;
    const waitMs = this.#polledAt + this.#everyMs - this.#clock.monotonic();
    if (waitMs <= 0) this.#run();
    else {
      this.#isWaiting = true;
      this.#cancel = this.#clock.after(waitMs, () => this.#run());
    }
  }

  /** Polls no more. */
  stop(): void {
    this.#cancel();
    this.#isWaiting = true;
  }

  #run(): void {
    this.#isWaiting = false;
    this.#polledAt = this.#clock.monotonic();
    this.#poll();
  }
}
