import { describe, expect, it } from 'vitest';
import { Home, hourMs, leisurely, minuteMs, prompt, secondMs, startedHome } from './home.ts';

const isDiscovery = (topic: string) => topic.startsWith('homeassistant/device/');

/** The retained topics of the bridge in which this id occurs. */
const topicsOf = (home: Home, id: string) =>
  [...home.broker.retained.keys()].filter((topic) => topic.includes(id));

/** The devices that are announced. */
const announced = (home: Home) => [...home.broker.retained.keys()].filter(isDiscovery).toSorted();

/** Each discovery message is published once more, some seconds later. */
const twice = (topics: readonly string[]) => topics.flatMap((topic) => [topic, topic]);

function homeAssistantStarts(home: Home): void {
  home.broker.publish('homeassistant/status', 'online', false);
}

describe('12: after a restart of Home Assistant all is unavailable until the bridge is restarted', () => {
  it('what it needs is retained, and is published again when it starts, even if the broker has lost it', async () => {
    const home = await startedHome();
    const all = new Map(home.broker.retained);
    const isPresent = () => home.entity(home.sonicId, 'valve_valve');
    expect(isPresent()).toEqual({ platform: 'valve', state: 'open', isAvailable: true });

    const from = home.messages.length;
    homeAssistantStarts(home);
    await home.pass(3 * secondMs);
    const again = new Set(home.messages.slice(from).map(({ topic }) => topic));
    for (const topic of all.keys()) expect(again, topic).toContain(topic);

    home.broker.retained.clear();
    homeAssistantStarts(home);
    await home.pass(3 * secondMs);
    expect([...home.broker.retained.keys()].toSorted()).toEqual([...all.keys()].toSorted());
    expect(isPresent()).toEqual({ platform: 'valve', state: 'open', isAvailable: true });
  });
});

describe.each([5, 4] as const)(
  'a birth message that Home Assistant has retained, with MQTT version %i',
  (version) => {
    it('is no start of Home Assistant at each connection, and a live one is', async () => {
      const home = new Home({ config: { mqtt: { protocol_version: version } } });
      home.broker.publish('homeassistant/status', 'online', true);
      await home.start();
      const births = () => home.linesFrom(0).filter((line) => /Home Assistant has started/.test(line)).length;
      const from = home.messages.length;
      home.broker.cut();
      await home.pass(minuteMs);
      const again = home.messages.slice(from).filter(({ topic }) => isDiscovery(topic));
      expect(again.map(({ topic }) => topic).toSorted()).toEqual(twice(announced(home)));
      expect(births()).toBe(0);
      const live = home.messages.length;
      home.broker.publish('homeassistant/status', 'online', true);
      await home.pass(3 * secondMs);
      const since = home.messages.slice(live).filter(({ topic }) => isDiscovery(topic));
      expect(since.map(({ topic }) => topic).toSorted()).toEqual(announced(home));
      expect(births()).toBe(1);
    });
  },
);

describe('13: re-sending discovery at each poll floods the log, and sent once it gets lost', () => {
  it('nothing is sent in quiet hours; each birth brings each device and once more, each time after another moment', async () => {
    const home = await startedHome({ config: { schedules: {} } });
    await home.pass(9 * minuteMs);
    const quietFrom = home.messages.length;
    await home.pass(hourMs);
    const quiet = home.messages.slice(quietFrom);
    expect(quiet.filter(({ topic }) => isDiscovery(topic))).toEqual([]);
    // What is left are figures: what is measured, the water of today, and the count of requests every quarter
    // of an hour. Once an hour the bridge tests whether it may read commands.
    const others = quiet.filter(
      ({ topic }) =>
        !/\/telemetry$|\/usage$|\/homeassistant$|\/bridge\/info$|\/check\/valve\/set$/.test(topic),
    );
    expect(others.map(({ topic }) => topic)).toEqual([]);
    expect(home.linesFrom(10 * minuteMs)).toEqual([]);

    const waits: number[] = [];
    for (let birth = 0; birth < 5; birth++) {
      const [from, bornAt] = [home.messages.length, home.time.now];
      homeAssistantStarts(home);
      await home.pass(minuteMs);
      const sent = home.messages.slice(from).filter(({ topic }) => isDiscovery(topic));
      expect(sent.map(({ topic }) => topic).toSorted()).toEqual(twice(announced(home)));
      waits.push(Math.round((sent[0]?.at ?? 0) - bornAt));
    }
    expect(new Set(waits).size).toBeGreaterThan(2);
    expect(Math.max(...waits)).toBeLessThan(2 * secondMs);

    // Lost at the broker, it is there again as soon as that is back.
    home.broker.restart(0);
    await home.pass(minuteMs);
    expect(announced(home)).toHaveLength(4);
  });
});

