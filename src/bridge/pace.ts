import type { Clock } from '../base/clock.ts';

/** With few sonics a round is over soon all the same. */
const longestGapMs = 2_000;

/** A round is over before the next is due. */
const shareOfPeriod = 0.9;

/** Spreads the questions of a round over its period, so that a cloud is not asked for thousands in one go. */
export class Pace {
  readonly #clock: Clock;
  readonly #fewest: number;
  readonly #waiting = new Set<() => void>();
  #isHurried = true;
  #gapMs = 0;
  #nextAt = 0;

  /** The first round is a quick one, and so is each of fewer questions than that. */
  constructor(clock: Clock, fewest = 0) {
    this.#clock = clock;
    this.#fewest = fewest;
  }

  /** Begins a round of so many questions. */
  begin(count: number, periodMs: number): void {
    const isQuick = this.#isHurried || count < this.#fewest;
    this.#gapMs = isQuick ? 0 : Math.min(longestGapMs, (periodMs * shareOfPeriod) / Math.max(1, count));
    this.#isHurried = false;
    this.#nextAt = this.#clock.monotonic();
  }

  /** Waits until the next question may be asked. */
  async turn(): Promise<void> {
    const now = this.#clock.monotonic();
    const waitMs = this.#nextAt - now;
    this.#nextAt = Math.max(now, this.#nextAt) + this.#gapMs;
    if (waitMs <= 0) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        cancel();
        this.#waiting.delete(end);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, end);
      this.#waiting.add(end);
    });
  }

  /** Lets what waits come at once, what is left of the round, and the next one. */
  hurry(): void {
    this.#isHurried = true;
    this.#gapMs = 0;
    this.#nextAt = this.#clock.monotonic();
    for (const end of [...this.#waiting]) end();
  }
}
