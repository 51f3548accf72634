import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { cloudKinds } from '../model/devices.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { DeviceKey, PlannedKind } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';

interface CleanupEvents {
  /** Retained messages without a device were deleted. */
  readonly deleted: [];
}

/** What the cleanup works with. */
interface CleanupParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly discovery: DiscoveryMessages;
  readonly store: Store;
  readonly otherBridges: OtherBridges;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Deletes the retained messages of devices that this bridge no longer shows.
 *
 * The publisher calls `delete` as soon as the store drops a device. It calls the sweep after a pass that leaves nothing
 * to publish. The sweep deletes messages that belong to no device: a scan has found their topic or the state file names
 * it, and this run has published nothing there. The sweep waits until the account was read completely, and was read
 * again since the message was found. It spares messages whose data was not read yet.
 */
export class Cleanup extends EventEmitter<CleanupEvents> {
  readonly #parts: CleanupParts;
  /** Topics that must not be touched, because their data was not read yet. The publisher adds and removes them. */
  readonly undecided = new Set<string>();
  /** Devices of this bridge that a scan has found on the broker, as `kind/id`. */
  readonly #found = new Set<string>();
  /**
   * Topics that a scan has found and this run has not published, with a time in ms of the monotonic clock. Only a list
   * that was requested at that time or later decides about the topic, because the message may be newer than an earlier
   * list.
   */
  readonly #unjudged = new Map<string, number>();
  /**
   * Since when no other bridge can have published here unnoticed. For the first connection, the first complete lists
   * decide.
   */
  #hearsSince = Number.NEGATIVE_INFINITY;
  /** Whether the broker may have messages that belong to no device. */
  isDue = false;

  constructor(parts: CleanupParts) {
    super();
    this.#parts = parts;
    const { otherBridges } = parts;
    otherBridges.on('changed', () => {
      if (otherBridges.isAny) this.hearAnew();
    });
  }

  /** Another bridge may have published here unnoticed until now. */
  hearAnew(): void {
    this.#hearsSince = this.#parts.clock.monotonic();
  }

  /** A scan has found this message. Its device is shown as offline until this run has read it. */
  found(topic: string): void {
    const { topics, retained, otherBridges, clock } = this.#parts;
    if (!retained.mayHave(topic)) {
      // An incident waits for the next list, because that list comes soon, and another bridge may have published the
      // incident.
      const isIncident = topics.parse(topic)?.kind === 'incident';
      this.#unjudged.set(topic, isIncident ? clock.monotonic() : this.#hearsSince);
    }
    retained.found(topic);
    const device = this.#deviceAt(topic);
    // While another bridge uses the same topics, the devices found there may be its own.
    if (device && !otherBridges.isAny) this.#found.add(keyOf(device));
  }

