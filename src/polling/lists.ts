import type { CloudClient } from '../cloud/client.ts';
import type { HowFar } from '../cloud/crawl.ts';
import { Deadline } from '../cloud/deadline.ts';
import { CloudError, type CloudErrorKind, isMissing, isPermanent } from '../cloud/errors.ts';
import type { Call, ListName, RecordOf } from '../cloud/operations.ts';
import { isSameId } from '../model/ids.ts';
import type { PollName } from '../model/polls.ts';
import { isAvailable } from '../model/reach.ts';
import type { Incident, Signal, Sonic } from '../model/records.ts';
import type { Reading } from '../store/table.ts';
import { readEach } from './perDevice.ts';
import type { PollParts, PollRun } from './pollParts.ts';
import { listProblem, mergeProblems, type PollProblem, toProblem } from './pollProblem.ts';

/** At most this many of the incidents that vanish from the list are read individually. */
const maxIncidentsChecked = 20;

/** This takes at most so long, in ms, because the list is read again only after it. */
const maxCheckMs = 30_000;

/** The hubs of the first properties are stored after so many ms, and again after twice as many, and so on. */
const firstStoredMs = 500;

/** A hub that is offline, or may be, is read again so many ms after a list, so that it is soon known how it is. */
export const secondReadingMs = 30_000;

/** At most this many hubs that are offline are read with the valves. */
const maxSignalsRead = 10;

/** An incident closes after this many complete lists in a row without it, if it cannot be read individually. */
const minListsMissing = 3;

/** An incident that was read by itself, or the kind of the error, or null if the answer is no such record. */
type IncidentAnswer = Incident | CloudErrorKind | null;

export interface WifiSonics extends Omit<Reading<Sonic>, 'startedAt'> {
  /** Null if the list is complete. */
  readonly problem: PollProblem | null;
}

