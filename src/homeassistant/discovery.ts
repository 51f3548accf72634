import {
  type AvailabilitySource,
  type EntityRow,
  hasEntity,
  type SelectRow,
  type SupportedOperations,
} from '../entities/row.ts';
import { entityTable } from '../entities/tables.ts';
import { type DeviceKind, type DeviceView, deviceKinds, type SonicView } from '../model/devices.ts';
import type { Language } from '../model/language.ts';
import { textsIn } from '../texts/texts.ts';
import { asIdPart } from './entityId.ts';
import { statesPath, type Topics } from './topics.ts';

/** One entity in a discovery message. */
export type Component = Readonly<Record<string, unknown>>;

/**
 * The discovery message of a device (Home Assistant's device-based discovery). Each component takes the availability,
 * the availability mode and the state topic from the root, unless it has its own.
 */
export interface Discovery {
  readonly device: Readonly<Record<string, unknown>>;
  readonly origin: Readonly<Record<string, unknown>>;
  readonly availability: readonly Availability[];
  readonly availability_mode: 'all';
  readonly state_topic: string;
  readonly components: Readonly<Record<string, Component>>;
}

interface Availability {
  readonly topic: string;
}

/** The bridge that writes a message. */
export interface DiscoveryOrigin {
  readonly topics: Topics;
  readonly version: string;
  /** The language of the names of entities. Entity IDs are always English. */
  readonly language: Language;
  /** The address of the status page for browsers on other machines; null if there is none. */
  readonly statusPage: string | null;
  /** The address of the project's home page; null if there is none. */
  readonly homepage: string | null;
}

/**
 * The availability in the root of a device's message. It is the one that most entities of the kind need, so that the
 * message is short.
 */
const needOfRoot: Readonly<Record<DeviceKind, AvailabilitySource>> = {
  bridge: 'bridge',
  property: 'cloud',
  signal: 'device',
  sonic: 'device',
};

/** The key in the states for the time since when a row counts. */
export const lastResetKey = 'last_reset';

/** The key in the states for the texts of the open alerts. */
export const alertsKey = 'alert_words';

/** The longest state that Home Assistant shows. */
export const maxStateLength = 255;

/** Longer names and versions are cut. */
const longestName = 100;

/** The manufacturer of all devices in the cloud. */
const manufacturer = 'Watergate';

/** The id of a view's record; empty for the bridge. */
export function viewId(view: DeviceView): string {
  switch (view.kind) {
    case 'bridge':
      return '';
    case 'property':
      return view.property.id;
    case 'signal':
      return view.signal.id;
    case 'sonic':
      return view.sonic.id;
  }
}

/**
 * The plan of a discovery message. The message is longer than all others of the device together, so it is written only
 * if its fingerprint is new.
 */
export interface DiscoveryPlan {
  readonly topic: string;
  /**
   * Everything in the device on which its message depends. Two messages of a device with the same fingerprint are the
   * same.
   */
  readonly fingerprint: string;
  readonly write: () => WrittenDiscovery;
}

interface WrittenDiscovery {
  readonly componentIds: readonly string[];
  /** As JSON. */
  readonly text: string;
}

/** A device's discovery message, with the entities that the device has and the cloud offers. */
export function planDiscovery(
  view: DeviceView,
  offers: SupportedOperations,
  discoveryOrigin: DiscoveryOrigin,
): DiscoveryPlan {
  const { topics } = discoveryOrigin;
  const id = viewId(view);
  const device = deviceOf(view, discoveryOrigin);
  const deviceText = JSON.stringify(device);
  const entityIdPart = asIdPart(device.name);
  let shape = `${view.kind} ${entityIdPart !== null}`;
  for (const row of entityTable(view.kind)) {
    if (!hasEntity(row, view, offers)) shape += ' 0';
    else shape += row.component === 'select' ? JSON.stringify(choicesOf(row, view)) : ' 1';
  }
  return {
    topic: topics.discovery(view.kind, id),
    fingerprint: `${shape} ${deviceText}`,
    write: () => {
      const { componentIds, text } = entitiesOf(shape, view, offers, discoveryOrigin, entityIdPart !== null);
      const own = text
        .replaceAll(insideJson(placeholders.id), () => insideJson(id))
        .replaceAll(insideJson(placeholders.entityIdPart), entityIdPart ?? '');
      return { componentIds, text: `{"device":${deviceText},${own}` };
    },
  };
}

const insideJson = (text: string) => JSON.stringify(text).slice(1, -1);

/**
 * A cache by shape: the text that all messages of a shape share, with placeholders for what differs. An account has
 * about a dozen shapes. Writing a whole message takes ten times as long as filling in the placeholders.
 */
const sharedTexts = new WeakMap<DiscoveryOrigin, Map<string, WrittenDiscovery>>();
const mostShapes = 50;

