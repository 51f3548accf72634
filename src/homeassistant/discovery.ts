import { hash } from 'node:crypto';
import {
  type AvailabilitySource,
  type EntityRow,
  hasEntity,
  type SelectRow,
  type SupportedOperations,
  takesCommands,
} from '../entities/row.ts';
import { entityTable } from '../entities/tables.ts';
import type { DeviceKind, DeviceView, SonicView } from '../model/devices.ts';
import type { Language } from '../model/language.ts';
import { type StateText, textsIn } from '../texts/texts.ts';
import { asIdPart } from './entityId.ts';
import { statesPath, type Topics } from './topics.ts';

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

/** What most entities of the kind need. It is in the root of the message, so that the message is short. */
const needOfRoot: Readonly<Record<DeviceKind, AvailabilitySource>> = {
  bridge: 'bridge',
  property: 'cloud',
  signal: 'device',
  sonic: 'device',
};

/** The key in the states for the time since when a row counts. */
export const lastResetKey = 'last_reset';

/** The end of the key in the states for the option of which the state is the word. */
export const codeEnd = '_code';

/** The key in the states for the texts of the open alerts. */
export const alertsKey = 'alert_words';

export const maxStateLength = 255;

/** Longer names and versions are cut. */
const longestName = 100;

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

/** The message is longer than all others of the device together, so it is written only if its fingerprint is new. */
export interface DiscoveryPlan {
  readonly topic: string;
  /** Two messages of a device with the same fingerprint are the same. */
  readonly fingerprint: string;
  /** Writes the message, as JSON. */
  readonly write: () => string;
}

export function planDiscovery(
  view: DeviceView,
  offers: SupportedOperations,
  origin: DiscoveryOrigin,
): DiscoveryPlan {
  const { kind } = view;
  const { topics, version, homepage } = origin;
  const id = viewId(view);
  const device = deviceOf(view, origin);
  const shapes = entityTable(kind).map((row) => shapeOf(row, view, offers));
  const fingerprint = `${JSON.stringify(device)} ${shapes.join()}`;
  const write = () => {
    const root: Omit<Discovery, 'components'> = {
      device,
      origin: {
        name: 'sonic2mqtt',
        sw_version: version,
        ...(homepage !== null && { support_url: homepage }),
      },
      availability: availability(needOfRoot[kind], kind, id, topics),
      availability_mode: 'all',
      state_topic: topics.below(kind, id, statesPath),
    };
    const idStart = asIdPart(device.name) ?? asIdPart(`${kind} ${id.slice(-6)}`);
    const components = componentsOf(kind, shapes, origin)
      .replaceAll(anyId, id)
      .replaceAll(anyIdStart, `${idStart}`);
    return `${JSON.stringify(root).slice(0, -1)},"components":${components}}`;
  };
  return { topic: topics.discovery(kind, id), fingerprint: hash('sha1', fingerprint, 'base64'), write };
}

/** In what the component of a row differs between devices, besides their IDs. A select is shown by its choices. */
type Shape = 'absent' | 'shown' | 'controlled' | readonly string[];

function shapeOf(row: EntityRow<DeviceView>, view: DeviceView, offers: SupportedOperations): Shape {
  if (!hasEntity(row, view, offers)) return 'absent';
  if (row.component === 'select') return choicesOf(row, view);
  return takesCommands(row, view, offers) ? 'controlled' : 'shown';
}

/** Stand for the ID of a device, and for the start of its entity IDs. No text of a row has these characters. */
const anyId = '\ue000';
const anyIdStart = '\ue001';

/** By origin, kind and shapes: the components as JSON. A house has few shapes, and thousands of devices share them. */
const componentTexts = new WeakMap<DiscoveryOrigin, Map<string, string>>();
const mostTexts = 100;

function componentsOf(kind: DeviceKind, shapes: readonly Shape[], origin: DiscoveryOrigin): string {
  const texts = componentTexts.get(origin) ?? new Map<string, string>();
  componentTexts.set(origin, texts);
  const key = `${kind} ${shapes.join()}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const components = entityTable(kind).map((row, index): [string, Component] => [
    componentId(row),
    component(row, shapes[index] ?? 'absent', kind, origin),
  ]);
  const text = JSON.stringify(Object.fromEntries(components));
  if (texts.size >= mostTexts) texts.clear();
  texts.set(key, text);
  return text;
}

export function componentId(row: Pick<EntityRow<never>, 'component' | 'key'>): string {
  return `${row.component}_${row.key}`;
}

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

/** The bridge if there is no parent. A device must not be its own parent, even if both have the same id. */
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

/** Without halves of surrogate pairs, for which Home Assistant would refuse the whole message. */
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

export function stateInWords(key: string, option: string, language: Language): string {
  return textsIn(language).states[`${key}_${option}` as StateText];
}

function component(
  row: EntityRow<DeviceView>,
  shape: Shape,
  kind: DeviceKind,
  { topics, language }: DiscoveryOrigin,
): Component {
  // A component with only its platform is removed, or was never there. So no message depends on an earlier one.
  if (shape === 'absent') return { platform: row.component };
  const below = (path: string) => topics.below(kind, anyId, path);
  const attributes = 'attributes' in row ? row.attributes : undefined;
  return {
    platform: row.component,
    unique_id: `${topics.identifier(kind, anyId)}_${row.key}`,
    name: row.name && textsIn(language).names[row.name],
    ...(row.category && { entity_category: row.category }),
    ...(row.icon && { icon: row.icon }),
    ...(row.isDisabledByDefault && { enabled_by_default: false }),
    ...(('value' in row || 'sentences' in row) && { value_template: `{{ value_json.${row.key} }}` }),
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
    ...('options' in row && {
      options:
        'isInWords' in row
          ? row.options.map((option) => stateInWords(row.key, option, language))
          : typeof shape === 'string'
            ? row.options
            : shape,
    }),
    ...(attributes && { json_attributes_template: `{{ (${attributes.expression}) | tojson }}` }),
    ...('isInWords' in row &&
      !attributes && {
        json_attributes_template: `{{ ({'code': value_json.${row.key}${codeEnd}}) | tojson }}`,
        json_attributes_topic: below(statesPath),
      }),
    ...('alerts' in row && {
      json_attributes_template: `{{ ({'alerts': value_json.${alertsKey}}) | tojson }}`,
    }),
    // With QoS 1, Home Assistant would repeat a command that was lost with its connection, and the valve could move
    // hours later. Each component has its own QoS, because Home Assistant before 2026 takes none from the root.
    qos: 'command' in row ? 0 : 1,
    ...(row.needs !== needOfRoot[kind] && { availability: availability(row.needs, kind, anyId, topics) }),
    ...('command' in row && shape !== 'shown' && { command_topic: below(row.command.path) }),
    ...(attributes && { json_attributes_topic: below(attributes.path) }),
    ...('alerts' in row && { json_attributes_topic: below(statesPath) }),
    // Only for a new entity. In every language it is English, because automations use it. Another text stands for a name
    // that only Home Assistant could spell, or else nobody would know the ID.
    default_entity_id: `${row.component}.${anyIdStart}${row.name === null ? '' : `_${asIdPart(row.name)}`}`,
  };
}
