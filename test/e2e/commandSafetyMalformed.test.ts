import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  changesAt,
  changingCommands,
  fence,
  houseForCommands,
  outcomes,
  outcomesOf,
  ownCommands,
  publishAll,
  type SafetyCommand,
  shown,
  slow,
} from '../support/commandTable.ts';
import { fault, type House, hourly } from '../support/house.ts';

/** What no valve, no switch and no incident can be told. */
const malformed: readonly (readonly [what: string, payload: string | Buffer])[] = [
  ['nothing', ''],
  ['blanks', ' \r\n\t'],
  ['no UTF-8', Buffer.from([0x43, 0x4c, 0x4f, 0xff, 0x53, 0x45])],
  ['half a character', Buffer.from([0x4f, 0x4e, 0xc3])],
  ['a NUL byte behind a word', 'CLOSE\0'],
  ['a NUL byte before a word', '\0OPEN'],
  ['two words', 'OPEN;CLOSE'],
  ['two lines', 'OPEN\nCLOSE'],
  ['wide letters', 'ＣＬＯＳＥ'],
  ['a Cyrillic letter', '\u0421LOSE'],
  ['a long s', 'CLO\u017fE'],
  ['a blank without width', 'CLO\u200bSE'],
  ['an empty object', '{}'],
  ['a number as the action', '{"action":1}'],
  ['a list as the action', '{"action":["close"]}'],
  ['an object as the action', '{"action":{"action":"close"}}'],
  ['a key in other letters', '{"Action":"close"}'],
  ['a prototype', '{"__proto__":{"action":"close"}}'],
  ['a constructor', '{"constructor":{"prototype":{"action":"close"}}}'],
  ['a list of objects', '[{"action":"close"}]'],
  ['JSON with a text behind it', '{"action":"close"} now'],
  ['two objects', '{"action":"close"}{"action":"open"}'],
  ['half an object', '{"action":"close"'],
  ['a word in quotes', '"CLOSE"'],
  ['a contradiction whose last word is none', '{"action":"close","action":"shut"}'],
  ['a contradiction', '{"action":"open","action":"close"}'],
  ['a contradiction in other letters', '{"action":"open","\\u0061ction":"close"}'],
  ['the same twice', '{"action":"close","action":"close"}'],
  ['a wish that is not known', '{"action":"open","delay":600}'],
  ['another valve', '{"action":"close","sonic_id":"other"}'],
  ['deep nesting', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
  ['deep objects', `${'{"action":'.repeat(20_000)}"close"${'}'.repeat(20_000)}`],
  ['a megabyte', 'CLOSE'.repeat(200_000)],
  ['a megabyte of JSON', `{"action":"close${' '.repeat(1_000_000)}"}`],
];

describe('a message that is no command', slow, () => {
  let house: House;
  let targets: string[];
  beforeAll(async () => {
    house = await houseForCommands({ config: { schedules: hourly } });
    const takers = /valve\/set$|incident.*action$|auto_shut_off\/set$|settings\/set$|active\/set$|push\/set$/;
    const own = 'sonic2mqtt/bridge/log_level/set';
    targets = [
      ...changingCommands(house)
        .map(({ topic }) => topic)
        .filter((topic) => takers.test(topic)),
      own,
    ];
  });
  afterAll(() => house.close());

  it.each(malformed)(
    'but %s is refused by every taker, once, in words that are bounded',
    async (_, payload) => {
      const before = outcomes(house).length;
      await publishAll(
        house,
        targets.map((topic) => ({ topic, payload })),
      );
      await fence(house);
      const told = outcomes(house).slice(before);
      expect(told.map(({ topic, status }) => [topic, status])).toEqual(
        targets.map((topic) => [topic, 'refused']),
      );
      for (const { reason, http_status } of told) {
        expect(reason?.length).toBeGreaterThan(10);
        expect(reason?.length).toBeLessThan(400);
        expect(http_status).toBeNull();
      }
      expect(changesAt(house)).toEqual([]);
    },
  );

  it.each(malformed)('but %s is no request to move a valve', async (_, payload) => {
    const topic = 'sonic2mqtt/bridge/request/command_valve';
    const before = outcomes(house).length;
    await house.watcher.publish(topic, payload);
    await fence(house);
    expect(outcomes(house).slice(before)).toMatchObject([{ topic, status: 'refused', http_status: null }]);
    expect(changesAt(house)).toEqual([]);
  });

  it('that names a key twice, at any depth, changes no fields and is no request', async () => {
    const { world } = house.simulator;
    const [property = ''] = world.properties.ids;
    const [sonic_id = ''] = world.sonics.ids;
    const params = JSON.stringify({ sonic_id });
    const commands = [
      ['property', property, 'set', '{"name":"Attic","name":"Cellar"}'],
      ['property', property, 'settings/set', '{"auto_shut_off":true,"auto_shut_off":false}'],
      ['property', property, 'notifications/set', '{"low_temperature":true,"low_temperature":true}'],
      [
        'bridge',
        'request',
        'command_valve',
        `{"params":${params},"body":{"action":"open","action":"close"}}`,
      ],
      [
        'bridge',
        'request',
        'command_valve',
        `{"params":${params},"body":{"action":"open"},"body":{"action":"close"}}`,
      ],
    ].map(([...parts]) => ({ payload: parts.pop() ?? '', topic: ['sonic2mqtt', ...parts].join('/') }));
    const told = await outcomesOf(house, commands);
    const reason = expect.stringMatching(/^\w+ is named twice$/);
    expect(told).toEqual(
      commands.map(({ topic }) => ({ topic, status: 'refused', reason, http_status: null })),
    );
    expect(changesAt(house)).toEqual([]);
  });

  it('is no name either where it is no text or far too long, though any text is one', async () => {
    const names = changingCommands(house).filter(({ topic }) => topic.endsWith('/name/set'));
    const payloads = [Buffer.from([0xff]), Buffer.from([0x4f, 0x4e, 0xc3]), 'CLOSE'.repeat(200_000), ''];
    const told = await outcomesOf(
      house,
      names.flatMap(({ topic }) => payloads.map((payload) => ({ topic, payload }))),
    );
    expect(told.map(({ status }) => status)).toEqual(Array(4 * names.length).fill('refused'));
    expect(changesAt(house)).toEqual([]);
  });

  it('leaves the bridge as it was: a good one is carried out', async () => {
    const [valve] = changingCommands(house) as [SafetyCommand];
    const told = await outcomesOf(house, [{ ...valve, payload: '{"action":"close"}' }]);
    expect(told).toMatchObject([{ status: 'ok', http_status: 200 }]);
    expect(changesAt(house).map(({ body }) => body)).toEqual([{ action: 'close' }]);
    expect(house.bridge.isRunning).toBe(true);
  });
});

describe('a message elsewhere', slow, () => {
  let house: House;
  beforeAll(async () => {
    house = await houseForCommands({ config: { schedules: hourly } });
  });
  afterAll(() => house.close());

  it.each([
    'sonic2mqtt/sonic/nobody/valve/set',
    'sonic2mqtt/sonic//valve/set',
    'sonic2mqtt/sonic/../valve/set',
    'sonic2mqtt/sonic/%2F/valve/set',
    'sonic2mqtt/sonic/\u{1f4a7} \u00e4/valve/set',
    'sonic2mqtt/sonic/__proto__/valve/set',
    'sonic2mqtt/sonic/constructor/valve/set',
    `sonic2mqtt/sonic/${'x'.repeat(5_000)}/valve/set`,
    'sonic2mqtt/signal/nobody/incidents/action',
    'sonic2mqtt/incident/no body/action',
    'sonic2mqtt/property/nobody/settings/auto_shut_off/set',
    'sonic2mqtt/property/nobody/set',
  ])('on %.60s is refused: there is nobody', async (topic) => {
    const told = await outcomesOf(house, [{ topic, payload: 'CLOSE' }]);
    const reason = expect.stringMatching(/^there is no .{0,100}$/u);
    expect(told).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    expect(changesAt(house)).toEqual([]);
  });

  it('on the topic of one thing with the id of another is refused', async () => {
    const { world } = house.simulator;
    const [signal = ''] = world.signals.ids;
    const [property = ''] = world.properties.ids;
    const [sonic = ''] = world.sonics.ids;
    const told = await outcomesOf(house, [
      { topic: `sonic2mqtt/sonic/${signal}/valve/set`, payload: 'CLOSE' },
      { topic: `sonic2mqtt/sonic/${sonic.toUpperCase()}/valve/set`, payload: 'CLOSE' },
      { topic: `sonic2mqtt/signal/${sonic}/name/set`, payload: 'Attic' },
      { topic: `sonic2mqtt/property/${sonic}/push/set`, payload: 'ON' },
      { topic: `sonic2mqtt/incident/${property}/action`, payload: 'resolve' },
    ]);
    expect(told.map(({ status }) => status)).toEqual(Array(5).fill('refused'));
    expect(changesAt(house)).toEqual([]);
  });

  it('that only shows, or is nobody’s, is none and has no outcome', async () => {
    const [sonic = ''] = house.simulator.world.sonics.ids;
    const [property = ''] = house.simulator.world.properties.ids;
    const paths = [
      ...['', '/valve', '/valve/set/', '/valve/set/x', '/Valve/set', '/valve/SET', '/availability'].map(
        (path) => `sonic2mqtt/sonic/${sonic}${path}`,
      ),
      ...['', '/settings', '/settings/auto_shut_off', '/settings/a/b/set'].map(
        (path) => `sonic2mqtt/property/${property}${path}`,
      ),
      ...['/state', '/cloud', '/health', '/refresh/set', '/request/a/b'].map(
        (path) => `sonic2mqtt/bridge${path}`,
      ),
      `/sonic2mqtt/sonic/${sonic}/valve/set`,
      `sonic2mqtt/sonics/${sonic}/valve/set`,
      `SONIC2MQTT/sonic/${sonic}/valve/set`,
      `sonic2mqtt/bridge/${sonic}/valve/set`,
      `other/sonic2mqtt/sonic/${sonic}/valve/set`,
    ];
    const before = outcomes(house).length;
    await publishAll(
      house,
      paths.map((topic) => ({ topic, payload: 'CLOSE' })),
    );
    await fence(house);
    expect(outcomes(house).slice(before)).toEqual([]);
    expect(changesAt(house)).toEqual([]);
  });
});

it('a command to a device of a property that the filters hide is refused', slow, async () => {
  const house = await houseForCommands({ isStarted: false, config: { schedules: hourly } });
  const { world } = house.simulator;
  const property = world.propertyOf(world.signals.ids[0] ?? '') ?? '';
  const isIn = (id: string) => world.propertyOf(id) === property;
  house.startBridge({ filters: { properties: [property] } });
  const [near = ''] = world.sonics.ids.filter(isIn);
  await house.watcher.waitForTopic(`sonic2mqtt/sonic/${near}/incidents`, () => true, 20_000);
  const far = world.sonics.ids.filter((id) => !isIn(id));
  const hidden = world.properties.ids.filter((id) => id !== property);
  const incident = world.incidents.ids.filter((id) => far.includes(world.incidents.get(id)?.sonic_id ?? ''));
  const told = await outcomesOf(house, [
    ...far.map((id) => ({ topic: `sonic2mqtt/sonic/${id}/valve/set`, payload: 'CLOSE' })),
    ...hidden.map((id) => ({ topic: `sonic2mqtt/property/${id}/push/set`, payload: 'ON' })),
    ...incident.map((id) => ({ topic: `sonic2mqtt/incident/${id}/action`, payload: 'resolve' })),
    { topic: `sonic2mqtt/sonic/${near}/valve/set`, payload: 'CLOSE' },
  ]);
  expect(incident).not.toEqual([]);
  expect(far).not.toEqual([]);
  const statuses = Object.fromEntries(told.map(({ topic, status }) => [topic.split('/')[2], status]));
  expect(statuses).toEqual({
    ...Object.fromEntries([...far, ...hidden, ...incident].map((id) => [id, 'refused'])),
    [near]: 'ok',
  });
  expect(changesAt(house).map(({ path }) => path)).toEqual([`/ape/v1/sonics/${near}/valve`]);
});

it(
  'what control forbids is refused whatever it is, once, and nothing of it reaches the cloud',
  slow,
  async () => {
    const control = {
      valves: false,
      incidents: false,
      pressure_tests: false,
      settings: false,
      account: false,
    };
    const house = await houseForCommands({ config: { schedules: hourly, control } });
    const commands = changingCommands(house);
    const told = await outcomesOf(house, commands);
    const reason = expect.stringMatching(/^not permitted: control\.\w+ is off in the configuration$/);
    expect(told).toEqual(
      commands.map(({ topic }) => ({ topic, status: 'refused', reason, http_status: null })),
    );
    expect(changesAt(house)).toEqual([]);
  },
);

it(
  'a command before the first poll is done is refused, says so, and is not carried out later',
  slow,
  async () => {
    const house = await houseForCommands({ isStarted: false, config: { schedules: hourly } });
    const commands = changingCommands(house).filter(({ topic }) => !topic.includes('/request/'));
    house.simulator.setFaults([
      ...['list_properties', 'list_signals', 'list_sonics', 'list_incidents'].map((name) =>
        fault(`latency=4000@${name}`),
      ),
    ]);
    house.startBridge();
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online', 20_000);
    const told = await outcomesOf(house, [...commands, ...ownCommands]);
    const reason = expect.stringMatching(/^there is no .*: the cloud could not be read completely yet$/);
    expect(told).toEqual([
      ...commands.map(({ topic }) => ({ topic, status: 'refused', reason, http_status: null })),
      ...ownCommands.map(({ topic }) => ({ topic, status: 'ok', reason: null, http_status: null })),
    ]);
    house.simulator.setFaults([]);
    await shown(house);
    await fence(house);
    expect(changesAt(house)).toEqual([]);
  },
);
