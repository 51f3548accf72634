import { sanitize } from '../base/sanitize.ts';
import type { Language } from '../model/language.ts';
import { fill, textsIn } from '../texts/texts.ts';
import { asIdPart } from './entityId.ts';
import type { Topics } from './topics.ts';

/*
 * The dashboard for Home Assistant. It has a view for each property, with its summary on top, its valves, its controls,
 * and the litres of the last days. Several properties have a first view together, with their summaries. At a leak, the
 * view of a property shows *Close the water* on a phone without scrolling, and no other button before it. The dashboard is
 * made of discovery messages only, so it has the entities and names that Home Assistant has. A tap shows details. A card that moves water or changes something asks first, because by default Home Assistant
 * acts on a tap on an icon.
 */

export interface DiscoveredDevice {
  /** False for a device of another account. It is needed because its entities occupy entity IDs. */
  readonly isOwn: boolean;
  readonly kind: string;
  readonly identifier: string;
  readonly parent: string;
  readonly name: string;
  readonly entities: ReadonlyMap<string, Entity>;
}

interface Entity {
  /** Null for the device's main entity. */
  readonly name: string | null;
  readonly takesCommands: boolean;
  readonly isEnabled: boolean;
  /** The entity ID in a new installation; null if only Home Assistant can spell the name. */
  readonly wantedId: string | null;
}

const head = [
  'The dashboard of sonic2mqtt for Home Assistant. Replace the text in the raw configuration editor of a new dashboard by this.',
  'If a card shows *Entity not found*, Home Assistant has another ID for it. Replace the ID here, in every place.',
  'Or open the device, and choose *Recreate entity IDs* in the menu at the top right. Automations need the new IDs too.',
  'Home Assistant before 2025.10 ignores the entity IDs of sonic2mqtt, and makes them from the names that it shows.',
];

/** THE TILES, in the order in which they are shown. A device has those whose components its message has. */
const valveTiles = [
  'binary_sensor_alert',
  'binary_sensor_incident_water_presence_detected',
  'binary_sensor_incident_long_flow_alert',
  'sensor_flow',
  'sensor_pressure',
  'sensor_water_temperature',
  'binary_sensor_battery_low',
  'sensor_moved_by',
  'sensor_moved_at',
  'sensor_water_today',
  'sensor_water_yesterday',
  'sensor_water_month',
];
/** Shown only while they are on. The tile of the valve says nothing of a pressure test. */
const passingTiles = [
  'binary_sensor_valve_problem',
  'binary_sensor_command_failed',
  'binary_sensor_pressure_test_running',
];
const propertyTiles = ['binary_sensor_problem', 'sensor_open_incidents'];
const controlTiles = ['switch_pressure_tests_enabled', 'switch_auto_shut_off'];

/**
 * Home Assistant would show the same drop or the same valve for several of these, and an exclamation mark for no alert.
 * It shows a switch that is on in amber, which looks like a warning beside the red of a leak.
 */
const tileLooks: Readonly<Record<string, { readonly icon?: string; readonly color?: string }>> = {
  sensor_open_incidents: { icon: 'mdi:bell-outline' },
  switch_pressure_tests_enabled: { color: 'green' },
  switch_auto_shut_off: { icon: 'mdi:shield-lock', color: 'green' },
  sensor_flow: { icon: 'mdi:waves-arrow-right' },
  sensor_water_today: { icon: 'mdi:calendar-today' },
  sensor_water_yesterday: { icon: 'mdi:calendar-arrow-left' },
  sensor_water_month: { icon: 'mdi:calendar-month' },
};

type Question = Extract<keyof ReturnType<typeof textsIn>['dashboard'], `ask${string}`>;

/** The pauses on offer, in minutes. */
const pauses = { '30 min': 30, '1 h': 60, '4 h': 240 } as const;

/** The Jinja filter after which Markdown shows a text as it is. Names in it may be meant as links or images. */
const escaped = String.raw`regex_replace('([!-/:-@\\[-\x60{-~])', '\\\\\\1')`;

/** Reads the discovery message of a device, of this bridge or of any other program; null for any other payload. */
export function readDiscovered(payload: string, topics: Topics): DiscoveredDevice | null {
  try {
    const { device, components, state_topic, availability } = JSON.parse(payload);
    const isOwn = availability?.[0]?.topic === topics.bridge('state');
    const kind = isOwn ? topics.parse(state_topic)?.kind : 'other';
    if (kind === undefined) return null;
    const entities = Object.entries<Readonly<Record<string, unknown>>>(components)
      // A component that the device lacks has only its platform.
      .filter(([, { unique_id }]) => unique_id !== undefined)
      .map(([id, component]): [string, Entity] => [id, entityOf(component, String(device.name))]);
    return {
      isOwn,
      kind,
      identifier: String(device.identifiers[0]),
      parent: String(device.via_device),
      name: String(device.name),
      entities: new Map(entities),
    };
  } catch {
    return null;
  }
}

