import type { Clock } from '../base/clock.ts';
import { minuteMs } from '../base/duration.ts';

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

/**
 * The shares of the budget. No flood of commands keeps the bridge from reading. Lists go before devices until they have
 * used their own share.
 */
const shares = { all: 1, command: 0.5, list: 0.9 } as const;
type Share = keyof typeof shares;

/** Devices leave the rest of the budget to lists and commands. */
const shareBeforeDevices = 0.9;

/** The share that commands still have when the budget is used up. */
const overdraft = 0.1;

/** A list that has waited as long as it may is `late`. */
type Lane = Priority | 'late';

interface Waiting {
  lane: Lane;
  readonly start: () => void;
}

/**
 * Decides which request is sent next. Valve commands have a lane of their own, and the budget does not count them. Of
 * the `maxConcurrency` other slots, polls leave one to commands, and commands leave one to polls. Within any minute at
 * most `maxRequestsPerMinute` requests are sent. Polls wait for that, and commands are refused. A list can have a limit
 * to its waiting. Then it is sent next, and in addition to the budget. If there is only one slot, it may use a second one.
 */
export class RequestQueue {
  readonly #options: RequestQueueOptions;
  readonly #waiting = new Set<Waiting>();
  readonly #inFlight: Record<Lane, number> = { late: 0, valve: 0, command: 0, list: 0, device: 0 };
  /** The requests of the last minute that each share counts, in ms of the monotonic clock. */
  readonly #sentAt: Readonly<Record<Share, number[]>> = { all: [], command: [], list: [] };
  #cancelTimer = () => {};

  constructor(options: RequestQueueOptions) {
    this.#options = options;
  }

  /** Runs the task when its turn comes; rejects as soon as the signal aborts. Only a list may have a `maxWaitMs`. */
  run<T>(priority: Priority, signal: AbortSignal, task: () => Promise<T>, maxWaitMs?: number): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const leave = () => {
        cancelLate();
        signal.removeEventListener('abort', giveUp);
        this.#waiting.delete(entry);
      };
      const start = () => {
        leave();
        const { lane } = entry;
        this.#inFlight[lane] += 1;
        task()
          .finally(() => {
            this.#inFlight[lane] -= 1;
            this.#startNext();
          })
          .then(resolve, reject);
      };
      const giveUp = () => {
        leave();
        this.#startNext();
        reject(signal.reason);
      };
      const entry: Waiting = { lane: maxWaitMs === 0 ? 'late' : priority, start };
      const becomeLate = () => {
        entry.lane = 'late';
        this.#startNext();
      };
      const cancelLate = maxWaitMs ? this.#options.clock.after(maxWaitMs, becomeLate) : () => {};
      signal.addEventListener('abort', giveUp);
      this.#waiting.add(entry);
      this.#startNext();
    });
  }

  /** Counts a command as sent. Returns false if the budget has no room for it: then it must be refused. */
  takeCommand(): boolean {
    const share = this.#usedUpMs('all') > 0 ? overdraft : shares.command;
    if (this.#usedUpMs('command', share) > 0) return false;
    this.#count('command');
    return true;
  }

  /** How long a poll must wait until the budget allows one more within a minute, in ms; 0 if it need not. */
  pollWaitMs(lane: 'list' | 'device' = 'device'): number {
    return this.#usedUpMs('all', lane === 'device' ? shareBeforeDevices : 1);
  }

  #count(lane: 'command' | 'list' | 'device'): void {
    const now = this.#options.clock.monotonic();
    this.#sentAt.all.push(now);
    if (lane !== 'device') this.#sentAt[lane].push(now);
  }

  #usedUpMs(of: Share, share: number = shares[of]): number {
    const { clock, maxRequestsPerMinute } = this.#options;
    const now = clock.monotonic();
    const times = this.#sentAt[of];
    while (times[0] !== undefined && times[0] <= now - minuteMs) times.shift();
    const sentAt = times.at(-Math.max(1, Math.floor(maxRequestsPerMinute * share)));
    return sentAt === undefined ? 0 : sentAt + minuteMs - now;
  }

  #startNext(): void {
    this.#cancelTimer();
    while (this.#startOne());
  }

  #startOne(): boolean {
    let nextInMs = Number.POSITIVE_INFINITY;
    const isTurnOfDevices = this.#usedUpMs('list') > 0;
    const polls = isTurnOfDevices ? (['device', 'list'] as const) : (['list', 'device'] as const);
    for (const lane of ['late', 'valve', 'command', ...polls] as const) {
      const first = [...this.#waiting].find((each) => each.lane === lane);
      if (!first || !this.#hasSlot(lane)) continue;
      const isPoll = lane === 'list' || lane === 'device';
      // In their turn, devices may use the share of the lists.
      const waitMs = isPoll ? this.pollWaitMs(isTurnOfDevices ? 'list' : lane) : 0;
      nextInMs = Math.min(nextInMs, waitMs);
      if (waitMs > 0) continue;
      if (isPoll) this.#count(lane);
      first.start();
      return true;
    }
    if (nextInMs < Number.POSITIVE_INFINITY) {
      this.#cancelTimer = this.#options.clock.after(nextInMs, () => this.#startNext());
    }
    return false;
  }

  #hasSlot(lane: Lane): boolean {
    const { maxConcurrency } = this.#options;
    const { late, valve, command, list, device } = this.#inFlight;
    const polls = late + list + device;
    if (lane === 'valve') return valve < valveSlots;
    if (lane === 'late') return command + polls < Math.max(2, maxConcurrency);
    const used = lane === 'command' ? command : polls;
    return used < Math.max(1, maxConcurrency - 1) && command + polls < maxConcurrency;
  }
}
