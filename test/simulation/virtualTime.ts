import type { Clock } from '../../src/base/clock.ts';

interface Entry {
  readonly time: number;
  readonly order: number;
  run: (() => void) | null;
}

/**
 * Time that passes only as fast as things happen: the next thing runs as soon as everything that the last one set off
 * has come to rest. The same things asked for in the same order happen in the same order.
 */
export class VirtualTime {
  /** Ms since the simulation began. */
  #now = 0;
  #order = 0;
  /** A binary heap, the next first. */
  readonly #entries: Entry[] = [];
  /** Called when everything that one moment set off has come to rest. */
  onRest: () => void = () => {};
  /** How many turns of the event loop that takes; streams take some. */
  turnsToRest = 1;

  get now(): number {
    return this.#now;
  }

  /** Runs the callback once so many ms have passed; the returned function cancels. */
  after(delayMs: number, run: () => void): () => void {
    const entry: Entry = { time: this.#now + Math.max(0, delayMs), order: this.#order++, run };
    this.#push(entry);
    return () => {
      entry.run = null;
    };
  }

  /** Lets time pass up to the given moment. */
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

  /** Lets time pass until the promise settles; for what ends by itself. */
  async runWhile(work: Promise<unknown>, longestMs: number): Promise<boolean> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    work.then(done, done);
    const end = this.#now + longestMs;
    await this.#rest();
    while (!isDone) {
      const next = this.#entries[0];
      if (!next || next.time > end) return false;
      await this.runUntil(next.time);
    }
    return true;
  }

  /** Resolves once every promise that can settle has: nothing in a simulation waits for anything but virtual time. */
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

/** A machine, which can sleep: the time goes on meanwhile, and all that its processes wait for stands still. */
export class Machine {
  readonly #time: VirtualTime;
  #sleptMs = 0;
  #fellAsleepAt = 0;
  #wakesAt = Number.NEGATIVE_INFINITY;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Sleeps for so long from now. */
  sleep(ms: number): void {
    if (this.isAsleep) return;
    this.#fellAsleepAt = this.#time.now;
    this.#wakesAt = this.#time.now + ms;
    this.#time.after(ms, () => {
      this.#sleptMs += ms;
      this.#wakesAt = Number.NEGATIVE_INFINITY;
    });
  }

  /** When it wakes from its sleep; long ago while it is awake. */
  get wakesAt(): number {
    return this.#wakesAt;
  }

  get isAsleep(): boolean {
    return this.#wakesAt > Number.NEGATIVE_INFINITY;
  }

  /** Ms that it has been awake. */
  get awakeMs(): number {
    return (this.isAsleep ? this.#fellAsleepAt : this.#time.now) - this.#sleptMs;
  }

  /** Calls back once it has been awake for so many ms more; the returned function cancels. */
  after(delayMs: number, run: () => void): () => void {
    const dueMs = this.awakeMs + delayMs;
    let cancel: () => void;
    const arm = () => {
      const leftMs = Math.max(0, dueMs - this.awakeMs);
      const asleepMs = this.isAsleep ? this.#wakesAt - this.#time.now : 0;
      cancel = this.#time.after(asleepMs + leftMs, () => {
        // Less than this is what a sum of fractions has lost.
        if (!this.isAsleep && dueMs - this.awakeMs < 1e-3) run();
        else arm();
      });
    };
    arm();
    return () => cancel();
  }
}

/**
 * The clock of a machine, which can be wrong, and of a process on it, which can end. Both of its times go on while the
 * machine sleeps, as those of the system do by which the bridge measures; its timers do not.
 */
export class ProcessClock implements Clock {
  readonly #time: VirtualTime;
  readonly #startedAt: number;
  readonly #wallNow: () => number;
  readonly #onDeath = new Set<() => void>();
  /** Callbacks to come. */
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
    // At least 1 ms, as in Node.js. So small a delay may not move the time, and who waits again and again waits for ever.
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

  /** Calls back with what comes from its surroundings: while the machine sleeps, it waits in a socket, not in the process. */
  deliverAfter(delayMs: number, callback: () => void): void {
    this.machine.after(delayMs, () => {
      if (!this.#isDead) callback();
    });
  }

  /** Calls back although the process may be dead by then: for what it has left to its surroundings. */
  afterDespiteDeath(delayMs: number, callback: () => void): void {
    this.#time.after(delayMs, callback);
  }

  /** How many callbacks are to come. */
  get waiting(): number {
    return this.#waiting;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** The process is killed: it never does anything again. */
  die(): void {
    this.#isDead = true;
    for (const callback of this.#onDeath) callback();
    this.#onDeath.clear();
  }

  /** Called back when the process is killed; what it leaves undone is its surroundings' business. */
  onDeath(callback: () => void): () => void {
    this.#onDeath.add(callback);
    return () => this.#onDeath.delete(callback);
  }
}
