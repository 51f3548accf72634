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

/** Where everything is published; every topic of the bridge is made here. */
export interface Topics {
  /** The base topic itself. */
  readonly base: string;
  /** What this bridge is called in topics: `bridge`, or `bridge_0` and so on where several share an account. */
  readonly bridgeName: string;
  /** A topic of the bridge: `bridge/state` and so on, by its last part. */
  bridge(path: string): string;
  /** A topic of the bridge of that name. */
  ofBridge(name: string, path: string): string;
  /** The name of the bridge, this or another, of which a topic is; null for the topic of something else. */
  bridgeNamed(topic: string): string | null;
  /** The topic of a device's record. */
  device(kind: TargetKind, id: string): string;
  /** A topic below a device's. */
  below(kind: TargetKind, id: string, path: string): string;
  incident(id: string): string;
  /** Identifier of a device in Home Assistant and prefix of its unique ids. */
  identifier(kind: DeviceKind, id: string): string;
  /** The retained discovery message of a device. */
  discovery(kind: DeviceKind, id: string): string;
  /** What such a message is of: the id of a device, or the name of a bridge; null for the topic of something else. */
  discovered(topic: string): string | null;
  /** Filters that find the retained messages of devices and incidents, and no command. */
  readonly stateFilters: readonly string[];
  /** Filters that find the retained messages of bridges, of this and of others, and no command. */
  readonly bridgeFilters: readonly string[];
  /**
   * Filters that find what bridges say of themselves, this and others, while they run. They find no more than without
   * their end, but are none of the filters above, of which each reading makes an end.
   */
  readonly liveBridgeFilters: readonly string[];
  /** The device or incident and the path below it that a topic names; null for a topic of something else. */
  parse(topic: string): Target | null;
  /** The filter that finds requests, one for each operation of the cloud. */
  readonly requestFilter: string;
  /** The operation that a request's topic names, as it came; null for the topic of something else. */
  operationOf(topic: string): string | null;
  /** Where a request is answered unless it says otherwise. */
  response(operation: string): string;
  /** Whether an answer may go there: to a topic by which neither this bridge nor Home Assistant lives. */
  isOpenToAnswers(topic: string): boolean;
  /** The filter that finds discovery messages, of this bridge and of others. */
  readonly discoveryFilter: string;
}

/** The topics below a base topic and a discovery prefix, both without a slash at their ends. */
export function topicsUnder(base: string, discoveryPrefix: string, shard: Shard = wholeAccount): Topics {
  const name = bridgeName(shard);
  const device = (kind: TargetKind, id: string) =>
    kind === 'bridge' ? `${base}/${name}` : `${base}/${kind}/${id}`;
  const identifier = (kind: DeviceKind, id: string) => `sonic2mqtt_${kind === 'bridge' ? name : id}`;
  const discoveryStart = `${discoveryPrefix}/device/sonic2mqtt_`;
  const discoveryEnd = '/config';
  const requests = `${device('bridge', '')}/request/`;
  const responses = `${device('bridge', '')}/response/`;
  return {
    base,
    bridgeName: name,
    bridge: (path) => `${base}/${name}/${path}`,
    ofBridge: (other, path) => `${base}/${other}/${path}`,
    bridgeNamed: (topic) => {
      const [first = ''] = isBelow(base, topic) ? topic.slice(base.length + 1).split('/', 1) : [];
      return bridgePattern.test(first) ? first : null;
    },
    device,
    below: (kind, id, path) => `${device(kind, id)}/${path}`,
    incident: (id) => `${base}/incident/${id}`,
    identifier,
    discovery: (kind, id) => `${discoveryPrefix}/device/${identifier(kind, id)}${discoveryEnd}`,
    discovered: (topic) =>
      topic.startsWith(discoveryStart) && topic.endsWith(discoveryEnd)
        ? topic.slice(discoveryStart.length, -discoveryEnd.length)
        : null,
    parse: (topic) => parseBelow(base, name, topic),
    stateFilters: [
      ...['signal', 'sonic'].flatMap((kind) => [`${base}/${kind}/+`, `${base}/${kind}/+/+`]),
      `${base}/property/+`,
      // Not all by one filter: it would take the command topic of several fields, which brokers may deliver twice then.
      ...propertyDocuments.map((path) => `${base}/property/+/${path}`),
      `${base}/incident/+`,
      `${base}/${name}/${statesPath}`,
    ],
    bridgeFilters: bridgeDocuments.map((path) => `${base}/+/${path}`),
    liveBridgeFilters: ['info', 'state'].map((path) => `${base}/+/${path}/#`),
    requestFilter: `${requests}+`,
    operationOf: (topic) => (topic.startsWith(requests) ? topic.slice(requests.length) : null),
    response: (operation) => responses + operation,
    isOpenToAnswers: (topic) =>
      isTopicName(topic) &&
      (isBelow(responses.slice(0, -1), topic) || !(isIn(base, topic) || isIn(discoveryPrefix, topic))),
    discoveryFilter: `${discoveryPrefix}/device/+/config`,
  };
}

/** What a retained discovery message tells. */
export interface FoundDiscovery {
  /** The name of the bridge that made it. */
  readonly maker: string;
  readonly componentIds: readonly string[];
}

/** Reads one that a bridge below this base topic has made; null for another's, and for what is no discovery message. */
export function readDiscovery(topics: Topics, payload: string): FoundDiscovery | null {
  try {
    const { availability, components } = JSON.parse(payload);
    const { topic } = availability[0];
    const maker = topics.bridgeNamed(topic);
    const isState = maker !== null && topic === topics.ofBridge(maker, 'state');
    return isState ? { maker, componentIds: Object.keys(components) } : null;
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

/** The path below a device of the document that holds its entities' states. */
export const statesPath = 'homeassistant';

const bridgeDocuments = ['state', 'cloud', 'health', 'info', 'incidents', statesPath];

const propertyDocuments = ['settings', 'notifications', 'leak_protection', 'push', 'incidents', statesPath];

function parseBelow(base: string, bridge: string, topic: string): Target | null {
  if (!isBelow(base, topic)) return null;
  const [kind, ...rest] = topic.slice(base.length + 1).split('/');
  if (kind === bridge) return { kind: 'bridge', id: '', path: rest.join('/') };
  if (kind !== 'property' && kind !== 'signal' && kind !== 'sonic' && kind !== 'incident') return null;
  const [id, ...path] = rest;
  return id === undefined ? null : { kind, id, path: path.join('/') };
}
