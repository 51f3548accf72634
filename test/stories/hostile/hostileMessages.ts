import fc from 'fast-check';
import { operationNames } from '../../../src/cloud/operations.ts';
import type { HostileMessage } from './hostileLink.ts';

/** Ids of what is in the home. */
export interface HomeIds {
  readonly properties: readonly string[];
  readonly signals: readonly string[];
  readonly things: readonly string[];
  readonly incidents: readonly string[];
}

/** A message, and how much later than the one before it, in ms. */
export interface TimedMessage extends HostileMessage {
  readonly afterMs: number;
}

const bad = [
  ...['', ' ', '+', '#', '..', '%2e%2e', 'a/b', '__proto__', 'constructor', '$SYS', '\u0000', 'é', '😀'],
  ...['\ud83d'],
  ...['x'.repeat(10_000), 'bridge', 'bridge_0', '{{ 1 }}', '\u001b[2J', 'null', '*'],
];

const goodPayloads = [
  ...['OPEN', 'CLOSE', 'close', ' Open ', '{"action":"open"}', '{"action":"CLOSE"}', 'ON', 'OFF', 'true'],
  ...['5', 'PRESS', 'resolve', 'dismiss', 'snooze', '{"auto_shut_off":true}', '{"name":"Attic"}', 'Attic'],
  ...['info', 'online', ''],
];
const badPayloads = [
  ...['OPEN;CLOSE', 'OPEN\u0000', 'ＯＰＥＮ', '{"action":"open"', '{"action":["open"]}'],
  ...['{"action":{"toString":"open"}}'],
  ...[
    ...['{"__proto__":{"action":"open"}}', '{"constructor":{"prototype":{"polluted":true}}}', '[]', '{}'],
    ...['null', '1e999'],
  ],
  ...[
    '[['.repeat(20_000),
    `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`,
    'x'.repeat(70_000),
    '"open"',
    '\ufeffOPEN',
  ],
  ...['{"action":"close","action":"open"}', '\u001b[31mOPEN', "{{ 'OPEN' }}", '<b>OPEN</b>'],
];

function topics({ properties, signals, things, incidents }: HomeIds): fc.Arbitrary<string> {
  const id = (good: readonly string[]) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...good) },
      { weight: 1, arbitrary: fc.constantFrom(...bad) },
    );
  const below = (kind: string, ids: readonly string[], ...paths: string[]) =>
    fc.tuple(id(ids), fc.constantFrom(...paths)).map(([each, path]) => `sonic2mqtt/${kind}/${each}/${path}`);
  const field = fc.oneof(
    fc.constantFrom('auto_shut_off', 'webhook_url', 'low_temperature', 'timezone'),
    fc.constantFrom(...bad),
  );
  return fc.oneof(
    below(
      'sonic',
      things,
      'valve/set',
      'valve/set',
      'valve/set',
      'name/set',
      'pressure_test/start',
      'incidents/action',
    ),
    below('signal', signals, 'name/set', 'incidents/action'),
    below(
      'property',
      properties,
      'name/set',
      'set',
      'settings/set',
      'notifications/set',
      'active/set',
      'push/set',
    ),
    below('property', properties, 'leak_protection/set', 'incidents/action'),
    below('property', properties, 'pause/set', 'pause/start', 'pause_minutes/set'),
    fc
      .tuple(id(properties), fc.constantFrom('settings', 'notifications'), field)
      .map(([each, part, name]) => `sonic2mqtt/property/${each}/${part}/${name}/set`),
    below('incident', incidents, 'action'),
    fc
      .oneof(fc.constantFrom(...operationNames), fc.constantFrom<string>(...bad))
      .map((name) => `sonic2mqtt/bridge/request/${name}`),
    fc.constantFrom('sonic2mqtt/bridge/refresh', 'sonic2mqtt/bridge/log_level/set', 'homeassistant/status'),
    // What the bridge retains, and what is nobody's.
    below('sonic', things, 'availability', 'incidents', 'homeassistant', 'valve', 'valve/set/set'),
    fc.constantFrom(
      ...things.map((each) => `sonic2mqtt/sonic/${each}`),
      'sonic2mqtt/bridge/state',
      'sonic2mqtt/bridge/info',
    ),
    fc.constantFrom(...things.map((each) => `homeassistant/device/sonic2mqtt_${each}/config`)),
    fc
      .array(fc.constantFrom(...bad, 'sonic', 'bridge', 'set'), { maxLength: 5 })
      .map((parts) => ['sonic2mqtt', ...parts].join('/')),
  );
}

