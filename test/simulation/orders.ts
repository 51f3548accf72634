import type { Random } from '../../src/base/backoff.ts';
import { between, pick } from '../../src/simulator/random.ts';
import type { World } from '../../src/simulator/world.ts';
import { parseCachedJson } from '../support/cachedJson.ts';
import type { SeenRequest } from './virtualCloud.ts';

/** A message that a client publishes to the bridge, and the changes in the cloud that it allows. */
export interface Order {
  readonly topic: string;
  readonly payload: string;
  readonly isRetained?: boolean;
  /** Whether the bridge must report an outcome. */
  readonly isCommand: boolean;
  /** The changes that the message asks for. Each may be made at most once. */
  readonly asksFor: readonly WantedChange[];
}

/** A change in the cloud that a client asked for. */
export interface WantedChange {
  /** A description for people. */
  readonly words: string;
  readonly matches: (request: SeenRequest) => boolean;
}

const base = 'sonic2mqtt';

/** An order as people and automations may send it: sensible, careless or hostile. */
export function randomOrder(world: World, random: Random, count: number): Order {
  const createOrder = pick(random, orderKinds) ?? valve;
  return createOrder({ world, random, count });
}

interface OrderInput {
  readonly world: World;
  readonly random: Random;
  /** A different number each time. */
  readonly count: number;
}

type CreateOrder = (input: OrderInput) => Order;

const valve: CreateOrder = ({ world, random }) => {
  const id = sonicOf(world, random);
  const action = random() < 0.5 ? 'open' : 'close';
  const payload = pick(random, [action.toUpperCase(), action, JSON.stringify({ action })]) ?? action;
  return command(`sonic/${id}/valve/set`, payload, [move(id, action)]);
};

const retainedValve: CreateOrder = (input) => ({ ...valve(input), isRetained: true });

/** Payloads that no command understands. */
const oddPayloads = [
  ...[' ', 'TOGGLE', '{"action":"open"', '1', 'OPEN;CLOSE', 'OPEN\u0000', '[]', '{}', 'null', '1e999'],
  ...['ＯＰＥＮ', '"open"', '\u001b[31mOPEN', "{{ 'OPEN' }}", '<b>OPEN</b>', '{"action":["open"]}'],
  ...['{"action":{"toString":"open"}}', '{"__proto__":{"action":"open"}}'],
  ...['{"constructor":{"prototype":{"polluted":true}}}', '{"action":"close","action":"open"}'],
  ...['[['.repeat(20_000), `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`, 'x'.repeat(70_000)],
];

/** Names that mean something to a program on the way. */
const oddNames = [
  ...['', ' ', '..', '%2e%2e', '__proto__', 'constructor', '$SYS', 'é', '😀', '{{ 1 }}', '\u001b[2J', '*'],
  ...['bridge', 'null', 'x'.repeat(10_000)],
];

const malformed: CreateOrder = ({ world, random }) => {
  const id = sonicOf(world, random);
  const path = pick(random, ['valve/set', 'valve/set', 'incidents/action']) ?? '';
  return command(`sonic/${id}/${path}`, pick(random, oddPayloads) ?? '', []);
};

const unknownDevice: CreateOrder = ({ random }) => {
  const id = random() < 0.5 ? between(random, 1, 1e9) : pick(random, oddNames);
  return command(`sonic/${id}/valve/set`, 'CLOSE', []);
};

const unknownRequest: CreateOrder = ({ random }) =>
  command(`bridge/request/${pick(random, oddNames)}`, pick(random, oddPayloads) ?? '', []);

const requestedValve: CreateOrder = ({ world, random, count }) => {
  const id = sonicOf(world, random);
  const action = random() < 0.5 ? 'open' : 'close';
  const operation = world.wifiSonics.has(id) ? 'command_wifi_valve' : 'command_valve';
  const payload = JSON.stringify({ params: { sonic_id: id }, body: { action }, transaction: `${count}` });
  // Requests cannot move a valve.
  return command(`bridge/request/${operation}`, payload, []);
};

const rename: CreateOrder = ({ world, random, count }) => {
  const [kind, id] = pick(random, [
    ['sonic', pick(random, world.sonics.ids)],
    ['signal', pick(random, world.signals.ids)],
    ['property', pick(random, world.properties.ids)],
  ] as const) ?? ['sonic', ''];
  const name = `Name ${count}`;
  const change: WantedChange = {
    words: `to call ${kind} ${id} ${name}`,
    matches: ({ operation, body }) =>
      /^(patch|update)_(sonic|signal|property)$/.test(operation ?? '') && holds(body, name),
  };
  return command(`${kind}/${id}/name/set`, name, [change]);
};

