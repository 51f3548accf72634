import type { RequestFault, Strike } from '../simulation/virtualCloud.ts';
import type { DiskFault } from '../simulation/virtualDisk.ts';
import { type Fact, msOf, tellStories, type Verbs } from '../support/script.ts';
import { Home, type HomeOptions, leisurely, prompt, type Sections } from './home.ts';

// The words of the stories that are scripts. They are shared: a story's own test file adds only what no other needs.

/** Operations with a short name. Others are written out. */
const operations: Readonly<Record<string, string>> = {
  set: 'update_property_settings',
  get: 'read_property_settings',
  move: 'command_valve',
};

/** What a story knows beside its home. */
interface Stage {
  readonly config: Sections;
  /** IDs by the names that stand for them. */
  readonly ids: Map<string, string>;
}

const stages = new WeakMap<Home, Stage>();

/** The IDs of a home by name: `sonic`, `sonic2`, `property`, `signal`, `wifi`, and `i1` for the first new incident. */
function idsOf(home: Home): Map<string, string> {
  const { ids } = stageOf(home);
  const { properties, signals, sonics, wifiSonics, incidents } = home.world;
  const known = new Set(ids.values());
  for (const [name, records] of Object.entries({
    property: properties,
    signal: signals,
    sonic: sonics,
    wifi: wifiSonics,
  }))
    for (const id of records.ids)
      if (!known.has(id)) {
        const count = [...ids.keys()].filter((each) => each.replace(/\d+$/, '') === name).length;
        ids.set(count === 0 ? name : `${name}${count + 1}`, id);
      }
  for (const id of incidents.ids)
    if (!known.has(id)) ids.set(`i${[...ids.keys()].filter((each) => /^i\d/.test(each)).length + 1}`, id);
  return ids;
}

function stageOf(home: Home): Stage {
  const stage = stages.get(home);
  if (!stage) throw new Error('the home is not that of a script');
  return stage;
}

const idOf = (home: Home, name: string) => idsOf(home).get(name) ?? name;

/** A path that begins with the name of a device or an incident, such as `sonic/valve/set`, with its kind and ID. */
function pathOf(home: Home, path: string): string {
  const [name = '', ...rest] = path.split('/');
  const id = idsOf(home).get(name);
  if (id === undefined || path.toLowerCase().includes(id)) return path;
  const kind = name.replace(/\d+$/, '').replace('wifi', 'sonic').replace(/^i$/, 'incident');
  return [kind, id, ...rest].join('/');
}

