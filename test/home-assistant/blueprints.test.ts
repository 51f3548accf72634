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
  const automation = async () =>
    (await household.home.states()).get('automation.valve_closed_by_itself')?.attributes ?? {};

  /** Closes the valve, and waits until the automation has run for that. */
  async function expectRun(close: () => unknown): Promise<void> {
    const { last_triggered: before } = await automation();
    await close();
    const running = async () => {
      const { current, last_triggered: last } = await automation();
      return current === 0 && last !== before ? [] : ['it runs, or has not begun'];
    };
    expect(await settled(running)).toEqual([]);
  }

  beforeAll(async () => {
    const { world } = household.cloud;
    for (const id of world.incidents.ids) world.closeIncident(id);
    await expectState('valve.kitchen', 'open');
    await useBlueprint('valve_closed_by_itself', {
      valve: 'valve.kitchen',
      phones: [phone.deviceId],
      incident_delay: 3,
    });
  });

  test('says nothing of commands and pressure tests', async () => {
    const from = phone.messages.length;
    await expectRun(() => commandValve('close'));
    await expectState('valve.kitchen', 'closed');
    await commandValve('open');
    await household.home.callService('button', 'press', 'button.kitchen_start_pressure_test');
    await expectState('binary_sensor.kitchen_pressure_test_running', 'on');
    await expectState('binary_sensor.kitchen_pressure_test_running', 'off');
    await expectState('valve.kitchen', 'open');
    expect(phone.messages.length).toBe(from);
  });

  test('says who closed a valve that a command did not close, and which alerts are open', async () => {
    const from = phone.messages.length;
    // The cloud rejects the command.
    household.cloud.setFaults([{ kind: 'error', value: 409, operation: 'command_valve' }]);
    await household.home.callService('valve', 'close_valve', 'valve.kitchen');
    await expectState('binary_sensor.kitchen_command_failed', 'on');
    household.cloud.setFaults([]);
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
