import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';
import { noPause, pauseShown } from '../model/pause.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import type { Cleanup } from './cleanup.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import { removeFormerTopics } from './formerTopics.ts';
import type { IncidentEvents } from './incidentEvents.ts';
import type { Publisher } from './publisher.ts';
import { maxTopicsAtOnce, RetainedScan, readRetained } from './retainedScan.ts';

/**
 * When a scan is repeated, in ms. The nodes of a cluster may need this long to share retained messages or to answer a
 * scan.
 */
const againMs = 120_000;

/** If the broker refuses every scan, the waits grow up to this, in ms. */
const maxAgainMs = 3_600_000;

/** If the broker closes the connection at a scan this many times in a row, the bridge stops scanning. */
const maxLosses = 3;

/** If there are more messages, a broker may send only a part of them: Mosquitto queues a thousand for a client. */
const maxReliablyShown = 1_000;

/** This many discovery messages are checked at a time. In the next constant: how often, in ms. */
const maxChecked = 3;
const checkEveryMs = 120_000;

/**
 * The pause between two scans or repairs, in ms, while another bridge announces devices of this one, or while somebody
 * deletes messages again and again.
 */
const rescanMs = 300_000;

/**
 * A bridge counts as stopped after this long, in ms. A bridge that stops for an update must not lose its devices to
 * another.
 */
const goneMs = 900_000;

export interface BrokerScansParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly store: Store;
  readonly poller: Poller;
  readonly otherBridges: OtherBridges;
  readonly discovery: DiscoveryMessages;
  readonly cleanup: Cleanup;
  readonly publisher: Publisher;
  readonly incidentEvents: IncidentEvents;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Finds out which messages an earlier run, an earlier configuration or another bridge has left on the broker.
 *
 * It scans the broker on each connection, and again two minutes later, because until then the nodes of a cluster may
 * know different messages. If the broker refuses a scan, it is repeated later. A scan may miss messages, so an absent
 * message proves nothing. The findings go to the parts that use them: `Cleanup` deletes the messages that no device
 * needs. If the state file was lost, water totals continue and incidents are not announced twice. Devices that another
 * running bridge announces are left to that bridge.
 *
 * Between scans, it checks whether the broker still has the discovery messages of this bridge.
 */
export class BrokerScans {
  readonly #parts: BrokerScansParts;
  readonly #scan = coalesce(() => this.#scanOnce());
  readonly #removeFormerTopics = coalesce(() => removeFormerTopics(this.#parts));
  /** How many scans in a row failed because the connection ended. */
  #losses = 0;
  /** How many messages of devices and incidents the last scan has found. */
  #found = 0;
  #isFailureLogged = false;
  /** How many scans in a row on this connection the broker has refused or not answered. */
  #failures = 0;
  #wasResolved = false;
  #cancelAgain: () => void = () => {};
  #scannedAt = Number.NEGATIVE_INFINITY;
  /** When each bridge with another base topic was last found online, by the topic of its `state`. */
  readonly #onlineAt = new Map<string, number>();
  /** How many discovery messages were checked so far. */
  #checked = 0;
  /** Topics at which the last check was the first one that found no discovery message of this base topic. */
  #missed: ReadonlySet<string> = new Set();
  /** Whether the broker has ever sent this client one of its own retained messages. */
  #isShown = false;
  #restoredAt = Number.NEGATIVE_INFINITY;
  #cancelCheck: () => void = () => {};
  #resolveScanned: () => void = () => {};
  /** Resolves once the broker was scanned, or cannot be scanned. */
  readonly scanned = new Promise<void>((resolve) => {
    this.#resolveScanned = resolve;
  });

