import { once } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { fieldsIn } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { DocumentPath, TargetKind, Topics } from '../homeassistant/topics.ts';
import { revision } from '../state/sections.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import { adoptDocument, alwaysRead, keptDocuments } from './keptDocuments.ts';
import { isDocument, knownTopics, readRetained, readTopics } from './retainedMessages.ts';

/** If the broker closes the connection this many times in a row while it is read, it is not read. */
const maxLosses = 3;

interface RecoveryParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Adds what earlier runs have published to what the state file has, before devices are published. A pause that either of
 * them knows is a duty, and running totals are always compared. Everything else is added only if the file is lost, or older
 * than the broker. Then water totals continue, failed commands stay shown, and incidents are not announced twice.
 * A broker that is older than the file may have messages again that were deleted. Their devices are noted, and so deleted.
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  /** The messages of earlier runs, by topic. */
  readonly #found = new Map<string, string>();
  #isLost = false;
  /** The broker is older than the file. */
  #isBrokerOld = false;
  /** Whether the broker shows retained messages to filters with wildcards. Some do so only at exact topics. */
  #isListing = false;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Resolves once the broker was read by wildcards, as far as that is needed and possible. */
  async read(): Promise<void> {
    const { state, log } = this.#parts;
    const problem = await this.#untilRead(() => this.#readAll());
    if (problem !== null) {
      log.warn(`Cannot read the retained messages of the broker: ${problem}`);
      return;
    }
    // A first start has nothing to remember.
    if (state.isNew && this.#revision !== null) state.kept.lostPauses.set('', true);
    state.brokerRead(this.#revision);
  }

  /** Reads again if the connection is lost meanwhile, and adds what was found. Resolves to why it cannot; or null. */
  async #untilRead(read: () => Promise<void>): Promise<string | null> {
    const { connection } = this.#parts;
    for (let losses = 0; ; ) {
      if (!connection.isConnected) await once(connection, 'connected');
      try {
        await read();
        return null;
      } catch (error) {
        if (!connection.isConnected) losses += 1;
        if (connection.isConnected || losses === maxLosses) return errorMessage(error);
      } finally {
        this.#adopt();
      }
    }
  }

  /** Adds the pauses that another bridge has begun while it was in charge. Who takes over has to end them. */
  async readPauses(): Promise<void> {
    const { topics, state, connection, store, log } = this.#parts;
    state.kept.pauses.disown();
    const found = new Map<string, string>();
    const pauses = store.ids('property').map((id) => topics.document('property', id, 'pause'));
    try {
      await readTopics(connection, pauses, (topic, payload) => void found.set(topic, payload));
    } catch (error) {
      log.debug(`Reading the pauses of the other bridge: ${errorMessage(error)}`);
    }
    this.#adopt(found);
    store.keptChanged();
  }

  async #readAll(): Promise<void> {
    const { topics, state, connection } = this.#parts;
    const note = (topic: string, payload: string) => void this.#found.set(topic, payload);
    const first = [topics.bridge('memory'), ...this.#topicsOf(alwaysRead, () => ['+'])];
    // An intact file is current only if the broker is not newer. Without a file, everything is read below.
    await readRetained(connection, first, note, () => this.#revision !== null || state.isNew);
    this.#isLost = state.misses(this.#revision);
    // At once, because the first list of Wi-Fi valves may be read meanwhile, and its refusal says nothing of known ones.
    const take = (topic: string, payload: string) => {
      note(topic, payload);
      this.#adopt([[topic, payload]]);
    };
    this.#isBrokerOld = state.isAheadOf(this.#revision);
    if ((this.#isLost && !this.#isFirst) || this.#isBrokerOld)
      await readRetained(connection, topics.stateFilters, take);
    this.#isListing = [...this.#found.keys()].some((topic) => topic !== topics.bridge('memory'));
    // What an older file says of its devices is published before the cloud has listed them.
    const { documents } = knownTopics(topics, state.kept);
    if (this.#isLost && !this.#isListing && !state.isNew) await readTopics(connection, documents, take);
  }

  /**
   * Some brokers show retained messages only at exact topics: those of the records that the cloud lists. `listed` resolves
   * once all of them were read.
   */
  async readListed(listed: Promise<void>): Promise<void> {
    const { state, connection, store, log } = this.#parts;
    const { lostPauses } = state.kept;
    const isRead = this.#isFirst || (this.#isListing && !this.#isLost);
    if (isRead && !lostPauses.has('')) return;
    await listed;
    const ids = (kind: TargetKind) => (kind === 'bridge' ? [] : store.ids(kind));
    const wanted = this.#isLost && !this.#isListing ? keptDocuments : alwaysRead;
    const note = (topic: string, payload: string) => void this.#found.set(topic, payload);
    if (!isRead) {
      const read = () => readTopics(connection, this.#topicsOf(wanted, ids), note);
      const problem = await this.#untilRead(read);
      if (problem !== null) {
        log.debug(`Reading the retained messages of the listed devices: ${problem}`);
        return;
      }
      state.brokerRead(this.#revision);
    }
    this.#settleLost();
  }

  /** From now on, each listed property of which the broker knows nothing is known by its own name. */
  #settleLost(): void {
    const { topics, state, store } = this.#parts;
    const { lostPauses, pauses } = state.kept;
    if (!lostPauses.has('')) return;
    const isKnown = (id: string) => pauses.has(id) || this.#found.has(topics.below('property', id, 'pause'));
    for (const id of store.ids('property')) if (!isKnown(id)) lostPauses.set(id, true);
    lostPauses.delete('');
    store.keptChanged();
  }

  #topicsOf(documents: readonly string[], ids: (kind: TargetKind) => readonly string[]): string[] {
    return documents.flatMap((document) => {
      const [kind, path] = document.split('/') as [TargetKind, DocumentPath];
      return ids(kind).map((id) => this.#parts.topics.document(kind, id, path));
    });
  }

  /** Whether no earlier run has published anything: the broker has not stored the state of the bridge. */
  get #isFirst(): boolean {
    return this.#parts.connection.storedState === null && this.#revision === null;
  }

  /** The revision of the broker's memory; null if it has none. */
  get #revision(): number | null {
    const memory = fieldsIn(this.#found.get(this.#parts.topics.bridge('memory')) ?? '');
    const { success, data } = revision.safeParse(memory['revision']);
    return success ? data : null;
  }

  #adopt(found: Iterable<readonly [topic: string, payload: string]> = this.#found): void {
    const { topics, state, clock } = this.#parts;
    const adoption = { topics, kept: state.kept, clock, isNewer: this.#isLost };
    for (const [topic, payload] of found) {
      const target = topics.parse(topic);
      if (!target || target.kind === 'bridge' || !isDocument(target)) continue;
      const { kind, id, path } = target;
      const shown = fieldsIn(payload);
      const name = path === '' ? shown['name'] : null;
      if (this.#isLost || this.#isBrokerOld)
        state.kept.devices.adopt([[`${kind}/${id}`, name ? String(name) : '']], true);
      if (this.#isLost || alwaysRead.some((each) => each === `${kind}/${path}`))
        adoptDocument(target, shown, adoption);
    }
  }
}