  /** The devices that the state file or the broker names. */
  get namedDevices(): readonly DeviceKey[] {
    const { topics, state } = this.#parts;
    return [...new Set([...state.kept.devices.keys(), ...this.#found])].flatMap((key) => {
      const device = this.#deviceAt(`${topics.base}/${key}`);
      if (!device) state.kept.devices.delete(key);
      return device ?? [];
    });
  }

  /** Deletes the messages of a device, after its availability was set to offline. */
  delete(device: DeviceKey): void {
    const { topics, retained } = this.#parts;
    const availability = topics.below(device.kind, device.id, 'availability');
    if (retained.mayHave(availability)) retained.put(availability, 'offline');
    // The discovery message comes first, because its deletion makes Home Assistant remove the device.
    for (const topic of this.#forget(device)) retained.clear(topic);
  }

  /**
   * Sweeps if it is due and the account was read completely. Otherwise an unknown message could still turn out to be
   * needed.
   */
  async sweepIfDue(): Promise<void> {
    const { connection, store, otherBridges } = this.#parts;
    const mayBeDone = store.isComplete && connection.isConnected && !otherBridges.isAny;
    if (this.isDue && mayBeDone) await this.#sweep();
  }

  /** Deletes stale messages. After a complete pass, a topic whose content is still unknown belongs to no device. */
  async #sweep(): Promise<void> {
    const { retained, store, log } = this.#parts;
    for (const [topic, since] of this.#unjudged) {
      const isRead = this.#recordsAt(topic).every(({ kind }) => store.isReadSince(kind, since));
      if (isRead) this.#unjudged.delete(topic);
    }
    const isAnyKept = this.#findVanished();
    const unwanted = retained.unknownTopics().filter((topic) => !this.undecided.has(topic));
    const stale = unwanted.filter((topic) => this.#isJudged(topic));
    this.isDue = isAnyKept || this.#unjudged.size > 0 || stale.length < unwanted.length;
    for (const topic of stale) {
      await retained.waitForRoom();
      retained.clear(topic);
    }
    await retained.waitForAnswers();
    const left = new Set(retained.unknownTopics());
    const deleted = stale.filter((topic) => !left.has(topic)).length;
    if (deleted === 0) return;
    const count = messageCount(deleted);
    log.info(
      store.filter.isOn
        ? `Deleted ${count} of removed devices, or of properties outside filters.properties`
        : `Deleted ${count} of removed devices`,
    );
    this.emit('deleted');
  }

  /**
   * Marks the messages of named devices as stale if the account no longer has the device. This includes devices that
   * only the state file names, because a scan may miss messages. Returns whether a device that is not shown must stay
   * for now.
   */
  #findVanished(): boolean {
    const { topics, state, retained, store } = this.#parts;
    let isAnyKept = false;
    for (const device of this.namedDevices) {
      const { kind, id } = device;
      if (store.view(kind, id) !== null || store.topology.isUnplaced(kind, id)) continue;
      if (!topics.documents(kind, id).every((topic) => this.#isJudged(topic))) {
        isAnyKept = true;
        continue;
      }
      const isAnnounced = state.kept.devices.has(keyOf(device));
      for (const topic of this.#forget(device)) {
        if (isAnnounced) retained.found(topic);
        retained.markStale(topic);
      }
    }
    return isAnyKept;
  }

  /**
   * Whether it is decided that an unwanted message may be deleted. If the filter selects no property, it is outdated or
   * misspelt. Then everything that the account still has stays until the filter is corrected.
   */
  #isJudged(topic: string): boolean {
    if (this.#unjudged.has(topic)) return false;
    const { store } = this.#parts;
    if (!store.filter.isOn) return true;
    const records = this.#recordsAt(topic);
    if (records.some(({ kind, id }) => kind === 'incident' && store.incidents.isUnplaced(id))) return false;
    if (store.filter.isMatched) return true;
    return records.length > 0 && !records.some(({ kind, id }) => store.has(kind, id));
  }

  /**
   * The records to which a topic may belong. The topic of a discovery message does not show whether it is a hub or a
   * valve.
   */
  #recordsAt(topic: string): readonly { readonly kind: PlannedKind; readonly id: string }[] {
    const { topics, retained } = this.#parts;
    const target = topics.parse(topic);
    if (target) return target.kind === 'bridge' ? [] : [{ kind: target.kind, id: target.id }];
    const { isBridge, id } = topics.discovered(topic) ?? { isBridge: true, id: '' };
    if (isBridge) return [];
    const there = cloudKinds.filter((kind) => retained.mayHave(topics.device(kind, id)));
    return (there.length > 0 ? there : cloudKinds).map((kind) => ({ kind, id }));
  }

  /**
   * Forgets a device and returns its topics. The topic of its discovery message comes first, but is left out if another
   * device uses it.
   */
  #forget(device: DeviceKey): string[] {
    const { topics, state, discovery } = this.#parts;
    const { kind, id } = device;
    const discoveryTopic = topics.discovery(kind, id);
    const isOwn = discovery.forget(discoveryTopic, kind);
    const forgotten = [...(isOwn ? [discoveryTopic] : []), ...topics.documents(kind, id)];
    for (const topic of forgotten) this.undecided.delete(topic);
    this.#found.delete(keyOf(device));
    state.kept.devices.delete(keyOf(device));
    return forgotten;
  }

  /** The device to which the topic of a document belongs; null for other topics. */
  #deviceAt(topic: string): DeviceKey | null {
    const { topics } = this.#parts;
    const target = topics.parse(topic);
    const kind = cloudKinds.find((each) => each === target?.kind);
    if (!target || !kind || !topics.documents(kind, target.id).includes(topic)) return null;
    return { kind, id: target.id };
  }
}

/** The key of a device in the state file. */
function keyOf({ kind, id }: DeviceKey): string {
  return `${kind}/${id}`;
}

/** A number of retained messages, for people. */
export function messageCount(messages: number): string {
  return `${messages.toLocaleString('en-US')} retained ${messages === 1 ? 'message' : 'messages'}`;
}