function entityOf(component: Readonly<Record<string, unknown>>, device: string): Entity {
  const { platform, default_entity_id: wantedId, enabled_by_default: isEnabled } = component;
  const { name = null } = component as Partial<Readonly<Record<string, string | null>>>;
  // Another program, or an earlier version, states no ID. Home Assistant then makes it from the names.
  const made = asIdPart(name === null ? device : `${device} ${name}`);
  const stated = typeof wantedId === 'string' ? wantedId : null;
  return {
    name,
    takesCommands: 'command_topic' in component,
    isEnabled: isEnabled !== false,
    wantedId: stated ?? (made && `${platform}.${made}`),
  };
}

/**
 * The dashboard of those devices that are own ones, as YAML for Home Assistant's raw configuration editor; null if
 * there is neither a property nor a valve. The devices keep the order in which they were announced.
 */
export function dashboardText(found: readonly DiscoveredDevice[], language: Language): string | null {
  const devices = found.filter(({ isOwn }) => isOwn);
  const own = new Set(devices.map(({ identifier }) => identifier));
  // If two entities want the same ID, Home Assistant numbers them in the order in which it sets them up. So
  // `valve.kitchen` may belong to one valve and `sensor.kitchen_water_flow` to the other. Devices of other accounts count
  // too, because a tap must not move their valves.
  const others = found.filter(({ isOwn, identifier }) => !isOwn && !own.has(identifier));
  const entities = [...devices, ...others].flatMap((device) => [...device.entities.values()]);
  const counts = new Map<string | null, number>();
  for (const { wantedId } of entities) counts.set(wantedId, (counts.get(wantedId) ?? 0) + 1);
  const isCertain = ({ wantedId }: Entity) => wantedId !== null && counts.get(wantedId) === 1;
  const words = textsIn(language).dashboard;
  const question = (text: Question, place: string, time = '') =>
    fill(words[text], language, 0, (gap) => (gap === 'place' ? place : time));
  const idOf = (device: DiscoveredDevice, component: string) => {
    const entity = device.entities.get(component);
    return entity?.isEnabled && isCertain(entity) ? (entity.wantedId ?? undefined) : undefined;
  };
  const cards = (
    device: DiscoveredDevice,
    components: readonly string[],
    card: (entity: string, name: string, component: string) => object | readonly object[],
  ): readonly object[] =>
    components.flatMap((component) => {
      const entity = idOf(device, component);
      // “Battery: low” reads better than “Battery low: low”.
      const named = component === 'binary_sensor_battery_low' ? 'sensor_battery' : component;
      const name = device.entities.get(named)?.name ?? device.name;
      return entity === undefined ? [] : card(entity, name, component);
    });

  const pressed = (device: DiscoveredDevice, component: string, asked: Question, condition: object) =>
    cards(device, [component], (entity, name) =>
      only(
        [condition, isNot(entity, 'unavailable')],
        button(entity, name, undefined, 'button.press', question(asked, device.name)),
      ),
    );

  /** Whether a valve has entities to show whose IDs another device wants too. */
  const isNameless = ({ entities }: DiscoveredDevice) =>
    ['valve_valve', 'binary_sensor_valve_problem', ...valveTiles].some((component) => {
      const entity = entities.get(component);
      return entity?.isEnabled && !isCertain(entity);
    });

  /** The cards that move a valve. */
  const moveCards = (valve: DiscoveredDevice, entity: string): readonly object[] => [
    only([is(entity, 'unavailable')], { type: 'markdown', content: words.byHand, ...wholeLine }),
    // A valve whose position is not known can be closed.
    only(
      [isNot(entity, ['closed', 'closing', 'unavailable'])],
      button(entity, words.close, 'mdi:valve-closed', 'valve.close_valve', question('askClose', valve.name)),
    ),
    only(
      [is(entity, 'closed')],
      button(entity, words.open, 'mdi:valve-open', 'valve.open_valve', question('askOpen', valve.name)),
    ),
  ];

  const valveCards = (valve: DiscoveredDevice): readonly object[] => [
    heading(valve.name, 'mdi:pipe-valve'),
    ...(isNameless(valve) ? [{ type: 'markdown', content: words.unknownIds, ...wholeLine }] : []),
    ...cards(valve, passingTiles, (entity, name) =>
      only([is(entity, 'on')], { ...tile(entity, name), ...wholeLine }),
    ),
    ...cards(valve, ['valve_valve'], (entity, name) => {
      const position = { ...tile(entity, name), ...wholeLine };
      return valve.entities.get('valve_valve')?.takesCommands
        ? [position, ...moveCards(valve, entity)]
        : [position];
    }),
    ...cards(valve, ['binary_sensor_command_failed'], (entity) =>
      pressed(valve, 'button_dismiss_failure', 'askDismiss', is(entity, 'on')),
    ),
    ...withoutHoles(cards(valve, valveTiles, tile)),
  ];

  const controlCards = (property: DiscoveredDevice): readonly object[] => {
    const stateOf = (component: string) => idOf(property, component) ?? '';
    const hasAlert = is(stateOf('binary_sensor_problem'), 'on');
    const isPaused = isNot(stateOf('sensor_paused_until'), ['unknown', 'unavailable']);
    return [
      heading(words.controls, 'mdi:cog'),
      ...pressed(property, 'button_resolve_incidents', 'askResolve', hasAlert),
      ...cards(property, controlTiles, (...of) => ({ ...tile(...of), ...wholeLine })),
      ...cards(property, ['sensor_paused_until'], (entity) =>
        only([isPaused], { ...tile(entity, words.pauseEnds), ...wholeLine }),
      ),
      ...cards(property, ['number_pause'], (pause, name) => {
        const canPause = [
          { condition: 'or', conditions: [is(stateOf('switch_auto_shut_off'), 'on'), isPaused] },
          isNot(pause, 'unavailable'),
        ];
        const offered = Object.entries(pauses).map(([time, minutes]) => ({
          ...{ type: 'button', name: time, icon: 'mdi:timer-pause-outline', icon_height: '24px' },
          tap_action: {
            ...{ action: 'perform-action', perform_action: 'number.set_value' },
            ...{ target: { entity_id: pause }, data: { value: minutes } },
            confirmation: { text: question('askPause', property.name, time) },
          },
          hold_action: { action: 'none' },
          grid_options: { columns: 4, rows: 2 },
        }));
        return [{ ...heading(name), heading_style: 'subtitle' }, ...offered].map((card) =>
          only(canPause, card),
        );
      }),
      ...pressed(property, 'button_resume', 'askResume', isPaused),
    ];
  };

  const [cloud] = devices
    .filter(({ kind }) => kind === 'bridge')
    .map((bridge) => idOf(bridge, 'binary_sensor_cloud'));

  const summaryText = (summary: string): string => {
    const text = `{{ states('${summary}') | ${escaped} }}`;
    if (cloud === undefined) return text;
    return [
      `{% if has_value('${summary}') or is_state('${cloud}', 'on') %}${text}`,
      `{% elif is_state('${cloud}', 'off') %}${words.noCloud}`,
      `{% else %}${words.noBridge}{% endif %}`,
    ].join('');
  };

  /** With a path, a tap on the heading leads to that view. */
  const propertyCards = (property: DiscoveredDevice, path?: string): readonly object[] => [
    {
      ...heading(property.name, 'mdi:home'),
      ...(path && { tap_action: { action: 'navigate', navigation_path: path } }),
    },
    ...cards(property, ['sensor_summary'], (entity) => ({
      type: 'markdown',
      content: `## ${summaryText(entity)}`,
      ...wholeLine,
    })),
    ...withoutHoles(cards(property, propertyTiles, tile)),
  ];

  const chart = (valves: readonly DiscoveredDevice[]): readonly object[] => {
    const entities = valves.flatMap((valve) =>
      cards(valve, ['sensor_water_total'], (entity) => ({ entity, name: valve.name })),
    );
    const graph = {
      ...{ type: 'statistics-graph', chart_type: 'bar', period: 'day', days_to_show: 14 },
      ...{ stat_types: ['change'], entities, ...wholeLine },
    };
    return entities.length === 0 ? [] : [heading(words.perDay, 'mdi:chart-bar'), graph];
  };

  const byIdentifier = new Map(devices.map((device) => [device.identifier, device]));
  const valvesOf = new Map<DiscoveredDevice | null, DiscoveredDevice[]>();
  for (const device of devices) if (device.kind === 'property') valvesOf.set(device, []);
  for (const device of devices) {
    if (device.kind !== 'sonic') continue;
    const property = propertyOf(device, byIdentifier);
    valvesOf.set(property, [...(valvesOf.get(property) ?? []), device]);
  }
  const pathOf = (index: number) => (index === 0 ? 'water' : `water-${index + 1}`);
  const section = (cards: readonly object[]) => ({ cards });
  const views = [...valvesOf].map(([property, valves], index) =>
    view(
      property?.name ?? words.water,
      pathOf(index),
      [
        // On a desktop, the summary is as wide as the page. In a column it would leave a hole beside the first valve.
        ...(property ? [{ ...section(propertyCards(property)), column_span: columns }] : []),
        ...[...valves.map(valveCards), property ? controlCards(property) : [], chart(valves)].map(section),
      ].filter(({ cards }) => cards.length > 1),
    ),
  );
  const overview = [...valvesOf.keys()].flatMap((property, index) =>
    property ? [section(propertyCards(property, pathOf(index)))] : [],
  );
  if (overview.length > 1) views.unshift(view(words.overview, 'overview', overview));
  if (views.length === 0) return null;
  const incomplete = devices.filter(({ entities }) => ![...entities.values()].every(isCertain));
  const notes = [...head, ...new Set(incomplete.map(({ name }) => missingNote(name)))];
  return `${notes.map((note) => `# ${sanitize(note)}\n`).join('')}\nviews:\n${listText(views, '  ')}`;
}

