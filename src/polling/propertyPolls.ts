import type { Clock } from '../base/clock.ts';
import { severalAtOnce } from '../base/severalAtOnce.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError, isPermanent } from '../cloud/errors.ts';
import type { Store } from '../store/store.ts';
import { devicesAtOnce } from './askEach.ts';
import { type Flaw, flawOf, flawOfList } from './flaw.ts';

export interface PropertyPollsOptions {
  readonly client: CloudClient;
  readonly store: Store;
  /** Gives up what is under way. */
  readonly signal: AbortSignal;
  /** Of how many properties how many were read. */
  readonly howFar: (read: number, total: number) => void;
  readonly clock: Clock;
}

/** What the properties told of their signals. */
export interface OwnedSignals {
  readonly flaws: readonly (Flaw | null)[];
  /** Whether a signal is where nobody knew that it is. */
  readonly isNews: boolean;
  /** Whether a signal may be another bridge's by now, so that nobody shows it until the list of properties is read again. */
  readonly isAnyUnsettled: boolean;
}

/** Polls what is asked for property by property. */
export class PropertyPolls {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #signal: AbortSignal;
  readonly #howFar: PropertyPollsOptions['howFar'];
  readonly #clock: Clock;

  constructor({ client, store, signal, howFar, clock }: PropertyPollsOptions) {
    this.#howFar = howFar;
    this.#client = client;
    this.#store = store;
    this.#signal = signal;
    this.#clock = clock;
  }

  /** Which signals are in which property; of one that is not shown, too, as they and their sonics are another bridge's. */
  async ownedSignals(): Promise<OwnedSignals> {
    const flaws: (Flaw | null)[] = [];
    let isNews = false;
    let isAnyUnsettled = false;
    const { neighbourhood } = this.#store;
    const ids = [...this.#store.ids('property'), ...neighbourhood.unshownPropertyIds()];
    await severalAtOnce(devicesAtOnce, ids, async (id) => {
      const call = { operation: 'list_property_signals', params: { property_id: id } } as const;
      try {
        const owned = await this.#client.listAll(call, { signal: this.#signal });
        const signalIds = owned.records.map((signal) => signal.id);
        if (this.#store.setOwnedSignals(id, signalIds, owned.complete)) isNews = true;
        if (owned.complete && neighbourhood.isAnyUnsettledIn(id)) isAnyUnsettled = true;
        flaws.push(flawOfList(owned));
      } catch (error) {
        if (!(error instanceof CloudError) || this.#signal.aborted) throw error;
        flaws.push(isPermanent(error) ? null : flawOf(error));
      }
      this.#howFar(Math.floor(flaws.length / 2), ids.length);
    });
    return { flaws, isNews, isAnyUnsettled };
  }

  /** The settings of each; a guest may not read all of them, which is no failure. */
  async details(): Promise<(Flaw | null)[]> {
    const flaws: (Flaw | null)[] = [];
    const ids = this.#store.ids('property');
    await severalAtOnce(devicesAtOnce, ids, async (id) => {
      flaws.push(await this.#detailsOf(id));
      // The signals of each were half of it.
      this.#howFar(Math.floor((ids.length + flaws.length) / 2), ids.length);
    });
    return flaws;
  }

  async #detailsOf(id: string): Promise<Flaw | null> {
    const startedAt = this.#clock.monotonic();
    const options = { signal: this.#signal };
    const params = { property_id: id };
    const [settings, notifications] = await Promise.allSettled([
      this.#client.call({ operation: 'read_property_settings', params }, options),
      this.#client.call({ operation: 'read_notification_settings', params }, options),
    ]);
    this.#store.setPropertyDetails(id, shown(settings), shown(notifications), startedAt);
    const failed = [settings, notifications].find(
      (each) => each.status === 'rejected' && !isPermanent(each.reason),
    );
    return failed?.status === 'rejected' ? flawOf(failed.reason) : null;
  }
}

/** What was read; null where the cloud does not show it, undefined where that is not known. */
function shown<T>(result: PromiseSettledResult<T>): T | null | undefined {
  if (result.status === 'fulfilled') return result.value;
  return isPermanent(result.reason) ? null : undefined;
}
