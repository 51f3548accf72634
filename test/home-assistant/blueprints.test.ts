import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import {
  blueprintFolder,
  commandValve,
  expectState,
  household,
  importBlueprint,
  message,
  phone,
  propertyId,
  restartHomeAssistant,
  sonicId,
  useBlueprint,
  useHousehold,
} from './blueprintHousehold.ts';
import { settled, startBridge, version } from './household.ts';

useHousehold();

describe(`the blueprints, with Home Assistant ${version}`, () => {
  test.each(readdirSync(blueprintFolder))('%s is imported from its address, and valid', importBlueprint);
});

describe('the blueprint for a valve that closes by itself', () => {
  /** The run that a command began lasts until the valve has closed, and a while longer. */
  async function expectQuietTimeToEnd(): Promise<void> {
    const running = async () => {
      const state = (await household.home.states()).get('automation.valve_closed_by_itself');
      return state?.attributes['current'] === 0 && state.attributes['last_triggered'] ? [] : ['it runs'];
    };
    expect(await settled(running)).toEqual([]);
  }

  beforeAll(async () => {
    const { world } = household.cloud;
    for (const id of world.incidents.ids) world.closeIncident(id);
    await commandValve('open');
    await useBlueprint('valve_closed_by_itself', {
      valve: 'valve.kitchen',
      phones: [phone.deviceId],
      incident_delay: 3,
    });
  });

  test('says nothing of commands and pressure tests', async () => {
    const from = phone.messages.length;
    await commandValve('close');
    await commandValve('open');
    await expectQuietTimeToEnd();
    await household.home.callService('button', 'press', 'button.kitchen_start_pressure_test');
    await expectState('binary_sensor.kitchen_pressure_test_running', 'on');
    await expectState('binary_sensor.kitchen_pressure_test_running', 'off');
    await expectState('valve.kitchen', 'open');
    expect(phone.messages.length).toBe(from);
  });

  test('says who closed a valve without a command, and which alerts are open', async () => {
    const from = phone.messages.length;
    // This moves no valve, so it is no command.
    const rejected = { params: { thing_id: sonicId() }, body: { action: 'close' } };
    await household.watcher.publish('sonic2mqtt/bridge/request/command_valve', JSON.stringify(rejected));
    household.cloud.world.setValve(sonicId(), 'closed');
    household.cloud.world.openIncident({ type: 'device_handle_moved', sonicId: sonicId() });
    const told = await message(/^Kitchen was closed by hand$/, from);
    expect(told.message).toMatch(/^Open alerts: Handle moved at \d\d:\d\d\./);
    await household.home.callService('automation', 'turn_off', 'automation.valve_closed_by_itself');
  });
});

describe('the blueprint for strict alerts while nobody is home', () => {
  const volume = () => household.cloud.world.notifications.get(propertyId())?.high_volume_threshold_litres;
  const minutes = () =>
    household.cloud.world.notifications.get(propertyId())?.long_flow_notification_delay_mins;
  const notifications = { high_volume_threshold_litres: 250, long_flow_notification_delay_mins: 60 };

  const input = {
    people: ['person.ann'],
    away_delay: 0,
    volume: 'select.willow_cottage_high_water_use_alert_l',
    home_volume: '250',
    duration: 'select.willow_cottage_water_running_too_long_alert_min',
    home_duration: '60',
  };

  beforeAll(async () => {
    const { cloud, home } = household;
    cloud.world.notifications.change(propertyId(), notifications);
    for (const limit of [input.volume, input.duration]) await home.enable(limit);
    await expectState('select.willow_cottage_high_water_use_alert_l', '250');
    await phone.moveTo('home');
    await home.ask('person/create', { name: 'Ann', device_trackers: ['device_tracker.my_phone'] });
    await expectState('person.ann', 'home');
  });

  test('waits until the last person has been away for a while', async () => {
    await useBlueprint('strict_alerts_while_away', { ...input, away_delay: 10 }, 'patient');
    await phone.moveTo('not_home');
    await expectState('person.ann', 'not_home');
    // As every 15 minutes. The answer comes when the automation has ended.
    await household.home.callService('automation', 'trigger', 'automation.patient', {
      skip_condition: false,
    });
    expect([volume(), minutes()]).toEqual([250, 60]);
    await household.home.callService('automation', 'turn_off', 'automation.patient');
    await phone.moveTo('home');
    await expectState('person.ann', 'home');
    await useBlueprint('strict_alerts_while_away', { ...input, phones: [phone.deviceId] });
  });

  test('makes them strict when the last person leaves', async () => {
    const from = phone.messages.length;
    await phone.moveTo('not_home');
    const told = await message(/Nobody is at home/, from);
    expect(told.message).toContain('25 L (was 250).');
    expect(told.message).toContain('15 min (was 60).');
    expect([volume(), minutes()]).toEqual([25, 15]);
  });

  test('restores them on return, also after a restart of Home Assistant', async () => {
    await restartHomeAssistant();
    await expectState('select.willow_cottage_high_water_use_alert_l', '25');
    const from = phone.messages.length;
    await phone.moveTo('home');
    const told = await message(/Someone is at home: water alerts are as usual/, from);
    expect(told.message).toContain('250 L (was 25).');
    expect([volume(), minutes()]).toEqual([250, 60]);
  });

  test('leaves a value alone that a person has set while at home', async () => {
    household.cloud.world.notifications.change(propertyId(), { high_volume_threshold_litres: 500 });
    await expectState('select.willow_cottage_high_water_use_alert_l', '500');
    await restartHomeAssistant();
    await phone.moveTo('home');
    await expectState('person.ann', 'home');
    await expectState('select.willow_cottage_high_water_use_alert_l', '500');
    expect(volume()).toBe(500);
  });

  test('says so if a value stays strict, and restores it after the outage', async () => {
    await phone.moveTo('not_home');
    await waitFor(() => volume() === 25 && minutes() === 15, {
      what: 'the strict thresholds',
      timeoutMs: 180_000,
    });
    await household.program.stop();
    await expectState('select.willow_cottage_high_water_use_alert_l', 'unavailable');
    const from = phone.messages.length;
    await phone.moveTo('home');
    expect((await message(/could not be set/, from)).message).toContain('is unavailable');
    household.program = startBridge(household.cloud, household.broker, household.program.cwd);
    await message(/Someone is at home/, from);
    expect([volume(), minutes()]).toEqual([250, 60]);
  });
});

test('Home Assistant complains about nothing', async () => {
  expect(await household.home.complaints()).toEqual([]);
});
