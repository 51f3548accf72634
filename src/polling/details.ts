import { sleep } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import { singleFlight } from '../base/singleFlight.ts';
import { CloudError, isPermanent } from '../cloud/errors.ts';
import { type DeviceQuery, queryDevices, readEach } from './perDevice.ts';
import { newRun, type PollParts, type PollRun } from './pollParts.ts';
import { mergeProblems, type PollProblem, toProblem } from './pollProblem.ts';

/** If the cloud refuses settings, they are read again after this pause, in ms: a single refusal may be a mistake. */
const refusedAgainMs = 2_000;

interface SettingsQuery<T> {
  readonly read: () => Promise<T>;
  /** Null means a refusal. It counts only if another refusal came at least `apartMs` before it. */
  readonly store: (settings: T | null, sentAt: number, apartMs: number) => void;
  readonly isNone: () => boolean;
}

/** Reads the settings of properties, the status of hubs and the categories of appliances. None of them is urgent. */
export class Details {
  readonly #parts: PollParts;
  /** Whether the next `newHubs` reads all hubs. */
  #areHubsDue = false;
  /** Reads the status of hubs that is not known yet. Resolves after that and never rejects. */
  readonly newHubs = coalesce(async () => {
    const { store, log } = this.#parts;
    const known = store.ids('property').flatMap((id) => store.signalsIn(id));
    const ids = this.#areHubsDue ? known : known.filter((id) => store.signalView(id)?.hub === undefined);
    this.#areHubsDue = false;
    try {
      const problem = await queryDevices(this.#parts, newRun(), ids, this.#hubQuery());
      if (problem) log.debug(`Reading hubs: ${problem.message}`);
    } catch (error) {
      this.#logFailure('hubs', error);
    }
  });
  /** Reads the categories of appliances, unless it is doing so already. Resolves after that and never rejects. */
  readonly categories = singleFlight(() => this.#readCategories());

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads the status of all hubs, and the categories. Resolves after that and never rejects. */
  async hubsAndCategories(): Promise<void> {
    this.#areHubsDue = true;
    await Promise.all([this.newHubs(), this.categories()]);
  }

  /** Reads the settings of each property. If the cloud refuses some to a guest of the property, that is no problem. */
  async propertySettings(
    run: PollRun,
    onRead: (read: number, total: number) => void,
  ): Promise<PollProblem | null> {
    let read = 0;
    const ids = this.#parts.store.ids('property');
    return readEach(this.#parts, run, { kind: 'property', request: 'settings', ids }, async (id) => {
      const problem = await this.#readSettings(id);
      onRead(++read, ids.length);
      return problem;
    });
  }

  async #readSettings(id: string): Promise<PollProblem | null> {
    const { client, store, stopping } = this.#parts;
    const options = { signal: stopping };
    const params = { property_id: id };
    const problems = await Promise.all([
      this.#readUnlessRefused(`settings/${id}`, {
        read: () => client.call({ operation: 'read_property_settings', params }, options),
        store: (settings, ...when) => store.setSettings(id, settings, ...when),
        isNone: () => store.settings.of(id) === null,
      }),
      this.#readUnlessRefused(`notifications/${id}`, {
        read: () => client.call({ operation: 'read_notification_settings', params }, options),
        store: (settings, ...when) => store.setDetail('notifications', id, settings, ...when),
        isNone: () => store.notifications.of(id) === null,
      }),
    ]);
    return mergeProblems(problems);
  }

  /** Reads settings. If the cloud refuses them and has never shown them, reads them once more after a moment. */
  async #readUnlessRefused<T>(key: string, query: SettingsQuery<T>): Promise<PollProblem | null> {
    const { state, statuses, clock, stopping } = this.#parts;
    const { shownSettings } = state.kept;
    const wereShown = shownSettings.has(key);
    // If the cloud has shown the settings before, their entities stay as long as old settings would.
    const apartMs = wereShown ? statuses.maxAgeMs('properties') : refusedAgainMs;
    for (let attempt = 1; ; attempt++) {
      const startedAt = clock.monotonic();
      try {
        query.store(await query.read(), startedAt, 0);
        shownSettings.set(key, true);
        return null;
      } catch (error) {
        if (!isPermanent(error)) return toProblem(error);
        query.store(null, startedAt, apartMs);
        if (query.isNone()) {
          shownSettings.delete(key);
          return null;
        }
        if (wereShown || attempt > 1) return toProblem(error);
        await sleep(clock, refusedAgainMs, stopping);
      }
    }
  }

  async #readCategories(): Promise<void> {
    const { client, store, stopping } = this.#parts;
    const call = { operation: 'read_appliance_categories' } as const;
    const isOffered = () => client.isOffered(call.operation);
    try {
      if (isOffered()) {
        const { categories } = await client.call(call, { signal: stopping });
        store.setApplianceCategories(categories);
      }
    } catch (error) {
      this.#logFailure('the categories of appliances', error);
    }
    if (!isOffered()) store.setApplianceCategories(null);
  }

  #hubQuery(): DeviceQuery {
    const { client, store, stopping } = this.#parts;
    return {
      operation: 'read_hub',
      poll: null,
      read: async (id, sentAt) => {
        const call = { operation: 'read_hub', params: { hub_id: id } } as const;
        store.setDetail('hubs', id, await client.call(call, { signal: stopping }), sentAt);
      },
      onNone: (id, sentAt) => store.setDetail('hubs', id, null, sentAt),
    };
  }

  #logFailure(what: string, error: unknown): void {
    const { log, stopping } = this.#parts;
    if (stopping.aborted) return;
    if (error instanceof CloudError) log.debug(`Reading ${what}: ${error.message}`);
    else log.error({ err: error }, `Internal error: cannot read ${what}`);
  }
}