const valueIn = (text: string): unknown => {
  if (text === 'leisurely') return leisurely;
  if (text === 'prompt') return prompt;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Nested sections from `section.option=value`; without a value it is true. */
function sectionsOf(settings: readonly string[], base: object = {}): Record<string, Record<string, unknown>> {
  const sections = structuredClone(base) as Record<string, Record<string, unknown>>;
  for (const setting of settings) {
    const [, path = '', value = 'true'] = /^([^=]+)(?:=(.*))?$/.exec(setting) ?? [];
    const [section = '', option] = path.split('.');
    if (option === undefined) sections[section] = valueIn(value) as never;
    else sections[section] = { ...sections[section], [option]: valueIn(value) };
  }
  return sections;
}

/**
 * A home from the settings of a story. `world.…` is of the simulated cloud. `shut-off`: it is on. `calm`: no incident is
 * open. `off`: the bridge is not started yet. All others are sections of the configuration.
 */
async function open(settings: readonly string[]): Promise<Home> {
  const {
    world: cloud = {},
    begins,
    isWired,
    unjudged,
    calm,
    off,
    'shut-off': isOn,
    ...config
  } = sectionsOf(settings, { schedules: leisurely });
  const home = new Home({ ...({ begins, isWired, unjudged } as unknown as HomeOptions), cloud, config });
  stages.set(home, { config, ids: new Map() });
  if (isOn) home.world.settings.change(home.propertyId, { auto_shut_off: true });
  if (calm) for (const id of home.world.incidents.ids) home.world.closeIncident(id);
  const ids = idsOf(home);
  for (const [name, id] of [...ids]) if (/^i\d/.test(name)) ids.delete(name) && ids.set(`old${name}`, id);
  if (!off) await home.start();
  return home;
}

const json = { 'content-type': 'application/json' };

/** Faults by their names; a number is an answer with that status and nothing in it. */
const faultOf = (fault: string): ReturnType<Strike> =>
  /^\d+$/.test(fault) ? { status: Number(fault), headers: json, text: '{}' } : (fault as RequestFault);

const outcomeOf = ({ status, http_status: code, reason }: Record<string, unknown>) =>
  `${status}${code && code !== 200 ? ` ${code}` : ''}${reason ? `: ${reason}` : ''}`;

const publish = (home: Home, path: string, payload: string) =>
  home.broker.publish(`sonic2mqtt/${pathOf(home, path)}`, payload, false);

/** Sends a command, and waits for its outcome. */
async function send(home: Home, path: string, payload: string): Promise<void> {
  const before = home.events('command').length;
  publish(home, path, payload);
  await home.until(() => home.events('command').length > before, `the outcome of ${path} ${payload}`);
}

const strike = (home: Home, fault: string, isMeant: (...request: Parameters<Strike>) => boolean) => {
  home.strike = (request) => (isMeant(request) ? faultOf(fault) : null);
};

const verbs: Verbs<Home> = {
  start: (home, ...settings) =>
    settings.length > 0 ? home.startWith(sectionsOf(settings, stageOf(home).config)) : home.start(),
  /** Starts the bridge, and lets no time pass. */
  boot: (home) => home.bridge.start(),
  stop: (home) => home.stop(),
  kill: (home) => home.bridge.kill(),
  restart: (home) => home.restart(),
  /** `cloud refused`, `cloud 503 set`, `cloud slow set,get false` for requests with that word, `cloud ok`. */
  cloud: (home, fault = '', operation = '', word = '') => {
    const wanted = operation.split(',').map((name) => operations[name] ?? name);
    strike(home, fault, (request) => {
      const isMeant = operation === '' || wanted.includes(request.operation ?? '');
      return fault !== 'ok' && isMeant && `${request.target} ${request.body}`.includes(word);
    });
  },
  broker: (home, fault = '') => {
    home.broker.fault = fault === 'ok' || fault === 'cut' ? null : (fault as 'away');
    if (fault !== 'ok') home.broker.cut();
  },
  disk: (home, fault) => {
    home.disk.fault = fault === 'ok' ? null : (fault as DiskFault);
  },
  valve: (home, state = '', name = 'sonic') => home.world.setValve(idOf(home, name), state),
  weaken: (home, name = 'sonic') => {
    const valve = home.world.valve(idOf(home, name));
    if (valve) valve.weak = true;
  },
  jam: (home, name = 'sonic') => home.world.valve(idOf(home, name))?.stop(),
  /** Opens an incident at a sonic or a signal; the next words are the actions that it offers. */
  alert: (home, type = '', name = 'sonic', ...possible_actions: string[]) => {
    const id = idOf(home, name);
    const { id: opened } = home.world.openIncident({
      type,
      [/^signal/.test(name) ? 'signalId' : 'sonicId']: id,
    });
    if (possible_actions.length > 0) home.world.incidents.change(opened, { possible_actions });
  },
  end: (home, name = '') => home.world.closeIncident(idOf(home, name)),
  /** `put settings auto_shut_off=true`: changes a field in the cloud. */
  put: (home, name = '', ...words) => {
    const { world, propertyId } = home;
    const [field = '', value = ''] = words.join(' ').split('=');
    const [kind, id] = [name.replace(/\d+$/, ''), name === 'settings' ? propertyId : idOf(home, name)];
    const fields = { [field]: valueIn(value) };
    if (kind === 'sonic') world.changeSonic(id, fields);
    else if (kind === 'settings') world.settings.change(id, fields);
    else if (kind === 'property') world.properties.change(id, fields);
    else if (kind === 'signal') world.signals.change(id, fields);
    else world.incidents.change(id, fields);
  },
  radio: ({ world, sonicId }, is) => (is === 'on' ? world.connectRadio(sonicId) : world.dropRadio(sonicId)),
  hub: ({ world, signalId }, is) => (is === 'on' ? world.connectCloud(signalId) : world.dropCloud(signalId)),
  remove: (home, name = '') => home.world.removeSonic(idOf(home, name)),
  /** Presses a button in Home Assistant, and waits for its outcome. */
  press: (home, device = '', button = '') => {
    const { command_topic: topic, payload_press: payload } = home.discovery(idOf(home, device)).components[
      `button_${button}`
    ];
    return send(home, topic.replace('sonic2mqtt/', ''), payload);
  },
  /** How often a topic was deleted. */
  deletions: (home, path = '') =>
    `deleted ${home.published(pathOf(home, path)).filter(({ payload }) => payload === '').length} times`,
  /** The simulated cloud answers an operation with this fault, or again without any. */
  fault: (home, kind, operation) =>
    home.simulator.setFaults(kind === undefined ? [] : [{ kind, operation } as never]),
  add: ({ world }, kind) =>
    void (kind === 'sonic' ? world.addSonic() : kind === 'wifi' ? world.addWifiSonic() : world.addProperty()),
  /** How often something was asked of the cloud. */
  read: (home, operation = '') => `${operation} ${home.asked(operation).length} times`,
  /** How often the log had these words. */
  say: (home, ...words) =>
    `said ${home.lines.filter(({ text }) => text.includes(words.join(' '))).length} times`,
  /** Sends a command, and waits for its outcome. */
  send: (home, path = '', ...payload) => send(home, path, payload.join(' ')),
  /** Publishes a message, and waits for nothing. */
  ask: (home, path = '', ...payload) => publish(home, path, payload.join(' ')),
  close: (home, name = 'sonic') => publish(home, `${name}/valve/set`, 'CLOSE'),
  open: (home, name = 'sonic') => publish(home, `${name}/valve/set`, 'OPEN'),
  pause: (home, ...minutes) => send(home, 'property/pause/set', minutes.join(' ')),
  refresh: (home) => home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false),
  /** Lets time pass until a fact has these words. */
  until: (home, name = '', ...words) =>
    home.until(() => fact(name)(home).toString().includes(words.join(' ')), `${name} ${words.join(' ')}`),
  /** Lets time pass until this is asked of the cloud. */
  next: (home, operation = '') => {
    const count = home.asked(operation).length;
    return home.until(() => home.asked(operation).length > count, operation);
  },
  /** Sets the clock of the machine forward or back. */
  clock: (home, error = '') => {
    home.bridge.wallErrorMs = msOf(error) ?? 0;
  },
  sleep: (home, long = '') => {
    home.oracle.excuse(2 * (msOf(long) ?? 0));
    home.bridge.machine.sleep(msOf(long) ?? 0);
  },
  /** The broker loses what it keeps at topics with this ending. */
  forget: ({ broker: { retained } }, ending = '') => {
    for (const topic of [...retained.keys()]) if (topic.endsWith(ending)) retained.delete(topic);
  },
};

