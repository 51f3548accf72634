import type { Clock } from '../base/clock.ts';

/**
 * The most urgent first. `valve` is for valve commands, the session, and duties of the bridge itself. `command` is for
 * everything else that a client makes the bridge send. `list` is a list of the account.
 */
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
const deviceShare = 0.9;

/** The share of the budget that commands may use, so that no client keeps the bridge from reading. */
const commandShare = 0.5;

/** The share that commands may use in addition, if polls have used up the budget. */
const additionalShare = 0.1;

/** After this many lists in a row a waiting device has its turn, so that lists never use up the whole budget. */
const maxListsInARow = 3;

const minuteMs = 60_000;

function readSlots(maxConcurrency: number): number {
  return Math.max(1, maxConcurrency - 1);
}

interface Waiting {
  readonly start: (slot: Priority) => void;
  /** When the task must be started, whatever else waits, in ms of the monotonic clock; infinity if it has no limit. */
  readonly latestAt: number;
}

/**
 * Decides which request is sent next. Valve commands have slots of their own, and the budget does not count them. Of the
 * `maxConcurrency` others, polls leave one slot to commands, and commands leave one to polls. Within any 60 s at most
 * `maxRequestsPerMinute` requests are sent. Polls wait for that, and commands are refused. A list can have a limit to its
 * waiting. After that limit it is sent next, in a slot of commands, and in addition to the budget. If there is only one
 * slot, such a list may use a second one.
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
  /** When the requests of the last minute were sent, and the commands among them, in ms of the monotonic clock. */
  readonly #sentAt: number[] = [];
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

  /** Counts a command as sent. Returns false if the budget has no room for it: then it must be refused. */
  takeCommand(): boolean {
    this.#forgetOld();
    const { maxRequestsPerMinute: budget, clock } = this.#options;
    const commands = this.#commandedAt.length;
    const isBudgetLeft = this.#sentAt.length < budget || commands < Math.max(1, budget * additionalShare);
    if (!isBudgetLeft || commands >= Math.max(1, budget * commandShare)) return false;
    this.#sentAt.push(clock.monotonic());
    this.#commandedAt.push(clock.monotonic());
    return true;
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
      this.#sentAt.push(now);
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
    const used = priority === 'command' ? command : list + device;
    return used < readSlots(this.#options.maxConcurrency) && command + list + device < limit;
  }

  /** How long a poll must wait until its share of the budget allows one more within a minute, in ms; 0 if it need not. */
  pollWaitMs(priority: 'list' | 'device' = 'device'): number {
    this.#forgetOld();
    const { clock, maxRequestsPerMinute: budget } = this.#options;
    const sentAt = this.#sentAt.at(-(priority === 'list' ? budget : Math.ceil(budget * deviceShare)));
    return sentAt === undefined ? 0 : sentAt + minuteMs - clock.monotonic();
  }

  #forgetOld(): void {
    const since = this.#options.clock.monotonic() - minuteMs;
    for (const times of [this.#sentAt, this.#commandedAt]) {
      const kept = times.findIndex((at) => at > since);
      times.splice(0, kept === -1 ? times.length : kept);
    }
  }
}