it('a name that is changed and changed back at once comes twice all the same', async () => {
  const home = await startedHome({ config: { schedules: { ...leisurely, properties: '1s' } } });
  await home.pass(20 * secondMs);
  const from = home.messages.length;
  for (const name of ['Another', 'A third', 'Another']) {
    home.world.properties.change(home.propertyId, { name });
    await home.pass(secondMs);
  }
  await home.pass(20 * secondMs);
  const topic = `homeassistant/device/sonic2mqtt_${home.propertyId}/config`;
  const sent = home.messages.slice(from).filter((message) => message.topic === topic);
  expect(sent.map(({ payload }) => JSON.parse(payload).device.name)).toEqual(['Another', 'Another']);
});

it('a choice made elsewhere that is a new option of a select comes once more after the option', async () => {
  const home = await startedHome({ config: { schedules: { ...leisurely, properties: '10m' } } });
  await home.pass(9 * minuteMs);
  const from = home.messages.length;
  home.world.notifications.change(home.propertyId, { high_volume_threshold_litres: 137 });
  await home.pass(10 * minuteMs);
  const words = home.messages.slice(from).flatMap(({ topic, payload }) => {
    if (topic === `homeassistant/device/sonic2mqtt_${home.propertyId}/config`)
      return payload.includes('"137"') ? 'option' : 'no option';
    const isState = topic === `sonic2mqtt/property/${home.propertyId}/homeassistant`;
    return isState && JSON.parse(payload).high_volume_threshold_litres === '137' ? 'state' : [];
  });
  expect(words).toEqual(['option', 'state', 'option', 'state']);
});

describe('14: removed or renamed devices haunt Home Assistant for years', () => {
  it('what was removed while the bridge was down is swept at its start, and what others keep is not', async () => {
    const home = new Home({ cloud: { sonics: 2 } });
    const [kept = '', gone = ''] = home.world.thingIds;
    await home.start();
    expect(topicsOf(home, gone).length).toBeGreaterThan(5);
    const foreign = ['homeassistant/device/zigbee_lamp/config', `elsewhere/sonic/${gone}`];
    for (const topic of foreign) home.broker.publish(topic, '{"components":{}}', true);
    await home.stop();
    home.world.removeSonic(gone);
    await home.pass(hourMs);
    await home.start();
    await home.pass(hourMs);
    expect(topicsOf(home, gone)).toEqual([foreign[1]]);
    expect(home.broker.retained.has(foreign[0] ?? '')).toBe(true);
    expect(home.entity(kept, 'valve_valve').isAvailable).toBe(true);
  });

  it('what was removed shortly before a power cut is swept, although the broker has come back without that', async () => {
    const home = new Home({ cloud: { sonics: 2 } });
    const [kept = '', gone = ''] = home.world.thingIds;
    await home.start();
    const saved = new Map(home.broker.retained);
    home.world.removeSonic(gone);
    await home.pass(hourMs);
    expect(topicsOf(home, gone)).toEqual([]);
    await home.stop();
    home.broker.retained.clear();
    for (const [topic, payload] of saved) home.broker.retained.set(topic, payload);
    await home.start();
    await home.pass(hourMs);
    expect(topicsOf(home, gone)).toEqual([]);
    expect(home.entity(kept, 'valve_valve').isAvailable).toBe(true);
  });
});

