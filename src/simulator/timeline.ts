interface PlannedEvent {
  readonly time: number;
  readonly run: () => void;
}

/**
 * The planned events, by time. Nothing runs by itself: `runUntil` catches up, and each callback sees its own time as
 * `now`. So an idle simulation costs nothing, and the same requests at the same times give the same world.
 */
export class Timeline {
  /** The next event first. */
  #entries: PlannedEvent[] = [];
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  /** How far the timeline has run, or the time of the running callback, in ms since 1970. */
  get now(): number {
    return this.#now;
  }

  /** Runs the callback once `delayMs` have passed. The returned function cancels it. */
  after(delayMs: number, run: () => void): () => void {
    const entry: PlannedEvent = { time: this.#now + delayMs, run };
    const index = this.#entries.findIndex(({ time }) => time > entry.time);
    this.#entries.splice(index === -1 ? this.#entries.length : index, 0, entry);
    return () => {
      this.#entries = this.#entries.filter((each) => each !== entry);
    };
  }

  runUntil(now: number): void {
    for (let next = this.#entries[0]; next && next.time <= now; next = this.#entries[0]) {
      this.#entries.shift();
      this.#now = next.time;
      next.run();
    }
    this.#now = Math.max(this.#now, now);
  }
}
