import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import {
  commandValve,
  expectState,
  household,
  message,
  phone,
  restartHomeAssistant,
  sonicId,
  useBlueprint,
  useHousehold,
  valveInTheCloud,
} from './blueprintHousehold.ts';
import { startBridge } from './household.ts';
import {
  closeKitchenValveAtLeak,
  commands,
  countCommands,
  endLeaks,
  expectIdle,
  openLeak,
  reloadAutomations,
  titles,
} from './leakBlueprint.ts';

useHousehold();
beforeAll(closeKitchenValveAtLeak);
countCommands();

describe('the blueprint that closes the valve at a leak, in a house with an outage or several valves', () => {
  const setRadio = (radio_connection: 'connected' | 'disconnected') =>
    household.cloud.world.changeSonic(sonicId(), { radio_connection });

  test.each([
    ['Home Assistant restarts', () => restartHomeAssistant()],
    ['the automations are reloaded', () => reloadAutomations()],
    [
      'the bridge restarts',
      async () => {
        await household.program.stop();
        await expectState('binary_sensor.kitchen_leak', 'unavailable');
        household.program = startBridge(household.cloud, household.broker, household.program.cwd);
      },
    ],
  ])(
    'closes a valve that is unavailable as soon as it is back, though %s meanwhile',
    async (_, happens) => {
      const from = phone.messages.length;
      setRadio('disconnected');
      await expectState('valve.kitchen', 'unavailable');
      openLeak();
      const told = await waitFor(
        () => phone.messages.slice(from).find(({ title }) => title.includes('unavailable')),
        {
          what: 'the message',
          timeoutMs: 180_000,
        },
      );
      expect(told.message).toMatch(/^Kitchen is unavailable\. Close it by hand\./);
      await happens();
      await expectState('binary_sensor.kitchen_leak', 'on');
      await expectIdle();
      expect(commands()).toEqual([]);
      setRadio('connected');
      await message(/the valve is closed/, from);
      expect(valveInTheCloud()).toBe('closed');
      await expectIdle();
      expect(commands()).toEqual(['kitchen CLOSE']);
      expect(titles(from).filter((title) => title.includes('unavailable'))).toHaveLength(1);
      await commandValve('open');
      await endLeaks();
    },
    240_000,
  );

  test('finishes what a restart of Home Assistant interrupts, and sends no command again', async () => {
    const valve = household.cloud.world.valve(sonicId());
    if (valve) valve.weak = true;
    const from = phone.messages.length;
    openLeak();
    await message(/^Leak at Kitchen, Willow Cottage$/, from);
    await restartHomeAssistant();
    await message(/did NOT close/, from);
    expect(commands()).toEqual(['kitchen CLOSE']);
    if (valve) valve.weak = false;
    await endLeaks();
    expect((await message(/has ended$/, from)).message).toBe('Kitchen is open.');
    await household.home.callService('automation', 'turn_off', 'automation.close_valve_at_leak');
  });

  test('closes several valves at the leak of any sensor of the house, once until it is dry', async () => {
    const { watcher } = household;
    await endLeaks();
    await household.home.callService('automation', 'turn_off', 'automation.close_valve_at_leak');
    const sensor = {
      name: 'Cellar floor',
      unique_id: 'cellar',
      device_class: 'moisture',
      state_topic: 'cellar',
    };
    await watcher.publish('homeassistant/binary_sensor/cellar/config', JSON.stringify(sensor), {
      retain: true,
    });
    await watcher.publish('cellar', 'OFF', { retain: true });
    await expectState('binary_sensor.cellar_floor', 'off');
    const valves = ['valve.kitchen', 'valve.garden_tap'];
    await useBlueprint(
      'close_valve_at_leak',
      {
        leak_sensor: ['binary_sensor.kitchen_leak', 'binary_sensor.cellar_floor'],
        valve: valves,
        phones: [phone.deviceId],
        confirm_timeout: 12,
      },
      'whole_house',
    );
    // It stores that nothing was handled yet.
    await watcher.waitForTopic('homeassistant/sonic2mqtt/leaks_handled/whole_house', undefined, 90_000);
    const from = phone.messages.length;
    await watcher.publish('cellar', 'ON', { retain: true });
    const told = await message(/^Leak at Cellar floor: the valve is closed$/, from);
    expect(told.message).toBe('Kitchen reports that it is closed. Garden tap reports that it is closed.');
    expect(commands().toSorted()).toEqual(['kitchen CLOSE', 'other CLOSE']);
    await household.home.callService('valve', 'open_valve', 'valve.garden_tap');
    await expectState('valve.garden_tap', 'open');
    await restartHomeAssistant();
    await expectState('binary_sensor.cellar_floor', 'on');
    await expectState('valve.garden_tap', 'open');
    openLeak();
    await message(/^Leak at Kitchen, Willow Cottage: the valve is closed$/, from);
    await expectState('valve.garden_tap', 'closed');
    expect(commands().filter((each) => each === 'other CLOSE')).toHaveLength(2);
  });

  test('says of several valves that one is still open, when another one closes late', async () => {
    const { cloud, home, watcher } = household;
    await expectIdle();
    await commandValve('open');
    await home.callService('valve', 'open_valve', 'valve.garden_tap');
    await expectState('valve.garden_tap', 'open');
    const { sonics } = cloud.world;
    const gardenTap = sonics.ids.find((id) => sonics.get(id)?.name === 'Garden tap') ?? '';
    const valves = [sonicId(), gardenTap].map((id) => cloud.world.valve(id));
    for (const valve of valves) if (valve) valve.weak = true;
    const from = phone.messages.length;
    openLeak();
    const told = await message(/did NOT close/, from);
    expect(told.message).toBe('Kitchen is open. Close it by hand. Garden tap is open. Close it by hand.');
    cloud.world.setValve(sonicId(), 'closed');
    const next = phone.messages.length;
    const late = await message(/valve/, next);
    expect(late).toMatchObject({
      title: 'Leak at Kitchen, Willow Cottage: the valve did NOT close',
      message: 'Kitchen reports that it is closed. Garden tap is open. Close it by hand.',
      data: { actions: [] },
    });
    cloud.world.setValve(gardenTap, 'closed');
    await message(/^Leak at Kitchen, Willow Cottage: the valve is closed$/, next);
    for (const valve of valves) if (valve) valve.weak = false;
    await home.callService('automation', 'turn_off', 'automation.whole_house');
    await home.callService('valve', 'open_valve', 'valve.garden_tap');
    await endLeaks();
    await watcher.publish('homeassistant/binary_sensor/cellar/config', '', { retain: true });
    await commandValve('open');
  });
});

test('Home Assistant complains about nothing', async () => {
  expect(await household.home.complaints()).toEqual([]);
});
