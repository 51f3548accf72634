import { describe, expect, it } from 'vitest';
import { Home, minuteMs, secondMs } from './home.ts';

const discoveryTopic = /^homeassistant\/device\/(sonic2mqtt_.+)\/config$/;

/** By identifier: the base topic of the bridge that announces it to Home Assistant. */
function announcersIn(home: Home): Record<string, string> {
  const rows = [...home.broker.retained].flatMap(([topic, payload]) => {
    const id = discoveryTopic.exec(topic)?.[1];
    if (id === undefined) return [];
    return [[id, JSON.parse(payload).availability[0].topic.replace(/\/bridge\/state$/, '')]];
  });
  return Object.fromEntries(rows);
}

/** Publishes a command and lets it be carried out. Returns how it ended for each bridge that reports it. */
async function command(home: Home, path: string, payload: string): Promise<readonly unknown[]> {
  const from = home.messages.length;
  home.broker.publish(path, payload, false);
  await home.pass(20 * secondMs);
  return home.messages.slice(from).flatMap(({ topic, payload: text }) => {
    if (!topic.endsWith('/bridge/event')) return [];
    const { event, topic: of, status, reason } = JSON.parse(text);
    return event === 'command' && of === path ? [[status, reason]] : [];
  });
}

describe('two bridges that were given one base topic by mistake', () => {
  const words = 'Another bridge uses the topic sonic2mqtt/bridge. Valve commands are rejected.';
  const warnings = (home: Home) =>
    home.lines.filter(({ text }) => text.includes(words) && text.startsWith('warn: ')).length;

  it('for two accounts delete nothing of each other’s, and both say so', async () => {
    const home = new Home({ cloud: { seed: 1 } });
    const simulator = home.anotherAccount({ seed: 2, properties: 1, signals: 1, sonics: 1 });
    const [holiday = ''] = simulator.world.thingIds;
    await home.start();
    const second = home.anotherBridge({ mqtt: { client_id: 'second' } }, { simulator });
    second.start();
    await home.pass(minuteMs);
    expect(warnings(home)).toBe(2);
    expect(home.json('bridge/health').reason).toContain(words);

    // Each publishes all of its own again, and reads what the broker has retained.
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(10 * minuteMs);
    await home.restart();
    await home.pass(10 * minuteMs);
    expect(warnings(home)).toBeGreaterThan(2);
    const deleted = home.messages.filter(
      ({ topic, payload }) => payload === '' && (topic.includes(home.sonicId) || topic.includes(holiday)),
    );
    expect(deleted.map(({ topic }) => topic)).toEqual([]);
    expect(Object.keys(home.json('bridge/info').counts)).toContain('sonics');
    for (const id of [home.sonicId, holiday]) expect(home.discovery(id)).not.toBeNull();
  });

  it('for one account move no valve and say why, until one of them has gone', async () => {
    const home = new Home({ cloud: { seed: 4 } });
    const closeValve = () => command(home, `sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE');
    await home.start();
    const second = home.anotherBridge({ mqtt: { client_id: 'second' } });
    second.start();
    await home.pass(minuteMs);
    const refused = ['refused', expect.stringContaining(words)];
    expect(await closeValve()).toEqual([refused, refused]);
    const test = `sonic2mqtt/sonic/${home.sonicId}/pressure_test/start`;
    expect(await command(home, test, 'PRESS')).toEqual([refused, refused]);
    // Nothing changes that they would have to publish, as while the cloud is away.
    home.strike = () => 'refused';
    await home.pass(10 * minuteMs);
    home.strike = () => null;
    // Each finds the other again after a reconnection.
    home.broker.cut();
    await home.pass(2 * minuteMs);
    expect(await closeValve()).toEqual([refused, refused]);

    // The broker publishes the last will of the one, which the other contradicts.
    const from = home.messages.length;
    second.kill();
    await home.pass(minuteMs);
    const states = home.messages.slice(from).filter(({ topic }) => topic === 'sonic2mqtt/bridge/state');
    expect(states.map(({ payload }) => payload)).toEqual(['offline', 'online']);
    expect(await closeValve()).toEqual([['ok', null]]);
    expect(home.valveCommands).toHaveLength(1);
    expect(home.asked('start_pressure_test')).toEqual([]);
  });
});

describe('two bridges with different properties of one account', () => {
  it('show each device once, carry out each command once, and change nothing of each other', async () => {
    const home = new Home({ cloud: { seed: 4, properties: 2, signals: 2, sonics: 4 } });
    const { world } = home;
    const [north = '', south = ''] = world.properties.ids;
    const baseOf = (id: string) => ((world.propertyOf(id) ?? id) === north ? 'north' : 'south');
    const ids = [...world.properties.ids, ...world.signals.ids, ...world.sonics.ids];
    const names = { north: world.properties.get(north)?.name ?? '', south };
    const bridges = (['north', 'south'] as const).map((base) =>
      home.anotherBridge({
        mqtt: { base_topic: base, client_id: base },
        filters: { properties: [names[base]] },
      }),
    );
    for (const bridge of bridges) bridge.start();
    await home.pass(minuteMs);
    const devices = ids.map((id) => [`sonic2mqtt_${baseOf(id)}_${id}`, baseOf(id)]);
    const both = { sonic2mqtt_north_bridge: 'north', sonic2mqtt_south_bridge: 'south' };
    const all = { ...Object.fromEntries(devices), ...both };
    expect(announcersIn(home)).toEqual(all);
    for (const base of ['north', 'south']) {
      const health = JSON.parse(home.broker.retained.get(`${base}/bridge/health`) ?? '{}');
      expect(health).toMatchObject({ status: 'ok', reason: null });
    }

    for (const id of world.sonics.ids) {
      const other = baseOf(id) === 'north' ? 'south' : 'north';
      expect(await command(home, `${baseOf(id)}/sonic/${id}/valve/set`, 'CLOSE')).toEqual([['ok', null]]);
      expect(await command(home, `${other}/sonic/${id}/valve/set`, 'CLOSE')).toEqual([
        ['refused', `there is no valve ${id}`],
      ]);
    }
    expect(home.valveCommands).toHaveLength(world.sonics.ids.length);

    const from = home.messages.length;
    const [first, second] = bridges;
    if (first) await home.stop(first);
    await home.pass(20 * minuteMs);
    expect(home.broker.retained.get('south/bridge/state')).toBe('online');
    first?.start();
    await home.pass(10 * minuteMs);
    expect(announcersIn(home)).toEqual(all);
    const deleted = home.messages.slice(from).filter(({ payload, retain }) => retain && payload === '');
    expect(deleted.map(({ topic }) => topic)).toEqual([]);
    for (const bridge of [first, second]) bridge?.kill();
  });
});
