import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { Shard } from '../model/shard.ts';
import { type Inventory, readKept, takeInventory } from './inventory.ts';

export interface StocktakingOptions {
  readonly connection: Connection;
  readonly topics: Topics;
  readonly shard: Shard;
  /** Told what was found, or null where the bridge goes without. */
  readonly taken: (inventory: Inventory | null) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** A broker may hang up on whoever asks what it keeps: after so many times the bridge goes without. */
const mostLost = 3;

/** For so long; a broker that was restarted three times in a row is no such broker. */
const sparedMs = 3_600_000;

/** The nodes of a cluster may take so long to tell one another what they keep. */
const againMs = 120_000;

/** Looks at what the broker keeps, one reading at a time: their answers could not be told apart. */
export class Stocktaking {
  readonly #options: StocktakingOptions;
  #reading: Promise<unknown> = Promise.resolve();
  #lost = 0;
  #sparedUntil = Number.NEGATIVE_INFINITY;
  /** Whether the last inventory may hold everything. */
  #isWhole = true;
  #isStopped = false;
  #cancelAgain: () => void = () => {};

  constructor(options: StocktakingOptions) {
    this.#options = options;
  }

  /** Takes the inventory over a connection that is new, and again once a cluster has had its time. */
  connected(): void {
    this.#cancelAgain();
    this.#cancelAgain = this.#options.clock.after(againMs, () => void this.take());
    void this.take();
  }

  /** What was stale is deleted: where the broker has shown only a part, the next part is looked at. */
  swept(): void {
    if (!this.#isWhole) void this.take();
  }

  /** Takes the inventory. */
  async take(): Promise<void> {
    const { connection, topics, shard, taken, clock, log } = this.#options;
    if (clock.monotonic() < this.#sparedUntil) return;
    let inventory: Inventory | null = null;
    try {
      ({ inventory, isWhole: this.#isWhole } = await this.#inTurn(() =>
        takeInventory(connection, topics, shard),
      ));
      this.#lost = 0;
    } catch (error) {
      // A connection that ended takes the inventory when it is back; one that refuses it goes without.
      this.#lost = connection.isConnected ? mostLost : this.#lost + 1;
      if (this.#lost < mostLost || this.#isStopped) return;
      const isSaid = this.#sparedUntil > Number.NEGATIVE_INFINITY;
      this.#sparedUntil = clock.monotonic() + sparedMs;
      log[isSaid ? 'debug' : 'warn'](
        `What the broker keeps cannot be read, so nothing stale is deleted: ${String(error)}`,
      );
    }
    taken(inventory);
  }

  /** Reads what the broker keeps under the filters; rejects as `Connection.readRetained` does. */
  read(filters: readonly string[], found: (topic: string, payload: string) => void): Promise<boolean> {
    return this.#inTurn(() => readKept(this.#options.connection, filters, found));
  }

  /** Tells nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelAgain();
  }

  #inTurn<T>(read: () => Promise<T>): Promise<T> {
    const reading = this.#reading.then(read);
    this.#reading = reading.catch(() => {});
    return reading;
  }
}