describe('15: devices are deleted on a hiccup, and made again without their settings', () => {
  it('pages that fail for hours, and a list that misses a sonic once, delete nothing', async () => {
    const home = new Home({ cloud: { sonics: 4, pageSize: 2 }, config: { schedules: prompt } });
    const { world } = home;
    await home.start();
    const before = announced(home);
    home.simulator.setFaults([{ kind: 'missing-page', value: 2 }]);
    await home.pass(40 * minuteMs);
    home.simulator.setFaults([]);
    home.strike = () => (home.random() < 0.5 ? 'error-500' : null);
    await home.pass(40 * minuteMs);
    home.strike = () => null;
    home.simulator.setFaults([{ kind: 'bad-record' }]);
    await home.pass(10 * minuteMs);
    home.simulator.setFaults([]);
    await home.pass(10 * minuteMs);

    const [, id = ''] = world.sonics.ids;
    const record = world.sonics.get(id);
    const lists = () => home.asked('list_sonics').filter(({ target }) => target.endsWith('page=1')).length;
    world.sonics.delete(id);
    const from = lists();
    while (lists() === from) await home.pass(secondMs);
    await home.pass(5 * secondMs);
    expect(lists()).toBe(from + 1);
    if (record) world.sonics.set(id, record);
    await home.pass(20 * minuteMs);
    const deletions = home.messages.filter(({ topic, payload }) => isDiscovery(topic) && payload === '');
    expect(deletions).toEqual([]);
    expect(announced(home)).toEqual(before);
    expect(home.events('device_removed')).toEqual([]);

    // What two complete readings miss is gone.
    world.removeSonic(id);
    await home.pass(3 * minuteMs);
    expect(topicsOf(home, id)).toEqual([]);
  });
});

describe('16: the unique id was made of a name or a model: all entities are there twice', () => {
  it('whatever else changes, each is of the cloud id and a fixed key', async () => {
    const home = new Home({
      cloud: { signals: 2 },
      config: { schedules: { ...leisurely, properties: '10m', signals: '10m' } },
    });
    const { world, sonicId } = home;
    const ids = (): [string, string][] =>
      announced(home).flatMap((topic) => {
        const { components } = JSON.parse(home.broker.retained.get(topic) ?? '{}');
        return Object.entries<{ unique_id: string }>(components).map(
          ([component, { unique_id }]): [string, string] => [`${topic} ${component}`, unique_id],
        );
      });
    await home.start();
    const before = ids();
    expect(new Set(before.map(([, id]) => id)).size).toBe(before.length);
    const all = ['bridge', home.propertyId, ...world.signals.ids, ...world.thingIds].join('|');
    for (const [, id] of before) expect(id).toMatch(new RegExp(`^sonic2mqtt_(${all})_[a-z_]+$`));

    // Another name, another serial number, another battery, and it hangs on another signal.
    const [, otherSignal = ''] = world.signals.ids;
    world.changeSonic(sonicId, { name: 'Another', serial_no: 'OTHER', battery: 'external_power_supply' });
    const record = world.sonics.get(sonicId);
    if (record) world.sonics.set(sonicId, { ...record, signal_id: otherSignal });
    world.signals.change(home.signalId, { name: 'Another', version: '9.9.9' });
    world.properties.change(home.propertyId, { name: 'Another', uprn: '1' });
    await home.pass(hourMs);
    await home.restart();
    expect(home.discovery(sonicId).device).toMatchObject({
      name: 'Another',
      via_device: `sonic2mqtt_${otherSignal}`,
    });
    expect(ids()).toEqual(before);
  });
});

describe('also seen: entities that are not there any more cannot be deleted, or haunt as disabled ones', () => {
  it('each is stated by its platform alone, in messages two and a half seconds apart, the last one twice', async () => {
    const schedules = { ...leisurely, properties: '1s' };
    const home = await startedHome({ config: { schedules } });
    const componentsOf = (payload = '{}') => JSON.parse(payload).components as Record<string, object>;
    const before = new Map(announced(home).map((topic) => [topic, home.broker.retained.get(topic)]));
    await home.stop();
    const from = home.messages.length;
    await home.startWith({ control: { settings: false, valves: false }, schedules });
    for (let times = 0; times < 10; times++) {
      home.world.properties.change(home.propertyId, { name: `Home ${times}` });
      await home.pass(secondMs);
    }
    await home.pass(minuteMs);
    for (const [topic, payload] of before) {
      const sent = home.messages.slice(from).filter((message) => message.topic === topic);
      expect(sent.length).toBeGreaterThan(1);
      for (const [index, { payload: text, at }] of sent.entries()) {
        expect(Object.keys(componentsOf(text))).toEqual(Object.keys(componentsOf(payload)));
        if (index > 0) expect(at - Number(sent[index - 1]?.at)).toBeGreaterThanOrEqual(2_500);
      }
      expect(sent.at(-1)?.payload).toBe(sent.at(-2)?.payload);
    }
    const { text_name: control } = componentsOf(
      home.broker.retained.get(`homeassistant/device/sonic2mqtt_${home.sonicId}/config`),
    );
    expect(control).toEqual({ platform: 'text' });
  });
});
