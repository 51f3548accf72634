import { describe, expect, it } from 'vitest';
import { Home, type HomeOptions, minuteMs, prompt, secondMs } from './home.ts';

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

/** A home whose bridge has paused the automatic shut-off. */
async function pausedHome(minutes: number, options: HomeOptions = {}) {
  const home = new Home({ cloud: { seed: 4 }, ...options });
  home.world.settings.change(home.propertyId, { auto_shut_off: true });
  const topic = `sonic2mqtt/property/${home.propertyId}/pause/set`;
  const pauseFor = (length: number) => command(home, topic, String(length));
  const isOn = () => home.world.settings.get(home.propertyId)?.auto_shut_off;
  await home.start();
  await pauseFor(minutes);
  return { home, pauseFor, isOn };
}

const words =
  'another sonic2mqtt uses the base topic sonic2mqtt. Stop one of the two, or give it its own mqtt.base_topic';

describe('two bridges that were given one base topic by mistake', () => {
  it('work one at a time: the newer goes on, and the older stands still and comes back', async () => {
    const home = new Home({ cloud: { seed: 4 } });
    const closeValve = () => command(home, `sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE');
    await home.start();
    const startedAt = home.json('bridge/info').started_at;
    const second = home.anotherBridge({});
    await home.pass(minuteMs);
    second.start();
    await home.pass(20 * secondMs);
    expect(home.linesFrom(0).filter((line) => line.includes(words))).toHaveLength(1);
    expect(home.json('bridge/info').started_at).not.toBe(startedAt);
    expect([home.text('bridge/state'), home.text('bridge/cloud')]).toEqual(['online', 'online']);
    expect(await closeValve()).toEqual([['ok', null]]);
    expect(home.valveCommands).toHaveLength(1);
    // The older one comes back when the other has gone, after a minute at most.
    await home.stop(second);
    await home.pass(2 * minuteMs);
    expect(home.text('bridge/state')).toBe('online');
    expect(home.json('bridge/info').started_at).toBe(startedAt);
    expect(home.json('bridge/health')).toMatchObject({ status: 'ok', reason: null });
    await home.stop();
  });

  it('hand on a pause to the older one when it comes back', async () => {
    const { home, pauseFor, isOn } = await pausedHome(5, { config: { schedules: prompt } });
    const state = () => home.json(`property/${home.propertyId}/pause`).state;
    await pauseFor(0);
    const second = home.anotherBridge({ schedules: prompt });
    home.world.addSonic();
    second.start();
    // The older one comes back after a minute.
    await home.pass(10 * secondMs);
    await pauseFor(60);
    await home.stop(second);
    await home.pass(5 * minuteMs);
    expect([home.text('bridge/state'), state(), isOn()]).toEqual(['online', 'paused', false]);
    expect(home.messages.filter(({ payload, retain }) => retain && payload === '')).toEqual([]);
    await home.pass(60 * minuteMs);
    expect([state(), isOn()]).toEqual(['none', true]);
  });

  it('are not two if a broker closes each connection: the pause ends all the same', async () => {
    const { home, isOn } = await pausedHome(5, { unjudged: 'A bridge that stands still reads nothing.' });
    home.onLinked = () => home.time.after(5 * secondMs, () => home.broker.cut());
    home.broker.cut();
    await home.pass(25 * minuteMs);
    expect(isOn()).toBe(true);
  });

  it('read and change the cloud one at a time: the older ends its pause when it is back', async () => {
    const { home, isOn } = await pausedHome(1, { config: { schedules: prompt } });
    const second = home.anotherBridge({ schedules: prompt });
    second.start();
    await home.pass(5 * secondMs);
    second.kill();
    const from = home.requests.length;
    await home.pass(45 * secondMs);
    expect([home.requests.length - from, isOn()]).toEqual([0, false]);
    await home.pass(2 * minuteMs);
    expect(isOn()).toBe(true);
    await home.stop();
  });
});

describe('two bridges with different properties of one account', () => {
  it('show each device once, carry out each command once, and change nothing of each other', async () => {
    const home = new Home({
      cloud: { seed: 4, properties: 2, signals: 2, sonics: 4 },
      config: { schedules: prompt },
    });
    const { world } = home;
    const [north = '', south = ''] = world.properties.ids;
    const baseOf = (id: string) => ((world.propertyOf(id) ?? id) === north ? 'north' : 'south');
    const ids = [...world.properties.ids, ...world.signals.ids, ...world.sonics.ids];
    const names = { north: world.properties.get(north)?.name ?? '', south };
    const bridges = (['north', 'south'] as const).map((base) =>
      home.anotherBridge({
        mqtt: { base_topic: base },
        filters: { properties: [names[base]] },
        schedules: prompt,
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
