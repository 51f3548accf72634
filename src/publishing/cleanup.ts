import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Retained } from '../broker/retained.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import { readDiscovery, Topics } from '../homeassistant/topics.ts';
import { kindLabels } from '../model/devices.ts';
import type { Shard } from '../model/shard.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { DeviceKey } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import type { IncidentEvents } from './incidentEvents.ts';
import type { Publisher } from './publisher.ts';
import { RetainedScan } from './retainedScan.ts';

/** The nodes of a cluster may need this long to share their retained messages, or to answer a scan. */
const againMs = 120_000;

/** A broker may refuse each scan. Then the next ones wait longer and longer, but no longer than this. */
const longestAgainMs = 3_600_000;

/** A broker may close the connection at each scan. After this many times the bridge stops scanning. */
const maxLosses = 3;

/** Of more messages a broker may show a part at a time: Mosquitto queues a thousand for a client. */
const maxReliablyShown = 1_000;

/** Discovery messages that are read at a time. */
const maxAtOnce = 100;

/** This many discovery messages are looked at, this often. */
const maxChecked = 3;
const checkEveryMs = 120_000;

/** While another bridge announces devices of this one, and if somebody deletes messages again and again. */
const rescanMs = 300_000;

/** A bridge that stops for an update does not lose its devices to another one. */
const goneMs = 900_000;

