import { forEachLimit } from '../base/forEachLimit.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HowFar } from '../cloud/crawl.ts';
import { CloudError, type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import type { Call, ListName, RecordOf } from '../cloud/operations.ts';
import { isSameId } from '../model/ids.ts';
import type { PollName } from '../model/polls.ts';
import type { Incident, Signal, Sonic } from '../model/records.ts';
import type { Reading } from '../store/table.ts';
import type { PollParts } from './pollParts.ts';
import { listProblem, mergeProblems, type PollProblem, toProblem } from './pollStatus.ts';

/** Of the incidents that vanish from the list, so many are read by themselves. */
const maxIncidentsChecked = 20;

/** So many complete lists in a row must miss an incident before it closes, if the cloud does not tell of it alone. */
const minListsMissing = 3;

/** The same where the cloud refuses to, as it does for a property that the user has left. One list alone may be wrong. */
const minListsIfRefused = 2;

/** What the properties say about their signals. */
export interface OwnedSignals {
  readonly problem: PollProblem | null;
  /** A signal is in another property than was known. */
  readonly hasChanged: boolean;
}

/** What was read of the list of Wi-Fi sonics. */
export interface WifiSonics extends Omit<Reading<Sonic>, 'startedAt'> {
  /** Null if the list is complete. */
  readonly problem: PollProblem | null;
}

/** Reads the lists of the account into the store. Each method resolves to what could not be read, or null. */
export class Lists {
  readonly #parts: PollParts;
  /** How many complete lists in a row have missed an incident that the cloud does not answer for. */
  #timesMissing: ReadonlyMap<string, number> = new Map();

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads the properties. */
  properties(): Promise<PollProblem | null> {
    return this.#read('properties', { operation: 'list_properties' }, (reading) =>
      this.#parts.store.replaceProperties(reading),
    );
  }

  /**
   * Reads which signals are in which property. If several bridges share the account, the properties of the others are
   * read too: what is in them is not shown here.
   */
  async ownedSignals(onRead: (read: number, total: number) => void): Promise<OwnedSignals> {
    const { client, store, stopping, clock } = this.#parts;
    const problems: (PollProblem | null)[] = [];
    const lists = new Map<string, Reading<Pick<Signal, 'id'>>>();
    const ids = store.topology.propertyIdsToRead();
    await forEachLimit(client.maxConcurrency, ids, async (id) => {
      const call = { operation: 'list_property_signals', params: { property_id: id } } as const;
      const startedAt = clock.monotonic();
      try {
        const list = await client.readList(call, { signal: stopping });
        lists.set(id, { records: list.records, isComplete: list.complete, startedAt });
        problems.push(listProblem(list));
      } catch (error) {
        if (!(error instanceof CloudError) || stopping.aborted) throw error;
        problems.push(isPermanent(error) ? null : toProblem(error));
      }
      onRead(problems.length, ids.length);
    });
    // Stored together: with ten thousand valves, placing all devices again after each property took 18 s of CPU time.
    return { problem: mergeProblems(problems), hasChanged: store.setOwnedSignals(lists) };
  }

  /** Reads the signals. */
  signals(): Promise<PollProblem | null> {
    return this.#read('signals', { operation: 'list_signals' }, (reading) =>
      this.#parts.store.replaceSignals(reading),
    );
  }

  /** Reads both lists of sonics; the list of Wi-Fi sonics must not delay the other. */
  async sonics(): Promise<PollProblem | null> {
    let isWifiRead = false;
    const { client, store, state, stopping } = this.#parts;
    const areSomeKnown = () => state.wifiSonics.length > 0;
    const wifiRead = readWifiSonics(client, areSomeKnown, stopping).finally(() => {
      isWifiRead = true;
    });
    const problem = await this.#read('sonics', { operation: 'list_sonics' }, async (reading) => {
      if (!isWifiRead) store.replaceSonics(reading, { records: [], isComplete: false });
      const wifi = await wifiRead;
      if (stopping.aborted) return;
      store.replaceSonics(reading, wifi);
      if (wifi.isComplete) state.recordWifiSonics(store.topology.wifiSonics);
    });
    const { problem: wifiProblem } = await wifiRead;
    return mergeProblems([
      problem,
      wifiProblem && { ...wifiProblem, message: `Wi-Fi valves: ${wifiProblem.message}` },
    ]);
  }

  /**
   * Reads the open incidents. One that was open and is missing from the list is read by itself before it closes. So is
   * one that incomplete lists have missed for too long: it must not stay open for ever.
   */
  incidents(): Promise<PollProblem | null> {
    const { store } = this.#parts;
    const call = { operation: 'list_incidents', query: { open: true } } as const;
    return this.#read('incidents', call, async (reading) => {
      const { isComplete } = reading;
      const isChecked = isComplete || !store.incidents.areKnown;
      const missing = isChecked ? store.incidents.missingFrom(reading.records) : [];
      // The rest of the list does not wait until the cloud has told of those that may have closed.
      if (missing.length > 0)
        store.replaceIncidents({ ...reading, records: [...reading.records, ...missing] });
      const found = await this.#checkMissing(missing, isComplete);
      store.replaceIncidents({ ...reading, records: [...reading.records, ...found] });
    });
  }

  async #read<Name extends ListName>(
    poll: PollName,
    call: Call<Name>,
    store: (reading: Reading<RecordOf<Name>>) => void | Promise<void>,
  ): Promise<PollProblem | null> {
    const { client, statuses, stopping, clock } = this.#parts;
    const startedAt = clock.monotonic();
    const onPage = (_pages: HowFar, { read, announced }: HowFar) => {
      // The requests for each property take longer than their list. The poller counts these.
      statuses.recordProgress(poll, poll === 'properties' ? 0 : read, announced);
    };
    const list = await client.readList(call, { signal: stopping, onPage });
    if (stopping.aborted) return null;
    await store({ records: list.records, isComplete: list.complete, startedAt });
    return listProblem(list);
  }

  /** The current records of incidents that a list misses, as far as the cloud answers. */
  async #checkMissing(missing: readonly Incident[], isListComplete: boolean): Promise<Incident[]> {
    const timesMissing = new Map<string, number>();
    const found = await Promise.all(
      missing.map(async (incident, index) => {
        const answer = index < maxIncidentsChecked ? await this.#readIncident(incident.id) : null;
        if (typeof answer === 'object' && answer !== null) return answer;
        const closed = { ...incident, open: false };
        if (answer === 'notFound') return closed;
        if (!isListComplete) return incident;
        const times = (this.#timesMissing.get(incident.id) ?? 0) + 1;
        const isRefused = answer !== null && isPermanent({ kind: answer });
        if (times >= (isRefused ? minListsIfRefused : minListsMissing)) return closed;
        timesMissing.set(incident.id, times);
        return incident;
      }),
    );
    if (isListComplete) this.#timesMissing = timesMissing;
    return found;
  }

  /** The incident, or how reading it failed; null if the cloud answered with something else. */
  async #readIncident(id: string): Promise<Incident | CloudErrorKind | null> {
    const { client, stopping } = this.#parts;
    const call = { operation: 'read_incident', params: { incident_id: id } } as const;
    try {
      const answer = await client.call(call, { signal: stopping });
      return isSameId(answer.id, id) ? answer : null;
    } catch (error) {
      if (stopping.aborted) throw error;
      return error instanceof CloudError ? error.kind : null;
    }
  }
}

/**
 * Reads the Wi-Fi sonics; never rejects. If the cloud refuses the list there are none, unless this run or an earlier one
 * has read some: the refusal does not mean that they are gone.
 */
export async function readWifiSonics(
  client: CloudClient,
  areSomeKnown: () => boolean,
  stopping?: AbortSignal,
): Promise<WifiSonics> {
  const operation = 'list_wifi_sonics';
  try {
    const options = { isExpected: areSomeKnown, ...(stopping && { signal: stopping }) };
    const list = await client.readList({ operation }, options);
    return { records: list.records, isComplete: list.complete, problem: listProblem(list) };
  } catch (error) {
    const isNone = client.operationState(operation) === 'off' || (isPermanent(error) && !areSomeKnown());
    if (isNone) return { records: [], isComplete: true, problem: null };
    return { records: [], isComplete: false, problem: toProblem(error) };
  }
}
