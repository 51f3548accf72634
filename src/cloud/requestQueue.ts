import type { Clock } from '../base/clock.ts';

/**
 * Who goes first: valves, at somebody's word, and the session that they need; then other commands; then the lists, which
 * tell of valves and leaks; then what is polled device by device.
 */
export const priorities = ['valve', 'command', 'list', 'device'] as const;
export type Priority = (typeof priorities)[number];

export interface RequestQueueOptions {
  readonly clock: Clock;
  /** Requests in flight, whatever their priority. */
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
}

/** What commands may take beyond the budget before those that can wait should, as a share of it. */
const overdraftShare = 0.25;

/** After so many lists in a row a device that waits has its turn, so that lists never use up the whole budget. */
const maxListsInARow = 3;

type Start = () => void;

/**
 * Decides which request is sent next. Each priority leaves one slot free for those before it, where there are so many
 * slots: what hangs never keeps a valve waiting. Polls keep to a token bucket that holds one minute's requests; commands
 * never wait for it, but polls pay for them.
 */
export class RequestQueue {
  readonly #clock: Clock;
  readonly #maxConcurrency: number;
  readonly #bucketSize: number;
  readonly #waiting = priorities.map(() => new Set<Start>());
  readonly #inFlight = priorities.map(() => 0);
  #listsInARow = 0;
  #tokens: number;
  /** What is left for commands while the tokens are used up; refilled more slowly, so that polls get on too. */
  #overdraft: number;
  #filledAt: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #cancelTimer = () => {};

  constructor({ clock, maxConcurrency, maxRequestsPerMinute }: RequestQueueOptions) {
    this.#clock = clock;
    this.#maxConcurrency = maxConcurrency;
    this.#bucketSize = maxRequestsPerMinute;
    this.#tokens = maxRequestsPerMinute;
    this.#overdraft = this.#maxOverdraft;
    this.#filledAt = clock.monotonic();
  }

  /** Runs the task as soon as its turn comes; rejects with the signal's reason if that aborts before. */
  run<T>(priority: Priority, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    const rank = priorities.indexOf(priority);
    const waiting = this.#waiting[rank];
    return new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', giveUp);
        waiting?.delete(start);
        this.#countInFlight(rank, 1);
        task()
          .finally(() => {
            this.#countInFlight(rank, -1);
            this.#startNext();
          })
          .then(resolve, reject);
      };
      const giveUp = () => {
        waiting?.delete(start);
        this.#startNext();
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', giveUp);
      waiting?.add(start);
      this.#startNext();
    });
  }

  /** Keeps polls waiting for so many ms from now, unless they wait longer already. */
  pausePolls(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
  }

  /** Ms until polls go on; 0 while they are not paused. */
  pausedMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** Ms until the budget and the cloud let the next poll start; 0 if they do now. */
  pollWaitMs(): number {
    this.#fill();
    const refillMs = ((1 - this.#tokens) / this.#bucketSize) * 60_000;
    return Math.max(0, Math.ceil(Math.max(refillMs, this.pausedMs())));
  }

  /** Whether the budget is used up, and what commands may take beyond it as well: one that can wait should. */
  isUsedUp(): boolean {
    this.#fill();
    return this.#tokens < 1 && this.#overdraft < 1;
  }

  get #maxOverdraft(): number {
    return Math.max(1, this.#bucketSize * overdraftShare);
  }

  #startNext(): void {
    this.#cancelTimer();
    while (this.#startOne());
  }

  #startOne(): boolean {
    const [valve, command, list, device] = priorities.map((_, rank) => this.#nextOf(rank));
    const urgent = valve ?? command;
    if (urgent) {
      this.#fill();
      if (this.#tokens < 1) this.#overdraft = Math.max(0, this.#overdraft - 1);
      // The debt is bounded, so that a flood of commands cannot silence the polls for long.
      this.#tokens = Math.max(-this.#bucketSize, this.#tokens - 1);
      urgent();
      return true;
    }
    const isTurnOfDevice = device !== undefined && this.#listsInARow >= maxListsInARow;
    const poll = isTurnOfDevice ? device : (list ?? device);
    if (!poll) return false;
    const waitMs = this.pollWaitMs();
    if (waitMs > 0) {
      this.#cancelTimer = this.#clock.after(waitMs, () => this.#startNext());
      return false;
    }
    this.#listsInARow = poll === list ? this.#listsInARow + 1 : 0;
    this.#tokens -= 1;
    poll();
    return true;
  }

  /** Who has waited longest in this rank, if it may have a slot. */
  #nextOf(rank: number): Start | undefined {
    const isFull = sum(this.#inFlight) >= this.#maxConcurrency;
    // Those of the ranks before take nothing from this one: their slots are their own.
    const maxOfRank = Math.max(1, this.#maxConcurrency - rank);
    if (isFull || sum(this.#inFlight.slice(rank)) >= maxOfRank) return undefined;
    const [start] = this.#waiting[rank] ?? [];
    return start;
  }

  #countInFlight(rank: number, difference: number): void {
    this.#inFlight[rank] = (this.#inFlight[rank] ?? 0) + difference;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const earned = ((now - this.#filledAt) / 60_000) * this.#bucketSize;
    this.#tokens = Math.min(this.#bucketSize, this.#tokens + earned);
    this.#overdraft = Math.min(this.#maxOverdraft, this.#overdraft + earned * overdraftShare);
    this.#filledAt = now;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
