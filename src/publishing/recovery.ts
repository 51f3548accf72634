import { once } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { pauseFromShown } from '../model/pause.ts';
import { recordFromShown } from '../model/usage.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import { isDocument, objectIn, readRetained, readTopics } from './retainedMessages.ts';

/** If the broker closes the connection this many times in a row while it is read, it is not read. */
const maxLosses = 3;

interface RecoveryParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly store: Store;
  readonly incidentEvents: { takeOver(incidentIds: readonly string[]): void };
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Makes a lost state file again from what earlier runs have published, once, before devices are published. Then water
 * totals continue, incidents are not announced twice, and pauses end. From then on, the state file is the only memory
 * of what is on the broker.
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  #hasFound = false;
  #isRead = false;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Resolves once the broker was read by wildcards, as far as that is needed and possible. */
  async read(): Promise<void> {
    const { topics, connection, log } = this.#parts;
    // A file that was restored from a copy may have less water. The broker has also sent its discovery messages by then.
    const isLost = this.#isLost;
    const filters = isLost ? topics.stateFilters : [topics.below('sonic', '+', 'usage')];
    for (let losses = 0; ; ) {
      if (!connection.isConnected) await once(connection, 'connected');
      try {
        await this.#take((found) => readRetained(connection, filters, found, () => !isLost || this.#isFirst));
        this.#isRead = true;
        return;
      } catch (error) {
        if (!connection.isConnected) losses += 1;
        if (!connection.isConnected && losses < maxLosses) continue;
        log.warn(`Cannot read the retained messages of the broker: ${errorMessage(error)}`);
        return;
      }
    }
  }

  /**
   * Some brokers show retained messages only at exact topics: those of the records that the cloud lists. `listed` resolves
   * once all of them were read.
   */
  async readListed(listed: Promise<void>): Promise<void> {
    const { topics, state, connection, store, log } = this.#parts;
    if (this.#isRead && this.#isFirst) state.recovered();
    if (!this.#isLost || this.#isFirst) return;
    await listed;
    const ids = (kind: 'sonic' | 'incident') => (this.#hasFound ? [] : store.ids(kind));
    const exact = [
      ...store.ids('property').map((id) => topics.below('property', id, 'pause')),
      ...ids('sonic').map((id) => topics.below('sonic', id, 'usage')),
      ...ids('incident').map((id) => topics.incident(id)),
    ];
    try {
      await this.#take((found) => readTopics(connection, exact, found));
      if (this.#isRead) state.recovered();
    } catch (error) {
      log.debug(`Reading the retained messages of the listed devices: ${errorMessage(error)}`);
    }
  }

  /** Whether no earlier run has published anything: the broker has not stored the state of the bridge. */
  get #isFirst(): boolean {
    return this.#parts.connection.storedState === null;
  }

  get #isLost(): boolean {
    const { state } = this.#parts;
    return state.isIncomplete || Object.values(state.kept).some((section) => this.#misses(section));
  }

  #misses({ isKnown }: { readonly isKnown: boolean }): boolean {
    return this.#parts.state.isNew || !isKnown;
  }

  async #take(read: (found: (topic: string, payload: string) => void) => Promise<void>): Promise<void> {
    const { topics, state, connection, incidentEvents } = this.#parts;
    const { kept } = state;
    const records = new Set<string>();
    const incidents: string[] = [];
    await read((topic, payload) => {
      const target = topics.parse(topic);
      if (!target || target.kind === 'bridge' || !isDocument(target)) return;
      const { kind, id, path } = target;
      this.#hasFound = true;
      records.add(`${kind}/${id}`);
      if (kind === 'incident') incidents.push(id);
      else if (path === 'pause') this.#takePause(id, objectIn(payload));
      else if (path === 'usage') {
        const usage = recordFromShown(objectIn(payload));
        if (usage) kept.usage.adopt([[id, usage]]);
      } else if (kind === 'sonic' && path === '') {
        const record: { readonly signal_id?: unknown } = objectIn(payload);
        if (record.signal_id === null) kept.wifiSonics.adopt([[id, true]]);
      }
    });
    if (this.#misses(kept.announced)) incidentEvents.takeOver(incidents);
    // While another bridge with another client ID uses these topics, the records may be its own.
    const isAlone = connection.storedState !== 'online';
    // A backup may be a day old.
    if (isAlone && (this.#misses(kept.devices) || state.isIncomplete))
      for (const key of records) kept.devices.set(key, true);
  }

  #takePause(id: string, shown: object): void {
    const { state, store, clock } = this.#parts;
    const { pauses } = state.kept;
    if (!this.#misses(pauses) || pauses.has(id) || pauses.isOfThisRun(id)) return;
    const found = pauseFromShown(shown, clock);
    if (found === undefined) return;
    if (found !== null) pauses.set(id, found);
    store.showPause(id);
  }
}