/** Requests of all shapes: good ones, and ones that are wrong in one part or all. */
function requests({ properties, signals, things, incidents }: HomeIds): fc.Arbitrary<string> {
  const ids = [...properties, ...signals, ...things, ...incidents, ...bad];
  const names = [
    ...['sonic_id', 'thing_id', 'property_id', 'signal_id', 'hub_id', 'incident_id', 'user_id', '__proto__'],
  ];
  const params = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(fc.constantFrom<unknown>(...ids), fc.jsonValue()),
    { maxKeys: 2 },
  );
  const good = fc.constantFrom<unknown>(
    { action: 'open' },
    { action: 'close' },
    { name: 'Attic' },
    {},
    { auto_shut_off: true },
  );
  return fc
    .record(
      {
        params: fc.oneof({ weight: 5, arbitrary: params }, { weight: 1, arbitrary: fc.jsonValue() }),
        body: fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: fc.jsonValue() }),
        query: fc.oneof(fc.constant({ page: 1 }), fc.jsonValue()),
        transaction: fc.oneof(
          fc.jsonValue(),
          fc.constantFrom('x'.repeat(2_000), 12345678901234567890n.toString()),
        ),
      },
      { requiredKeys: [] },
    )
    .map((request) => JSON.stringify(request));
}

function payloads(ids: HomeIds): fc.Arbitrary<Buffer> {
  return fc.oneof(
    fc.constantFrom(...goodPayloads).map((text) => Buffer.from(text)),
    fc.constantFrom(...badPayloads).map((text) => Buffer.from(text)),
    requests(ids).map((text) => Buffer.from(text)),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  );
}

const responseTopics = [
  ...[
    'elsewhere/answers',
    'sonic2mqtt/bridge/response/mine',
    'sonic2mqtt/bridge/response',
    'sonic2mqtt/bridge/state',
  ],
  ...[
    'sonic2mqtt',
    'sonic2mqtt/sonic/x/valve/set',
    'homeassistant',
    'homeassistant/status',
    'homeassistant/device/x/config',
  ],
  ...['$SYS/x', '+', 'a/#', '', 'a\u0000b', 'x'.repeat(70_000), 'sonic2mqtt2/mine', 'é'],
];

/** What the bridge does as it is asked to, if it comes live. */
function goodRequests({ properties, signals, things }: HomeIds): fc.Arbitrary<Said> {
  const asked = ([operation, params, body]: readonly [string, object, object]): Said => ({
    topic: `sonic2mqtt/bridge/request/${operation}`,
    payload: Buffer.from(JSON.stringify({ params, body })),
  });
  const valves = things.flatMap((id) => [
    asked(['command_valve', { sonic_id: id }, { action: 'close' }]),
    asked(['command_wifi_valve', { sonic_id: id }, { action: 'open' }]),
    asked(['change_thing_state', { thing_id: id }, { action: 'open' }]),
    asked(['start_pressure_test', { thing_id: id }, {}]),
  ]);
  const names = signals.map((id) => asked(['patch_signal', { signal_id: id }, { name: 'Attic' }]));
  const settings = properties.map((id) =>
    asked(['update_property_settings', { property_id: id }, { auto_shut_off: true }]),
  );
  return fc.constantFrom(...valves, ...names, ...settings);
}

type Said = Pick<HostileMessage, 'topic' | 'payload'>;

/** Bursts and trickles of whatever anybody can publish. */
export function hostileTraffic(ids: HomeIds): fc.Arbitrary<TimedMessage[]> {
  const said = fc.oneof(
    { weight: 9, arbitrary: fc.record({ topic: topics(ids), payload: payloads(ids) }) },
    { weight: 1, arbitrary: goodRequests(ids) },
  );
  const circumstances = fc.record(
    {
      retain: fc.oneof(
        { weight: 5, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
      afterMs: fc.oneof(
        { weight: 6, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.constantFrom(1, 100, 3_000, 20_000) },
      ),
      responseTopic: fc.constantFrom(...responseTopics),
      correlationData: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    },
    { requiredKeys: ['retain', 'afterMs'] },
  );
  const message = fc.tuple(said, circumstances).map(([what, how]): TimedMessage => ({ ...what, ...how }));
  // Several, as one alone is short most of the time.
  const spell = fc.array(message, { maxLength: 60, size: 'max' });
  return fc.tuple(spell, spell, spell, spell).map((spells) => spells.flat());
}
