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

/** Says when something is to be given up. */
export interface Ending {
  /** Why it is over; null as long as it is not. */
  readonly reason: GivenUp | null;
  /** Calls the listener when it is over, at once if it is; what is returned lets go of it. */
  onEnd(listener: (reason: GivenUp) => void): () => void;
}

/** An end that is brought about. */
class Stop implements Ending {
  readonly #listeners = new Set<(reason: GivenUp) => void>();
  #reason: GivenUp | null = null;

  get reason(): GivenUp | null {
    return this.#reason;
  }

  onEnd(listener: (reason: GivenUp) => void): () => void {
    if (this.#reason) listener(this.#reason);
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends whatever waits for it. */
  stop(reason: GivenUp): void {
    if (this.#reason) return;
    this.#reason = reason;
    for (const listener of [...this.#listeners]) listener(reason);
    this.#listeners.clear();
  }
}

/**
 * Ends one call, always with a `GivenUp`, when its time is up, its caller aborts, or it is stopped. Each request has one
 * or two of them, which as signals of the runtime would cost as much as reading the answer.
 */
export class Deadline extends Stop {
  readonly #clock: Clock;
  readonly #letGoOfCaller: () => void;
  #endsAt = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};

  constructor(clock: Clock, caller?: Ending) {
    super();
    this.#clock = clock;
    this.#letGoOfCaller = caller?.onEnd((reason) => this.stop(reason)) ?? (() => {});
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

  /** Lets go of the timer and of its caller; must always be called. */
  dispose(): void {
    this.#cancelTimer();
    this.#letGoOfCaller();
  }
}

const endings = new WeakMap<AbortSignal, Ending>();

/** The end that a signal of the runtime brings: one for all calls that share it, of which there may be hundreds. */
export function endingOf(signal: AbortSignal): Ending {
  const known = endings.get(signal);
  if (known) return known;
  const ending = new Stop();
  const end = () => {
    const given: unknown = signal.reason;
    ending.stop(given instanceof GivenUp ? given : new GivenUp('given up by its caller', false));
  };
  if (signal.aborted) end();
  else signal.addEventListener('abort', end, { once: true });
  endings.set(signal, ending);
  return ending;
}

/** The end that comes first of the two. */
export function firstOf(one: Ending, other: Ending): Ending {
  return {
    get reason() {
      return one.reason ?? other.reason;
    },
    onEnd(listener) {
      const letGos = [one.onEnd(listener), other.onEnd(listener)];
      return () => {
        for (const letGo of letGos) letGo();
      };
    },
  };
}

/** The promise's outcome, or the reason as soon as it is over; the promise itself goes on. */
export function orGivenUp<T>(promise: Promise<T>, ending: Ending): Promise<T> {
  return new Promise((resolve, reject) => {
    const letGo = ending.onEnd(reject);
    promise.then(resolve, reject).finally(letGo);
  });
}

/** Resolves after so many ms, or as soon as it is over. */
export function pause(clock: Clock, ms: number, ending: Ending): Promise<void> {
  return new Promise((resolve) => {
    let letGo = () => {};
    const cancel = clock.after(ms, () => end());
    const end = () => {
      cancel();
      letGo();
      resolve();
    };
    letGo = ending.onEnd(end);
  });
}
