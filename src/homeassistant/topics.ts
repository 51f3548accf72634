import type { DeviceKind } from '../model/devices.ts';
import { bridgeName, type Shard, wholeAccount } from '../model/shard.ts';

/** What has topics of its own below it. */
export type TargetKind = DeviceKind | 'incident';

/** What a topic is about. */
export interface Target {
  readonly kind: TargetKind;
  /** Empty for the bridge. */
  readonly id: string;
  readonly path: string;
}

/** The path below a device of the document that holds its entities' states. */
export const statesPath = 'homeassistant';

/** The paths at which each kind has retained messages, besides its discovery message; the empty path is its record. */
export const documentPaths = {
  bridge: ['state', 'cloud', 'health', 'info', 'incidents', statesPath],
  property: ['', 'settings', 'notifications', 'leak_protection', 'push', 'pause', 'incidents', statesPath],
  signal: ['', 'availability', 'incidents', statesPath],
  sonic: [
    '',
    'availability',
    'telemetry',
    'usage',
    'pressure_tests',
    'last_command',
    'movement',
    'incidents',
    statesPath,
  ],
  incident: [''],
} as const satisfies Readonly<Record<TargetKind, readonly string[]>>;

/** The path of a document below its device. */
export type DocumentPath = (typeof documentPaths)[TargetKind][number];

/** The base topic that an installation has unless it says otherwise. */
const defaultBase = 'sonic2mqtt';

/** Every topic of the bridge is made here, below a base topic and a discovery prefix without a slash at their ends. */
export class Topics {
  readonly base: string;
  readonly discoveryPrefix: string;
  /** The name of this bridge in topics: `bridge`, or `bridge_0` and so on if several share an account. */
  readonly bridgeName: string;
  /** Filters that find the retained messages of devices and incidents, and no command. */
  readonly stateFilters: readonly string[];
  /** Filters that find the retained messages of bridges, of this and of others, and no command. */
  readonly bridgeFilters: readonly string[];
  /**
   * Filters that find what running bridges publish about themselves. They are the same topics with `/#` at the end:
   * unsubscribing from a scan's filters must not end this subscription.
   */
  readonly liveBridgeFilters: readonly string[];
  /** The filter that finds discovery messages, of this bridge and of others. */
  readonly discoveryFilter: string;
  /** The filter that finds requests, one for each operation of the cloud. */
  readonly requestFilter: string;
  /** The base topic of another installation is in the ids of its bridge device: two accounts may share a broker. */
  readonly #bridgePrefix: string;
  readonly #requests: string;
  readonly #responses: string;

  constructor(base: string, discoveryPrefix: string, shard: Shard = wholeAccount) {
    this.base = base;
    this.discoveryPrefix = discoveryPrefix;
    this.bridgeName = bridgeName(shard);
    this.stateFilters = (['property', 'signal', 'sonic', 'incident'] as const).flatMap((kind) =>
      this.documents(kind, '+'),
    );
    this.bridgeFilters = documentPaths.bridge.map((path) => this.ofBridge('+', path));
    this.liveBridgeFilters = ['info', 'state'].map((path) => `${this.ofBridge('+', path)}/#`);
    this.discoveryFilter = `${discoveryPrefix}/device/+/config`;
    this.#bridgePrefix = base === defaultBase ? '' : `${base.replace(/[^A-Za-z0-9_-]/g, '_')}_`;
    this.#requests = this.bridge('request/');
    this.#responses = this.bridge('response/');
    this.requestFilter = `${this.#requests}+`;
  }

  /** What distinguishes the names of this bridge from others; empty for the only bridge of the default base topic. */
  get bridgeLabel(): string {
    const index = this.bridgeName.split('_').slice(1);
    return [...(this.base === defaultBase ? [] : [this.base]), ...index].join(' ');
  }

  /** A topic of the bridge: `bridge/state` and so on, by its last part. */
  bridge(path: string): string {
    return this.ofBridge(this.bridgeName, path);
  }

  /** A topic of the bridge of that name. */
  ofBridge(name: string, path: string): string {
    return `${this.base}/${name}/${path}`;
  }

  /** The name of the bridge, this or another, of which a topic is; null for the topic of something else. */
  bridgeNamed(topic: string): string | null {
    const [first = ''] = isBelow(this.base, topic) ? topic.slice(this.base.length + 1).split('/', 1) : [];
    return bridgePattern.test(first) ? first : null;
  }

  /** The topic of a device's record. */
  device(kind: TargetKind, id: string): string {
    return kind === 'bridge' ? `${this.base}/${this.bridgeName}` : `${this.base}/${kind}/${id}`;
  }

