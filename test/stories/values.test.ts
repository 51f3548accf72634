import { describe, expect, it } from 'vitest';
import { stateViolations } from '../support/stateViolations.ts';
import { Home, minuteMs, secondMs, startedHome } from './home.ts';

/** What Home Assistant would refuse of the states that are shown. */
function refusals(home: Home): string[] {
  return [...home.broker.retained].flatMap(([topic, payload]) => {
    if (!topic.startsWith('homeassistant/device/')) return [];
    const { components } = JSON.parse(payload) as { components: Record<string, Record<string, unknown>> };
    return Object.entries(components).flatMap(([id, component]) =>
      stateViolations(id, component, home.broker.retained),
    );
  });
}

describe('20: a text comes where a number was, and the entity vanishes', () => {
  it.each<[string, unknown, string | null, string | null]>([
    ['a word that is known', 'mid', 'Medium', 'OFF'],
    ['a low one', 'low', 'Low', 'ON'],
    ['a critical one', 'critical', 'Low', 'ON'],
    ['the mains', 'external_power_supply', 'External power', 'OFF'],
    ['a word that nobody knows', 'Unavailable', 'Other', null],
    ['a voltage', '3.7 V', 'Other', null],
    ['a number', 42, null, null],
    ['an object', { level: 'high' }, null, null],
    ['nothing', null, null, null],
  ])('a battery that says %s is shown as far as it is known', async (_, battery, shown, isLow) => {
    const home = new Home();
    const { sonicId } = home;
    await home.start();
    const entities = Object.keys(home.discovery(sonicId).components);
    home.world.changeSonic(sonicId, { battery } as never);
    await home.pass(70 * secondMs);
    expect(home.entity(sonicId, 'sensor_battery')).toEqual({
      platform: 'sensor',
      state: shown,
      isAvailable: true,
    });
    expect(home.entity(sonicId, 'binary_sensor_battery_low').state).toBe(isLow);
    // What the cloud said is there for those who want to know.
    if (typeof battery === 'string') expect(home.json(`sonic/${sonicId}`).battery).toBe(battery);
    expect(Object.keys(home.discovery(sonicId).components)).toEqual(entities);
    expect(refusals(home)).toEqual([]);
  });

  it('neither does any other field, whatever stands in it', async () => {
    const home = new Home({
      config: { schedules: { signals: '1m', properties: '1m' } },
    });
    const { world, sonicId, signalId, propertyId } = home;
    await home.start();
    const ids = [sonicId, signalId, propertyId, 'bridge'];
    const entities = () => ids.map((id) => Object.keys(home.discovery(id).components));
    const before = entities();
    for (const odd of ['Unavailable', -1, 1e300, true, ['a'], { b: 1 }, '', null]) {
      const fields = (record: object | undefined) =>
        Object.fromEntries(
          Object.keys(record ?? {})
            .filter((key) => !/^(id|signal_id|auto_shut_off_.*)$/.test(key))
            .map((key) => [key, odd]),
        ) as never;
      world.changeSonic(sonicId, fields(world.sonics.get(sonicId)));
      world.signals.change(signalId, fields(world.signals.get(signalId)));
      world.properties.change(propertyId, fields(world.properties.get(propertyId)));
      world.settings.change(propertyId, fields(world.settings.get(propertyId)));
      await home.pass(3 * minuteMs);
      expect(entities(), JSON.stringify(odd)).toEqual(before);
      expect(refusals(home), JSON.stringify(odd)).toEqual([]);
      expect(home.linesFrom(0).filter((text) => /^(error|fatal)/.test(text))).toEqual([]);
    }
  });
});

describe('21: no usage for the Energy dashboard, counters that go negative, and litres of a wrong kind', () => {
  it('it is offered as the Energy dashboard wants it, and each figure with its own unit', async () => {
    const home = await startedHome();
    const { components } = home.discovery(home.sonicId);
    expect(components.sensor_water_total).toMatchObject({
      ...{ platform: 'sensor', device_class: 'water', unit_of_measurement: 'L', state_class: 'total' },
    });
    expect(components.sensor_water_today).toMatchObject({
      ...{ device_class: 'water', unit_of_measurement: 'L', state_class: 'total' },
      last_reset_value_template: expect.any(String),
    });
    // A sum of days that are over is no meter: a state class would let it be added up again.
    expect(components.sensor_water_yesterday).not.toHaveProperty('state_class');
    expect(components.sensor_water_month).not.toHaveProperty('state_class');
    expect(components.sensor_valve_travel_time).toMatchObject({
      device_class: 'duration',
      unit_of_measurement: 's',
    });
    expect(refusals(home)).toEqual([]);
  });
});

