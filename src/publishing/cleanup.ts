import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Retained } from '../broker/retained.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import { type FoundDiscovery, readDiscovery, statesPath, type Topics } from '../homeassistant/topics.ts';
import { namedProperty } from '../model/devices.ts';
import { isHeir, isOurs, isShared, type Shard } from '../model/shard.ts';
import { recordFromShown, type UsageRecord } from '../model/usage.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import { cloudKinds } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { IncidentEvents } from './incidentEvents.ts';
import type { DeviceKey, Publisher } from './publisher.ts';

/** The nodes of a cluster may take so long to tell one another what they keep. */
const againMs = 120_000;

/** A broker may close the connection on a scan: after so many times the bridge does not scan for a while. */
const maxFailures = 3;
const pauseMs = 3_600_000;

/** So many topics are looked at in one go. */
const maxAtOnce = 100;

export interface CleanupParts {
  readonly topics: Topics;
  readonly shard: Shard;
  readonly staleAfterMs: number;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly store: Store;
  readonly poller: Poller;
  readonly otherBridges: OtherBridges;
  readonly publisher: Publisher;
  readonly incidentEvents: IncidentEvents;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Finds strangers among the retained messages: what an earlier run, an earlier configuration or another bridge has left
 * on the broker. It reads what the broker keeps on each connection, and again two minutes later, as the nodes of a cluster
 * may know of different messages until then. What is found and belongs to this bridge is given to the publisher, which
 * deletes what nobody wants. What a scan lacks proves nothing: devices that this bridge has announced are in the state
 * file.
 *
 * Of several bridges each owns the devices of its properties. A new owner publishes over what the old one has left, so
 * nothing is handed over. A device that goes on naming this bridge although it is another's is set to offline after
 * `stale_after`.
 */
export class Cleanup {
  readonly #parts: CleanupParts;
  readonly #scan = coalesce(() => this.#scanOnce());
  #failures = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Whether the last scan may have found everything. */
  #isComplete = true;
  #isStopped = false;
  #wasResolved = false;
  #cancelAgain: () => void = () => {};
  /** Devices of other bridges that have named this one, by the topic of their discovery message. */
  readonly #left = new Map<string, DeviceKey>();
  #cancelLook: () => void = () => {};
  #resolveScanned: () => void = () => {};
  /** Resolves once the broker was scanned, or cannot be. */
  readonly scanned = new Promise<void>((resolve) => {
    this.#resolveScanned = resolve;
  });

