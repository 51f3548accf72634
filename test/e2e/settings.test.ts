import { beforeAll, describe, expect, it } from 'vitest';
import type { Component } from '../../src/homeassistant/discovery.ts';
import { fault, type House, hourly, startHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

/** Polled once at the start and then not again, so that nothing but the answers shows what came of a change. */
const seldom = { ...hourly, usage: '1h', pressure_tests: '1h' };

/** The ids of a house with one of each. */
function idsOf({ simulator }: House) {
  const [property = ''] = simulator.world.properties.ids;
  const [signal = ''] = simulator.world.signals.ids;
  const [sonic = ''] = simulator.world.sonics.ids;
  return { property, signal, sonic };
}

async function smallHouse(options: Parameters<typeof startHouse>[0] = {}): Promise<House> {
  const house = await startHouse({
    ...options,
    cloud: { properties: 1, signals: 1, sonics: 1, ...options.cloud },
  });
  if (options.isStarted !== false) await isShown(house);
  return house;
}

async function isShown(house: House): Promise<void> {
  const { sonic } = idsOf(house);
  await house.watcher.waitForTopic(`sonic2mqtt/sonic/${sonic}/homeassistant`, () => true, 10_000);
}

type States = Readonly<Record<string, unknown>>;

const statesOf = (house: House): States => house.json(`property/${idsOf(house).property}/homeassistant`);

async function untilStates(house: House, isSo: (states: States) => boolean): Promise<States> {
  const topic = `sonic2mqtt/property/${idsOf(house).property}/homeassistant`;
  return JSON.parse(await house.watcher.waitForTopic(topic, (text) => isSo(JSON.parse(text))));
}

/** What Home Assistant knows of a device. */
function discovered(house: House, id: string): { device: Component; components: Record<string, Component> } {
  const message = house.watcher.json(`homeassistant/device/sonic2mqtt_${id}/config`);
  return message as ReturnType<typeof discovered>;
}

type Outcome = Readonly<Record<string, unknown>> | undefined;

/** Publishes a command and waits for its outcome. */
async function command(house: House, topic: string, payload: string): Promise<Outcome> {
  const outcomes = () => house.events('command').filter((outcome) => outcome['topic'] === topic);
  const before = outcomes().length;
  await house.watcher.publish(topic, payload);
  await waitFor(() => outcomes().length > before, { what: `the outcome of ${topic}` });
  return outcomes().at(-1);
}

/** Does what Home Assistant does when somebody uses an entity of the property. */
async function use(house: House, component: string, payload: string): Promise<void> {
  const { components } = discovered(house, idsOf(house).property);
  await command(house, String(components[component]?.['command_topic']), payload);
}

/** Publishes below the property's topic and waits for the outcome. */
async function ask(house: House, path: string, payload: string): Promise<Outcome> {
  return command(house, `sonic2mqtt/property/${idsOf(house).property}/${path}`, payload);
}

const bodies = (house: House, operation: string) =>
  house.simulator.requests.entries.filter((entry) => entry.operation === operation).map(({ body }) => body);

describe('a setting', () => {
  let house: House;
  beforeAll(async () => {
    house = await smallHouse({ config: { schedules: seldom } });
  });

  it('follows its switch: the cloud is asked for that field alone, and shows what it then has', async () => {
    const { property } = idsOf(house);
    expect(statesOf(house)).toMatchObject({ auto_shut_off: 'OFF' });
    await use(house, 'switch_auto_shut_off', 'ON');
    await untilStates(house, ({ auto_shut_off: shown }) => shown === 'ON');
    expect(house.simulator.world.settings.get(property)).toMatchObject({ auto_shut_off: true });
    expect(bodies(house, 'update_property_settings')).toEqual([{ auto_shut_off: true }]);
    // The cloud does not show the webhook's address, and nothing was accepted yet.
    const held = house.simulator.world.settings.get(property);
    expect(house.json(`property/${property}/settings`)).toEqual({ ...held, webhook_url: null });
    expect(house.events('command').at(-1)).toMatchObject({
      topic: `sonic2mqtt/property/${property}/settings/auto_shut_off/set`,
      status: 'ok',
      reason: null,
      http_status: 200,
    });
  });

  it.each([
    ['text_pressure_tests_schedule', '04:15', 'pressure_tests_schedule', '04:15:00'],
    ['text_timezone', 'Europe/Warsaw', 'timezone', 'Europe/Warsaw'],
    ['text_webhook_url', 'https://example.com/hook', 'webhook_url', 'https://example.com/hook'],
    ['switch_webhook_enabled', 'ON', 'webhook_enabled', 'ON'],
    ['switch_pressure_tests_enabled', 'OFF', 'pressure_tests_enabled', 'OFF'],
    ['switch_low_battery_level', 'OFF', 'low_battery_level', 'OFF'],
    ['select_high_volume_threshold_litres', '250', 'high_volume_threshold_litres', '250'],
    ['select_long_flow_notification_delay_mins', '180', 'long_flow_notification_delay_mins', '180'],
    ['switch_active', 'OFF', 'active', 'OFF'],
  ])('is changed by %s: %s', async (component, payload, key, shown) => {
    await use(house, component, payload);
    await untilStates(house, (states) => states[key] === shown);
    expect(house.events('command').at(-1)).toMatchObject({ status: 'ok' });
  });

  it('stays as it was when the cloud refuses the new one, which is said and shown again', async () => {
    const { property } = idsOf(house);
    const before = statesOf(house);
    const from = house.watcher.messages.length;
    const outcome = await ask(house, 'notifications/high_volume_threshold_litres/set', '99');
    expect(outcome).toMatchObject({
      status: 'error',
      http_status: 422,
      reason: expect.stringContaining('high_volume_threshold_litres must be one of 25, 50'),
    });
    const again = await house.watcher.waitForMessage(
      ({ topic }) => topic === `sonic2mqtt/property/${property}/homeassistant`,
      { what: 'the old states again', from },
    );
    expect(JSON.parse(again.text)).toEqual(before);
    expect(house.simulator.world.notifications.get(property)?.high_volume_threshold_litres).not.toBe(99);
  });

  it.each([
    ['settings/auto_shut_off/set', 'maybe', 'auto_shut_off must be true or false'],
    ['settings/auto_shutoff/set', 'ON', 'auto_shutoff is not known; did you mean auto_shut_off?'],
    ['settings/timezone/set', 'Mars', /must be the name of a time zone/],
    ['settings/set', '{"auto_shut_off":', /must be a JSON object/],
    ['notifications/set', '{"low_battery_level":3}', 'low_battery_level must be true or false'],
    ['set', '{}', 'the object needs at least one field'],
    ['name/set', ' ', 'name must not be empty'],
    ['push/set', 'loud', 'push_enabled must be true or false'],
  ])('at %s that is %j is refused before the cloud hears of it', async (path, payload, words) => {
    const isChange = ({ method }: { method: string }) => method !== 'GET';
    const sent = house.simulator.requests.entries.filter(isChange).length;
    const { property } = idsOf(house);
    const from = house.watcher.messages.length;
    const outcome = await ask(house, path, payload);
    expect(outcome).toMatchObject({ status: 'refused', http_status: null });
    expect(outcome?.['reason']).toEqual(typeof words === 'string' ? words : expect.stringMatching(words));
    expect(house.simulator.requests.entries.filter(isChange)).toHaveLength(sent);
    await house.watcher.waitForMessage(
      ({ topic }) => topic === `sonic2mqtt/property/${property}/homeassistant`,
      { what: 'what still is', from },
    );
  });

  it('can be set together with others, in one request', async () => {
    const { property } = idsOf(house);
    const sent = bodies(house, 'update_property_settings').length;
    const fields = { auto_shut_off: false, pressure_tests_schedule: '05:00', timezone: 'Europe/Paris' };
    expect(await ask(house, 'settings/set', JSON.stringify(fields))).toMatchObject({ status: 'ok' });
    const wanted = { ...fields, pressure_tests_schedule: '05:00:00' };
    expect(bodies(house, 'update_property_settings').slice(sent)).toEqual([wanted]);
    await untilStates(house, ({ timezone }) => timezone === 'Europe/Paris');
    expect(statesOf(house)).toMatchObject({ ...wanted, auto_shut_off: 'OFF' });

    const notifications = { high_humidity: true, long_flow_notification_delay_mins: 15 };
    expect(await ask(house, 'notifications/set', JSON.stringify(notifications))).toMatchObject({
      status: 'ok',
    });
    expect(house.simulator.world.notifications.get(property)).toMatchObject(notifications);

    const address = { address: '7 Brook Lane', city: 'Bath', lat: 51.4 };
    expect(await ask(house, 'set', JSON.stringify(address))).toMatchObject({ status: 'ok' });
    expect(house.simulator.world.properties.get(property)).toMatchObject(address);
    await untilStates(house, (states) => String(states['address']).startsWith('7 Brook Lane'));
  });

  it('that the cloud does not show is unknown until it has accepted one', async () => {
    const { property } = idsOf(house);
    expect(statesOf(house)).toMatchObject({ leak_protection: null, push: null });
    await use(house, 'switch_leak_protection', 'ON');
    await untilStates(house, ({ leak_protection: shown }) => shown === 'ON');
    expect(statesOf(house)).toMatchObject({ push: null });
    await use(house, 'switch_push', 'OFF');
    await untilStates(house, ({ push }) => push === 'OFF');
    house.simulator.setFaults([fault('error=422@update_property_configuration')]);
    expect(await ask(house, 'leak_protection/set', 'OFF')).toMatchObject({
      status: 'error',
      http_status: 422,
    });
    house.simulator.setFaults([]);
    expect(statesOf(house)).toMatchObject({ leak_protection: 'ON', push: 'OFF' });
    expect(house.simulator.world.leakProtection.get(property)).toBe(true);
    expect(house.simulator.world.push.get(property)).toBe(false);
  });
});

describe('a name', () => {
  it('is changed in the cloud, and Home Assistant calls the device so', async () => {
    const house = await smallHouse({ config: { schedules: seldom } });
    const { property, signal, sonic } = idsOf(house);
    const { world } = house.simulator;
    for (const [kind, id, records] of [
      ['property', property, world.properties],
      ['signal', signal, world.signals],
      ['sonic', sonic, world.sonics],
    ] as const) {
      const name = `Renamed ${kind} "ü"`;
      await house.watcher.publish(`sonic2mqtt/${kind}/${id}/name/set`, name);
      await house.watcher.waitForTopic(
        `homeassistant/device/sonic2mqtt_${id}/config`,
        (text) => JSON.parse(text).device.name === name,
        10_000,
      );
      expect(records.get(id)?.name).toBe(name);
      for (const topic of [`sonic2mqtt/${kind}/${id}`, `sonic2mqtt/${kind}/${id}/homeassistant`]) {
        await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).name === name);
      }
    }
    await waitFor(() => house.events('command').length === 3, { what: 'the outcomes' });
    expect(house.events('command').map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
    expect(bodies(house, 'patch_sonic')).toEqual([{ name: 'Renamed sonic "ü"' }]);
  });
});

