import type { Clock } from '../base/clock.ts';

/**
 * The most urgent first: valve commands and the renewal of the session, which they need, then other commands, then
 * lists of valves and leaks, then polls of single devices.
 */
const priorities = ['valve', 'command', 'list', 'device'] as const;
export type Priority = (typeof priorities)[number];

/** The limits of the queue. */
interface RequestQueueOptions {
  readonly clock: Clock;
  /** The number of requests in flight, of all priorities. */
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
}

/**
 * The slots that requests of this priority and all less urgent ones must leave free. So no hanging request delays a
 * valve.
 */
const slotsKeptFree: Readonly<Record<Priority, number>> = { valve: 0, command: 1, list: 2, device: 2 };

/** How far commands may exceed the budget, as a share of it. After that, commands that can wait should wait. */
const overdraftShare = 0.25;

/** After this many lists in a row a waiting device has its turn, so that lists never use up the whole budget. */
const maxListsInARow = 3;

/** A task that waits for its turn. */
interface Waiting {
  /** Starts the task in a slot of this priority. */
  readonly start: (slot: Priority) => void;
  /** Since when it waits, in ms of the monotonic clock. */
  readonly since: number;
  /** When the task must be started, whatever else waits, on the same clock; infinity if it has no limit. */
  readonly latestAt: number;
}

/**
 * Decides which request is sent next. Of the `maxConcurrency` slots, commands and polls leave one free, and polls alone
 * leave two free. Polls keep to a token bucket that holds one minute's requests. Commands never wait for the bucket,
 * but take tokens from it. A list can have a limit to its waiting. After that limit it is sent next: before valves, in
 * a slot of commands, and even if the budget is used up. If there is only one slot, a valve or such a list may use a
 * second one.
 */
export class RequestQueue {
  readonly #clock: Clock;
  readonly #maxConcurrency: number;
  readonly #bucketSize: number;
  readonly #waiting: Readonly<Record<Priority, Set<Waiting>>> = {
    valve: new Set(),
    command: new Set(),
    list: new Set(),
    device: new Set(),
  };
  readonly #inFlight: Record<Priority, number> = { valve: 0, command: 0, list: 0, device: 0 };
  #listsInARow = 0;
  #tokens: number;
  /** Tokens left for commands while the bucket is empty. It is refilled more slowly, so that polls are sent too. */
  #overdraft: number;
  #filledAt: number;
  #cancelTimer = () => {};

  constructor({ clock, maxConcurrency, maxRequestsPerMinute }: RequestQueueOptions) {
    this.#clock = clock;
    this.#maxConcurrency = maxConcurrency;
    this.#bucketSize = maxRequestsPerMinute;
    this.#tokens = maxRequestsPerMinute;
    this.#overdraft = this.#maxOverdraft;
    this.#filledAt = clock.monotonic();
  }

  /**
   * Runs the task as soon as its turn comes; rejects with the signal's reason if the signal aborts before that. Only a
   * list may have a `maxWaitMs`. After this time its turn has come.
   */
  run<T>(
    priority: Priority,
    signal: AbortSignal,
    task: () => Promise<T>,
    maxWaitMs = Number.POSITIVE_INFINITY,
  ): Promise<T> {
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
      const since = this.#clock.monotonic();
      const entry = { start, since, latestAt: since + maxWaitMs };
      const leave = () => {
        signal.removeEventListener('abort', giveUp);
        this.#waiting[priority].delete(entry);
      };
      const giveUp = () => {
        leave();
        this.#startNext();
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', giveUp);
      this.#waiting[priority].add(entry);
      this.#startNext();
    });
  }

  /** How long the budget delays the next poll, in ms; 0 if it does not. */
  pollWaitMs(): number {
    this.#fill();
    return Math.max(0, Math.ceil(((1 - this.#tokens) / this.#bucketSize) * 60_000));
  }

  /** The longest wait, so far, of a list with a limit to its waiting, in ms; 0 if there is no such list. */
  limitedWaitMs(): number {
    const limited = [...this.#waiting.list].filter(({ latestAt }) => latestAt < Number.POSITIVE_INFINITY);
    return Math.max(0, ...limited.map(({ since }) => this.#clock.monotonic() - since));
  }

  /** Whether commands have used up the budget and their excess. Then a command that can wait should wait. */
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
    const late = this.#firstToBeLate();
    const lateInMs = late ? late.latestAt - this.#clock.monotonic() : Number.POSITIVE_INFINITY;
    if (late && lateInMs <= 0 && this.#hasSlot('command', Math.max(2, this.#maxConcurrency))) {
      // A late list takes no token. Otherwise a small budget would be used up by such lists alone.
      late.start('command');
      return true;
    }
    for (const priority of ['valve', 'command'] as const) {
      const urgent = this.#next(priority);
      if (!urgent) continue;
      this.#fill();
      if (this.#tokens < 1) this.#overdraft = Math.max(0, this.#overdraft - 1);
      this.#spend();
      urgent.start(priority);
      return true;
    }
    const [list, device] = [this.#next('list'), this.#next('device')];
    const isTurnOfDevice = device !== undefined && this.#listsInARow >= maxListsInARow;
    const poll = isTurnOfDevice ? device : (list ?? device);
    const waitMs = poll ? this.pollWaitMs() : Number.POSITIVE_INFINITY;
    if (!poll || waitMs > 0) {
      const lookInMs = Math.min(waitMs, lateInMs > 0 ? lateInMs : Number.POSITIVE_INFINITY);
      if (lookInMs < Number.POSITIVE_INFINITY) {
        this.#cancelTimer = this.#clock.after(lookInMs, () => this.#startNext());
      }
      return false;
    }
    this.#listsInARow = poll === list ? this.#listsInARow + 1 : 0;
    this.#spend();
    poll.start(poll === list ? 'list' : 'device');
    return true;
  }

  /** The task that has waited longest with this priority; undefined if there is none or no slot for it. */
  #next(priority: Priority): Waiting | undefined {
    const limit = priority === 'valve' ? Math.max(2, this.#maxConcurrency) : this.#maxConcurrency;
    if (!this.#hasSlot(priority, limit)) return undefined;
    const [first] = this.#waiting[priority];
    return first;
  }

  #firstToBeLate(): Waiting | undefined {
    let first: Waiting | undefined;
    for (const each of this.#waiting.list) {
      if (each.latestAt < (first?.latestAt ?? Number.POSITIVE_INFINITY)) first = each;
    }
    return first;
  }

  /**
   * Whether one more request of this priority may be in flight. `limit` is the total. Slots for more urgent ones stay
   * free.
   */
  #hasSlot(priority: Priority, limit: number): boolean {
    let inFlight = 0;
    for (let rank = priorities.length - 1; rank >= 0; rank--) {
      const each = priorities[rank] ?? 'valve';
      inFlight += this.#inFlight[each];
      const most = each === 'valve' ? limit : Math.max(1, this.#maxConcurrency - slotsKeptFree[each]);
      if (rank <= priorities.indexOf(priority) && inFlight >= most) return false;
    }
    return true;
  }

  /** The debt is bounded, so that a flood of commands cannot silence the polls for long. */
  #spend(): void {
    this.#fill();
    this.#tokens = Math.max(-this.#bucketSize, this.#tokens - 1);
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    const earned = ((now - this.#filledAt) / 60_000) * this.#bucketSize;
    this.#tokens = Math.min(this.#bucketSize, this.#tokens + earned);
    this.#overdraft = Math.min(this.#maxOverdraft, this.#overdraft + earned * overdraftShare);
    this.#filledAt = now;
  }
}