  constructor(parts: CleanupParts) {
    this.#parts = parts;
    const { connection, store, poller, otherBridges, publisher, clock } = parts;
    connection.on('connected', () => {
      this.#cancelAgain();
      this.#cancelAgain = clock.after(againMs, () => this.#scanSoon());
      this.#scanSoon();
    });
    otherBridges.on('stopped', () => {
      if (!otherBridges.isAny) this.#scanSoon();
    });
    // What was left alone as long as nobody knew whether it is wanted may be stale.
    poller.on('ended', () => {
      if (this.#wasResolved || !store.isResolved) return;
      this.#wasResolved = true;
      if (publisher.isShowingDevices) this.#scanSoon();
    });
    publisher.on('left', (device) => this.#leave(device));
    // What is stale was deleted: a broker that has shown only a part shows the next.
    publisher.on('swept', () => {
      if (!this.#isComplete) this.#scanSoon();
    });
  }

  /** Scans nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelAgain();
    this.#cancelLook();
  }

  #scanSoon(): void {
    void this.#scan();
  }

  async #scanOnce(): Promise<void> {
    const { connection, topics, shard, clock, log } = this.#parts;
    if (this.#isStopped || clock.monotonic() < this.#pausedUntil) return;
    const found = new RetainedScan(topics, shard);
    const filters = [topics.discoveryFilter, ...topics.stateFilters, ...topics.bridgeFilters];
    const taken = new Set<string>();
    let isScanned = false;
    let isMore = false;
    const note = (topic: string, payload: string) => {
      found.note(topic, payload);
      isMore = isScanned;
    };
    try {
      await this.#read(filters, note, (isAll) => {
        this.#failures = 0;
        this.#isComplete = isAll;
        isScanned = true;
        this.#take(found, taken);
      });
      if (isMore) this.#take(found, taken);
    } catch (error) {
      // The next connection scans; but a broker that refuses it goes without.
      this.#failures = connection.isConnected ? maxFailures : this.#failures + 1;
      if (this.#failures < maxFailures || this.#isStopped) return;
      const isSaid = this.#pausedUntil > Number.NEGATIVE_INFINITY;
      this.#pausedUntil = clock.monotonic() + pauseMs;
      log[isSaid ? 'debug' : 'warn'](
        `Cannot read the retained messages of the broker. Old devices are not removed: ${String(error)}`,
      );
      this.#sweep();
    }
  }

  /** Takes what was found and not taken yet, so that nothing is deleted twice. */
  #take(found: RetainedScan, taken: Set<string>): void {
    const { state, publisher, incidentEvents, retained } = this.#parts;
    for (const [topic, { componentIds }] of found.discoveries()) {
      if (!taken.has(topic)) publisher.foundDiscovery(topic, componentIds);
      taken.add(topic);
    }
    for (const topic of found.states()) {
      if (!taken.has(topic)) retained.found(topic);
      taken.add(topic);
    }
    for (const [sonicId, record] of found.usage) state.adoptUsage(sonicId, record);
    incidentEvents.takeOver(found.incidentsOfOthers());
    for (const device of found.leftBehind()) this.#leave(device);
    this.#sweep();
  }

  #sweep(): void {
    const { publisher } = this.#parts;
    this.#resolveScanned();
    if (publisher.isShowingDevices) publisher.sweepAgain();
  }

  #read(
    filters: readonly string[],
    found: (topic: string, payload: string) => void,
    onRead?: (isAll: boolean) => void,
  ): Promise<void> {
    const hand = ({ topic, payload, isRetained }: BrokerMessage) => {
      if (isRetained && payload !== '') found(topic, payload);
    };
    return this.#parts.connection.readRetained(filters, hand, onRead);
  }

  #leave(device: DeviceKey): void {
    const { topics, clock, staleAfterMs } = this.#parts;
    this.#left.set(topics.discovery(device.kind, device.id), device);
    if (this.#isStopped) return;
    this.#cancelLook();
    this.#cancelLook = clock.after(staleAfterMs, () => void this.#look());
  }

  /** What the new owner has not published over by now is not shown by anybody. */
  async #look(): Promise<void> {
    const { clock, log, staleAfterMs } = this.#parts;
    const due = [...this.#left];
    try {
      for (let start = 0; start < due.length; start += maxAtOnce) {
        await this.#setOffline(new Map(due.slice(start, start + maxAtOnce)));
      }
    } catch (error) {
      log.debug(`Looking for devices of other bridges: ${String(error)}`);
      this.#cancelLook = clock.after(staleAfterMs, () => void this.#look());
    }
  }

  async #setOffline(left: ReadonlyMap<string, DeviceKey>): Promise<void> {
    const { connection, topics, store, log } = this.#parts;
    const naming = new Set<string>();
    await this.#read([...left.keys()], (topic, payload) => {
      if (readDiscovery(topics, payload)?.maker === topics.bridgeName) naming.add(topic);
    });
    for (const [topic, { kind, id }] of left) {
      this.#left.delete(topic);
      if (kind === 'property' || !naming.has(topic) || store.view(kind, id)) continue;
      await connection.publish(topics.below(kind, id, 'availability'), 'offline', { retain: true });
      log.warn(
        `${kind} ${id} belongs to another bridge that does not publish it. The device is now unavailable`,
      );
    }
  }
}

/** What a scan has found below one base topic, and which of it is this bridge's to keep or to delete. */
export class RetainedScan {
  readonly #topics: Topics;
  readonly #shard: Shard;
  readonly #states = new Set<string>();
  readonly #discoveries = new Map<string, FoundDiscovery>();
  /** Bridges that say that they are running. */
  readonly #running = new Set<string>();
  /** The property that each device's record names, if any, by `kind/id`. */
  readonly #records = new Map<string, string | null>();
  /** The devices that each incident names. */
  readonly #incidents = new Map<string, readonly (string | null)[]>();
  /** What bridges have counted of each sonic's water, by its id. */
  readonly usage = new Map<string, UsageRecord>();