describe('a pressure test that was started', () => {
  it('counts within seconds, though the cloud needs some to tell of it', async () => {
    const home = new Home();
    const { sonicId } = home;
    await home.start();
    const before = home.json(`sonic/${sonicId}/pressure_tests`).today_count;
    home.strike = (request) => (request.operation === 'read_pressure_tests' ? 'error-503' : null);
    home.broker.publish(`sonic2mqtt/sonic/${sonicId}/pressure_test/start`, 'PRESS', false);
    await home.pass(secondMs);
    home.strike = () => null;
    await home.pass(20 * secondMs);
    expect(home.json(`sonic/${sonicId}/pressure_tests`).today_count).toBe(before + 1);
    const asked = home.asked('read_pressure_tests').length;
    await home.pass(10 * minuteMs);
    expect(home.asked('read_pressure_tests')).toHaveLength(asked);
  });

  it('has no result while it runs', async () => {
    const home = new Home({ cloud: { pressureTestMs: 5 * minuteMs } });
    const { sonicId } = home;
    await home.start();
    home.broker.publish(`sonic2mqtt/sonic/${sonicId}/pressure_test/start`, 'PRESS', false);
    await home.pass(2 * minuteMs);
    expect(home.entity(sonicId, 'binary_sensor_pressure_test_running').state).toBe('ON');
    expect(home.entity(sonicId, 'sensor_pressure_test_result').state).toBeNull();
    await home.pass(10 * minuteMs);
    expect(home.entity(sonicId, 'binary_sensor_pressure_test_running').state).toBe('OFF');
    expect(home.entity(sonicId, 'sensor_pressure_test_result').state).toBe('No problem');
  });
});

describe('a flow from before a movement', () => {
  it('is not shown, and is measured once more soon after the movement', async () => {
    const home = new Home({ config: { schedules: { telemetry: '1h' } } });
    const { sonicId } = home;
    const flow = () => home.json(`sonic/${sonicId}/telemetry`).flow_l_min;
    const asked = () => home.asked('read_telemetry').filter(({ target }) => target.includes(sonicId)).length;
    await home.start();
    const before = asked();
    expect(flow()).toEqual(expect.any(Number));
    home.broker.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE', false);
    await home.until(() => home.json(`sonic/${sonicId}`).valve === 'closed', 'the valve to be closed');
    expect([flow(), asked()]).toEqual([null, before]);
    await home.pass(7 * secondMs);
    expect([flow(), asked()]).toEqual([0, before + 1]);
    await home.pass(10 * minuteMs);
    expect(asked()).toBe(before + 1);
  });
});

describe('without Home Assistant', () => {
  it('topics show what only its entities showed', async () => {
    const home = new Home({ config: { homeassistant: { enabled: false } } });
    const { signalId, sonicId } = home;
    await home.start();
    expect(home.json(`signal/${signalId}`)).toMatchObject({ hub_status: expect.any(String) });
    expect(home.json(`sonic/${sonicId}`)).toMatchObject({ valve_travel_time_s: null });
    home.broker.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE', false);
    await home.pass(2 * minuteMs);
    expect(home.json(`sonic/${sonicId}`)).toMatchObject({ valve_travel_time_s: expect.any(Number) });
  });

  it('the devices of an earlier run leave Home Assistant, and their topics stay', async () => {
    const home = new Home();
    const devices = () =>
      [...home.broker.retained.keys()].filter((topic) => topic.startsWith('homeassistant/device/'));
    await home.start();
    expect(devices()).toHaveLength(4);
    await home.stop();
    await home.startWith({ homeassistant: { enabled: false } });
    await home.pass(minuteMs);
    expect(devices()).toEqual([]);
    expect(home.json(`sonic/${home.sonicId}`)).toMatchObject({ valve: 'open' });
    expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('online');
    // They come back with Home Assistant.
    await home.stop();
    await home.startWith({});
    await home.pass(minuteMs);
    expect(devices()).toHaveLength(4);
  });
});