const setting: CreateOrder = ({ world, random }) => {
  const id = pick(random, world.properties.ids) ?? '';
  const isOn = random() < 0.5;
  const [path, field, operation] = pick(random, [
    ['settings', 'auto_shut_off', 'update_property_settings'],
    ['settings', 'pressure_tests_enabled', 'update_property_settings'],
    ['notifications', 'low_battery_level', 'update_notification_settings'],
  ] as const) ?? ['', '', ''];
  const change: WantedChange = {
    words: `to set ${field} of property ${id} ${isOn}`,
    matches: ({ operation: asked, params, body }) =>
      asked === operation && params['property_id'] === id && fieldOf(body, field) === isOn,
  };
  return command(`property/${id}/${path}/${field}/set`, isOn ? 'ON' : 'OFF', [change]);
};

const paused: CreateOrder = ({ world, random }) => {
  const id = pick(random, world.properties.ids) ?? '';
  const change: WantedChange = {
    words: `to pause the shut-off of property ${id}`,
    matches: ({ operation, params, body }) =>
      operation === 'update_property_settings' &&
      params['property_id'] === id &&
      fieldOf(body, 'auto_shut_off') === false,
  };
  const minutes = pick(random, [0, 1, 1, 2, 5, 15, 45, 240]) ?? 1;
  return command(`property/${id}/pause/set`, `${minutes}`, minutes === 0 ? [] : [change]);
};

const incidentAction: CreateOrder = ({ world, random }) => {
  const open = [...world.incidents.values()].filter((incident) => incident.open);
  const incident = pick(random, open);
  const action = pick(random, ['resolve', 'dismiss', 'snooze', 'mute']) ?? 'resolve';
  const id = incident?.id ?? 'none';
  return command(`incident/${id}/action`, action, [actOn(id, [action])]);
};

const resolveAll: CreateOrder = ({ world, random }) => {
  const id = sonicOf(world, random);
  // Closed incidents too, because the bridge may not know that they are closed.
  const all = [...world.incidents.values()].filter((incident) => incident.sonic_id === id);
  const changes = all.map((incident) => actOn(incident.id, ['resolve', 'dismiss']));
  return command(`sonic/${id}/incidents/action`, 'resolve', changes);
};

const pressureTest: CreateOrder = ({ world, random }) => {
  const id = sonicOf(world, random);
  const change: WantedChange = {
    words: `to test the pressure at sonic ${id}`,
    matches: ({ operation, params }) => operation === 'start_pressure_test' && params['thing_id'] === id,
  };
  return command(`sonic/${id}/pressure_test/start`, 'PRESS', [change]);
};

const dismissal: CreateOrder = ({ world, random }) =>
  command(`sonic/${sonicOf(world, random)}/last_command/dismiss`, 'PRESS', []);

const refresh: CreateOrder = () => command('bridge/refresh', 'PRESS', []);

/** An empty message, which clears a retained one, asks for nothing. */
const empty: CreateOrder = ({ world, random }) => {
  const id = sonicOf(world, random);
  const path = pick(random, ['valve/set', 'pressure_test/start', 'incidents/action']) ?? '';
  const topic = random() < 0.3 ? `${base}/bridge/refresh` : `${base}/sonic/${id}/${path}`;
  return { topic, payload: '', isRetained: random() < 0.7, isCommand: false, asksFor: [] };
};

/** An order of a client that repeats such orders far too fast. */
export function floodOrder(kind: FloodKind, world: World, random: Random, count: number): Order {
  return floods[kind]({ world, random, count });
}

/** One of many commands to valves that come together. */
export function valveOrder(world: World, random: Random): Order {
  return valve({ world, random, count: 0 });
}

export function closeOrder(id: string): Order {
  return command(`sonic/${id}/valve/set`, 'CLOSE', [move(id, 'close')]);
}

/** A pause of some property's shut-off. */
export function pauseOrder(world: World, random: Random): Order {
  return paused({ world, random, count: 0 });
}

const reading: CreateOrder = ({ world, random, count }) => {
  const id = sonicOf(world, random);
  const payload = JSON.stringify({ params: { sonic_id: id }, transaction: count });
  return command('bridge/request/read_sonic', payload, []);
};

