import type { DeviceKind } from '../model/devices.ts';

/** What a topic is about. */
export interface Target {
  readonly kind: DeviceKind;
  /** Empty for the bridge. */
  readonly id: string;
  readonly path: string;
}

/** Where everything is published; every topic of the bridge is made here. */
export interface Topics {
  /** The base topic itself. */
  readonly base: string;
  /** A topic of the bridge: `bridge/state` and so on, by its last part. */
  bridge(path: string): string;
  /** The topic of a device's record. */
  device(kind: DeviceKind, id: string): string;
  /** A topic below a device's. */
  below(kind: DeviceKind, id: string, path: string): string;
  incident(id: string): string;
  /** The retained discovery message of a device. */
  discovery(kind: DeviceKind, id: string): string;
  /** Filters that find the retained messages of devices and incidents, and no command. */
  readonly stateFilters: readonly string[];
  /** The device and the path below it that a topic names; null for a topic of something else. */
  parse(topic: string): Target | null;
  /** The filter that finds discovery messages, of this bridge and of others. */
  readonly discoveryFilter: string;
}

/** Identifier of a device in Home Assistant and prefix of its unique ids. */
export function deviceIdentifier(kind: DeviceKind, id: string): string {
  return kind === 'bridge' ? 'sonic2mqtt_bridge' : `sonic2mqtt_${id}`;
}

/** The topics below a base topic and a discovery prefix, both without a slash at their ends. */
export function topicsUnder(base: string, discoveryPrefix: string): Topics {
  const device = (kind: DeviceKind, id: string) =>
    kind === 'bridge' ? `${base}/bridge` : `${base}/${kind}/${id}`;
  return {
    base,
    bridge: (path) => `${base}/bridge/${path}`,
    device,
    below: (kind, id, path) => `${device(kind, id)}/${path}`,
    incident: (id) => `${base}/incident/${id}`,
    discovery: (kind, id) => `${discoveryPrefix}/device/${deviceIdentifier(kind, id)}/config`,
    parse: (topic) => parseBelow(base, topic),
    stateFilters: [
      ...['property', 'signal', 'sonic'].flatMap((kind) => [`${base}/${kind}/+`, `${base}/${kind}/+/+`]),
      `${base}/incident/+`,
      `${base}/bridge/homeassistant`,
    ],
    discoveryFilter: `${discoveryPrefix}/device/+/config`,
  };
}

/**
 * The component ids in a retained discovery message, if this bridge's base topic made it; null for another's, and for
 * what is no discovery message.
 */
export function componentsOfDiscovery(topics: Topics, payload: string): string[] | null {
  try {
    const { availability, components } = JSON.parse(payload);
    return availability[0].topic === topics.bridge('state') ? Object.keys(components) : null;
  } catch {
    return null;
  }
}

function parseBelow(base: string, topic: string): Target | null {
  if (!topic.startsWith(`${base}/`)) return null;
  const [kind, ...rest] = topic.slice(base.length + 1).split('/');
  if (kind === 'bridge') return { kind, id: '', path: rest.join('/') };
  if (kind !== 'property' && kind !== 'signal' && kind !== 'sonic') return null;
  const [id, ...path] = rest;
  return id === undefined ? null : { kind, id, path: path.join('/') };
}
