import type { Clock } from '../../src/base/clock.ts';

interface Entry {
  readonly time: number;
  readonly order: number;
  run: (() => void) | null;
}

/**
 * Simulated time. It does not wait: the next timer runs as soon as all work of the last one is done. Timers
 * that are set in the same order run in the same order, so a simulation can be repeated exactly.
 */
export class VirtualTime {
  /** Ms since the simulation began. */
  #now = 0;
  #order = 0;
  /** A binary heap, the next first. */
  readonly #entries: Entry[] = [];
  /** Called when all work of one moment is done. */
  onRest: () => void = () => {};
  /** How many turns of the event loop this takes. Streams need several. */
  turnsToRest = 1;

  get now(): number {
    return this.#now;
  }

  /** Runs the callback after this delay. The returned function cancels it. */
  after(delayMs: number, run: () => void): () => void {
    const entry: Entry = { time: this.#now + Math.max(0, delayMs), order: this.#order++, run };
    this.#push(entry);
    return () => {
      entry.run = null;
    };
  }

  async runUntil(end: number): Promise<void> {
    await this.#rest();
    for (let next = this.#entries[0]; next && next.time <= end; next = this.#entries[0]) {
      this.#pop();
      if (next.run === null) continue;
      this.#now = next.time;
      next.run();
      await this.#rest();
      this.onRest();
    }
    this.#now = end;
  }

  /**
   * Resolves once every promise that can settle has settled. In a simulation everything waits for virtual
   * time only.
   */
  #rest(): Promise<void> {
    return new Promise((resolve) => {
      let left = this.turnsToRest;
      const turn = () => void (--left > 0 ? setImmediate(turn) : resolve());
      setImmediate(turn);
    });
  }

  #push(entry: Entry): void {
    const heap = this.#entries;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || isBefore(above, entry)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#entries;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (!left) break;
      if (right && isBefore(right, left)) child += 1;
      const below = heap[child];
      if (!below || isBefore(last, below)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(left: Entry, right: Entry): boolean {
  return left.time < right.time || (left.time === right.time && left.order < right.order);
}

/** A machine that can sleep. While it sleeps, time goes on but the timers of its processes stand still. */
export class Machine {
  readonly #time: VirtualTime;
  #sleptMs = 0;
  #fellAsleepAt = 0;
  #wakesAt = Number.NEGATIVE_INFINITY;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Sleeps for this long, from now. */
  sleep(ms: number): void {
    if (this.isAsleep) return;
    this.#fellAsleepAt = this.#time.now;
    this.#wakesAt = this.#time.now + ms;
    this.#time.after(ms, () => {
      this.#sleptMs += ms;
      this.#wakesAt = Number.NEGATIVE_INFINITY;
    });
  }

  /** When the sleeping machine wakes. Minus infinity while it is awake. */
  get wakesAt(): number {
    return this.#wakesAt;
  }

  get isAsleep(): boolean {
    return this.#wakesAt > Number.NEGATIVE_INFINITY;
  }

  /** How long it has been awake in total, in ms. */
  get awakeMs(): number {
    return (this.isAsleep ? this.#fellAsleepAt : this.#time.now) - this.#sleptMs;
  }

  /** Calls back once it has been awake for this much longer. The returned function cancels. */
  after(delayMs: number, run: () => void): () => void {
    const dueMs = this.awakeMs + delayMs;
    let cancel: () => void;
    const arm = () => {
      const leftMs = Math.max(0, dueMs - this.awakeMs);
      const asleepMs = this.isAsleep ? this.#wakesAt - this.#time.now : 0;
      cancel = this.#time.after(asleepMs + leftMs, () => {
        // Sums of fractions have rounding errors up to this.
        if (!this.isAsleep && dueMs - this.awakeMs < 1e-3) run();
        else arm();
      });
    };
    arm();
    return () => cancel();
  }
}

/**
 * The clock of one process. The wall clock can be wrong, and the process can be killed. While the machine
 * sleeps, both times go on, but timers do not. The real clocks that the bridge uses behave the same.
 */
export class ProcessClock implements Clock {
  readonly #time: VirtualTime;
  readonly #startedAt: number;
  readonly #wallNow: () => number;
  readonly #onDeath = new Set<() => void>();
  /** How many timers are running. */
  #waiting = 0;
  #isDead = false;
  readonly machine: Machine;

  constructor(time: VirtualTime, wallNow: () => number, machine = new Machine(time)) {
    this.#time = time;
    this.machine = machine;
    this.#startedAt = time.now;
    this.#wallNow = wallNow;
  }

  now(): number {
    return this.#wallNow();
  }

  monotonic(): number {
    return this.#time.now - this.#startedAt;
  }

  after(delayMs: number, callback: () => void): () => void {
    let isOver = false;
    this.#waiting += 1;
    // At least 1 ms, as in Node.js. A shorter delay might not move the time, so a loop of such waits would
    // never end.
    const cancel = this.machine.after(Math.max(1, delayMs), () => {
      over();
      if (!this.#isDead) callback();
    });
    const over = () => {
      if (!isOver) this.#waiting -= 1;
      isOver = true;
    };
    return () => {
      over();
      cancel();
    };
  }

  /**
   * Delivers data from outside. While the machine sleeps, it waits in a socket and not in the process, so it
   * is no timer of the process.
   */
  deliverAfter(delayMs: number, callback: () => void): void {
    this.machine.after(delayMs, () => {
      if (!this.#isDead) callback();
    });
  }

  /** Calls back even if the process has died, for effects outside of it. */
  afterDespiteDeath(delayMs: number, callback: () => void): void {
    this.#time.after(delayMs, callback);
  }

  /** How many timers are running. */
  get waiting(): number {
    return this.#waiting;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Kills the process. None of its timers runs any more. */
  die(): void {
    this.#isDead = true;
    for (const callback of this.#onDeath) callback();
    this.#onDeath.clear();
  }

  /** Calls back when the process is killed. The returned function cancels. */
  onDeath(callback: () => void): () => void {
    this.#onDeath.add(callback);
    return () => this.#onDeath.delete(callback);
  }
}
