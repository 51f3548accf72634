import { describe, expect, it } from 'vitest';
import { Home, hourMs, minuteMs, newDisk, secondMs, startedHome } from './home.ts';

const trialConfig = { mqtt: { base_topic: 'trial', client_id: 'trial' } };

const discoveryOf = (device: string) => `homeassistant/device/sonic2mqtt_${device}/config`;

/** The base topic of the bridge that announces a device to Home Assistant; null if none does. */
function announcerOf(home: Home, device: string): string | null {
  const payload = home.broker.retained.get(discoveryOf(device));
  if (payload === undefined) return null;
  return JSON.parse(payload).availability[0].topic.replace(/\/bridge\/state$/, '');
}

const announcersIn = (home: Home) =>
  [home.propertyId, home.signalId, home.sonicId].map((id) => announcerOf(home, id));

function healthOf(
  home: Home,
  base = 'sonic2mqtt',
): { readonly status: string; readonly reason: string | null } {
  return JSON.parse(home.broker.retained.get(`${base}/bridge/health`) ?? '{}');
}

/** Holds that the bridge is well, as far as others are concerned. */
function expectNoProblem(home: Home, base?: string): void {
  expect(healthOf(home, base).reason ?? '').not.toMatch(/bridge|folder|same ID/);
}

const topicsBelow = (home: Home, base: string) =>
  [...home.broker.retained.keys()].filter((topic) => topic.startsWith(`${base}/`));

/** Sends a valve command below `sonic2mqtt/` and returns how it ended. */
async function closeValve(home: Home): Promise<unknown> {
  const before = home.events('command').length;
  home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
  await home.pass(20 * secondMs);
  return home
    .events('command')
    .slice(before)
    .map(({ status }) => status);
}

it('a bridge/hello of an earlier run that comes again is in nobody’s way', async () => {
  const home = await startedHome();
  const [{ payload: old = '' } = {}] = home.published('bridge/hello');
  await home.restart();
  for (const retain of [false, true]) {
    home.broker.publish('sonic2mqtt/bridge/hello', old, retain);
    expect(await closeValve(home)).toEqual(['ok']);
    expectNoProblem(home);
  }
});

it('a second live bridge that reads the cloud does not vouch for what the first one cannot read', async () => {
  const home = new Home({ cloud: { properties: 2, signals: 2, sonics: 2 } });
  const [own = '', other = ''] = home.world.properties.ids;
  const filtered = (id: string) => ({ filters: { properties: [id] } });
  const sonicIn = (id: string) =>
    home.world.sonics.ids.find((each) => home.world.propertyOf(each) === id) ?? '';
  await home.startWith(filtered(own));
  const wait = { status: 503, headers: { 'retry-after': '3600' }, text: '{}' };
  home.strike = ({ operation }) => (operation === 'list_sonics' ? wait : null);
  home.world.setValve(sonicIn(own), 'closed');
  await home.pass(7 * minuteMs);
  expect(home.text('bridge/cloud')).toBe('offline');
  home.strike = () => null;
  const second = home.anotherBridge({ mqtt: { client_id: 'second' }, ...filtered(other) });
  second.start();
  await home.pass(minuteMs);
  expect(home.text('bridge/cloud')).toBe('online');
  const valveIn = (id: string) => home.entity(sonicIn(id), 'valve_valve');
  expect([valveIn(own).isAvailable, valveIn(other).isAvailable]).toEqual([false, true]);
  // By then the first one asks again.
  await home.pass(10 * minuteMs);
  expect(valveIn(own)).toMatchObject({ isAvailable: true, state: 'closed' });
  await home.stop(second);
});