  /** A topic below a device's. */
  below(kind: TargetKind, id: string, path: string): string {
    return `${this.device(kind, id)}/${path}`;
  }

  /** The topic of a document of a device, by one of its paths. */
  document(kind: TargetKind, id: string, path: DocumentPath): string {
    return path === '' ? this.device(kind, id) : this.below(kind, id, path);
  }

  incident(id: string): string {
    return this.device('incident', id);
  }

  /** All topics at which something of a device or an incident may be retained, besides its discovery message. */
  documents(kind: TargetKind, id: string): string[] {
    return documentPaths[kind].map((path) => this.document(kind, id, path));
  }

  /** The device or incident and the path below it that a topic names; null for a topic of something else. */
  parse(topic: string): Target | null {
    if (!isBelow(this.base, topic)) return null;
    const [kind, ...rest] = topic.slice(this.base.length + 1).split('/');
    if (kind === this.bridgeName) return { kind: 'bridge', id: '', path: rest.join('/') };
    if (kind !== 'property' && kind !== 'signal' && kind !== 'sonic' && kind !== 'incident') return null;
    const [id, ...path] = rest;
    return id === undefined ? null : { kind, id, path: path.join('/') };
  }

  /** Identifier of a device in Home Assistant and prefix of its unique ids. */
  identifier(kind: DeviceKind, id: string): string {
    return `sonic2mqtt_${kind === 'bridge' ? `${this.#bridgePrefix}${this.bridgeName}` : id}`;
  }

  /** The retained discovery message of a device. */
  discovery(kind: DeviceKind, id: string): string {
    return `${this.discoveryPrefix}/device/${this.identifier(kind, id)}/config`;
  }

  /**
   * The device whose discovery message is at a topic: the id of a record, or the name of a bridge. Earlier versions named
   * the device of each bridge without its base topic. Null for the topic of something else.
   */
  discovered(topic: string): { readonly isBridge: boolean; readonly id: string } | null {
    const start = `${this.discoveryPrefix}/device/sonic2mqtt_`;
    if (!topic.startsWith(start) || !topic.endsWith('/config')) return null;
    const id = topic.slice(start.length, -'/config'.length);
    const own = id.startsWith(this.#bridgePrefix) ? id.slice(this.#bridgePrefix.length) : id;
    const name = [own, id].find((each) => bridgePattern.test(each));
    return name === undefined ? { isBridge: false, id } : { isBridge: true, id: name };
  }

  /** The operation that a request's topic names, as it came; null for the topic of something else. */
  operationOf(topic: string): string | null {
    return topic.startsWith(this.#requests) ? topic.slice(this.#requests.length) : null;
  }

  /** Where a request is answered unless it says otherwise. */
  response(operation: string): string {
    return this.#responses + operation;
  }

  /** Whether an answer may go there: to a topic that neither this bridge nor Home Assistant uses. */
  isOpenToAnswers(topic: string): boolean {
    if (!isTopicName(topic)) return false;
    if (isBelow(this.#responses.slice(0, -1), topic)) return true;
    return !(isIn(this.base, topic) || isIn(this.discoveryPrefix, topic));
  }
}

/** What can be read from a retained discovery message. */
export interface FoundDiscovery {
  /** The topic at which the bridge that made it says that it is online. */
  readonly stateTopic: string;
  readonly componentIds: readonly string[];
}

/** Reads the discovery message of any bridge, whatever its base topic; null for anything else. */
export function readDiscovery(payload: string): FoundDiscovery | null {
  try {
    const { availability, components } = JSON.parse(payload);
    const stateTopic: unknown = availability[0].topic;
    if (typeof stateTopic !== 'string' || !/(^|\/)bridge(_\d+)?\/state$/.test(stateTopic)) return null;
    return { stateTopic, componentIds: Object.keys(components) };
  } catch {
    return null;
  }
}

/**
 * Whether a message may be published there. Control characters and noncharacters are allowed by the letter, but a
 * broker may hang up on them, and topics that begin with `$` are its own.
 */
export function isTopicName(topic: string): boolean {
  if (topic === '' || topic.startsWith('$') || Buffer.byteLength(topic) > 65_535) return false;
  return !/[+#\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(topic);
}

function isBelow(parent: string, topic: string): boolean {
  return topic.startsWith(`${parent}/`);
}

function isIn(parent: string, topic: string): boolean {
  return topic === parent || isBelow(parent, topic);
}

const bridgePattern = /^bridge(_\d+)?$/;
