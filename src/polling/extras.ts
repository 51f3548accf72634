import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { ApplianceCategories } from '../model/records.ts';
import { Ages } from '../store/ages.ts';
import type { Store } from '../store/store.ts';
import { askEach, type Question } from './askEach.ts';
import { isStillThere } from './stillThere.ts';

export interface ExtrasOptions {
  /** How long a hub may fail to be read, and still be shown as it was, in ms. */
  readonly allowedMs: number;
  /** Until when a hub grows old by itself, in ms of the monotonic clock: a lost cloud changes no value. */
  readonly agesUntil: () => number;
  readonly onChange: () => void;
  /** Gives up what is under way. */
  readonly signal: AbortSignal;
}

/** Reads what few look at and nothing depends on: the hubs' own status, and the categories of appliances. */
export class Extras {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #options: ExtrasOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #ages = new Ages();
  #reading: Promise<void> | null = null;
  #categories: ApplianceCategories['categories'] | undefined;

  constructor(client: CloudClient, store: Store, options: ExtrasOptions, clock: Clock, log: Log) {
    this.#client = client;
    this.#store = store;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
  }

  /** Null where the cloud has none, undefined as long as it could not be asked. */
  get applianceCategories(): ApplianceCategories['categories'] | null | undefined {
    return this.#isOffered ? this.#categories : null;
  }

  /** Reads everything once, unless that is under way, resolving after that; never rejects. */
  read(): Promise<void> {
    this.#reading ??= Promise.allSettled([this.#readCategories(), this.#readHubs()]).then((ends) => {
      this.#reading = null;
      for (const end of ends)
        if (end.status === 'rejected') this.#noteFailure('hubs and categories', end.reason);
    });
    return this.#reading;
  }

  /** Resolves when nothing is being read. */
  async settled(): Promise<void> {
    await this.#reading;
  }

  get #isOffered(): boolean {
    return this.#client.availability('read_appliance_categories') === 'available';
  }

  async #readCategories(): Promise<void> {
    if (!this.#isOffered) return;
    try {
      const call = { operation: 'read_appliance_categories' } as const;
      const { categories } = await this.#client.call(call, { signal: this.#options.signal });
      if (JSON.stringify(categories) === JSON.stringify(this.#categories)) return;
      this.#categories = categories;
      this.#options.onChange();
    } catch (error) {
      this.#noteFailure('the categories of appliances', error);
      if (!this.#isOffered) this.#options.onChange();
    }
  }

  async #readHubs(): Promise<void> {
    const ids = this.#store.ownedSignalIds();
    // What is asked for no more cannot grow old.
    for (const id of this.#ages.keepOnly(ids)) this.#store.missedHub(id);
    const { signal } = this.#options;
    const shortfall = await askEach(ids, this.#hubQuestion(), {
      client: this.#client,
      isThere: (id) => isStillThere(this.#client, 'signal', id, signal),
      clock: this.#clock,
      signal,
    });
    if (shortfall) this.#noteFailure('hubs', shortfall.error);
  }

  #hubQuestion(): Question {
    const { signal } = this.#options;
    return {
      operation: 'read_hub',
      ask: async (id) => {
        const at = this.#clock.monotonic();
        const call = { operation: 'read_hub', params: { hub_id: id } } as const;
        this.#store.setHub(id, await this.#client.call(call, { signal, isOneOfMany: true }));
        this.#ages.read(id, at);
      },
      without: (id) => this.#store.setHub(id, null),
      missed: (id, at) => {
        if (this.#isTooOld(id, at)) this.#store.missedHub(id);
      },
      drop: () => this.#store.dropHubs(),
    };
  }

  #isTooOld(id: string, at: number): boolean {
    const { allowedMs, agesUntil } = this.#options;
    return this.#ages.missed(id, Math.min(at, agesUntil()), allowedMs);
  }

  #noteFailure(what: string, error: unknown): void {
    if (this.#options.signal.aborted) return;
    if (error instanceof CloudError) this.#log.debug(`Reading ${what}: ${error.message}`);
    else this.#log.error({ err: error }, `Reading ${what} went wrong`);
  }
}