describe('a change', () => {
  it('reaches the cloud once although that breaks off, and what the cloud then has is shown', async () => {
    const house = await smallHouse({ config: { schedules: seldom } });
    for (const trouble of ['error=503@update_property_settings', 'reset@update_property_settings']) {
      house.simulator.setFaults([fault(trouble)]);
      const sent = house.simulator.requests.count('update_property_settings');
      expect(await ask(house, 'settings/auto_shut_off/set', 'ON')).toMatchObject({ status: 'error' });
      expect(house.simulator.requests.count('update_property_settings')).toBe(sent + 1);
      expect(statesOf(house)).toMatchObject({ auto_shut_off: 'OFF' });
    }
    house.simulator.setFaults([fault('html@update_property_settings')]);
    expect(await ask(house, 'settings/auto_shut_off/set', 'ON')).toMatchObject({
      status: 'error',
      http_status: 200,
    });
    // Nobody knows what came of it, so the cloud is asked.
    house.simulator.world.settings.change(idsOf(house).property, { auto_shut_off: true });
    expect(await ask(house, 'settings/auto_shut_off/set', 'ON')).toMatchObject({ status: 'error' });
    await untilStates(house, ({ auto_shut_off: shown }) => shown === 'ON');
  });

  it('waits for the one before it, and gives way to a newer one of the same field', async () => {
    const house = await smallHouse({ config: { schedules: seldom } });
    const { property } = idsOf(house);
    house.simulator.setFaults([fault('latency=500@update_property_settings')]);
    const set = (field: string, value: string) =>
      house.watcher.publish(`sonic2mqtt/property/${property}/settings/${field}/set`, value);
    await set('timezone', 'Europe/Paris');
    await set('timezone', 'Europe/Rome');
    await set('auto_shut_off', 'ON');
    await set('timezone', 'Europe/Madrid');
    await waitFor(() => house.events('command').length === 4, { what: 'four outcomes' });
    expect(house.events('command').map(({ status }) => status)).toEqual(['superseded', 'ok', 'ok', 'ok']);
    expect(house.events('command')[0]).toMatchObject({
      reason: 'a newer command for the same arrived',
      http_status: null,
    });
    expect(bodies(house, 'update_property_settings')).toEqual([
      { timezone: 'Europe/Paris' },
      { auto_shut_off: true },
      { timezone: 'Europe/Madrid' },
    ]);
  });

  it('is never sent later than the request timeout', async () => {
    // Pings are rare enough for both commands to come between two of them, so that their time starts at one moment.
    const house = await smallHouse({ config: { schedules: seldom, cloud: { request_timeout: '3s' } } });
    house.simulator.setFaults([fault('hang@update_property_settings')]);
    const { property } = idsOf(house);
    for (const field of ['auto_shut_off', 'webhook_enabled']) {
      await house.watcher.publish(`sonic2mqtt/property/${property}/settings/${field}/set`, 'ON');
    }
    await waitFor(() => house.events('command').length === 2, { what: 'both outcomes', timeoutMs: 10_000 });
    expect(house.events('command').map(({ status }) => status)).toEqual(['error', 'error']);
    expect(house.events('command')[1]).toMatchObject({ reason: expect.stringContaining('it was not sent') });
    expect(house.simulator.requests.count('update_property_settings')).toBe(1);
  });

  it('that the cloud turns out not to offer loses its entity, wherever it was', async () => {
    const house = await smallHouse({ cloud: { properties: 2, signals: 2 }, config: { schedules: seldom } });
    const { property } = idsOf(house);
    expect(discovered(house, property).components).toHaveProperty('switch_leak_protection');
    house.simulator.setFaults([fault('error=404@update_property_configuration')]);
    expect(await ask(house, 'leak_protection/set', 'ON')).toMatchObject({
      status: 'error',
      http_status: 404,
    });
    for (const id of house.simulator.world.properties.ids) {
      await house.watcher.waitForTopic(
        `homeassistant/device/sonic2mqtt_${id}/config`,
        (text) => !('switch_leak_protection' in JSON.parse(text).components),
        10_000,
      );
    }
    expect(house.json('bridge/info').operations).toMatchObject({
      update_property_configuration: 'unavailable',
    });
  });
});