// Every bridge begins with them, in this order.
it.each([
  ['cloud', 'before it was heard'],
  ['info', 'as soon as it was heard'],
])('a second bridge that dies at its first bridge/%s, %s, leaves nothing behind', async (last) => {
  const home = await startedHome();
  const { instance_id: own } = home.json('bridge/info');
  const second = home.anotherBridge({ mqtt: { client_id: 'second' } });
  home.onTaken = ({ topic, payload }) => {
    if (topic !== `sonic2mqtt/bridge/${last}`) return;
    if (last === 'cloud' ? payload === 'offline' : JSON.parse(payload).instance_id !== own) second.kill();
  };
  second.start();
  await home.pass(minuteMs);
  expect([home.text('bridge/state'), home.text('bridge/cloud')]).toEqual(['online', 'online']);
  expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('online');
  expect(home.json('bridge/homeassistant')).toMatchObject({ cloud: 'ON', status: 'OK' });
  expect(home.json('bridge/incidents').open_count).toBe(0);
  await home.stop();
});

/** A bridge for each of two accounts, at one broker. */
async function startTwoAccounts() {
  const home = new Home();
  const simulator = home.anotherAccount({ seed: 2, properties: 1, signals: 1, sonics: 1 });
  await home.start();
  const holiday = home.anotherBridge(
    { mqtt: { base_topic: 'holiday', client_id: 'holiday' } },
    { simulator },
  );
  holiday.start();
  await home.pass(minuteMs);
  return { home, simulator, holiday };
}

