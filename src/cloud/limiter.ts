import type { Clock } from '../base/clock.ts';
import type { Ending } from './deadline.ts';

/**
 * Who goes first: `urgent`, what moves a valve at somebody's word, and the session that it needs; then other commands;
 * then polls.
 */
export type Priority = 'urgent' | 'command' | 'poll';

export interface LimiterOptions {
  readonly clock: Clock;
  /** Requests in flight, whatever their priority. */
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
}

/** Who asks for a turn. */
export interface Turn {
  readonly priority: Priority;
  /** Polls of different lanes take turns, so that a long crawl does not keep the others waiting. */
  readonly lane: string;
  /** When it is not wanted any more. */
  readonly ending: Ending;
  /** When it is not worth waiting any longer, `ending` unless given: whose turn has come goes on. */
  readonly patience?: Ending;
}

type Start = () => void;

/** What commands may take beyond the budget before they should wait, as a share of it. */
const overdraftShare = 0.25;

/**
 * Who may send a request, and when. Commands go before polls and may overdraw the budget; polls keep to a token bucket
 * that holds one minute's requests. Polls leave a slot free, and commands do not take all, so that what is urgent finds
 * one soon.
 */
export class Limiter {
  readonly #clock: Clock;
  readonly #maxConcurrency: number;
  readonly #bucketSize: number;
  /** All but one, where there are several. */
  readonly #sharedSlots: number;
  readonly #urgent = new Set<Start>();
  readonly #commands = new Set<Start>();
  readonly #lanes = new Map<string, Set<Start>>();
  #inFlight = 0;
  #commandsInFlight = 0;
  #tokens: number;
  /** What is left for commands while the tokens are used up; refilled more slowly, so that polls get on too. */
  #overdraft: number;
  #filledAt: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor({ clock, maxConcurrency, maxRequestsPerMinute }: LimiterOptions) {
    this.#clock = clock;
    this.#maxConcurrency = maxConcurrency;
    this.#sharedSlots = Math.max(1, maxConcurrency - 1);
    this.#bucketSize = maxRequestsPerMinute;
    this.#tokens = maxRequestsPerMinute;
    this.#overdraft = this.#mostOverdraft;
    this.#filledAt = clock.monotonic();
  }

  /** Runs the task when its turn comes; rejects with the reason where it is not wanted any more before. */
  async run<T>(turn: Turn, task: () => Promise<T>): Promise<T> {
    await this.#begin(turn);
    try {
      if (turn.ending.reason) throw turn.ending.reason;
      return await task();
    } finally {
      this.#inFlight--;
      if (turn.priority === 'command') this.#commandsInFlight--;
      this.#startNext();
    }
  }

  #begin({ priority, lane, ending, patience = ending }: Turn): Promise<void> {
    return new Promise((resolve, reject) => {
      if (patience.reason) {
        reject(patience.reason);
        return;
      }
      const start = () => {
        letGo();
        this.#inFlight++;
        if (priority === 'command') this.#commandsInFlight++;
        resolve();
      };
      const letGo = patience.onEnd((reason) => {
        this.#remove(priority, lane, start);
        reject(reason);
      });
      this.#queue(priority, lane).add(start);
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

  /** Ms until the next poll may start, a slot being free; 0 if it may now. */
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

  get #mostOverdraft(): number {
    return Math.max(1, this.#bucketSize * overdraftShare);
  }

  #queue(priority: Priority, lane: string): Set<Start> {
    if (priority === 'urgent') return this.#urgent;
    if (priority === 'command') return this.#commands;
    const queue = this.#lanes.get(lane) ?? new Set();
    this.#lanes.set(lane, queue);
    return queue;
  }

  #remove(priority: Priority, lane: string, start: Start): void {
    const queue = this.#queue(priority, lane);
    queue.delete(start);
    if (priority === 'poll' && queue.size === 0) this.#lanes.delete(lane);
    if (this.#lanes.size === 0) this.#stopTimer();
  }

  #startNext(): void {
    while (
      this.#startCommand(this.#urgent) ||
      (this.#commandsInFlight < this.#sharedSlots && this.#startCommand(this.#commands)) ||
      this.#startPoll()
    );
  }

  #startCommand(waiting: Set<Start>): boolean {
    const [start] = waiting;
    if (!start || this.#inFlight >= this.#maxConcurrency) return false;
    waiting.delete(start);
    this.#fill();
    if (this.#tokens < 1) this.#overdraft = Math.max(0, this.#overdraft - 1);
    // The debt is bounded, so that a flood of commands cannot silence the polls for long.
    this.#tokens = Math.max(-this.#bucketSize, this.#tokens - 1);
    start();
    return true;
  }

  #startPoll(): boolean {
    this.#stopTimer();
    const [next] = this.#lanes;
    if (!next || this.#inFlight >= this.#sharedSlots) return false;
    const waitMs = this.pollWaitMs();
    if (waitMs > 0) {
      this.#cancelTimer = this.#clock.after(waitMs, () => this.#startNext());
      return false;
    }
    const [lane, queue] = next;
    const [start] = queue;
    this.#lanes.delete(lane);
    if (!start) return true;
    queue.delete(start);
    if (queue.size > 0) this.#lanes.set(lane, queue);
    this.#tokens -= 1;
    start();
    return true;
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const earned = ((now - this.#filledAt) / 60_000) * this.#bucketSize;
    this.#tokens = Math.min(this.#bucketSize, this.#tokens + earned);
    this.#overdraft = Math.min(this.#mostOverdraft, this.#overdraft + earned * overdraftShare);
    this.#filledAt = now;
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}
