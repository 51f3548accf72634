import { systemClock } from '../base/clock.ts';
import { forEachLimit } from '../base/forEachLimit.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HowFar } from '../cloud/crawl.ts';
import { isPermanent } from '../cloud/errors.ts';
import type { Call, ListName, RecordOf } from '../cloud/operations.ts';
import type { Incident, Property, PropertySettings, Signal, Sonic } from '../model/records.ts';
import { readWifiSonics } from '../polling/lists.ts';
import { Store } from '../store/store.ts';
import type { Reading } from '../store/table.ts';

export interface CheckedAccount {
  properties?: readonly Property[];
  signals?: readonly Signal[];
  sonics?: readonly Sonic[];
  wifiSonics?: readonly Sonic[];
  openIncidents?: readonly Incident[];
}

interface ReadingOptions {
  /** `filters.properties`. */
  readonly selection: readonly string[];
  readonly signal?: AbortSignal;
  /** Receives the lists as they are read, whatever the filter selects. */
  readonly account?: CheckedAccount;
  readonly progress?: (words: string) => void;
}

/** Reads the lists of the account into a store, like a running bridge. Rejects if a list is incomplete. */
export async function readAccount(
  client: CloudClient,
  { selection, signal, account = {}, progress }: ReadingOptions,
): Promise<Store> {
  const store = new Store({ selection, clock: systemClock });
  const read = async <Name extends ListName>(call: Call<Name>): Promise<Reading<RecordOf<Name>>> => {
    const startedAt = systemClock.monotonic();
    const options = {
      ...(signal && { signal }),
      onPage: ({ read, announced }: HowFar) => {
        const what = call.operation.replace('list_', '');
        progress?.(announced === null ? `${what} ${read}` : `${what} ${read} of ${announced}`);
      },
    };
    let list = await client.readList(call, options);
    // In a busy account, a list may change while it is read. Then it is read once more.
    if (list.isInconsistent) list = await client.readList(call, options);
    if (list.problem !== null) throw new Error(`${call.operation}: ${list.problem}`);
    return { records: list.records, isComplete: list.complete, startedAt };
  };
  const properties = await read({ operation: 'list_properties' });
  account.properties = properties.records;
  store.replaceProperties(properties);
  const signals = await read({ operation: 'list_signals' });
  account.signals = signals.records;
  store.replaceSignals(signals);
  const owned = new Map<string, Reading<Pick<Signal, 'id'>>>();
  await forEachLimit(client.maxConcurrency, store.ids('property'), async (property_id) => {
    try {
      owned.set(property_id, await read({ operation: 'list_property_signals', params: { property_id } }));
    } catch (error) {
      // The cloud does not list the hubs to a guest.
      if (!isPermanent(error)) throw error;
    }
  });
  store.setOwnedSignals(owned);
  const sonics = await read({ operation: 'list_sonics' });
  account.sonics = sonics.records;
  const wifi = await readWifiSonics(client, () => false, signal);
  if (wifi.problem !== null) throw new Error(`list_wifi_sonics: ${wifi.problem.message}`);
  account.wifiSonics = wifi.records;
  store.replaceSonics(sonics, wifi);
  const incidents = await read({ operation: 'list_incidents', query: { open: true } });
  account.openIncidents = incidents.records;
  store.replaceIncidents(incidents);
  return store;
}

/** The settings of properties, by id; null where the cloud does not show them, for example to a guest. */
export async function readSettings(
  client: CloudClient,
  ids: readonly string[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<ReadonlyMap<string, PropertySettings | null>> {
  const found = new Map<string, PropertySettings | null>();
  await forEachLimit(client.maxConcurrency, ids, async (property_id) => {
    const call = { operation: 'read_property_settings', params: { property_id } } as const;
    const settings = await client.call(call, options).catch((error: unknown) => {
      if (isPermanent(error)) return null;
      throw error;
    });
    found.set(property_id, settings);
  });
  return found;
}