/** Each method resolves to a problem if something could not be read, else to null. */
export class Lists {
  readonly #parts: PollParts;
  /** By incident: how many complete lists in a row did not have it, while it could not be read individually. */
  #timesMissing: ReadonlyMap<string, number> = new Map();

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  properties(): Promise<PollProblem | null> {
    return this.#read('properties', { operation: 'list_properties' }, (reading) =>
      this.#parts.store.replaceProperties(reading),
    );
  }

  async ownedSignals(
    run: PollRun,
    onRead: (read: number, total: number) => void,
  ): Promise<PollProblem | null> {
    const { client, store, stopping, clock } = this.#parts;
    const { devices, signalLists } = store;
    const operation = 'list_property_signals';
    const lists = new Map<string, Reading<Pick<Signal, 'id'>>>();
    const refused: string[] = [];
    let read = 0;
    let cancel = () => {};
    const storeAfter = (delayMs: number): void => {
      cancel = clock.after(delayMs, () => {
        if (lists.size > 0) store.setOwnedSignals(lists);
        // A list that misses a signal must count once.
        lists.clear();
        storeAfter(2 * delayMs);
      });
    };
    // All are stored together, because each time all devices are placed again. Until all were asked for, one that hangs must
    // not hide the valves of the others.
    if (!store.places.areListsAsked) storeAfter(firstStoredMs);
    const readAll = (request: string, ids: readonly string[]) =>
      readEach(this.#parts, run, { kind: 'property', request, ids }, async (id) => {
        const startedAt = clock.monotonic();
        try {
          const list = await client.readList(
            { operation, params: { property_id: id } },
            { signal: stopping },
          );
          lists.set(id, { records: list.records, isComplete: list.complete, startedAt });
          return listProblem(list);
        } catch (error) {
          if (!isPermanent(error) && !isMissing(error)) throw error;
          refused.push(id);
          return null;
        } finally {
          read += 1;
          onRead(read, ids.length);
        }
      });
    const shown = store.ids('property');
    try {
      const problem = await readAll(operation, shown);
      // If a list cannot be read, only the lists of all other properties show which devices may be in that property.
      const others = devices.property.ids.filter((id) => !shown.includes(id));
      const wasRead = (id: string) => lists.get(id)?.isComplete || signalLists.completeAt(id) !== null;
      const areOthersDue = refused.length > 0 || !devices.property.isComplete || !shown.every(wasRead);
      const otherProblem = areOthersDue ? await readAll(`${operation} of others`, others) : null;
      store.setOwnedSignals(lists, refused);
      return mergeProblems([problem, otherProblem]);
    } finally {
      cancel();
    }
  }

  signals(): Promise<PollProblem | null> {
    return this.#read('signals', { operation: 'list_signals' }, (reading) =>
      this.#parts.store.replaceSignals(reading),
    );
  }

  /** Reads the hubs that are offline or may be, each by itself, so that their valves can soon be moved again. */
  async lostSignals(): Promise<void> {
    const { client, store, stopping, clock } = this.#parts;
    const readAt = (id: string) => store.devices.signal.readAt(id) ?? 0;
    const isLost = (id: string) => {
      const view = store.signalView(id);
      const isDue = clock.monotonic() - readAt(id) >= secondReadingMs;
      return isDue && view !== null && (view.isChecked || !isAvailable(view.reach));
    };
    const ids = store.ids('signal').filter(isLost);
    const next = ids.toSorted((one, other) => readAt(one) - readAt(other)).slice(0, maxSignalsRead);
    await Promise.all(
      next.map(async (id) => {
        const startedAt = clock.monotonic();
        const call = { operation: 'read_signal', params: { signal_id: id } } as const;
        // If it cannot be read, the next list decides.
        const signal = await client.call(call, { signal: stopping }).catch(() => null);
        if (signal && isSameId(signal.id, id)) store.setSignal(signal, startedAt);
      }),
    );
  }

  /** Reads both lists of sonics. The list of Wi-Fi sonics must not delay the other list. */
  async sonics(): Promise<PollProblem | null> {
    let isWifiRead = false;
    const { client, store, state, stopping } = this.#parts;
    const areSomeKnown = () => state.kept.wifiSonics.size > 0;
    const wifiRead = readWifiSonics(client, areSomeKnown, stopping).finally(() => {
      isWifiRead = true;
    });
    const problem = await this.#read('sonics', { operation: 'list_sonics' }, async (reading) => {
      if (!isWifiRead) store.replaceSonics(reading, { records: [], isComplete: false });
      const wifi = await wifiRead;
      if (stopping.aborted) return;
      store.replaceSonics(reading, wifi);
      if (wifi.isComplete)
        state.kept.wifiSonics.keepOnly(
          store.devices.sonic.ids.filter((id) => store.isWifi(id)),
          true,
        );
    });
    const { problem: wifiProblem } = await wifiRead;
    return mergeProblems([
      problem,
      wifiProblem && { ...wifiProblem, message: `Wi-Fi valves: ${wifiProblem.message}` },
    ]);
  }

  /**
   * Reads the open incidents. If an open incident is missing from a complete list, it is read individually before it
   * closes. If incomplete lists have missed it for too long, it is read individually too, because it must not stay open
   * forever.
   */
  async incidents(isRetry: boolean): Promise<PollProblem | null> {
    const { store, stopping, clock } = this.#parts;
    const call = { operation: 'list_incidents', query: { open: true } } as const;
    const startedAt = clock.monotonic();
    const deadline = new Deadline(clock, [stopping]);
    try {
      return await this.#read('incidents', call, async (reading) => {
        const { isComplete } = reading;
        const isChecked = isComplete || !store.incidents.areFresh;
        const missing = isChecked ? store.incidents.missingFrom(reading.records) : [];
        // The other incidents of the list are shown at once, while those that may have closed are still being read.
        const kept = isComplete ? missing : [];
        if (missing.length > 0)
          store.replaceIncidents({ ...reading, records: [...reading.records, ...kept] });
        deadline.set(maxCheckMs);
        const found = await this.#checkMissing(missing, isComplete, deadline.signal);
        store.replaceIncidents({ ...reading, records: [...reading.records, ...found] });
      });
    } catch (error) {
      deadline.set(maxCheckMs);
      if (!isRetry && error instanceof CloudError)
        await this.#confirmOpen(startedAt, error.kind, deadline.signal);
      throw error;
    } finally {
      deadline.dispose();
    }
  }

  /** Reads the open incidents one by one, because their list cannot be read. If the first one fails too, the others wait. */
  async #confirmOpen(startedAt: number, listFailure: CloudErrorKind, signal: AbortSignal): Promise<void> {
    const { store } = this.#parts;
    const [first, ...others] = store.incidents.missingFrom([]);
    if (!first) return;
    const answer = await this.#readIncident(first.id, signal);
    // What fails as the list did tells nothing of the incident, such as a 404 of a gateway that has lost its routes.
    const isOutage =
      answer === listFailure || answer === 'unavailable' || answer === 'rateLimited' || answer === 'auth';
    const found = isOutage
      ? []
      : await this.#checkMissing([first, ...others], false, signal, new Map([[first.id, answer]]));
    store.replaceIncidents({ records: found, isComplete: false, startedAt });
  }

  async #read<Name extends ListName>(
    poll: PollName,
    call: Call<Name>,
    store: (reading: Reading<RecordOf<Name>>) => void | Promise<void>,
  ): Promise<PollProblem | null> {
    const { client, statuses, stopping, clock } = this.#parts;
    const startedAt = clock.monotonic();
    const onPage = ({ read, announced }: HowFar) => {
      // The list of properties is short. The poller counts the requests for each property.
      statuses.recordProgress(poll, poll === 'properties' ? 0 : read, announced);
    };
    const list = await client.readList(call, { signal: stopping, onPage });
    if (stopping.aborted) return null;
    await store({ records: list.records, isComplete: list.complete, startedAt });
    return listProblem(list);
  }

  /** The incidents that a list misses: as read individually, or else open or closed by the rules above. */
  async #checkMissing(
    missing: readonly Incident[],
    isListComplete: boolean,
    signal: AbortSignal,
    answers: ReadonlyMap<string, IncidentAnswer> = new Map(),
  ): Promise<Incident[]> {
    const timesMissing = new Map<string, number>();
    const found = await Promise.all(
      missing.map(async (incident, index) => {
        const known = answers.get(incident.id);
        const isRead = known === undefined && index < maxIncidentsChecked;
        const answer = isRead ? await this.#readIncident(incident.id, signal) : (known ?? null);
        if (typeof answer === 'object' && answer !== null) return answer;
        const closed = { ...incident, open: false };
        if (answer === 'notFound') return closed;
        // It stays as it was read before.
        if (!isListComplete) return [];
        const times = (this.#timesMissing.get(incident.id) ?? 0) + 1;
        if (times >= minListsMissing) return closed;
        timesMissing.set(incident.id, times);
        return incident;
      }),
    );
    if (isListComplete) this.#timesMissing = timesMissing;
    return found.flat();
  }

  async #readIncident(id: string, signal: AbortSignal): Promise<IncidentAnswer> {
    const { client, stopping } = this.#parts;
    const call = { operation: 'read_incident', params: { incident_id: id } } as const;
    try {
      const answer = await client.call(call, { signal });
      return isSameId(answer.id, id) ? answer : null;
    } catch (error) {
      if (stopping.aborted) throw error;
      return error instanceof CloudError ? error.kind : null;
    }
  }
}

/**
 * Reads the Wi-Fi sonics; never rejects. If the cloud refuses the list, the account has no such sonics. But if this run
 * or an earlier one has read some, the refusal does not mean that they are gone.
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
