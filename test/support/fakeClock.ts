import type { Clock } from '../../src/base/clock.ts';

interface Timer {
  time: number;
  readonly callback: () => void;
}

/** A clock that moves only when the test calls `advance` or `sleep`. */
export class FakeClock implements Clock {
  #now: number;
  #elapsedMs = 0;
  #timers: Timer[] = [];

  /** Starts at the given wall-clock time, in ms since 1970. */
  constructor(now = Date.UTC(2025, 0, 15, 12)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { time: this.#elapsedMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  }

  /** How many timers are running. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Lets time pass, and runs the timers that become due, in order. */
  advance(ms: number): void {
    const end = this.#elapsedMs + ms;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#moveTo(next.time);
      this.#timers = this.#timers.filter((each) => each !== next);
      next.callback();
    }
    this.#moveTo(end);
  }

  /** The machine sleeps: the clock goes on, but timers do not. */
  sleep(ms: number): void {
    this.#timers = this.#timers.map((timer) => Object.assign(timer, { time: timer.time + ms }));
    this.#moveTo(this.#elapsedMs + ms);
  }

  #next(end: number): Timer | undefined {
    const due = this.#timers.filter(({ time }) => time <= end);
    return due.sort((left, right) => left.time - right.time)[0];
  }

  #moveTo(elapsedMs: number): void {
    this.#now += elapsedMs - this.#elapsedMs;
    this.#elapsedMs = elapsedMs;
  }
}