function entitiesOf(
  shape: string,
  view: DeviceView,
  offers: SupportedOperations,
  discoveryOrigin: DiscoveryOrigin,
  statesEntityIds: boolean,
): WrittenDiscovery {
  const texts = sharedTexts.get(discoveryOrigin) ?? new Map<string, WrittenDiscovery>();
  sharedTexts.set(discoveryOrigin, texts);
  const known = texts.get(shape);
  if (known) return known;
  if (texts.size >= mostShapes) texts.clear();
  const message = sharedMessage(view, offers, discoveryOrigin, statesEntityIds);
  const made = { componentIds: Object.keys(message.components), text: JSON.stringify(message).slice(1) };
  texts.set(shape, made);
  return made;
}

/** They stand for the ID of a device, and for its name in entity IDs. No topic and no name contains these characters. */
const placeholders = { id: '\u0001', entityIdPart: '\u0002' } as const;

/** The message without its `device`, with placeholders. */
function sharedMessage(
  view: DeviceView,
  offers: SupportedOperations,
  { topics, version, language, homepage }: DiscoveryOrigin,
  statesEntityIds: boolean,
): Omit<Discovery, 'device'> {
  const { kind } = view;
  const { id } = placeholders;
  const rows = entityTable(kind).filter((row) => hasEntity(row, view, offers));
  return {
    origin: { name: 'sonic2mqtt', sw_version: version, ...(homepage !== null && { support_url: homepage }) },
    availability: availability(needOfRoot[kind], kind, id, topics),
    availability_mode: 'all',
    state_topic: topics.below(kind, id, statesPath),
    components: Object.fromEntries(
      rows.map((row) => {
        const own = component(row, view, id, topics);
        const name = row.name === null ? null : textsIn(language).names[row.name];
        return [componentId(row), { ...own, name, ...(statesEntityIds && entityIdOf(row)) }] as const;
      }),
    ),
  };
}

/**
 * The entity ID of a new entity, in every language made from the English names, because automations use it. Home
 * Assistant uses it since 2025.10, and ignored it before. Without it, Home Assistant puts the area of the device first.
 */
function entityIdOf({ component: platform, name }: EntityRow<never>): Component {
  const end = name === null ? '' : `_${asIdPart(name)}`;
  return { default_entity_id: `${platform}.${placeholders.entityIdPart}${end}` };
}

/** The message with these components removed: Home Assistant removes a component that is named without its settings. */
export function withWithdrawn(text: string, componentIds: readonly string[]): string {
  const withdrawn = componentIds
    .map((id) => `${JSON.stringify(id)}:{"platform":"${platformOf(id) ?? 'sensor'}"}`)
    .join();
  if (withdrawn === '') return text;
  // The components are at the end of the message.
  const before = text.slice(0, -'}}'.length);
  return `${before}${before.endsWith('{') ? '' : ','}${withdrawn}}}`;
}

/** The component id of a row: `{platform}_{key}`. */
export function componentId(row: Pick<EntityRow<never>, 'component' | 'key'>): string {
  return `${row.component}_${row.key}`;
}

const platforms = [
  'binary_sensor',
  'button',
  'event',
  'number',
  'select',
  'sensor',
  'switch',
  'text',
  'valve',
] as const;

/** The platform with which a component id of this bridge starts; null for an id that is not from this bridge. */
function platformOf(id: string): string | null {
  return platforms.find((platform) => id.startsWith(`${platform}_`)) ?? null;
}

/** The `device` part of the message. */
function deviceOf(
  view: DeviceView,
  { topics, version, statusPage }: DiscoveryOrigin,
): Readonly<Record<string, unknown>> & { readonly name: string } {
  const about = { identifiers: [topics.identifier(view.kind, viewId(view))] };
  const parent: Parent = (kind, id) => ({ via_device: topics.identifier(kind, id) });
  switch (view.kind) {
    case 'bridge':
      return {
        ...about,
        name: `sonic2mqtt ${topics.bridgeLabel}`.trimEnd(),
        manufacturer: 'sonic2mqtt',
        model: 'Bridge',
        sw_version: version,
        ...(statusPage !== null && { configuration_url: statusPage }),
      };
    case 'property':
      return {
        ...about,
        ...named(view.property.name, 'Property'),
        manufacturer,
        model: 'Property',
        ...parent('bridge', ''),
      };
    case 'signal':
      return {
        ...about,
        ...named(view.signal.name, 'Signal'),
        manufacturer,
        model: 'Signal',
        ...known('serial_number', view.signal.serial_no),
        ...known('sw_version', view.signal.version),
        ...parentIn(parent, 'property', view.propertyId, view.signal.id),
      };
    case 'sonic':
      return {
        ...about,
        ...named(view.sonic.name, 'Sonic'),
        manufacturer,
        model: 'Sonic',
        ...known('serial_number', view.sonic.serial_no),
        ...parentOfSonic(parent, view),
      };
  }
}

type Parent = (kind: DeviceKind, id: string) => { readonly via_device: string };

/**
 * The parent with that id, or the bridge if there is none. A device must not be its own parent, even if both have the
 * same id.
 */
