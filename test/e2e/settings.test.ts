import { afterEach, describe, expect, it } from 'vitest';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { waitFor } from '../support/waitFor.ts';

// Read once at the start: what is shown later comes from the answers to the changes.
const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 2 },
  config: { schedules: { ...hourly, usage: '1h', pressure_tests: '1h' } },
});
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [property = ''] = world.properties.ids;
const discovery = (id: string) => `homeassistant/device/sonic2mqtt_${id}/config`;
const states = (isSo: (states: Record<string, unknown>) => boolean) =>
  bridge.untilJson(`property/${property}/homeassistant`, isSo);
const settingsSent = () => bridge.sent('update_property_settings').map(({ body }) => body);

afterEach(() => cloud.setFaults([]));

describe('a setting', () => {
  it('is sent alone, as its entity sends it, and is shown as the cloud then has it', async () => {
    const { components } = JSON.parse(await mqtt.waitForTopic(discovery(property)));
    const topic: string = components.switch_auto_shut_off.command_topic;
    expect(await bridge.command(topic.replace('sonic2mqtt/', ''), 'ON')).toMatchObject({ status: 'ok' });
    await states(({ auto_shut_off: shown }) => shown === 'ON');
    expect(settingsSent()).toEqual([{ auto_shut_off: true }]);
    // The cloud does not show the address of the webhook, and none was accepted yet.
    const held = world.settings.get(property);
    expect(bridge.json(`property/${property}/settings`)).toEqual({ ...held, webhook_url: null });
  });

  it('is sent together with others in one request', async () => {
    const fields = { auto_shut_off: false, pressure_tests_schedule: '05:00', timezone: 'Europe/Paris' };
    const outcome = await bridge.command(`property/${property}/settings/set`, JSON.stringify(fields));
    expect(outcome).toMatchObject({ status: 'ok', http_status: 200 });
    expect(settingsSent().at(-1)).toEqual({ ...fields, pressure_tests_schedule: '05:00:00' });
    await states(({ timezone }) => timezone === 'Europe/Paris');
  });

  it('that the cloud does not show is unknown until the cloud has accepted one', async () => {
    await states(({ leak_protection: shown }) => shown === null);
    await bridge.command(`property/${property}/leak_protection/set`, 'ON');
    await states(({ leak_protection: shown }) => shown === 'ON');
    expect(mqtt.last.get(`sonic2mqtt/property/${property}/leak_protection`)).toBe('ON');
  });

  it('stays as it was if the cloud rejects the new one, and is published again', async () => {
    const from = mqtt.messages.length;
    const path = `property/${property}/notifications/high_volume_threshold_litres/set`;
    expect(await bridge.command(path, '99')).toMatchObject({
      status: 'error',
      http_status: 422,
      reason: expect.stringContaining('high_volume_threshold_litres must be one of 25, 50'),
    });
    await mqtt.waitForMessage(({ topic }) => topic === `sonic2mqtt/property/${property}/homeassistant`, {
      what: 'the old states again',
      from,
    });
  });

  it('that is not understood is refused and not sent', async () => {
    const before = bridge.changesSent().length;
    const path = `property/${property}/settings/auto_shutoff/set`;
    expect(await bridge.command(path, 'ON')).toMatchObject({
      status: 'refused',
      reason: 'auto_shutoff is not known; did you mean auto_shut_off?',
    });
    expect(bridge.changesSent()).toHaveLength(before);
  });

  it.each(['error=503', 'reset', 'hang'])('is sent once if the cloud fails with %s', async (trouble) => {
    cloud.setFaults([fault(`${trouble}@update_property_settings`)]);
    const before = settingsSent().length;
    const path = `property/${property}/settings/auto_shut_off/set`;
    expect(await bridge.command(path, 'ON')).toMatchObject({ status: 'error' });
    expect(settingsSent()).toHaveLength(before + 1);
  });

  it('waits for the one before it, and only the newest of the same field is sent', async () => {
    cloud.setFaults([fault('latency=500@update_property_settings')]);
    const [sent, ended] = [settingsSent().length, bridge.outcomes().length];
    for (const [field, value] of [
      ['timezone', 'Europe/Paris'],
      ['timezone', 'Europe/Rome'],
      ['auto_shut_off', 'ON'],
      ['timezone', 'Europe/Madrid'],
    ]) {
      await mqtt.publish(`sonic2mqtt/property/${property}/settings/${field}/set`, String(value));
    }
    await waitFor(() => bridge.outcomes().length === ended + 4, { what: 'four outcomes' });
    const statuses = bridge
      .outcomes()
      .slice(ended)
      .map(({ status }) => status);
    expect(statuses).toEqual(['superseded', 'ok', 'ok', 'ok']);
    expect(settingsSent().slice(sent)).toEqual([
      { timezone: 'Europe/Paris' },
      { auto_shut_off: true },
      { timezone: 'Europe/Madrid' },
    ]);
  });
});

it('a new name is sent to the cloud, and Home Assistant shows the device under it', async () => {
  for (const [kind, records] of [
    ['property', world.properties],
    ['signal', world.signals],
    ['sonic', world.sonics],
  ] as const) {
    const [id = ''] = records.ids;
    const name = `Renamed ${kind} "ü"`;
    expect(await bridge.command(`${kind}/${id}/name/set`, name)).toMatchObject({ status: 'ok' });
    await mqtt.waitForTopic(discovery(id), (text) => JSON.parse(text).device.name === name);
    expect(records.get(id)?.name).toBe(name);
  }
});

describe('the entity of a setting', () => {
  const isGone = (id: string, entity: string) =>
    mqtt.waitForTopic(discovery(id), (text) => !(entity in JSON.parse(text).components));

  it('goes from every property if the cloud turns out not to offer the setting', async () => {
    cloud.setFaults([fault('error=404@update_customer_notifications')]);
    const setPush = () => bridge.command(`property/${property}/push/set`, 'ON');
    expect(await setPush()).toMatchObject({ status: 'error', http_status: 404 });
    // The property might just have been removed: a list that still shows it makes it certain.
    expect(bridge.json('bridge/info').operations.update_customer_notifications).toBe('available');
    // These are asked for as soon as the properties are read.
    const signals = () => bridge.sent('list_property_signals').length;
    const before = signals();
    await mqtt.publish('sonic2mqtt/bridge/refresh', '');
    await waitFor(() => signals() > before, { what: 'the properties' });
    expect(await setPush()).toMatchObject({ status: 'error', http_status: 404 });
    for (const id of world.properties.ids) await isGone(id, 'switch_push');
    const { operations } = bridge.json('bridge/info');
    expect(operations.update_customer_notifications).toBe('unavailable');
  });

  it('goes at the next start if control.settings is off', async () => {
    await bridge.restart({ control: { settings: false } });
    await isGone(property, 'switch_auto_shut_off');
    const { components } = JSON.parse(mqtt.last.get(discovery(property)) ?? '{}');
    const controls = Object.keys(components).filter((id) => components[id].command_topic);
    expect(controls).toEqual(['button_resolve_incidents']);
  });
});
