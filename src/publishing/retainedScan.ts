import type { Connection } from '../broker/connection.ts';
import { isSafeId } from '../cloud/decoders.ts';
import { isCommandPath } from '../homeassistant/command.ts';
import {
  documentPaths,
  type FoundDiscovery,
  readDiscovery,
  type Target,
  type Topics,
} from '../homeassistant/topics.ts';
import { cloudKinds, namedProperty } from '../model/devices.ts';
import { type Pause, pauseFromShown } from '../model/pause.ts';
import { isHeir, isOurs, isShared, type Shard } from '../model/shard.ts';
import { recordFromShown, type UsageRecord } from '../model/usage.ts';
import type { DeviceKey } from '../store/changes.ts';

type PauseFound = Pick<Pause, 'until' | 'isOver'>;

/** How many exact topics are read at a time. */
export const maxTopicsAtOnce = 100;

/**
 * Reads the retained messages under these filters. `found` is called for each message, `onRead` once most brokers have
 * sent all of them.
 */
export function readRetained(
  connection: Connection,
  filters: readonly string[],
  found: (topic: string, payload: string) => void,
  onRead?: () => void,
): Promise<void> {
  return connection.readRetained(
    filters,
    ({ topic, payload, isRetained }) => {
      if (isRetained && payload !== '') found(topic, payload);
    },
    onRead,
  );
}

/** The messages that a scan has found, and which of them this bridge may keep or delete. */
export class RetainedScan {
  readonly #topics: Topics;
  readonly #shard: Shard;
  readonly #states = new Set<string>();
  readonly #discoveries = new Map<string, FoundDiscovery>();
  /** Other bridges of this base topic whose `state` is online. */
  readonly #running = new Set<string>();
  /** By `kind/id`: the property that the device's record names, or null. */
  readonly #records = new Map<string, string | null>();
  /** By incident: the devices that it names. */
  readonly #incidents = new Map<string, readonly string[]>();
  /** By the sonic's id: the water usage that bridges have published. */
  readonly usage = new Map<string, UsageRecord>();
  /** By property: the pauses of the automatic shut-off that bridges have published. */
  readonly #pauses = new Map<string, PauseFound>();
  /** By the sonic's id: the topics of sonics without a hub that bridges have published. */
  readonly #wifiSonics = new Map<string, string>();

  constructor(topics: Topics, shard: Shard) {
    this.#topics = topics;
    this.#shard = shard;
  }

  /** Adds a retained message, unless it cannot come from a bridge. */
  add(topic: string, payload: string): void {
    const topics = this.#topics;
    if (topics.discovered(topic) !== null) {
      const discovery = readDiscovery(payload);
      if (discovery) this.#discoveries.set(topic, discovery);
      return;
    }
    const bridge = topics.bridgeNamed(topic);
    if (bridge !== null && bridge !== topics.bridgeName) {
      this.#states.add(topic);
      if (topic === topics.ofBridge(bridge, 'state') && payload === 'online') this.#running.add(bridge);
      return;
    }
    const target = topics.parse(topic);
    if (target && isTopicOfBridge(target)) this.#addState(topic, target, payload);
  }