  constructor(parts: BrokerScansParts) {
    this.#parts = parts;
    const { connection, store, poller, otherBridges, cleanup, publisher } = parts;
    connection.on('connected', () => {
      this.#failures = 0;
      this.#scanAgainLater();
      void this.#scan();
    });
    let wasAny = false;
    otherBridges.on('changed', () => {
      const { isAny } = otherBridges;
      if (wasAny && !isAny) void this.#scan();
      wasAny = isAny;
    });
    publisher.once('published', () => {
      this.#checkLater();
      void this.#removeFormerTopics();
    });
    poller.on('ended', () => {
      // A new list was read. It may show that messages found earlier have no device.
      if (cleanup.isDue && publisher.isShowingDevices) publisher.wake();
      // Now the properties of all devices are known. Before, devices without one were left alone, but they may be
      // stale.
      if (this.#wasResolved || !store.isResolved) return;
      this.#wasResolved = true;
      if (publisher.isShowingDevices) void this.#scan();
    });
    // If the broker has sent only a part of its messages, it sends the next part now.
    cleanup.on('deleted', () => {
      if (this.#found >= maxReliablyShown) void this.#scan();
    });
  }

  /**
   * Some brokers send retained messages only for exact topics, without wildcards. If the state file was lost, only the
   * broker has the pauses, the water totals and the announced incidents. So they are read at the topics of the
   * properties, valves and incidents that the cloud lists.
   */
  async readListed(): Promise<void> {
    const { state, store, topics, connection, incidentEvents, log } = this.#parts;
    const isLost = state.isNew && this.#found === 0;
    const listed = [
      ...(isLost || !state.kept.pauses.isKnown ? store.ids('property') : []).map((id) =>
        topics.below('property', id, 'pause'),
      ),
      ...(isLost ? store.ids('sonic') : []).map((id) => topics.below('sonic', id, 'usage')),
      ...(isLost ? store.ids('incident') : []).map((id) => topics.incident(id)),
    ];
    const found = new RetainedScan(topics);
    let isFound = true;
    try {
      for (let start = 0; start < listed.length && isFound; start += maxTopicsAtOnce) {
        isFound = false;
        const note = (topic: string, payload: string) => {
          found.add(topic, payload);
          isFound = true;
        };
        await new Promise<void>((resolve, reject) => {
          const some = listed.slice(start, start + maxTopicsAtOnce);
          readRetained(connection, some, note, resolve).catch(reject);
        });
      }
    } catch (error) {
      log.debug(`Reading what the broker has of the listed valves: ${String(error)}`);
    }
    this.#adoptPauses(found);
    this.#adoptUsage(found);
    incidentEvents.takeOver([...found.incidents]);
  }

  /** Stops scanning. */
  stop(): void {
    this.#cancelAgain();
    this.#cancelCheck();
  }

  #scanAgainLater(): void {
    this.#cancelAgain();
    const waitMs = Math.min(maxAgainMs, againMs * 2 ** this.#failures);
    this.#cancelAgain = this.#parts.clock.after(waitMs, () => void this.#scan());
  }

  async #scanOnce(): Promise<void> {
    const { connection, topics, publisher, clock, log } = this.#parts;
    if (publisher.isStopped || this.#losses >= maxLosses) return;
    const found = new RetainedScan(topics);
    const filters = [...topics.documents('bridge', ''), topics.discoveryFilter, ...topics.stateFilters];
    const taken = new Set<string>();
    let isScanned = false;
    let isMore = false;
    this.#found = 0;
    this.#scannedAt = clock.monotonic();
    const note = (topic: string, payload: string) => {
      // Every broker shows the bridge's own messages, because these filters have no wildcards.
      if (topics.parse(topic)?.kind !== 'bridge') this.#found += 1;
      found.add(topic, payload);
      isMore = isScanned;
    };
    try {
      await readRetained(connection, filters, note, () => {
        this.#losses = 0;
        this.#failures = 0;
        isScanned = true;
        if (found.strangers().size === 0) this.#useFindings(found, taken);
        else isMore = true;
      });
      await this.#recordAnnouncers(found.strangers());
      if (isMore) this.#useFindings(found, taken);
      if (publisher.hasShownDevices) void this.#removeFormerTopics();
    } catch (error) {
      if (!connection.isConnected) this.#losses += 1;
      // The next connection starts a new scan.
      const isAgain = !connection.isConnected && this.#losses < maxLosses;
      if (isAgain || publisher.isStopped) return;
      log[this.#isFailureLogged ? 'debug' : 'warn'](
        `Cannot read the retained messages of the broker. Old devices are not removed: ${String(error)}`,
      );
      this.#isFailureLogged = true;
      this.#scanAgainLater();
      this.#failures += 1;
      this.#publishFound();
    }
  }

  /**
   * Leaves devices to a running bridge with another base topic if that bridge has published their discovery messages.
   * Otherwise the two bridges would replace each other's messages without end, and Home Assistant would lose entities
   * each time. A bridge that has been stopped for long no longer counts.
   */
  async #recordAnnouncers(strangers: ReadonlyMap<string, string>): Promise<void> {
    const { connection, retained, otherBridges, clock } = this.#parts;
    const now = clock.monotonic();
    const stateTopics = [...new Set(strangers.values())].slice(0, maxTopicsAtOnce);
    if (stateTopics.length > 0) {
      await readRetained(connection, stateTopics, (topic, payload) => {
        if (payload === 'online') this.#onlineAt.set(topic, now);
      });
    }
    const isRunning = (topic: string) =>
      now < (this.#onlineAt.get(topic) ?? Number.NEGATIVE_INFINITY) + goneMs;
    const announcers = [...strangers].filter(([, stateTopic]) => isRunning(stateTopic));
    otherBridges.recordAnnouncers(new Map(announcers));
    // The other bridge has replaced messages of this one and has then stopped. For Home Assistant, these devices now
    // belong to a bridge that is offline.
    if ([...strangers].some(([topic, stateTopic]) => !isRunning(stateTopic) && retained.isKnown(topic)))
      this.#restore();
  }

  #restore(): void {
    const { publisher, clock, log } = this.#parts;
    if (!publisher.isShowingDevices) return;
    this.#restoredAt = clock.monotonic();
    log.warn(
      'Another client has deleted or replaced discovery messages of this bridge. Publishing all devices',
    );
    publisher.publishAll();
  }

  /** Passes on each message that was found, but only once, so that nothing is deleted twice. */
  #useFindings(found: RetainedScan, taken: Set<string>): void {
    const { state, discovery, cleanup, publisher, incidentEvents } = this.#parts;
    const { wifiSonics } = state.kept;
    for (const [topic, { componentIds }] of found.discoveries()) {
      if (!taken.has(topic)) {
        cleanup.found(topic);
        discovery.found(topic, componentIds);
      }
      taken.add(topic);
    }
    for (const topic of found.states) {
      if (!taken.has(topic)) cleanup.found(topic);
      taken.add(topic);
    }
    this.#adoptUsage(found);
    // If the state file is lost, an earlier run has already announced the incidents on the broker. Its pauses must
    // still end.
    const isFromLostRun = state.isNew && !publisher.isShowingDevices;
    this.#adoptPauses(found);
    if (!publisher.isShowingDevices) wifiSonics.adopt([...found.wifiSonics].map((id) => [id, true]));
    if (isFromLostRun) incidentEvents.takeOver([...found.incidents]);
    this.#publishFound();
  }