describe('two accounts on one broker', () => {
  it('have a bridge device each, and the stop of one changes nothing of the other', async () => {
    const { home, simulator, holiday } = await startTwoAccounts();
    expect(announcerOf(home, 'bridge')).toBe('sonic2mqtt');
    expect(announcerOf(home, 'holiday_bridge')).toBe('holiday');
    const { device, components } = home.discovery('holiday_bridge');
    expect(device).toMatchObject({ identifiers: ['sonic2mqtt_holiday_bridge'], name: 'sonic2mqtt holiday' });
    expect(components.sensor_status.unique_id).toBe('sonic2mqtt_holiday_bridge_status');
    const [property = ''] = simulator.world.properties.ids;
    expect(home.discovery(property).device.via_device).toBe('sonic2mqtt_holiday_bridge');
    await home.stop(holiday);
    await home.pass(5 * minuteMs);
    expect(home.entity('bridge', 'sensor_status')).toMatchObject({ isAvailable: true });
  });

  it('each carry out only their own commands, and no command ever reaches the valve of the other', async () => {
    const { home, simulator } = await startTwoAccounts();
    const [other = ''] = simulator.world.sonics.ids;
    const valveOf = (base: string, id: string) =>
      JSON.parse(home.broker.retained.get(`${base}/sonic/${id}`) ?? '{}').valve;
    expect([valveOf('sonic2mqtt', home.sonicId), valveOf('holiday', other)]).toEqual(['open', 'open']);
    home.broker.publish(`holiday/sonic/${other}/valve/set`, 'CLOSE', false);
    // Each rejects the valve of the other account.
    home.broker.publish(`holiday/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
    home.broker.publish(`sonic2mqtt/sonic/${other}/valve/set`, 'CLOSE', false);
    await home.pass(minuteMs);
    expect([valveOf('sonic2mqtt', home.sonicId), valveOf('holiday', other)]).toEqual(['open', 'closed']);
    expect(await closeValve(home)).toEqual(['ok']);
    expect(home.valveCommands).toHaveLength(1);
    expectNoProblem(home);
    expectNoProblem(home, 'holiday');
  });
});

describe('a trial instance with another base topic', () => {
  const isSaid = (home: Home, base: string) =>
    /Another bridge \(\w+\/bridge\) announces/.test(healthOf(home, base).reason ?? '');

  it('leaves the devices to the bridge that runs, and says so until that has gone for long', async () => {
    const home = await startedHome();
    const trial = home.anotherBridge(trialConfig);
    trial.start();
    await home.pass(minuteMs);
    const real = ['sonic2mqtt', 'sonic2mqtt', 'sonic2mqtt'];
    expect(announcersIn(home)).toEqual(real);
    expect(announcerOf(home, 'trial_bridge')).toBe('trial');
    expect(healthOf(home, 'trial')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/^Another bridge \(sonic2mqtt\/bridge\) announces devices/),
    });
    expectNoProblem(home);
    // It has topics of its own.
    expect(home.broker.retained.get(`trial/sonic/${home.sonicId}/availability`)).toBe('online');
    const { id } = home.world.openIncident({ type: 'long_flow_alert', sonicId: home.sonicId });
    await home.pass(minuteMs);
    const told = home.messages.filter(
      ({ topic, payload }) => topic === `trial/sonic/${home.sonicId}/incident` && payload.includes(id),
    );
    expect(told).toHaveLength(1);

    // Neither Home Assistant's start, nor a restart of the real one, nor a lost broker changes hands.
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(minuteMs);
    await home.restart(5 * minuteMs);
    home.broker.restart(1);
    await home.pass(10 * minuteMs);
    expect(announcersIn(home)).toEqual(real);
    expect([isSaid(home, 'sonic2mqtt'), isSaid(home, 'trial')]).toEqual([false, true]);

    // Its stop changes nothing.
    await home.stop(trial);
    await home.pass(minuteMs);
    expect(announcersIn(home)).toEqual(real);
    trial.start();
    await home.pass(minuteMs);
    expect(isSaid(home, 'trial')).toBe(true);
    await home.stop();
    await home.pass(hourMs);
    expect(announcersIn(home)).toEqual(['trial', 'trial', 'trial']);
    expectNoProblem(home, 'trial');
  });

  it('that announces a new device too is noticed within three minutes, however many there are', async () => {
    const home = await startedHome({ cloud: { sonics: 12 } });
    home.broker.publish('trial/bridge/state', 'online', true);
    await home.pass(hourMs);
    for (let times = 0; times < 3; times++) {
      const { id } = home.world.addSonic(home.signalId);
      await home.until(() => announcerOf(home, id) === 'sonic2mqtt', 'the new valve', 2 * minuteMs);
      await home.pass(30 * secondMs);
      const payload = home.broker.retained.get(discoveryOf(id)) ?? '';
      home.broker.publish(discoveryOf(id), payload.replaceAll('"sonic2mqtt/', '"trial/'), true);
      await home.until(() => isSaid(home, 'sonic2mqtt'), 'the bridge to notice', 3 * minuteMs);
      // It may be a valve of a home that two accounts share.
      expect(healthOf(home, 'sonic2mqtt')).toMatchObject({
        status: 'ok',
        reason: expect.stringContaining('stay with the bridge that announced them first'),
      });
      home.broker.publish(discoveryOf(id), payload, true);
      await home.until(() => !isSaid(home, 'sonic2mqtt'), 'the bridge to be alone again', 15 * minuteMs);
    }
  });

  it('of a version that takes the devices is noticed, not fought, and the devices come back', async () => {
    const home = await startedHome({ cloud: { sonics: 2 } });
    await home.pass(5 * minuteMs);
    const { retained } = home.broker;
    const mine = new Map(
      [home.propertyId, home.signalId, home.sonicId].map((id) => [id, retained.get(discoveryOf(id)) ?? '']),
    );
    home.broker.publish('trial/bridge/state', 'online', true);
    const take = () => {
      for (const [id, payload] of mine) {
        home.broker.publish(discoveryOf(id), payload.replaceAll('"sonic2mqtt/', '"trial/'), true);
      }
    };
    take();
    await home.until(() => isSaid(home, 'sonic2mqtt'), 'the bridge to notice', 5 * minuteMs);
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(10 * minuteMs);
    expect(announcersIn(home)).toEqual(['trial', 'trial', 'trial']);
    // A device that leaves the account is the other one's to remove.
    await home.stop();
    home.world.removeSonic(home.sonicId);
    await home.start();
    await home.pass(5 * minuteMs);
    expect(announcerOf(home, home.sonicId)).toBe('trial');
    expect(isSaid(home, 'sonic2mqtt')).toBe(true);
    // Its cleanup takes the devices out of Home Assistant.
    for (const id of mine.keys()) home.broker.publish(discoveryOf(id), '', true);
    home.broker.publish('trial/bridge/state', '', true);
    await home.pass(10 * minuteMs);
    expect(announcersIn(home)).toEqual(['sonic2mqtt', 'sonic2mqtt', null]);
    expectNoProblem(home);
  });
});

it('discovery messages that another client deletes again and again are published again every few minutes', async () => {
  const home = await startedHome();
  await home.pass(5 * minuteMs);
  const from = home.messages.length;
  for (let minute = 0; minute < 60; minute++) {
    for (const id of [home.propertyId, home.signalId, home.sonicId])
      home.broker.publish(discoveryOf(id), '', true);
    await home.pass(minuteMs);
  }
  const again = home.messages
    .slice(from)
    .filter(({ topic, payload }) => topic === discoveryOf(home.sonicId) && payload !== '');
  expect(again.length).toBeGreaterThan(3);
  expect(again.length).toBeLessThan(15);
});

describe('a base topic that was changed', () => {
  const moved = { mqtt: { base_topic: 'water' } };

  it('leaves nothing at the old one, and Home Assistant has the devices all the time', async () => {
    const home = new Home();
    home.world.openIncident({ type: 'low_battery_level', sonicId: home.sonicId });
    await home.start();
    home.broker.publish('sonic2mqtt/sonic/garden/moisture', '41', true);
    await home.stop();
    const from = home.messages.length;
    await home.startWith(moved);
    expect(topicsBelow(home, 'sonic2mqtt')).toEqual(['sonic2mqtt/sonic/garden/moisture']);
    expect(announcersIn(home)).toEqual(['water', 'water', 'water']);
    expect(announcerOf(home, 'bridge')).toBeNull();
    expect(announcerOf(home, 'water_bridge')).toBe('water');
    const removed = home.messages
      .slice(from)
      .filter(({ topic, payload }) => topic === discoveryOf(home.sonicId) && payload === '');
    expect(removed).toEqual([]);
    expect(home.linesFrom(0)).toContainEqual(
      expect.stringContaining('Deleted the retained messages below sonic2mqtt'),
    );
    await home.stop();
    await home.startWith({});
    expect(topicsBelow(home, 'water')).toEqual([]);
    expect(announcersIn(home)).toEqual(['sonic2mqtt', 'sonic2mqtt', 'sonic2mqtt']);
  });

  it('leaves what another bridge uses: data_dir was copied for a trial', async () => {
    const home = await startedHome();
    const before = topicsBelow(home, 'sonic2mqtt');
    const copy = newDisk();
    for (const [path, text] of home.disk.files) copy.files.set(path, text);
    home.anotherBridge(trialConfig, { disk: copy }).start();
    await home.pass(10 * minuteMs);
    expect(topicsBelow(home, 'sonic2mqtt')).toEqual(before);
    expect(announcersIn(home)).toEqual(['sonic2mqtt', 'sonic2mqtt', 'sonic2mqtt']);
  });
});

describe('a discovery prefix that was changed', () => {
  const prefixed = { homeassistant: { discovery_prefix: 'ha' } };
  const announced = (home: Home, prefix: string) => topicsBelow(home, `${prefix}/device`);

  it('leaves nothing at the old one but what others have there', async () => {
    const home = await startedHome();
    const foreign = discoveryOf('theirs');
    home.broker.publish(foreign, '{"availability":[{"topic":"trial/bridge/state"}],"components":{}}', true);
    await home.stop();
    await home.startWith(prefixed);
    expect(announced(home, 'homeassistant')).toEqual([foreign]);
    expect(announced(home, 'ha')).toContain(`ha/device/sonic2mqtt_${home.sonicId}/config`);
    expect(home.linesFrom(0)).toContainEqual(
      expect.stringContaining('Deleted the retained messages below homeassistant'),
    );
    await home.stop();
    await home.startWith({ ...prefixed, mqtt: { base_topic: 'water' } });
    expect(topicsBelow(home, 'sonic2mqtt')).toEqual([]);
    await home.stop();
    await home.startWith({ mqtt: { base_topic: 'water' } });
    expect(announced(home, 'ha')).toEqual([]);
    expect(announcersIn(home)).toEqual(['water', 'water', 'water']);
  });
});
