import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.ts';

/** Why a wait or a request was ended from outside; its message is half a sentence for people. */
export class GivenUp extends Error {
  /** Whether time ran out, rather than somebody losing interest. */
  readonly timedOut: boolean;

  constructor(message: string, timedOut: boolean) {
    super(message);
    this.name = 'GivenUp';
    this.timedOut = timedOut;
  }
}

/** The signal of one call: aborts, always with a `GivenUp`, when its time is up, its caller aborts, or it is stopped. */
export class Deadline {
  readonly #clock: Clock;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  #endsAt = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};

  constructor(clock: Clock, caller?: AbortSignal) {
    this.#clock = clock;
    this.#caller = caller;
    if (!caller) return;
    // Hundreds of calls may share a signal; the runtime would take that for a leak.
    setMaxListeners(0, caller);
    caller.addEventListener('abort', this.#onCallerAbort, { once: true });
    if (caller.aborted) this.#onCallerAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ms that are left; Infinity while no time is set. */
  remainingMs(): number {
    return Math.max(0, this.#endsAt - this.#clock.monotonic());
  }

  /** Gives it so many ms from now. */
  set(ms: number): void {
    this.#cancelTimer();
    this.#endsAt = this.#clock.monotonic() + ms;
    this.#cancelTimer = this.#clock.after(ms, () => this.stop(new GivenUp('timed out', true)));
  }

  /** Gives it so many ms more than it has. */
  extend(ms: number): void {
    this.set(this.remainingMs() + ms);
  }

  /** Ends whatever waits on the signal. */
  stop(reason: GivenUp): void {
    this.#controller.abort(reason);
  }

  /** Lets go of the timer and of the caller's signal; must always be called. */
  dispose(): void {
    this.#cancelTimer();
    this.#caller?.removeEventListener('abort', this.#onCallerAbort);
  }

  readonly #onCallerAbort = () => {
    const reason: unknown = this.#caller?.reason;
    this.stop(reason instanceof GivenUp ? reason : new GivenUp('given up by its caller', false));
  };
}

/** The promise's outcome, or the signal's reason as soon as it aborts; the promise itself goes on. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
