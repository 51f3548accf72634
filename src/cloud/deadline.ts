import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.ts';

export class GivenUp extends Error {
  /** False if its caller gave it up. */
  readonly timedOut: boolean;

  constructor(message: string, timedOut: boolean) {
    super(message);
    this.name = 'GivenUp';
    this.timedOut = timedOut;
  }
}

/** When a call ends: its time is up, or a caller aborts. The reason of the signal is always a `GivenUp`. */
export class Deadline {
  readonly #clock: Clock;
  readonly #callers: readonly AbortSignal[];
  readonly #controller = new AbortController();
  #endsAt = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};
  readonly #onCallerAbort = (event: Event) => this.#abortFor(event.target as AbortSignal);

  constructor(clock: Clock, callers: readonly AbortSignal[] = []) {
    this.#clock = clock;
    this.#callers = callers;
    for (const caller of callers) {
      // Hundreds of calls may share one caller's signal.
      setMaxListeners(0, caller);
      if (caller.aborted) this.#abortFor(caller);
      else caller.addEventListener('abort', this.#onCallerAbort);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ms that are left; Infinity while no time is set. */
  remainingMs(): number {
    return Math.max(0, this.#endsAt - this.#clock.monotonic());
  }

  /** To this many ms from now; Infinity for no time limit. */
  set(ms: number): void {
    this.#endAt(this.#clock.monotonic() + ms);
  }

  /** Moves the deadline by this many ms; a negative number brings it nearer. */
  extend(ms: number): void {
    this.#endAt(this.#endsAt + ms);
  }

  /**
   * Ends the call at once unless more than `leastMs` are left. The timer of the deadline stops while the machine
   * sleeps, but the clock goes on. So this is called before anything is written, and when an answer has come.
   */
  check(leastMs = 0): void {
    if (this.remainingMs() <= leastMs) this.#controller.abort(timedOut());
  }

  /** Releases the timer and the callers' signals; must always be called. */
  dispose(): void {
    this.#cancelTimer();
    for (const caller of this.#callers) caller.removeEventListener('abort', this.#onCallerAbort);
  }

  #endAt(endsAt: number): void {
    this.#cancelTimer();
    this.#endsAt = endsAt;
    if (endsAt === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = this.#clock.after(this.remainingMs(), () => this.#controller.abort(timedOut()));
  }

  #abortFor({ reason }: AbortSignal): void {
    const isOwn = reason instanceof GivenUp;
    this.#controller.abort(isOwn ? reason : new GivenUp('given up by its caller', false));
  }
}

const timedOut = () => new GivenUp('timed out', true);

/** The promise itself goes on after an abort. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