function parentIn(parent: Parent, kind: DeviceKind, id: string | null, childId: string) {
  return id === null || id === childId ? parent('bridge', '') : parent(kind, id);
}

function parentOfSonic(parent: Parent, { sonic, signal, isWifi, propertyId }: SonicView) {
  if (typeof signal === 'object') return parentIn(parent, 'signal', signal.id, sonic.id);
  return parentIn(parent, 'property', isWifi ? propertyId : null, sonic.id);
}

// If one of the texts is null, Home Assistant rejects the whole device.
function known(key: string, value: string | null): Record<string, string> {
  const text = shortened(value ?? '', longestName);
  return text === '' ? {} : { [key]: text };
}

function named(name: string | null, otherwise: string): { name: string } {
  return { name: shortened(name?.trim() ?? '', longestName) || otherwise };
}

/**
 * The beginning of a text, without halves of surrogate pairs. Home Assistant would refuse the whole message for one of
 * those.
 */
export function shortened(text: string, longest: number): string {
  return text.slice(0, longest).replace(/\p{Surrogate}/gu, '');
}

function availability(
  need: AvailabilitySource,
  kind: DeviceKind,
  id: string,
  topics: Topics,
): Availability[] {
  const bridge = { topic: topics.bridge('state') };
  const cloud = { topic: topics.bridge('cloud') };
  switch (need) {
    case 'bridge':
      return [bridge];
    case 'cloud':
      return [bridge, cloud];
    case 'device':
      return [bridge, cloud, { topic: topics.below(kind, id, 'availability') }];
  }
}

/** The options of a select: those of the row, and the current one if it was chosen elsewhere. */
function choicesOf({ options, value }: SelectRow<DeviceView>, view: DeviceView): readonly string[] {
  const present = value(view);
  if (present === null || options.includes(present)) return options;
  return [...options, present].toSorted(new Intl.Collator('en', { numeric: true }).compare);
}

/** The component of a row: its fixed part, and the parts that name the device. */
function component(row: EntityRow<DeviceView>, view: DeviceView, id: string, topics: Topics): Component {
  const { kind } = view;
  const made: Record<string, unknown> = {
    platform: row.component,
    unique_id: `${topics.identifier(kind, id)}_${row.key}`,
    ...fixedParts.get(row),
  };
  if (row.needs !== needOfRoot[kind]) made['availability'] = availability(row.needs, kind, id, topics);
  if ('path' in row) made['state_topic'] = topics.below(kind, id, row.path);
  if ('command' in row) made['command_topic'] = topics.below(kind, id, row.command.path);
  if (row.component === 'select') made['options'] = choicesOf(row, view);
  if ('attributes' in row && row.attributes) {
    made['json_attributes_topic'] = topics.below(kind, id, row.attributes.path);
  }
  if ('alerts' in row) made['json_attributes_topic'] = topics.below(kind, id, statesPath);
  return made;
}

/** The part of a row's component that is the same for every device. */
function fixedPart(row: EntityRow<never>): Component {
  return {
    name: row.name,
    ...(row.category && { entity_category: row.category }),
    ...(row.icon && { icon: row.icon }),
    ...(row.isDisabledByDefault && { enabled_by_default: false }),
    ...(('value' in row || 'sentences' in row) && { value_template: `{{ value_json.${row.key} }}` }),
    ...('path' in row && { event_types: row.eventTypes }),
    ...('command' in row && { retain: false }),
    ...('payload' in row && { payload_press: row.payload }),
    ...(row.component === 'text' && {
      min: 0,
      max: maxStateLength,
      ...(row.pattern && { pattern: row.pattern }),
    }),
    ...(row.component === 'number' && { min: row.min, max: row.max, step: 1, mode: 'box' }),
    ...('deviceClass' in row && { device_class: row.deviceClass }),
    ...('unit' in row && { unit_of_measurement: row.unit }),
    ...('stateClass' in row && { state_class: row.stateClass }),
    ...('lastReset' in row && { last_reset_value_template: `{{ value_json.${lastResetKey} }}` }),
    ...('precision' in row && { suggested_display_precision: row.precision }),
    ...('options' in row && { options: row.options }),
    ...('attributes' in row &&
      row.attributes && { json_attributes_template: `{{ (${row.attributes.expression}) | tojson }}` }),
    ...('alerts' in row && {
      json_attributes_template: `{{ ({'alerts': value_json.${alertsKey}}) | tojson }}`,
    }),
    // With QoS 1, Home Assistant would repeat a command that was lost with its connection, and the valve could move
    // hours later. Each component has its own QoS, because Home Assistant before 2026 takes none from the root.
    qos: 'command' in row ? 0 : 1,
  };
}

/** By row, made only once: a sonic has fifty components, and its message is made again at each change. */
const fixedParts: ReadonlyMap<EntityRow<DeviceView>, Component> = new Map(
  deviceKinds.flatMap(entityTable).map((row) => [row, fixedPart(row)]),
);