/** The property of a valve: the parent of its hub, or its own parent; null if there is none. */
function propertyOf(
  valve: DiscoveredDevice,
  byIdentifier: ReadonlyMap<string, DiscoveredDevice>,
): DiscoveredDevice | null {
  const parent = byIdentifier.get(valve.parent);
  const above = parent?.kind === 'signal' ? byIdentifier.get(parent.parent) : parent;
  return above?.kind === 'property' ? above : null;
}

const missingNote = (name: string) => `Entities of “${name}” are missing: another device has the same name.`;

/** On a wide screen. */
const columns = 3;

const wholeLine = { grid_options: { columns: 'full' } };

/** How many letters of a name fit into half a line on a phone, and of a column on a desktop. */
const maxLettersInHalf = 14;

const view = (title: string, path: string, sections: readonly object[]) => ({
  ...{ title, path, type: 'sections', max_columns: columns },
  sections: sections.map((section) => ({ type: 'grid', ...section })),
});

const heading = (text: string, icon?: string) => ({ type: 'heading', heading: text, ...(icon && { icon }) });

/** Shows an entity. A tap anywhere on it opens the details. */
const tile = (entity: string, name: string, component = '') => ({
  ...{ type: 'tile', entity, name, ...tileLooks[component] },
  tap_action: { action: 'more-info' },
  icon_tap_action: { action: 'more-info' },
  ...(name.length > maxLettersInHalf && wholeLine),
});