  /** Takes over the pauses that an earlier run has published, if no file has them. They must still end. */
  #adoptPauses({ pauses: found }: RetainedScan): void {
    const { state, store, publisher, clock } = this.#parts;
    const { pauses } = state.kept;
    // A run that knows the pauses has published them itself.
    if (pauses.isKnown && (!state.isNew || publisher.isShowingDevices)) return;
    for (const [id, each] of found) {
      if (pauses.has(id) || pauses.isOfThisRun(id)) continue;
      if (each === null) store.showPause(id, noPause);
      else {
        const pause = { ...each, endsAt: clock.monotonic() + Math.max(0, each.until - clock.now()) };
        pauses.set(id, pause);
        store.showPause(id, pauseShown(each.isOver ? 'resuming' : 'paused', pause, null));
      }
    }
  }

  /** Continues the water totals that an earlier run has published. */
  #adoptUsage({ usage }: RetainedScan): void {
    this.#parts.state.kept.usage.adopt(usage);
  }

  #publishFound(): void {
    this.#resolveScanned();
    this.#parts.publisher.publishFound();
  }

  /** Checks from time to time whether the broker still has the discovery messages of this bridge. */
  #checkLater(): void {
    const { publisher, clock } = this.#parts;
    this.#cancelCheck();
    if (publisher.isStopped) return;
    this.#cancelCheck = clock.after(checkEveryMs, () => {
      void this.#check().then(() => this.#checkLater());
    });
  }

  /**
   * Checks a few discovery messages in turn. That is enough, because other clients replace or delete all of them or
   * none. The newest one is checked each time: if a bridge with another base topic finds the new device too, it
   * announces the device soon after this bridge.
   */
  async #check(): Promise<void> {
    const { connection, discovery, retained, otherBridges, publisher, clock, log } = this.#parts;
    if (!connection.isConnected || !publisher.isShowingDevices) return;
    const { topics } = discovery;
    const inTurn = Array.from({ length: Math.min(maxChecked, topics.length) }, (_, index) => {
      return topics[(this.#checked + index) % topics.length] ?? '';
    });
    this.#checked += inTurn.length;
    const missing = new Set([...inTurn, ...topics.slice(-1), ...this.#missed]);
    const some = [...missing];
    let isReplaced = false;
    try {
      if (some.length > 0) {
        await readRetained(connection, some, (topic, payload) => {
          const isOwn = retained.has(topic, payload);
          if (isOwn) this.#isShown = true;
          else isReplaced = true;
          // A message of this base topic that is not known is by another bridge with the same topics, which health reports.
          const stateTopic = readDiscovery(payload)?.stateTopic;
          if (isOwn || stateTopic === this.#parts.topics.bridge('state')) missing.delete(topic);
        });
      }
    } catch (error) {
      log.debug(`Reading the discovery messages of this bridge: ${String(error)}`);
      return;
    }
    const now = clock.monotonic();
    if (isReplaced || (otherBridges.announcer !== null && now >= this.#scannedAt + rescanMs)) {
      void this.#scan();
    }
    // A message counts as deleted only after two checks. A cluster that has lost a node may send nothing for ten
    // seconds, and a broker may never send this client its own messages.
    const isLost = (topic: string) => this.#missed.has(topic) && retained.isKnown(topic);
    const isDeleted = this.#isShown && [...missing].some(isLost);
    this.#missed = new Set([...missing].filter((topic) => !this.#missed.has(topic)));
    // Somebody may delete the messages again and again, so they are published again only from time to time.
    if (isDeleted && now >= this.#restoredAt + rescanMs) this.#restore();
  }
}
