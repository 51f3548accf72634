import { type FoundDiscovery, readDiscovery, statesPath, type Topics } from '../homeassistant/topics.ts';
import { namedProperty } from '../model/devices.ts';
import { isHeir, isOurs, isShared, type Shard } from '../model/shard.ts';
import { recordFromShown, type UsageRecord } from '../model/usage.ts';
import { cloudKinds, type DeviceKey } from '../store/changes.ts';

/** The messages that a scan has found, and which of them this bridge may keep or delete. */
export class RetainedScan {
  readonly #topics: Topics;
  readonly #shard: Shard;
  readonly #states = new Set<string>();
  readonly #discoveries = new Map<string, FoundDiscovery>();
  /** Other bridges whose `state` is online. */
  readonly #running = new Set<string>();
  /** The property that each device's record names, if any, by `kind/id`. */
  readonly #records = new Map<string, string | null>();
  /** The devices that each incident names. */
  readonly #incidents = new Map<string, readonly (string | null)[]>();
  /** The water usage that bridges have published, by the sonic's id. */
  readonly usage = new Map<string, UsageRecord>();

  constructor(topics: Topics, shard: Shard) {
    this.#topics = topics;
    this.#shard = shard;
  }

  /** Adds a retained message. */
  add(topic: string, payload: string): void {
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
    // A bridge that has the account to itself does not need this.
    else if (path === '' && isShared(this.#shard)) {
      this.#records.set(`${kind}/${id}`, kind === 'property' ? id : namedProperty(objectIn(payload)));
    } else if (kind === 'sonic' && path === 'usage') {
      const record = recordFromShown(objectIn(payload));
      if (record) this.usage.set(id, record);
    }
  }

  /** State topics that this bridge may keep or delete. */
  states(): string[] {
    return [...this.#states].filter((topic) => this.#isOurs(topic));
  }

  /** Discovery messages that this bridge may replace or delete, by topic. */
  discoveries(): [string, FoundDiscovery][] {
    return [...this.#discoveries].filter(([topic]) => this.#isOurs(topic));
  }

  /** Devices that this bridge has announced and that belong to another bridge. */
  leftBehind(): DeviceKey[] {
    return [...this.#discoveries].flatMap(([topic, { maker }]) => {
      if (maker !== this.#topics.bridgeName || this.#isOurs(topic)) return [];
      const id = this.#topics.discovered(topic) ?? '';
      const kind = cloudKinds.find((each) => this.#records.has(`${each}/${id}`));
      return kind === undefined ? [] : [{ kind, id }];
    });
  }

  /** All incidents that a bridge has shown. */
  get incidents(): string[] {
    return [...this.#incidents.keys()];
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