  #addState(topic: string, { kind, id, path }: Target, payload: string): void {
    this.#states.add(topic);
    if (kind === 'bridge') return;
    if (kind === 'incident') {
      if (path === '') this.#incidents.set(id, devicesNamedIn(payload));
    } else if (path === '') {
      const record = objectIn(payload);
      if ('signal_id' in record && record.signal_id === null) this.#wifiSonics.set(id, topic);
      // Only a bridge that shares the account with others needs the records.
      if (!isShared(this.#shard)) return;
      this.#records.set(`${kind}/${id}`, kind === 'property' ? id : namedProperty(record));
    } else if (path === 'usage') {
      const record = recordFromShown(objectIn(payload));
      if (record) this.usage.set(id, record);
    } else if (path === 'pause') {
      const pause = pauseFromShown(objectIn(payload));
      if (pause) this.#pauses.set(id, pause);
    }
  }

  /** The pauses that this bridge must end, if no state file has them. */
  pauses(): [string, PauseFound][] {
    return [...this.#pauses].filter(([id]) => isOurs(id, this.#shard));
  }

  /** The sonics without a hub that an earlier run of this bridge has published. */
  wifiSonics(): string[] {
    return [...this.#wifiSonics].flatMap(([id, topic]) => (this.#isOurs(topic) ? [id] : []));
  }

  /** The state topics that this bridge may keep or delete. */
  states(): string[] {
    return [...this.#states].filter((topic) => this.#isOurs(topic));
  }

  /** By topic: the discovery messages of this base topic that this bridge may replace or delete. */
  discoveries(): [string, FoundDiscovery][] {
    return [...this.#discoveries].filter(([topic]) => this.#makerOf(topic) && this.#isOurs(topic));
  }

  /**
   * By topic: the discovery messages of bridges with another base topic, each with the topic of that bridge's `state`.
   */
  strangers(): Map<string, string> {
    const strange = [...this.#discoveries].filter(([topic]) => this.#makerOf(topic) === null);
    return new Map(strange.map(([topic, { stateTopic }]) => [topic, stateTopic]));
  }

  /** Devices whose discovery message is from this bridge although they belong to another bridge. */
  leftBehind(): DeviceKey[] {
    return [...this.#discoveries.keys()].flatMap((topic) => {
      if (this.#makerOf(topic) !== this.#topics.bridgeName || this.#isOurs(topic)) return [];
      const { id = '' } = this.#topics.discovered(topic) ?? {};
      const kind = cloudKinds.find((each) => this.#records.has(`${each}/${id}`));
      return kind === undefined ? [] : [{ kind, id }];
    });
  }

  /** All incidents that any bridge has published. */
  get incidents(): string[] {
    return [...this.#incidents.keys()];
  }

  /** The incidents that another bridge has published. So it has also announced them. */
  incidentsOfOthers(): string[] {
    const isOfOther = (id: string) => {
      const maker = this.#makerOf(this.#topics.discovery('sonic', id));
      return typeof maker === 'string' && maker !== this.#topics.bridgeName;
    };
    return [...this.#incidents].filter(([, ids]) => ids.some(isOfOther)).map(([id]) => id);
  }

  /**
   * The topics that this bridge must clear before it is uninstalled, discovery messages first. These are the topics
   * that it has announced, and those that belong to it and that no bridge has announced.
   */
  removable(): string[] {
    return [...this.#discoveries.keys(), ...this.#states].filter((topic) => {
      if (this.#makerOf(topic) === null) return false;
      if (!isShared(this.#shard)) return true;
      const makers = this.#devicesOf(topic)
        .map((id) => this.#makerOf(this.#topics.discovery('sonic', id)))
        .filter((maker) => typeof maker === 'string');
      if (makers.length === 0) return this.#isOurs(topic);
      return makers.some((maker) => isHeir(maker, this.#shard) && !this.#running.has(maker));
    });
  }

  /** How many messages of other bridges with this base topic were found. */
  get countOfOthers(): number {
    const ours = new Set(this.removable());
    const ofBase = [...this.#discoveries.keys()].filter((topic) => this.#makerOf(topic) !== null);
    return [...ofBase, ...this.#states].filter((topic) => !ours.has(topic)).length;
  }

  /**
   * The bridge of this base topic that made a discovery message; null if a bridge with another base topic made it,
   * undefined if there is no message.
   */
  #makerOf(discoveryTopic: string): string | null | undefined {
    const found = this.#discoveries.get(discoveryTopic);
    return found && this.#topics.bridgeNamed(found.stateTopic);
  }

  /** The ids of the devices that a message concerns. */
  #devicesOf(topic: string): readonly string[] {
    const discovered = this.#topics.discovered(topic);
    const target = this.#topics.parse(topic);
    if (discovered?.isBridge || target?.kind === 'bridge') return [];
    const id = discovered?.id ?? target?.id;
    if (id === undefined) return [];
    return target?.kind === 'incident' ? (this.#incidents.get(id) ?? []) : [id];
  }

  #isOurs(topic: string): boolean {
    const discovered = this.#topics.discovered(topic);
    const bridge = discovered?.isBridge ? this.#makerOf(topic) : this.#topics.bridgeNamed(topic);
    if (typeof bridge === 'string') return isHeir(bridge, this.#shard) && !this.#running.has(bridge);
    const id = discovered?.id ?? this.#topics.parse(topic)?.id;
    if (id === undefined) return !isShared(this.#shard);
    const devices = this.#devicesOf(topic);
    const homes = devices.flatMap((each) => cloudKinds.map((kind) => this.#records.get(`${kind}/${each}`)));
    return isOurs(homes.find((home) => typeof home === 'string') ?? id, this.#shard);
  }
}

/** Whether a bridge publishes at this topic. Other clients may use topics such as `sonic/garden/moisture`. */
function isTopicOfBridge({ kind, id, path }: Target): boolean {
  if (kind !== 'bridge' && !isSafeId(id)) return false;
  const paths: readonly string[] = documentPaths[kind];
  return (
    paths.includes(path) || isCommandPath(kind, path) || (kind === 'bridge' && path.startsWith('request/'))
  );
}

/** The sonic and the signal that a retained incident names. */
function devicesNamedIn(payload: string): readonly string[] {
  const { sonic_id: sonicId, signal_id: signalId } = objectIn(payload) as Record<string, unknown>;
  return [sonicId, signalId].filter((id) => typeof id === 'string');
}

function objectIn(payload: string): object {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
