import type { Clock } from '../base/clock.ts';

/** The most urgent first. `valve` is also the renewal of the session. `list` is a list of the account. */
export type Priority = 'valve' | 'command' | 'list' | 'device';

interface RequestQueueOptions {
  readonly clock: Clock;
  /** The number of requests in flight, without valve commands. */
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
}

/**
 * How many valve commands are in flight at a time, besides `maxConcurrency`. 160 that come together are sent within ten
 * seconds, also if each takes three seconds: a second for the connection, one for TLS and one for the answer.
 */
const valveSlots = 64;

/** The share of the budget that single devices may use. The rest is for the lists, and for valves that are moving. */
export const deviceShare = 0.9;

/** How far commands may exceed the budget, as a share of it. After that, commands that can wait should wait. */
const overdraftShare = 0.25;

/** After this many lists in a row a waiting device has its turn, so that lists never use up the whole budget. */
const maxListsInARow = 3;

const minuteMs = 60_000;

export function readSlots(maxConcurrency: number): number {
  return Math.max(1, maxConcurrency - 1);
}

interface Waiting {
  readonly start: (slot: Priority) => void;
  /** When the task must be started, whatever else waits, in ms of the monotonic clock; infinity if it has no limit. */
  readonly latestAt: number;
}

/**
 * Decides which request is sent next. Valve commands have slots of their own. Of the `maxConcurrency` others, polls leave
 * one to commands. Within any 60 s at most `maxRequestsPerMinute` polls are sent. Commands come in addition, and never wait
 * for that. A list can have a limit to its waiting. After that limit it is sent next, in a slot of commands, and in
 * addition too. If there is only one slot, such a list may use a second one.
 */
export class RequestQueue {
  readonly #options: RequestQueueOptions;
  readonly #waiting: Readonly<Record<Priority, Set<Waiting>>> = {
    valve: new Set(),
    command: new Set(),
    list: new Set(),
    device: new Set(),
  };
  readonly #inFlight: Record<Priority, number> = { valve: 0, command: 0, list: 0, device: 0 };
  #listsInARow = 0;
  /** When the polls and the commands of the last minute were sent, the oldest first, in ms of the monotonic clock. */
  readonly #polledAt: number[] = [];
  readonly #commandedAt: number[] = [];
  #cancelTimer = () => {};

  constructor(options: RequestQueueOptions) {
    this.#options = options;
  }

  /** Runs the task when its turn comes; rejects as soon as the signal aborts. Only a list may have a `maxWaitMs`. */
  run<T>(
    priority: Priority,
    signal: AbortSignal,
    task: () => Promise<T>,
    maxWaitMs = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const start = (slot: Priority) => {
        leave();
        this.#inFlight[slot] += 1;
        task()
          .finally(() => {
            this.#inFlight[slot] -= 1;
            this.#startNext();
          })
          .then(resolve, reject);
      };
      const entry = { start, latestAt: this.#options.clock.monotonic() + maxWaitMs };
      const leave = () => {
        signal.removeEventListener('abort', giveUp);
        this.#waiting[priority].delete(entry);
      };
      const giveUp = () => {
        leave();
        this.#startNext();
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp);
      this.#waiting[priority].add(entry);
      this.#startNext();
    });
  }

  /** Whether commands have used up the budget and their excess. Then a command that can wait should wait. */
  isUsedUp(): boolean {
    this.#forgetOld();
    const budget = this.#options.maxRequestsPerMinute;
    const most = budget + Math.max(1, budget * overdraftShare);
    return this.#polledAt.length + this.#commandedAt.length >= most;
  }

  #startNext(): void {
    this.#cancelTimer();
    while (this.#startOne());
  }

  #startOne(): boolean {
    const now = this.#options.clock.monotonic();
    const [late] = [...this.#waiting.list].sort((one, other) => one.latestAt - other.latestAt);
    const lateInMs = late ? late.latestAt - now : Number.POSITIVE_INFINITY;
    if (late && lateInMs <= 0 && this.#hasSlot('command', Math.max(2, this.#options.maxConcurrency))) {
      // A late list does not count. Otherwise such lists alone would use up a small budget.
      late.start('command');
      return true;
    }
    for (const priority of ['valve', 'command'] as const) {
      const urgent = this.#next(priority);
      if (!urgent) continue;
      this.#commandedAt.push(now);
      urgent.start(priority);
      return true;
    }
    const isTurnOfDevice = this.#next('device') && this.#listsInARow >= maxListsInARow;
    const priority = this.#next('list') && !isTurnOfDevice ? 'list' : 'device';
    const poll = this.#next(priority);
    // In its turn, a device may use the share of the lists.
    const waitMs = poll ? this.pollWaitMs(isTurnOfDevice ? 'list' : priority) : Number.POSITIVE_INFINITY;
    if (poll && waitMs <= 0) {
      this.#listsInARow = priority === 'list' ? this.#listsInARow + 1 : 0;
      this.#polledAt.push(now);
      poll.start(priority);
      return true;
    }
    const lookInMs = Math.min(waitMs, lateInMs > 0 ? lateInMs : Number.POSITIVE_INFINITY);
    if (lookInMs < Number.POSITIVE_INFINITY) {
      this.#cancelTimer = this.#options.clock.after(lookInMs, () => this.#startNext());
    }
    return false;
  }

  /** The task that has waited longest with this priority; undefined if there is none or no slot for it. */
  #next(priority: Priority): Waiting | undefined {
    const [first] = this.#waiting[priority];
    return this.#hasSlot(priority, this.#options.maxConcurrency) ? first : undefined;
  }

  /** Whether one more request of this priority may be in flight. `limit` is the total without valve commands. */
  #hasSlot(priority: Priority, limit: number): boolean {
    const { valve, command, list, device } = this.#inFlight;
    if (priority === 'valve') return valve < valveSlots;
    const isLeftFree = priority === 'command' || list + device < readSlots(this.#options.maxConcurrency);
    return isLeftFree && command + list + device < limit;
  }

  /** How long a poll must wait until its share of the budget allows one more within a minute, in ms; 0 if it need not. */
  pollWaitMs(priority: 'list' | 'device' = 'device'): number {
    this.#forgetOld();
    const { clock, maxRequestsPerMinute: budget } = this.#options;
    const sentAt = this.#polledAt.at(-(priority === 'list' ? budget : Math.ceil(budget * deviceShare)));
    return sentAt === undefined ? 0 : sentAt + minuteMs - clock.monotonic();
  }

  #forgetOld(): void {
    const since = this.#options.clock.monotonic() - minuteMs;
    for (const times of [this.#polledAt, this.#commandedAt]) {
      const kept = times.findIndex((at) => at > since);
      times.splice(0, kept === -1 ? times.length : kept);
    }
  }
}