/** The lines of the log. How many attempts there were is a matter of chance. */
const logged = ({ lines }: Home) =>
  lines.map(({ text }) => text.replace(/\d+(?= (failed )?attempts)/, 'many'));

const bodyOf = (body: string) => body.replace(/["{}]/g, '');

/** What is told by `watch` and `see`. */
const facts: Readonly<Record<string, Fact<Home>>> = {
  health: (home) => {
    const { status, reason } = JSON.parse(home.text('bridge/health') ?? '{}');
    return `health ${status}${reason ? `: ${reason}` : ''}`;
  },
  /** The health without its reason. */
  status: (home) => `health ${JSON.parse(home.text('bridge/health') ?? '{}').status}`,
  /** The changes that were sent to the cloud, as they stand in the body. */
  asks: (home) =>
    home.requests
      .filter(
        ({ method, operation }) => method !== 'GET' && !/^(sign_in|refresh_token)$/.test(operation ?? ''),
      )
      .map(({ operation, params, body }) => {
        const incident = params['incident_id'];
        return `asks ${bodyOf(body) || operation}${incident ? ` of ${incident}` : ''}`;
      }),
  outcomes: (home) => home.events('command').map(outcomeOf),
  incidents: (home) =>
    home
      .published('bridge/event')
      .map(({ payload }) => JSON.parse(payload))
      .filter(({ event }) => /^incident_/.test(event))
      .map(({ event, id }) => `${event} ${id}`),
  log: (home) => logged(home),
  /** The last line of the log. */
  last: (home) => home.lines.at(-1)?.text ?? '',
  warnings: (home) => logged(home).filter((text) => /^(warn|error|fatal)/.test(text)),
  /** The true valve, and what is shown of it. */
  valve: (home) => {
    const { valve } = home.json(`sonic/${home.sonicId}`);
    const { state, isAvailable } = home.entity(home.sonicId, 'valve_valve');
    return `${valve}${state === valve ? '' : ` (shown ${state})`}${isAvailable ? '' : ', unavailable'}`;
  },
  /** The last command, and whether Home Assistant shows that it failed. */
  command: (home) => {
    const { action, status, reason, failed } = home.json(`sonic/${home.sonicId}/last_command`);
    const { state, isAvailable } = home.entity(home.sonicId, 'binary_sensor_command_failed');
    const isShown = state === (failed ? 'ON' : 'OFF') && isAvailable;
    return [
      action ? `${action} ${status}` : 'no command',
      reason && ` (${reason})`,
      failed && `, FAILED ${failed.text}`,
      !isShown && `, shown ${state}${isAvailable ? '' : ', unavailable'}`,
    ]
      .filter(Boolean)
      .join('');
  },
  moved: (home) => {
    const { valve, by, at, incident_id: incident } = home.json(`sonic/${home.sonicId}/movement`);
    const shown = home.entity(home.sonicId, 'sensor_moved_at').state;
    const details = `${incident ? ` (${incident})` : ''}${at ? '' : ' at some time'}`;
    return by ? `${valve} by ${by}${details}${shown === at ? '' : `, shown ${shown}`}` : 'moved by nobody';
  },
  pause: (home) => {
    const document = home.text(`property/${home.propertyId}/pause`);
    if (document === undefined) return 'no pause shown';
    const { state, until, reason } = JSON.parse(document);
    const shown = home.entity(home.propertyId, 'sensor_paused_until').state;
    const end = until ? ` until ${until.slice(11, 16)}` : '';
    return `${state}${end}${reason ? ` (${reason})` : ''}${shown === until ? '' : `, shown ${shown}`}`;
  },
  /** The truth in the cloud. */
  'shut-off': (home) => {
    const isOn = home.world.settings.get(home.propertyId)?.auto_shut_off;
    return isOn === null ? 'unknown' : isOn ? 'on' : 'off';
  },
  links: (home) => {
    const [hub, valve] = [`signal/${home.signalId}`, `sonic/${home.sonicId}`].map((path) =>
      home.text(`${path}/availability`),
    );
    return `hub ${hub}, valve ${valve}`;
  },
  cloud: (home) => `cloud ${home.text('bridge/cloud')}`,
  summary: (home) => String(home.entity(home.propertyId, 'sensor_summary').state),
  /** The topics that the bridge has deleted. */
  deletions: ({ messages }) =>
    messages.filter(({ retain, payload }) => retain && payload === '').map(({ topic }) => `deleted ${topic}`),
  /** The incidents that are open in the cloud. */
  open: ({ world }) => `open: ${world.incidents.ids.filter((id) => world.incidents.get(id)?.open).join(' ')}`,
  files: ({ disk }) => [...disk.files.keys()].toSorted().join(' '),
};

/** The names of all devices of a kind, in facts such as `sonics.leak`. */
const plurals: Readonly<Record<string, string>> = {
  properties: 'property',
  signals: 'signal',
  sonics: 'sonic',
};

const platform = /^(binary_sensor|button|event|number|select|sensor|switch|text|valve)_/;

/**
 * A fact by its name: one of those above, an entity of a device (`sonic.battery`), a field of a document (`sonic/usage:total`),
 * a text (`sonic/availability`), or all texts that were published there (`sonic/availability*`).
 */
function fact(name: string): Fact<Home> {
  const known = facts[name];
  if (known) return known;
  const [, device = '', rest = '', mark = '', field = ''] =
    /^(\w+?)((?:\/\w+)*)([.:*]?)(\w*)$/.exec(name) ?? [];
  const key = field === 'leak' ? 'incident_water_presence_detected' : field;
  const kind = plurals[device];
  const valueAt = (home: Home, id: string) => {
    const path = `${pathOf(home, id)}${rest}`;
    if (mark === '') return home.text(path) ?? 'none';
    if (mark === ':') {
      const value = JSON.parse(home.text(path) ?? '{}')[key];
      return JSON.stringify(Array.isArray(value) ? value.map((each) => each.id ?? each) : value);
    }
    const components = Object.keys(home.discovery(id === 'bridge' ? id : idOf(home, id))?.components ?? {});
    const component = components.find((each) => each.replace(platform, '') === key);
    if (component === undefined) return 'missing';
    const { state, isAvailable } = home.entity(id === 'bridge' ? id : idOf(home, id), component);
    return `${state}${isAvailable ? '' : ' (unavailable)'}`;
  };
  const label = mark === '' || /\d$/.test(device) ? name : field;
  return (home) => {
    if (mark === '*')
      return home.published(`${pathOf(home, device)}${rest}`).map(({ payload }) => payload || 'deleted');
    const ids = kind ? [...idsOf(home).keys()].filter((each) => each.replace(/\d+$/, '') === kind) : [device];
    return `${label} ${ids.map((id) => valueAt(home, id)).join(' ')}`;
  };
}

/** Makes tests of the stories beside a test file, with words of its own if it needs some. */
export function tell(
  testUrl: string,
  own: Verbs<Home> = {},
  ownFacts: Readonly<Record<string, Fact<Home>>> = {},
): void {
  tellStories<Home>(testUrl, {
    open,
    pass: (home, ms) => home.pass(ms),
    verbs: { ...verbs, ...own },
    fact: (name) => ownFacts[name] ?? fact(name),
    idsIn: (home, words) =>
      words.replace(/\{(\w+)\}/g, (whole, name) => {
        const id = idsOf(home).get(name.toLowerCase());
        return name === name.toUpperCase() ? (id?.toUpperCase() ?? whole) : (id ?? whole);
      }),
    namesIn: (home, told) =>
      [...idsOf(home)].reduce((left, [name, id]) => left.replaceAll(id, `{${name}}`), told),
  });
}
