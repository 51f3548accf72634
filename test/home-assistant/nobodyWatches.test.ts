import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import {
  expectState,
  household,
  importBlueprint,
  message,
  phone,
  restartHomeAssistant,
  sonicId,
  useBlueprint,
  useHousehold,
} from './blueprintHousehold.ts';
import { startBridge } from './household.ts';

useHousehold();

describe('the blueprint for leak sensors that are silent', () => {
  const [kitchen, bathroom] = ['binary_sensor.kitchen_leak', 'binary_sensor.bathroom_leak'];
  const watch = (changed = {}) =>
    useBlueprint('nobody_watches_the_water', {
      leak_sensors: [kitchen, bathroom],
      summaries: ['sensor.willow_cottage_summary'],
      phones: [phone.deviceId],
      silence: 0.1,
      ...changed,
    });
  const titles = (from: number) => phone.messages.slice(from).map(({ title }) => title);

  beforeAll(async () => {
    const { world } = household.cloud;
    for (const id of world.incidents.ids) world.closeIncident(id);
    await importBlueprint('nobody_watches_the_water.yaml');
    for (const sensor of [kitchen, bathroom]) await expectState(sensor, 'off');
    await watch();
  });

  test('tells once that a valve is offline, and names others that follow', async () => {
    const from = phone.messages.length;
    household.cloud.world.dropRadio(sonicId());
    const told = await message(/^Nobody watches the water$/, from);
    expect(told.message).toMatch(/^Kitchen: a leak would not be noticed\. .*Kitchen/);
    // Another automation that is saved does not make it forget.
    await household.home.saveAutomation('other', { alias: 'Other', triggers: [], actions: [] });
    const more = phone.messages.length;
    await household.program.stop();
    const both = await message(/^Nobody watches the water$/, more);
    expect(both.message).toBe('Kitchen, Bathroom: a leak would not be noticed. No connection to sonic2mqtt.');
    expect(titles(from)).toHaveLength(2);
  });

  test('tells once that all report again', async () => {
    const from = phone.messages.length;
    household.program = startBridge(household.cloud, household.broker, household.program.cwd);
    await expectState(bathroom, 'off');
    household.cloud.world.connectRadio(sonicId());
    const told = await message(/^The water is watched again$/, from);
    expect(told.message).toMatch(/^All leak sensors report\. /);
    expect(titles(from)).toHaveLength(1);
  });

  test('names the cloud, in the language of the house, and lets a phone forget it after a restart of Home Assistant', async () => {
    const from = phone.messages.length;
    await watch({ language: 'de' });
    // As in an outage of the cloud, which the bridge would report after minutes.
    const connectivity = { device_class: 'connectivity' };
    await household.home.setState('binary_sensor.sonic2mqtt_connection_to_cloud', 'off', connectivity);
    await household.watcher.publish('sonic2mqtt/bridge/cloud', 'offline');
    const told = await message(/^Niemand überwacht das Wasser$/, from);
    expect(told.message).toBe('Kitchen, Bathroom: Ein Leck würde nicht bemerkt. Keine Verbindung zur Cloud.');
    // A slow start is not silence.
    await watch({ language: 'de', silence: 3 });
    await restartHomeAssistant();
    await expectState(kitchen, 'off');
    const isForgotten = () =>
      phone.messages.slice(from + 1).some((each) => each.message === 'clear_notification');
    await waitFor(isForgotten, { what: 'the phone to forget its message', timeoutMs: 180_000 });
    expect(titles(from)).not.toContain('Das Wasser wird wieder überwacht');
  });
});

test('Home Assistant complains about nothing', async () => {
  expect(await household.home.complaints()).toEqual([]);
});