  constructor(topics: Topics, shard: Shard) {
    this.#topics = topics;
    this.#shard = shard;
  }

  /** Takes in a retained message. */
  note(topic: string, payload: string): void {
    const { base, bridgeName } = this.#topics;
    if (!topic.startsWith(`${base}/`)) {
      const discovery = readDiscovery(this.#topics, payload);
      if (discovery) this.#discoveries.set(topic, discovery);
      return;
    }
    const bridge = this.#topics.bridgeNamed(topic);
    if (bridge !== null && bridge !== bridgeName) {
      this.#states.add(topic);
      if (topic === this.#topics.ofBridge(bridge, 'state') && payload === 'online') this.#running.add(bridge);
      return;
    }
    const target = this.#topics.parse(topic);
    if (!target || (target.kind === 'bridge' && topic !== this.#topics.bridge(statesPath))) return;
    this.#states.add(topic);
    const { kind, id, path } = target;
    if (kind === 'incident') this.#incidents.set(id, devicesNamedIn(payload));
    // A bridge that has the account to itself need not know.
    else if (path === '' && isShared(this.#shard)) {
      this.#records.set(`${kind}/${id}`, kind === 'property' ? id : namedProperty(objectIn(payload)));
    } else if (kind === 'sonic' && path === 'usage') {
      const record = recordFromShown(objectIn(payload));
      if (record) this.usage.set(id, record);
    }
  }

  /** State topics that are this bridge's to keep or to delete. */
  states(): string[] {
    return [...this.#states].filter((topic) => this.#isOurs(topic));
  }

  /** Discovery messages that are this bridge's to replace or to delete, by topic. */
  discoveries(): [string, FoundDiscovery][] {
    return [...this.#discoveries].filter(([topic]) => this.#isOurs(topic));
  }

  /** Devices that this bridge has announced and that belong to another. */
  leftBehind(): DeviceKey[] {
    return [...this.#discoveries].flatMap(([topic, { maker }]) => {
      if (maker !== this.#topics.bridgeName || this.#isOurs(topic)) return [];
      const id = this.#topics.discovered(topic) ?? '';
      const kind = cloudKinds.find((each) => this.#records.has(`${each}/${id}`));
      return kind === undefined ? [] : [{ kind, id }];
    });
  }

  /** Incidents that another bridge has shown, and so announced. */
  incidentsOfOthers(): string[] {
    const isOfOther = (id: string | null) => {
      const made = this.#discoveries.get(this.#topics.discovery('sonic', id ?? ''));
      return made !== undefined && made.maker !== this.#topics.bridgeName;
    };
    return [...this.#incidents].filter(([, ids]) => ids.some(isOfOther)).map(([id]) => id);
  }

  #isOurs(topic: string): boolean {
    const discovered = this.#topics.discovered(topic);
    const bridge = this.#topics.bridgeNamed(
      discovered === null ? topic : this.#topics.ofBridge(discovered, 'state'),
    );
    if (bridge !== null) return isHeir(bridge, this.#shard) && !this.#running.has(bridge);
    const target = this.#topics.parse(topic);
    const id = discovered ?? target?.id;
    if (id === undefined) return !isShared(this.#shard);
    const ids = target?.kind === 'incident' ? (this.#incidents.get(id) ?? []) : [id];
    const homes = ids.flatMap((each) => cloudKinds.map((kind) => this.#records.get(`${kind}/${each}`)));
    return isOurs(homes.find((home) => typeof home === 'string') ?? id, this.#shard);
  }
}

/** The sonic and the signal that a retained incident names; null without one. */
export function devicesNamedIn(payload: string): readonly (string | null)[] {
  const { sonic_id: sonicId, signal_id: signalId } = objectIn(payload) as Record<string, unknown>;
  return [sonicId, signalId].map((id) => (typeof id === 'string' ? id : null));
}

function objectIn(payload: string): object {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
