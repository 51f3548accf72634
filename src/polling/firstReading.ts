import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { pollTable } from '../model/polls.ts';
import type { Store } from '../store/store.ts';
import type { Poller } from './poller.ts';
import type { PollProgress } from './pollStatus.ts';

const progressEveryMs = 10_000;

/** Logs the progress of the first reading, and the number of devices once all of them are known. */
export class FirstReading {
  readonly #poller: Poller;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  #isFoundSaid = false;
  #cancelProgress: () => void = () => {};

  constructor(poller: Poller, store: Store, clock: Clock, log: Log) {
    this.#poller = poller;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    poller.once('listsRead', () => {
      this.#sayFound();
      poller.on('ended', () => this.#sayFound());
    });
  }

  /** Call this when the reading begins. */
  start(): void {
    this.#sayProgress(null);
  }

  /** Logs no more progress. Call this when the details were read once, or take long. */
  stop(): void {
    this.#cancelProgress();
  }

  #sayProgress(before: string | null): void {
    const words = describeProgress(this.#poller.statuses.progress);
    if (words !== null && words !== before) this.#log.info(`Reading the account: ${words}`);
    this.#cancelProgress = this.#clock.after(progressEveryMs, () => this.#sayProgress(words));
  }

  #sayFound(): void {
    if (this.#isFoundSaid || !this.#store.isResolved) return;
    this.#isFoundSaid = true;
    const { properties, signals: hubs, sonics: valves, open_incidents: incidents } = this.#store.counts();
    this.#log.info(
      `Found properties: ${properties}, hubs: ${hubs}, valves: ${valves}, open alerts: ${incidents}`,
    );
  }
}

/** The progress of the unfinished polls, for people; null if they have read nothing yet. */
function describeProgress(progress: readonly PollProgress[]): string | null {
  const parts = progress
    .filter(({ read }) => read > 0)
    .map(({ poll, read, total }) => {
      return `${pollTable[poll].label} ${total === null ? read : `${read} of ${Math.max(read, total)}`}`;
    });
  return parts.length === 0 ? null : parts.join(', ');
}
