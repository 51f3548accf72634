import type { Clock } from '../base/clock.ts';

const lookEveryMs = 5_000;
const longestMs = 10_000;

/**
 * Notices that the process was held up, as a stopped or frozen one is: what was sent to it meanwhile comes all at once
 * when it goes on, and may come before any timer.
 */
export class SleepWatch {
  readonly #clock: Clock;
  readonly #onSlept: () => void;
  #awakeAt: number;
  #isStopped = false;
  #cancel: () => void = () => {};

  constructor(clock: Clock, onSlept: () => void) {
    this.#clock = clock;
    this.#onSlept = onSlept;
    this.#awakeAt = clock.monotonic();
    this.#look();
  }

  /** Tells the owner if it has slept for more than ten seconds or so. */
  check(): void {
    if (this.#clock.monotonic() - this.#awakeAt > lookEveryMs + longestMs) this.#onSlept();
  }

  /** Looks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #look(): void {
    this.#awakeAt = this.#clock.monotonic();
    this.#cancel = this.#clock.after(lookEveryMs, () => {
      this.check();
      if (!this.#isStopped) this.#look();
    });
  }
}