describe('who may change nothing', () => {
  const settingIds = (house: House) =>
    Object.entries(discovered(house, idsOf(house).property).components)
      .filter(([, { entity_category: category, command_topic: topic }]) => category === 'config' || topic)
      .map(([id]) => id);

  it('as a guest has no setting to press', async () => {
    const house = await smallHouse({
      cloud: {
        faults: [fault('error=403@read_property_settings'), fault('error=403@read_notification_settings')],
      },
    });
    expect(settingIds(house)).toEqual(['button_resolve_incidents']);
    expect(house.json(`property/${idsOf(house).property}/settings`)).toBeUndefined();
  });

  it('by control.settings has none either: those of an earlier run are withdrawn', async () => {
    const house = await smallHouse();
    const { property, sonic, signal } = idsOf(house);
    expect(settingIds(house).length).toBeGreaterThan(25);
    await house.bridge.stop();
    house.startBridge({ control: { settings: false } });
    const topic = `homeassistant/device/sonic2mqtt_${property}/config`;
    await house.watcher.waitForTopic(
      topic,
      (text) => !('switch_auto_shut_off' in JSON.parse(text).components),
      15_000,
    );
    const withdrawal = house.watcher.messages
      .filter((message) => message.topic === topic)
      .map(({ text }) => JSON.parse(text).components.switch_auto_shut_off);
    expect(withdrawal).toContainEqual({ platform: 'switch' });
    expect(settingIds(house)).toEqual(['button_resolve_incidents']);
    for (const [kind, id] of [
      ['property', property],
      ['signal', signal],
      ['sonic', sonic],
    ]) {
      await house.watcher.waitForTopic(
        `homeassistant/device/sonic2mqtt_${id}/config`,
        (text) => !('text_name' in JSON.parse(text).components),
      );
      await house.watcher.publish(`sonic2mqtt/${kind}/${id}/name/set`, 'Mine');
    }
    await waitFor(() => house.events('command').length === 3, { what: 'three refusals' });
    for (const event of house.events('command')) {
      expect(event).toMatchObject({
        status: 'refused',
        reason: 'not permitted: control.settings is off in the configuration',
      });
    }
    expect(house.simulator.requests.entries.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });
});

describe('what nothing depends on', () => {
  it('is shown where the cloud has it', async () => {
    const house = await smallHouse();
    const { signal } = idsOf(house);
    await house.watcher.waitForTopic(
      `sonic2mqtt/signal/${signal}/homeassistant`,
      (text) => JSON.parse(text).hub_status === 'online',
    );
    const { appliance_categories: categories } = house.json('bridge/info');
    expect(categories.length).toBeGreaterThan(0);
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/homeassistant',
      (text) => JSON.parse(text).appliance_categories === categories.length,
    );
  });

  it('has no entity where the cloud has none', async () => {
    const house = await smallHouse({
      cloud: { faults: [fault('error=404@read_hub'), fault('error=404@read_appliance_categories')] },
    });
    const { signal } = idsOf(house);
    expect(discovered(house, signal).components).not.toHaveProperty('sensor_hub_status');
    await house.watcher.waitForTopic(
      'homeassistant/device/sonic2mqtt_bridge/config',
      (text) => !('sensor_appliance_categories' in JSON.parse(text).components),
      10_000,
    );
    expect(house.json('bridge/info').operations).toMatchObject({
      read_hub: 'unavailable',
      read_appliance_categories: 'unavailable',
    });
  });
});