export interface CleanupParts {
  readonly topics: Topics;
  readonly shard: Shard;
  readonly staleAfterMs: number;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly discovery: DiscoveryMessages;
  readonly store: Store;
  readonly poller: Poller;
  readonly otherBridges: OtherBridges;
  readonly publisher: Publisher;
  readonly incidentEvents: IncidentEvents;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Finds old retained messages: those of an earlier run, an earlier configuration or another bridge. It scans the broker on
 * each connection, and again two minutes later, because the nodes of a cluster may know different messages until then. If
 * the broker refuses that, it is tried again later. The publisher gets the messages of this bridge, and deletes those that
 * no device needs. A message that a scan misses may still exist, so the state file knows the devices that this bridge has
 * announced.
 *
 * Each of several bridges owns the devices of its properties. A new owner publishes over the messages of the old one. A
 * device of another bridge whose discovery message still names this bridge is set to offline after `stale_after`.
 */
export class Cleanup {
  readonly #parts: CleanupParts;
  readonly #scan = coalesce(() => this.#scanOnce());
  /** Deletes what this bridge has published below base topics that it had before. A scan tries again. */
  readonly #removeFormer = coalesce(async () => {
    const { topics, state, log } = this.#parts;
    state.recordBaseTopic(topics.base);
    for (const base of state.baseTopics) {
      if (base === topics.base || this.#isStopped) continue;
      await this.#removeBelow(base).catch((error) => {
        log.debug(`Deleting the messages below ${base}: ${String(error)}`);
      });
    }
  });
  /** How many scans in a row ended with the connection. */
  #losses = 0;
  /** How many messages the last scan has found. */
  #found = 0;
  #isFailureLogged = false;
  /** How many scans in a row the broker has refused, or not answered, on this connection. */
  #failures = 0;
  #isStopped = false;
  #wasResolved = false;
  #cancelAgain: () => void = () => {};
  /** Devices of other bridges that have named this one, by the topic of their discovery message. */
  readonly #leftDevices = new Map<string, DeviceKey>();
  #cancelLeftCheck: () => void = () => {};
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** When bridges with another base topic were last online, by the topic that says so. */
  readonly #onlineAt = new Map<string, number>();
  /** How many discovery messages were looked at. */
  #checked = 0;
  /** Topics of discovery messages that the last check has missed for the first time. */
  #missed: ReadonlySet<string> = new Set();
  /** Whether the broker has shown this client a message of its own. */
  #isShown = false;
  #restoredAt = Number.NEGATIVE_INFINITY;
  #cancelCheck: () => void = () => {};
  #resolveScanned: () => void = () => {};
  /** Resolves once the broker was scanned, or cannot be. */
  readonly scanned = new Promise<void>((resolve) => {
    this.#resolveScanned = resolve;
  });

  constructor(parts: CleanupParts) {
    this.#parts = parts;
    const { connection, store, poller, otherBridges, publisher } = parts;
    connection.on('connected', () => {
      this.#failures = 0;
      this.#scanAgainLater();
      this.#scanSoon();
    });
    let wasAny = false;
    otherBridges.on('changed', () => {
      const { isAny } = otherBridges;
      if (wasAny && !isAny) this.#scanSoon();
      wasAny = isAny;
    });
    publisher.once('published', () => {
      this.#checkLater();
      void this.#removeFormer();
    });
    poller.on('ended', () => {
      publisher.sweepIfDue();
      // Devices whose property was unknown were not touched. They may be stale.
      if (this.#wasResolved || !store.isResolved) return;
      this.#wasResolved = true;
      if (publisher.isShowingDevices) this.#scanSoon();
    });
    publisher.on('left', (device) => this.#checkLeftLater(device));
    // A broker that has shown a part shows the next one now.
    publisher.on('cleaned', () => {
      if (this.#found >= maxReliablyShown) this.#scanSoon();
    });
  }

  /**
   * Some brokers show retained messages to exact topics only. If the state file was lost, what is nowhere else is read by
   * the topics of what the cloud lists: the totals of water, and which incidents were announced.
   */
  async readListed(): Promise<void> {
    const { state, store, topics, shard, incidentEvents, log } = this.#parts;
    if (!state.isNew || this.#found > 0) return;
    const listed = [
      ...store.ids('sonic').map((id) => topics.below('sonic', id, 'usage')),
      ...store.ids('incident').map((id) => topics.incident(id)),
    ];
    const found = new RetainedScan(topics, shard);
    let isFound = true;
    try {
      for (let start = 0; start < listed.length && isFound; start += maxAtOnce) {
        isFound = false;
        const note = (topic: string, payload: string) => {
          found.add(topic, payload);
          isFound = true;
        };
        await new Promise<void>((resolve, reject) => {
          this.#read(listed.slice(start, start + maxAtOnce), note, resolve).catch(reject);
        });
      }
    } catch (error) {
      log.debug(`Reading what the broker has of the listed valves: ${String(error)}`);
    }
    this.#adoptUsage(found);
    incidentEvents.takeOver(found.incidents);
  }

  /** Totals that were counted by others go on from there. */
  #adoptUsage({ usage }: RetainedScan): void {
    const { state, store } = this.#parts;
    for (const [sonicId, record] of usage)
      state.adoptUsage(sonicId, record, Number.isFinite(store.usage.readAt(sonicId)));
  }

  /** Scans nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelAgain();
    this.#cancelCheck();
    this.#cancelLeftCheck();
  }

  #scanSoon(): void {
    void this.#scan();
  }

  #scanAgainLater(): void {
    this.#cancelAgain();
    const waitMs = Math.min(longestAgainMs, againMs * 2 ** this.#failures);
    this.#cancelAgain = this.#parts.clock.after(waitMs, () => this.#scanSoon());
  }

  async #scanOnce(): Promise<void> {
    const { connection, topics, shard, publisher, clock, log } = this.#parts;
    if (this.#isStopped || this.#losses >= maxLosses) return;
    const found = new RetainedScan(topics, shard);
    // Other bridges first: a broker may drop the last messages of many.
    const filters = [...topics.bridgeFilters, topics.discoveryFilter, ...topics.stateFilters];
    const taken = new Set<string>();
    let isScanned = false;
    let isMore = false;
    this.#found = 0;
    this.#scannedAt = clock.monotonic();
    const note = (topic: string, payload: string) => {
      this.#found += 1;
      found.add(topic, payload);
      isMore = isScanned;
    };
    try {
      await this.#read(filters, note, () => {
        this.#losses = 0;
        this.#failures = 0;
        isScanned = true;
        if (found.strangers().size === 0) this.#useFindings(found, taken);
        else isMore = true;
      });
      await this.#recordAnnouncers(found.strangers());
      if (isMore) this.#useFindings(found, taken);
      if (publisher.hasShownDevices) void this.#removeFormer();
    } catch (error) {
      if (!connection.isConnected) this.#losses += 1;
      // The next connection scans.
      const isAgain = !connection.isConnected && this.#losses < maxLosses;
      if (isAgain || this.#isStopped) return;
      log[this.#isFailureLogged ? 'debug' : 'warn'](
        `Cannot read the retained messages of the broker. Old devices are not removed: ${String(error)}`,
      );
      this.#isFailureLogged = true;
      this.#scanAgainLater();
      this.#failures += 1;
      this.#sweep();
    }
  }

  /**
   * A bridge with another base topic that runs keeps what it announces: two that replace each other's messages would
   * never end, and Home Assistant would lose entities each time. One that has stopped for long announces nothing.
   */
  async #recordAnnouncers(strangers: ReadonlyMap<string, string>): Promise<void> {
    const { otherBridges, clock } = this.#parts;
    const now = clock.monotonic();
    const stateTopics = [...new Set(strangers.values())].slice(0, maxAtOnce);
    if (stateTopics.length > 0) {
      await this.#read(stateTopics, (topic, payload) => {
        if (payload === 'online') this.#onlineAt.set(topic, now);
      });
    }
    const isRunning = (topic: string) =>
      now < (this.#onlineAt.get(topic) ?? Number.NEGATIVE_INFINITY) + goneMs;
    const announcers = [...strangers].filter(([, stateTopic]) => isRunning(stateTopic));
    otherBridges.recordAnnouncers(new Map(announcers));
  }

  /** Looks from time to time whether the broker still has the discovery messages of this bridge. */
  #checkLater(): void {
    this.#cancelCheck();
    if (this.#isStopped) return;
    this.#cancelCheck = this.#parts.clock.after(checkEveryMs, () => {
      void this.#check().then(() => this.#checkLater());
    });
  }

  /** Others replace or delete them all, or none: a few in turn are enough. */
  async #check(): Promise<void> {
    const { connection, discovery, retained, otherBridges, publisher, clock, log } = this.#parts;
    if (!connection.isConnected || !publisher.isShowingDevices) return;
    const { topics } = discovery;
    const some = Array.from({ length: Math.min(maxChecked, topics.length) }, (_, index) => {
      return topics[(this.#checked + index) % topics.length] ?? '';
    });
    this.#checked += some.length;
    some.push(...this.#missed);
    const missing = new Set(some);
    let isReplaced = false;
    try {
      if (some.length > 0) {
        await this.#read(some, (topic, payload) => {
          missing.delete(topic);
          if (retained.has(topic, payload)) this.#isShown = true;
          else isReplaced = true;
        });
      }
    } catch (error) {
      log.debug(`Reading the discovery messages of this bridge: ${String(error)}`);
      return;
    }
    const now = clock.monotonic();
    if (isReplaced || (otherBridges.announcerProblem !== null && now >= this.#scannedAt + rescanMs)) {
      this.#scanSoon();
    }
    // A broker may show nothing to this client, and a cluster that has lost a node nothing for ten seconds.
    const isLost = (topic: string) => this.#missed.has(topic) && retained.isKnown(topic);
    const isDeleted = this.#isShown && [...missing].some(isLost);
    this.#missed = new Set([...missing].filter((topic) => !this.#missed.has(topic)));
    if (!isDeleted || now < this.#restoredAt + rescanMs) return;
    this.#restoredAt = now;
    log.warn('Another client has deleted discovery messages of this bridge. Publishing all devices');
    publisher.publishAll();
  }

  async #removeBelow(base: string): Promise<void> {
    const { topics, shard, state, connection, retained, log } = this.#parts;
    const former = new Topics(base, topics.discoveryPrefix, shard);
    const { bridgeFilters, stateFilters, discoveryFilter } = former;
    const scan = new RetainedScan(former, shard);
    let isInUse = false;
    await this.#read([...bridgeFilters, ...stateFilters, discoveryFilter], (topic, payload) => {
      if (topic === former.bridge('state') && payload === 'online') isInUse = true;
      scan.add(topic, payload);
    });
    if (isInUse) {
      log.info(`Another bridge runs below the former mqtt.base_topic ${base}. Its messages stay`);
      state.forgetBaseTopic(base);
      return;
    }
    // A broker may not list what it keeps.
    const known = [...state.devices]
      .map((key) => former.parse(`${base}/${key}`))
      .filter((each) => each !== null);
    const stale = [
      ...scan.removable(),
      ...known.flatMap(({ kind, id }) => former.documents(kind, id)),
      ...state.incidentIds().map((id) => former.incident(id)),
      ...former.documents('bridge', ''),
    ];
    // This bridge has replaced the discovery messages of its devices.
    const formerTopics = [...new Set(stale)].filter((topic) => !retained.isKnown(topic));
    for (const topic of formerTopics) {
      await retained.waitForRoom();
      retained.found(topic);
      retained.clear(topic);
    }
    await retained.waitForAnswers();
    if (!connection.isConnected) return;
    const isAnyLeft = formerTopics.some((topic) => retained.mayHave(topic));
    // Nobody waits for what the broker refuses to delete there. The next scan tries again.
    for (const topic of formerTopics) retained.release(topic);
    if (isAnyLeft) return;
    state.forgetBaseTopic(base);
    log.info(`mqtt.base_topic has changed. Deleted the retained messages below ${base}`);
  }

  /** Passes on each message that was found, and each only once, so that nothing is deleted twice. */
  #useFindings(found: RetainedScan, taken: Set<string>): void {
    const { state, discovery, incidentEvents, publisher } = this.#parts;
    for (const [topic, { componentIds }] of found.discoveries()) {
      if (!taken.has(topic)) {
        publisher.found(topic);
        discovery.found(topic, componentIds);
      }
      taken.add(topic);
    }
    for (const topic of found.states()) {
      if (!taken.has(topic)) publisher.found(topic);
      taken.add(topic);
    }
    this.#adoptUsage(found);
    // A run whose file is lost has announced what it left on the broker, to which this run has added nothing yet.
    const isFromLostRun = state.isNew && !publisher.isShowingDevices;
    incidentEvents.takeOver(isFromLostRun ? found.incidents : found.incidentsOfOthers());
    for (const device of found.leftBehind()) this.#checkLeftLater(device);
    this.#sweep();
  }

  #sweep(): void {
    this.#resolveScanned();
    this.#parts.publisher.sweepAgain();
  }

  #read(
    filters: readonly string[],
    found: (topic: string, payload: string) => void,
    onRead?: () => void,
  ): Promise<void> {
    const hand = ({ topic, payload, isRetained }: BrokerMessage) => {
      if (isRetained && payload !== '') found(topic, payload);
    };
    return this.#parts.connection.readRetained(filters, hand, onRead);
  }

  #checkLeftLater(device: DeviceKey): void {
    const { topics, clock, staleAfterMs } = this.#parts;
    this.#leftDevices.set(topics.discovery(device.kind, device.id), device);
    if (this.#isStopped) return;
    this.#cancelLeftCheck();
    this.#cancelLeftCheck = clock.after(staleAfterMs, () => void this.#checkLeftDevices());
  }

  /** A device whose discovery message still names this bridge has no other bridge that publishes it. */
  async #checkLeftDevices(): Promise<void> {
    const { clock, log, staleAfterMs } = this.#parts;
    const due = [...this.#leftDevices];
    try {
      for (let start = 0; start < due.length; start += maxAtOnce) {
        await this.#setOffline(new Map(due.slice(start, start + maxAtOnce)));
      }
    } catch (error) {
      log.debug(`Looking for devices of other bridges: ${String(error)}`);
      this.#cancelLeftCheck = clock.after(staleAfterMs, () => void this.#checkLeftDevices());
    }
  }

  async #setOffline(left: ReadonlyMap<string, DeviceKey>): Promise<void> {
    const { connection, topics, store, log } = this.#parts;
    const naming = new Set<string>();
    await this.#read([...left.keys()], (topic, payload) => {
      if (readDiscovery(payload)?.stateTopic === topics.bridge('state')) naming.add(topic);
    });
    for (const [topic, { kind, id }] of left) {
      this.#leftDevices.delete(topic);
      if (kind === 'property' || !naming.has(topic) || store.view(kind, id)) continue;
      await connection.publish(topics.below(kind, id, 'availability'), 'offline', { retain: true });
      log.warn(
        `${kindLabels[kind]} ${id} belongs to another bridge that does not publish it. The device is now unavailable`,
      );
    }
  }
}
