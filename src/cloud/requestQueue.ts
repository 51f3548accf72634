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
  /** How long a poll may take once it has its turn. */
  readonly requestTimeoutMs: number;
}

/** Who asks for a turn. */
export interface Turn {
  readonly priority: Priority;
  /** Polls of different lanes take turns, so that a long crawl does not keep the others waiting. */
  readonly lane: string;
  /** Whether it is for a list of what the account has, and not for what belongs to one thing. */
  readonly isForList: boolean;
  /** When it is not wanted any more. */
  readonly ending: Ending;
  /** When it is not worth waiting any longer, `ending` unless given: whose turn has come goes on. */
  readonly patience?: Ending;
}

type Start = () => void;

/** The polls of one lane. */
interface Lane {
  readonly isForList: boolean;
  readonly waiting: Set<Start>;
  inFlight: number;
  /** Whether the last of them took all of its time, or almost, as where an endpoint hangs. */
  isStuck: boolean;
}

/** Timers are not exact to the millisecond, and fire before their time on a busy machine. */
const stuckShare = 0.9;

/** What commands may take beyond the budget before they should wait, as a share of it. */
const overdraftShare = 0.25;

/**
 * Who may send a request, and when. Commands go before polls and may overdraw the budget; polls keep to a token bucket
 * that holds one minute's requests. Each leaves a slot to who is before it: commands and lists to what is urgent, what is
 * asked thing by thing to the lists, which tell of valves and leaks, and of either what is stuck to what is answered.
 */
export class Limiter {
  readonly #clock: Clock;
  readonly #maxConcurrency: number;
  readonly #bucketSize: number;
  /** All but one, where there are several. */
  readonly #sharedSlots: number;
  readonly #singleSlots: number;
  readonly #stuckSlots: number;
  readonly #stuckAfterMs: number;
  readonly #urgent = new Set<Start>();
  readonly #commands = new Set<Start>();
  /** The one that had its turn last comes last. */
  readonly #lanes = new Map<string, Lane>();
  #inFlight = 0;
  #commandsInFlight = 0;
  #tokens: number;
  /** What is left for commands while the tokens are used up; refilled more slowly, so that polls get on too. */
  #overdraft: number;
  #filledAt: number;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  constructor({ clock, maxConcurrency, maxRequestsPerMinute, requestTimeoutMs }: LimiterOptions) {
    this.#clock = clock;
    this.#maxConcurrency = maxConcurrency;
    this.#sharedSlots = Math.max(1, maxConcurrency - 1);
    this.#singleSlots = Math.max(1, this.#sharedSlots - 1);
    this.#stuckSlots = Math.max(1, this.#singleSlots - 1);
    this.#stuckAfterMs = requestTimeoutMs * stuckShare;
    this.#bucketSize = maxRequestsPerMinute;
    this.#tokens = maxRequestsPerMinute;
    this.#overdraft = this.#mostOverdraft;
    this.#filledAt = clock.monotonic();
  }

  /** Runs the task when its turn comes; rejects with the reason where it is not wanted any more before. */
  async run<T>(turn: Turn, task: () => Promise<T>): Promise<T> {
    await this.#begin(turn);
    const startedAt = this.#clock.monotonic();
    try {
      if (turn.ending.reason) throw turn.ending.reason;
      return await task();
    } finally {
      this.#inFlight--;
      if (turn.priority === 'command') this.#commandsInFlight--;
      if (turn.priority === 'poll') {
        const lane = this.#lane(turn);
        lane.inFlight--;
        lane.isStuck = this.#clock.monotonic() - startedAt >= this.#stuckAfterMs;
      }
      this.#startNext();
    }
  }

  #begin(turn: Turn): Promise<void> {
    const { priority, ending, patience = ending } = turn;
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
        this.#waiting(turn).delete(start);
        if (this.#isNoPollWaiting) this.#stopTimer();
        reject(reason);
      });
      this.#waiting(turn).add(start);
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

  get #isNoPollWaiting(): boolean {
    return [...this.#lanes.values()].every(({ waiting }) => waiting.size === 0);
  }

  #waiting(turn: Turn): Set<Start> {
    if (turn.priority === 'urgent') return this.#urgent;
    return turn.priority === 'command' ? this.#commands : this.#lane(turn).waiting;
  }

  #lane({ lane: name, isForList }: Turn): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const lane = { isForList, waiting: new Set<Start>(), inFlight: 0, isStuck: false };
    this.#lanes.set(name, lane);
    return lane;
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
    const next = this.#nextLane();
    if (!next || this.#inFlight >= this.#sharedSlots) return false;
    const waitMs = this.pollWaitMs();
    if (waitMs > 0) {
      this.#cancelTimer = this.#clock.after(waitMs, () => this.#startNext());
      return false;
    }
    const [name, lane, start] = next;
    this.#lanes.delete(name);
    this.#lanes.set(name, lane);
    lane.waiting.delete(start);
    lane.inFlight++;
    this.#tokens -= 1;
    start();
    return true;
  }

  /** The first in turn that may have a slot, if one is free, and who has waited longest in it. */
  #nextLane(): [name: string, lane: Lane, start: Start] | null {
    let singles = 0;
    let stuck = 0;
    let stuckSingles = 0;
    for (const { isForList, isStuck, inFlight } of this.#lanes.values()) {
      if (!isForList) singles += inFlight;
      if (isStuck) stuck += inFlight;
      if (!isForList && isStuck) stuckSingles += inFlight;
    }
    const mayStart = ({ isForList, isStuck }: Lane) => {
      if (isStuck && stuck >= this.#singleSlots) return false;
      return isForList || (singles < this.#singleSlots && (!isStuck || stuckSingles < this.#stuckSlots));
    };
    for (const [name, lane] of this.#lanes) {
      const [start] = lane.waiting;
      if (start && mayStart(lane)) return [name, lane, start];
    }
    return null;
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
