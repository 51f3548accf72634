import { describe, expect, it } from 'vitest';
import { Home, hourMs, minuteMs, secondMs, startedHome } from './home.ts';

const trialConfig = { mqtt: { base_topic: 'trial' } };

const discoveryOf = (device: string) => `homeassistant/device/sonic2mqtt_${device}/config`;

/** The base topic of the bridge that announces a device to Home Assistant; null if none does. */
function announcerOf(home: Home, device: string): string | null {
  const payload = home.broker.retained.get(discoveryOf(device));
  if (payload === undefined) return null;
  return JSON.parse(payload).availability[0].topic.replace(/\/bridge\/state$/, '');
}

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

/** A bridge for each of two accounts, at one broker. */
async function startTwoAccounts() {
  const home = new Home();
  const simulator = home.anotherAccount({ seed: 2, properties: 1, signals: 1, sonics: 1 });
  await home.start();
  const holiday = home.anotherBridge({ mqtt: { base_topic: 'holiday' } }, { simulator });
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
    expect(home.discovery(`holiday_${property}`).device.via_device).toBe('sonic2mqtt_holiday_bridge');
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
  it('shows its own devices, and whatever starts or stops, each bridge keeps its own', async () => {
    const home = await startedHome();
    const trial = home.anotherBridge(trialConfig);
    trial.start();
    await home.pass(minuteMs);
    const ids = [home.propertyId, home.signalId, home.sonicId];
    const announcers = () => ids.flatMap((id) => [announcerOf(home, id), announcerOf(home, `trial_${id}`)]);
    const both = ids.flatMap(() => ['sonic2mqtt', 'trial']);
    expect(announcers()).toEqual(both);
    const { device, components } = home.discovery(`trial_${home.sonicId}`);
    expect(device).toMatchObject({
      identifiers: [`sonic2mqtt_trial_${home.sonicId}`],
      via_device: `sonic2mqtt_trial_${home.signalId}`,
    });
    expect(components.valve_valve).toMatchObject({
      unique_id: `sonic2mqtt_trial_${home.sonicId}_valve`,
      command_topic: `trial/sonic/${home.sonicId}/valve/set`,
    });
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(minuteMs);
    await home.restart(5 * minuteMs);
    home.broker.restart(1);
    await home.stop(trial);
    await home.pass(hourMs);
    expect(announcers()).toEqual(both);
    expect(await closeValve(home)).toEqual(['ok']);
    expectNoProblem(home);
  });
});

describe('a discovery message of a valve that somebody replaces', () => {
  const sent = (home: Home, from: number, topic = discoveryOf(home.sonicId)) =>
    home.messages.slice(from).filter((message) => message.topic === topic);

  it('by one with topics of his own is back soon, and Home Assistant moves the true valve', async () => {
    const home = await startedHome();
    await home.pass(5 * minuteMs);
    const own = home.broker.retained.get(discoveryOf(home.sonicId)) ?? '';
    const foreign = own.replaceAll('"sonic2mqtt/', '"trial/');
    for (const topic of [
      'trial/bridge/state',
      'trial/bridge/cloud',
      `trial/sonic/${home.sonicId}/availability`,
    ])
      home.broker.publish(topic, 'online', true);
    home.broker.publish(`trial/sonic/${home.sonicId}/homeassistant`, '{"valve":"closed"}', true);
    const [from, at] = [home.messages.length, home.time.now];
    home.broker.publish(discoveryOf(home.sonicId), foreign, true);
    await home.pass(5 * secondMs);
    const [first] = sent(home, from).filter(({ payload }) => payload === own);
    expect(Number(first?.at) - at).toBeGreaterThanOrEqual(2_500);
    expect(home.broker.retained.get(discoveryOf(home.sonicId))).toBe(own);
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: true });
    expect(await closeValve(home)).toEqual(['ok']);
    // Found at a start, it is replaced too.
    await home.stop();
    home.broker.publish(discoveryOf(home.sonicId), foreign, true);
    await home.start();
    expect(home.broker.retained.get(discoveryOf(home.sonicId))).toBe(own);
    expectNoProblem(home);
  });

  it('again and again is back three times, then health says so, and nobody is fought without end', async () => {
    const home = await startedHome();
    await home.pass(5 * minuteMs);
    const own = home.broker.retained.get(discoveryOf(home.sonicId)) ?? '';
    const from = home.messages.length;
    for (let times = 0; times < 30; times++) {
      home.broker.publish(discoveryOf(home.sonicId), times % 2 ? '' : '{}', true);
      await home.pass(20 * secondMs);
    }
    expect(sent(home, from).filter(({ payload }) => payload === own)).toHaveLength(3);
    expect(healthOf(home)).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining(`discovery messages, for example ${discoveryOf(home.sonicId)}`),
    });
    // It is still known where the valve is.
    expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('online');
    expect(await closeValve(home)).toEqual(['ok']);
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(minuteMs);
    expect(home.broker.retained.get(discoveryOf(home.sonicId))).toBe(own);
    expect(healthOf(home).status).toBe('ok');
    // Somebody who deletes a device now and then gets it back each time.
    for (let times = 0; times < 6; times++) {
      home.broker.publish(discoveryOf(home.sonicId), '', true);
      await home.pass(2 * hourMs);
      expect(home.broker.retained.get(discoveryOf(home.sonicId))).toBe(own);
    }
  });

  it('by a bridge whose base topic gives the same identifiers ends after a few rounds', async () => {
    const home = new Home();
    const bridges = ['a/b', 'a_b'].map((base, index) =>
      home.anotherBridge({ mqtt: { base_topic: base, client_id: `bridge${index}` } }),
    );
    for (const bridge of bridges) bridge.start();
    await home.pass(5 * minuteMs);
    const from = home.messages.length;
    expect(sent(home, 0, discoveryOf(`a_b_${home.sonicId}`)).length).toBeLessThan(15);
    await home.pass(hourMs);
    expect(sent(home, from, discoveryOf(`a_b_${home.sonicId}`))).toEqual([]);
    const reasons = ['a/b', 'a_b'].map((base) => healthOf(home, base).reason ?? '');
    expect(reasons.join()).toContain('discovery messages');
  });
});

it('a former base topic and discovery prefix are named once, with the command that deletes their messages', async () => {
  const home = await startedHome();
  await home.stop();
  const [file = ''] = home.disk.files.keys();
  home.disk.files.set(file.replace(/[^/]*$/, 'options.json'), '{}');
  const named = () => home.linesFrom(0).filter((line) => line.endsWith('run: sonic2mqtt cleanup'));
  const ofPrefix = 'mqtt.base_topic sonic2mqtt and homeassistant.discovery_prefix homeassistant before';
  const ofBase = 'mqtt.base_topic sonic2mqtt and homeassistant.discovery_prefix ha before';
  const homeassistant = { discovery_prefix: 'ha' };
  const both = { mqtt: { base_topic: 'water' }, homeassistant };
  for (const [options, expected] of [
    [{ homeassistant }, [ofPrefix]],
    [both, [ofPrefix, ofBase]],
    [both, [ofPrefix, ofBase]],
  ] as const) {
    const before = [...home.broker.retained.keys()];
    await home.startWith(options);
    expect(named()).toEqual(expected.map((each) => expect.stringContaining(each)));
    expect([...home.broker.retained.keys()]).toEqual(expect.arrayContaining(before));
    await home.stop();
  }
});