/** Performs an action on an entity, after a question that names the place. */
const button = (entity: string, name: string, icon: string | undefined, action: string, text: string) => ({
  ...{ type: 'button', entity, name, ...(icon && { icon }), show_state: false, icon_height: '40px' },
  tap_action: {
    ...{ action: 'perform-action', perform_action: action, target: { entity_id: entity } },
    confirmation: { text },
  },
  hold_action: { action: 'more-info' },
  ...wholeLine,
});

const is = (entity: string, state: string) => ({ condition: 'state', entity, state });
const isNot = (entity: string, states: string | readonly string[]) => ({
  ...{ condition: 'state', entity, state_not: states },
});
const only = (conditions: readonly object[], card: object) => ({ ...card, visibility: conditions });

/** The tiles in their order, each half a line with a neighbour, or the whole line. */
function withoutHoles(tiles: readonly object[]): readonly object[] {
  let halves = 0;
  return tiles.map((each, index) => {
    halves = isFullWidth(each) ? 0 : halves + 1;
    const isAlone = halves % 2 === 1 && isFullWidth(tiles[index + 1] ?? wholeLine);
    return isAlone ? { ...each, ...wholeLine } : each;
  });
}

const isFullWidth = (card: object) => 'grid_options' in card;

/** A list as YAML. A library takes a hundred times as long, and would keep commands waiting. */
function listText(values: readonly unknown[], indent: string): string {
  return values.map((value) => `${indent}-${valueText(value, `${indent}  `).replace(/^\s+/, ' ')}`).join('');
}

/** What follows a colon or a dash. Texts are quoted as in JSON unless they are plain words and no YAML keyword. */
function valueText(value: unknown, indent: string): string {
  if (Array.isArray(value)) return `\n${listText(value, indent)}`;
  if (typeof value === 'object' && value !== null) {
    const lines = Object.entries(value).map(
      ([key, each]) => `${indent}${key}:${valueText(each, `${indent}  `)}`,
    );
    return `\n${lines.join('')}`;
  }
  const isWord = typeof value === 'string' && /^[a-z][\w.-]*[:._-][\w.-]+$|^[a-z]{4,}$/.test(value);
  return ` ${isWord && value !== 'true' && value !== 'false' && value !== 'null' ? value : JSON.stringify(value)}\n`;
}