const notPermitted: CreateOrder = ({ count }) =>
  command('bridge/request/create_property', JSON.stringify({ body: { name: `New ${count}` } }), []);

const readOnlyTopic: CreateOrder = ({ world, random }) => ({
  topic: `${base}/sonic/${sonicOf(world, random)}/valve`,
  payload: 'CLOSE',
  isCommand: false,
  asksFor: [],
});

const homeAssistantStarts: CreateOrder = ({ random }) => ({
  topic: 'homeassistant/status',
  payload: random() < 0.3 ? 'offline' : 'online',
  isCommand: false,
  asksFor: [],
});

const oddAction: CreateOrder = (input) =>
  input.random() < 0.5
    ? incidentAction(input)
    : command(`incident/stranger-${input.count}/action`, 'resolve', []);

const logLevel: CreateOrder = ({ random }) =>
  command('bridge/log_level/set', pick(random, ['info', 'warn', 'error']) ?? 'info', []);

const readingOfHub: CreateOrder = ({ world, random }) => {
  const id = pick(random, world.signals.ids) ?? 'none';
  return command('bridge/request/read_signal', JSON.stringify({ params: { signal_id: id } }), []);
};

const requestedRename: CreateOrder = ({ world, random, count }) => {
  const id = pick(random, world.signals.ids) ?? 'none';
  const name = `Name ${count}`;
  const change: WantedChange = {
    words: `to call signal ${id} ${name}`,
    matches: ({ operation, body }) => operation === 'update_signal' && holds(body, name),
  };
  const payload = JSON.stringify({ params: { signal_id: id }, body: { name } });
  return command('bridge/request/update_signal', payload, [change]);
};

const retained: CreateOrder = (input) => ({
  ...(pick(input.random, [valve, rename, setting, paused, refresh]) ?? valve)(input),
  isRetained: true,
});

const odd: CreateOrder = (input) =>
  (pick(input.random, [malformed, unknownDevice, unknownRequest, requestedValve, notPermitted]) ?? malformed)(
    input,
  );

const orderKinds: readonly CreateOrder[] = [
  ...[valve, valve, valve, valve, retainedValve, malformed, unknownDevice, unknownRequest, requestedValve],
  ...[rename, setting, setting, paused, paused, incidentAction, resolveAll, pressureTest],
  ...[empty, empty, dismissal, refresh, reading, notPermitted, readOnlyTopic, homeAssistantStarts],
];

/** What a client may send far too fast. */
const floods = {
  'valve commands': valve,
  'pressure tests': pressureTest,
  names: rename,
  settings: setting,
  pauses: paused,
  'incident actions': oddAction,
  dismissals: dismissal,
  refreshes: refresh,
  'log levels': logLevel,
  'requests that read': readingOfHub,
  'requests that change': requestedRename,
  'retained commands': retained,
  'odd commands': odd,
  'starts of Home Assistant': homeAssistantStarts,
} satisfies Record<string, CreateOrder>;

export type FloodKind = keyof typeof floods;
export const floodKinds = Object.keys(floods) as readonly FloodKind[];

function command(path: string, payload: string, asksFor: readonly WantedChange[]): Order {
  return { topic: `${base}/${path}`, payload, isCommand: true, asksFor };
}

function move(id: string, action: string): WantedChange {
  return {
    words: `to ${action} sonic ${id}`,
    matches: ({ operation, params, body }) =>
      (operation === 'command_valve' || operation === 'command_wifi_valve') &&
      params['sonic_id'] === id &&
      fieldOf(body, 'action') === action,
  };
}

function actOn(id: string, actions: readonly string[]): WantedChange {
  return {
    words: `to ${actions.join(' or ')} incident ${id}`,
    matches: ({ operation, params, body }) =>
      operation === 'act_on_incident' &&
      params['incident_id'] === id &&
      actions.includes(String(fieldOf(body, 'action'))),
  };
}

function sonicOf(world: World, random: Random): string {
  return pick(random, world.thingIds) ?? 'none';
}

function fieldOf(body: string, field: string): unknown {
  try {
    const value = parseCachedJson(body);
    return typeof value === 'object' && value !== null
      ? Object.entries(value).find(([key]) => key === field)?.[1]
      : undefined;
  } catch {
    return undefined;
  }
}

function holds(body: string, name: string): boolean {
  return fieldOf(body, 'name') === name;
}
