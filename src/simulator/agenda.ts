interface Entry {
  readonly time: number;
  run: (() => void) | null;
}

/**
 * What is going to happen, by time. Nothing runs by itself: `settle` catches up to a moment, each entry seeing its
 * own time as `now`. So an idle simulation costs nothing, and the same questions at the same times give the same world.
 */
export class Agenda {
  /** Latest first, so that the next one is taken from the end. */
  readonly #entries: Entry[] = [];
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  /** Ms since 1970: the moment that was settled, or the time of the entry that is running. */
  get now(): number {
    return this.#now;
  }

  /** Runs the callback once `delayMs` have passed; the returned function cancels. */
  after(delayMs: number, run: () => void): () => void {
    const entry: Entry = { time: this.#now + Math.max(0, delayMs), run };
    this.#entries.splice(this.#position(entry.time), 0, entry);
    return () => {
      entry.run = null;
    };
  }

  /** Runs everything that is due by the given time, in order. */
  settle(now: number): void {
    for (let next = this.#entries.at(-1); next && next.time <= now; next = this.#entries.at(-1)) {
      this.#entries.pop();
      this.#now = next.time;
      next.run?.();
    }
    this.#now = Math.max(this.#now, now);
  }

  /** Where an entry goes: before all that are due earlier or, having been added before it, at the same time. */
  #position(time: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.time ?? 0) > time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
