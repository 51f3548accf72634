import type { DeviceKind } from '../model/devices.ts';

export type TargetKind = DeviceKind | 'incident';

export interface Target {
  readonly kind: TargetKind;
  /** Empty for the bridge. */
  readonly id: string;
  readonly path: string;
}

/** A message that should be retained on the broker. With an empty payload, nothing is retained. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
}

/** The path of the document with the states of a device's entities. */
export const statesPath = 'homeassistant';

/** By kind: the paths of its retained messages, except the discovery message. The empty path is that of the record. */
export const documentPaths = {
  bridge: ['state', 'cloud', 'health', 'info', 'memory', 'incidents', statesPath],
  property: ['', 'settings', 'notifications', 'pause', 'incidents', statesPath],
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

export type DocumentPath = (typeof documentPaths)[TargetKind][number];

const defaultBase = 'sonic2mqtt';

/** Makes every topic of the bridge. The base topic and the discovery prefix have no slash at their ends. */
export class Topics {
  readonly base: string;
  readonly discoveryPrefix: string;
  /** Filters for the retained messages of devices and incidents. They match no commands. */
  readonly stateFilters: readonly string[];
  readonly discoveryFilter: string;
  /** The filter for requests. Each operation of the cloud has its own topic. */
  readonly requestFilter: string;
  /** How identifiers begin. Each base topic has its own, so that two bridges for one account show their own devices. */
  readonly #node: string;
  readonly #requests: string;
  readonly #responses: string;

  constructor(base: string, discoveryPrefix: string) {
    this.base = base;
    this.discoveryPrefix = discoveryPrefix;
    this.stateFilters = (['property', 'signal', 'sonic', 'incident'] as const).flatMap((kind) =>
      this.documents(kind, '+'),
    );
    this.discoveryFilter = `${discoveryPrefix}/device/+/config`;
    this.#node = base === defaultBase ? 'sonic2mqtt' : `sonic2mqtt_${base.replace(/[^A-Za-z0-9_-]/g, '_')}`;
    this.#requests = this.bridge('request/');
    this.#responses = this.bridge('response/');
    this.requestFilter = `${this.#requests}+`;
  }

  /** Distinguishes the name of this bridge from others; empty with the default base topic. */
  get bridgeLabel(): string {
    return this.base === defaultBase ? '' : this.base;
  }

  /** A topic of this bridge by its last part, for example `bridge/state`. */
  bridge(path: string): string {
    return `${this.base}/bridge/${path}`;
  }

  device(kind: TargetKind, id: string): string {
    return kind === 'bridge' ? `${this.base}/bridge` : `${this.base}/${kind}/${id}`;
  }

  below(kind: TargetKind, id: string, path: string): string {
    return `${this.device(kind, id)}/${path}`;
  }

  document(kind: TargetKind, id: string, path: DocumentPath): string {
    return path === '' ? this.device(kind, id) : this.below(kind, id, path);
  }

  incident(id: string): string {
    return this.device('incident', id);
  }

  /** All topics at which a device or an incident may have retained messages, except the discovery topic. */
  documents(kind: TargetKind, id: string): string[] {
    return documentPaths[kind].map((path) => this.document(kind, id, path));
  }

  /** The device or incident that a topic names, and the path below it; null for other topics. */
  parse(topic: string): Target | null {
    if (!isBelow(this.base, topic)) return null;
    const [kind, ...rest] = topic.slice(this.base.length + 1).split('/');
    if (kind === 'bridge') return { kind: 'bridge', id: '', path: rest.join('/') };
    if (kind !== 'property' && kind !== 'signal' && kind !== 'sonic' && kind !== 'incident') return null;
    const [id, ...path] = rest;
    return id === undefined ? null : { kind, id, path: path.join('/') };
  }

  /** The identifier of a device in Home Assistant, with which its unique ids begin. */
  identifier(kind: DeviceKind, id: string): string {
    return `${this.#node}_${kind === 'bridge' ? 'bridge' : id}`;
  }

  discovery(kind: DeviceKind, id: string): string {
    return `${this.discoveryPrefix}/device/${this.identifier(kind, id)}/config`;
  }

  /** Whether devices of this bridge may have their discovery message there. */
  isDiscovery(topic: string): boolean {
    return topic.startsWith(`${this.discoveryPrefix}/device/${this.#node}_`) && topic.endsWith('/config');
  }

  /** The operation in the topic of a request, unchecked; null for other topics. */
  operationOf(topic: string): string | null {
    return topic.startsWith(this.#requests) ? topic.slice(this.#requests.length) : null;
  }

  /** The topic for the answer to a request that names no response topic. */
  response(operation: string): string {
    return this.#responses + operation;
  }

  /** Whether answers may be published at the topic: neither this bridge nor Home Assistant uses it otherwise. */
  isOpenToAnswers(topic: string): boolean {
    if (!isTopicName(topic)) return false;
    if (isBelow(this.#responses.slice(0, -1), topic)) return true;
    return !(isIn(this.base, topic) || isIn(this.discoveryPrefix, topic));
  }
}

/** The `state` topic of the bridge that has published a discovery message; null for any other payload. */
export function announcingBridge(payload: string): string | null {
  try {
    const stateTopic: unknown = JSON.parse(payload).availability[0].topic;
    return typeof stateTopic === 'string' && stateTopic.endsWith('/bridge/state') ? stateTopic : null;
  } catch {
    return null;
  }
}

/**
 * Whether a message may be published at the topic. The standard allows control characters and noncharacters, but a
 * broker may close the connection because of them. Topics that begin with `$` belong to the broker.
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
