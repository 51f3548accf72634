import type { Connection } from '../broker/connection.ts';
import { deviceTopics } from '../homeassistant/plan.ts';
import {
  type FoundDiscovery,
  readDiscovery,
  statesPath,
  type Target,
  type Topics,
} from '../homeassistant/topics.ts';
import { namedProperty } from '../model/devices.ts';
import { isHeir, isOurs, isShared, type Shard } from '../model/shard.ts';
import { recordFromShown, type UsageRecord } from '../model/usage.ts';
import { type CloudDeviceKind, cloudKinds } from '../store/changes.ts';

/** A device of the cloud, by which its topics are named. */
export interface DeviceKey {
  readonly kind: CloudDeviceKind;
  readonly id: string;
}

// Brokers send what they keep at once; the longest time is for a slow one with tens of thousands.
const patience = { quietMs: 300, longestMs: 10_000 };

/** So many messages every broker holds for a reader. */
const mostAtOnce = 500;

/** Retained messages that bridges have left on the broker below one base topic, and which of them are this one's. */
export class Inventory {
  readonly #topics: Topics;
  readonly #shard: Shard;
  /** What was read again comes twice. */
  readonly #states = new Set<string>();
  readonly #discoveries = new Map<string, FoundDiscovery>();
  /** Bridges that say that they are running. */
  readonly #running = new Set<string>();
  /** The property that each device's record names, if any, by `kind/id`. */
  readonly #records = new Map<string, string | null>();
  /** What bridges have counted of each sonic's water, by its id. */
  readonly usage = new Map<string, UsageRecord>();
  /** The devices that each incident names, as `kind/id`, the one that shows it first. */
  readonly #incidents = new Map<string, readonly string[]>();

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
    if (target.path === '') this.#noteRecord(target, payload);
    if (target.kind === 'sonic' && target.path === 'usage') {
      const record = recordFromShown(objectIn(payload));
      if (record) this.usage.set(target.id, record);
    }
  }

  /** Further topics of the devices of which a state was seen: a broker may have sent only a part. */
  unseen(): string[] {
    const devices = new Map<string, DeviceKey>();
    for (const topic of this.#states) {
      const { kind, id = '' } = this.#topics.parse(topic) ?? {};
      const known = cloudKinds.find((each) => each === kind);
      if (known) devices.set(`${kind}/${id}`, { kind: known, id });
    }
    const all = [...devices.values()].flatMap(({ kind, id }) => [
      this.#topics.discovery(kind, id),
      ...deviceTopics(kind, id, this.#topics),
    ]);
    return all.filter((topic) => !this.#states.has(topic) && !this.#discoveries.has(topic));
  }

  /** State topics that are this bridge's to keep or to delete. */
  states(): string[] {
    return [...this.#states].filter((topic) => this.#isOurs(topic));
  }

  /** Discovery messages that are this bridge's to replace or to delete, by topic. */
  discoveries(): [string, FoundDiscovery][] {
    return [...this.#discoveries].filter(([topic]) => this.#isOurs(topic));
  }

  /** Devices that this bridge has announced and that belong to another: nobody has taken them over yet. */
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
    const isOfOther = (key: string) => {
      const [, id = ''] = key.split('/');
      const made = this.#discoveries.get(this.#topics.discovery('sonic', id));
      return made !== undefined && made.maker !== this.#topics.bridgeName;
    };
    return [...this.#incidents].filter(([, keys]) => keys.some(isOfOther)).map(([id]) => id);
  }

  #noteRecord({ kind, id }: Target, payload: string): void {
    // One that has the account to itself need not know.
    if (kind === 'incident') {
      const [sonicId, signalId] = devicesNamedIn(payload);
      const keys = [...(sonicId ? [`sonic/${sonicId}`] : []), ...(signalId ? [`signal/${signalId}`] : [])];
      this.#incidents.set(id, keys);
    } else if (isShared(this.#shard)) {
      this.#records.set(`${kind}/${id}`, kind === 'property' ? id : propertyNamedIn(payload));
    }
  }

  #isOurs(topic: string): boolean {
    const discovered = this.#topics.discovered(topic);
    const bridge = this.#topics.bridgeNamed(
      discovered === null ? topic : this.#topics.ofBridge(discovered, 'state'),
    );
    if (bridge !== null) return isHeir(bridge, this.#shard) && !this.#running.has(bridge);
    if (discovered !== null) return isOurs(this.#homeOf(discovered) ?? discovered, this.#shard);
    const target = this.#topics.parse(topic);
    if (!target) return !isShared(this.#shard);
    const { kind, id } = target;
    const home =
      kind === 'incident' ? this.#homeOfIncident(id) : (this.#records.get(`${kind}/${id}`) ?? null);
    return isOurs(home ?? id, this.#shard);
  }

  #homeOf(id: string): string | null {
    return (
      cloudKinds.map((kind) => this.#records.get(`${kind}/${id}`)).find((home) => typeof home === 'string') ??
      null
    );
  }

  #homeOfIncident(id: string): string | null {
    const keys = this.#incidents.get(id) ?? [];
    return keys.map((key) => this.#records.get(key)).find((home) => typeof home === 'string') ?? null;
  }
}

/** Reads what is on the broker, as far as it shows; rejects as `Connection.readRetained` does. */
export async function takeInventory(
  connection: Connection,
  topics: Topics,
  shard: Shard,
): Promise<{ readonly inventory: Inventory; readonly isWhole: boolean }> {
  const inventory = new Inventory(topics, shard);
  const note = (topic: string, payload: string) => inventory.note(topic, payload);
  const filters = [topics.discoveryFilter, ...topics.stateFilters, ...topics.bridgeFilters];
  const isWhole = await readKept(connection, filters, note);
  if (isWhole) return { inventory, isWhole };
  const unseen = inventory.unseen();
  for (let start = 0; start < unseen.length; start += mostAtOnce) {
    await readKept(connection, unseen.slice(start, start + mostAtOnce), note);
  }
  return { inventory, isWhole };
}

/**
 * Reads what the broker keeps under the filters, and resolves to whether that may be all; rejects as
 * `Connection.readRetained` does.
 */
export function readKept(
  connection: Connection,
  filters: readonly string[],
  found: (topic: string, payload: string) => void,
): Promise<boolean> {
  return connection.readRetained(filters, patience, ({ topic, payload, isRetained }) => {
    if (isRetained && payload !== '') found(topic, payload);
  });
}

/** The property that a retained record of a signal or sonic names; null without one. */
export function propertyNamedIn(payload: string): string | null {
  return namedProperty(objectIn(payload));
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
