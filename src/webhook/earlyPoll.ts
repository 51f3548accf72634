import type { Clock } from '../base/clock.ts';
import type { Poller } from '../polling/poller.ts';

/** The contract of the webhook: so many early polls at most. */
const everyMs = 5_000;

/**
 * Reads incidents and valves early when the cloud delivers something: at once, but no more often than every five seconds.
 * All deliveries within that time share one poll after it, so that none is lost.
 */
export class EarlyPoll {
  readonly #poller: Poller;
  readonly #clock: Clock;
  #polledAt = Number.NEGATIVE_INFINITY;
  #isWaiting = false;
  #cancel: () => void = () => {};

  constructor(poller: Poller, clock: Clock) {
    this.#poller = poller;
    this.#clock = clock;
  }

  /** Asks for a poll. */
  ask(): void {
    if (this.#isWaiting) return;
    const waitMs = this.#polledAt + everyMs - this.#clock.monotonic();
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
    void this.#poller.runNow('incidents');
    this.#poller.readValvesSoon();
  }
}
