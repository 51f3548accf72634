import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import {
  commandValve,
  expectState,
  household,
  importBlueprint,
  message,
  phone,
  restartHomeAssistant,
  sonicId,
  useBlueprint,
  useHousehold,
  valveInTheCloud,
} from './blueprintHousehold.ts';
import { startBridge } from './household.ts';

useHousehold();

async function reloadAutomations(): Promise<void> {
  await household.home.ask('call_service', { domain: 'automation', service: 'reload' });
}

beforeAll(() => importBlueprint('close_valve_at_leak.yaml'));

describe('the blueprint that closes the valve at a leak', () => {
  const openLeak = () =>
    household.cloud.world.openIncident({ type: 'water_presence_detected', sonicId: sonicId() });
  const openButton = {
    action: 'OPEN_VALVE_KITCHEN',
    title: 'Open the valve',
    authenticationRequired: true,
  };
  const titles = (from: number) => phone.messages.slice(from).map(({ title }) => title);

  /** What was published to move a valve since the mark, by whomever. */
  let mark = 0;
  const commands = () =>
    household.watcher.messages
      .slice(mark)
      .filter(({ topic }) => topic.endsWith('/valve/set'))
      .map(({ topic, text }) => `${topic.split('/')[2] === sonicId() ? 'kitchen' : 'other'} ${text}`);

  beforeEach(() => {
    mark = household.watcher.messages.length;
  });

  /** Ends all leaks, and waits until Home Assistant has seen it. */
  async function endLeaks(): Promise<void> {
    for (const id of household.cloud.world.incidents.ids) household.cloud.world.closeIncident(id);
    await expectState('binary_sensor.kitchen_leak', 'off');
    await expectIdle();
  }

  /** Waits until no run of the automation is left, and it had the time to begin one. */
  async function expectIdle(): Promise<void> {
    let quietSince = 0;
    await waitFor(
      async () => {
        const state = (await household.home.states()).get('automation.close_valve_at_leak');
        if (state?.attributes['current'] !== 0) quietSince = 0;
        else if (quietSince === 0) quietSince = performance.now();
        return quietSince > 0 && performance.now() - quietSince > 3_000;
      },
      { what: 'the automation to have nothing to do', timeoutMs: 90_000, intervalMs: 200 },
    );
  }

  const setRadio = (radio_connection: 'connected' | 'disconnected') =>
    household.cloud.world.changeSonic(sonicId(), { radio_connection });

  test('closes it, confirms that, and opens it again only when the button is pressed', async () => {
    await useBlueprint('close_valve_at_leak', {
      // As the form of an earlier version of the blueprint stored it.
      leak_sensor: 'binary_sensor.kitchen_leak',
      valve: 'valve.kitchen',
      phones: [phone.deviceId],
      confirm_timeout: 12,
    });
    await expectState('valve.kitchen', 'open');
    await expectIdle();
    openLeak();
    const begun = await message(/^Leak at Kitchen, Willow Cottage$/, 0);
    expect(begun).toMatchObject({
      message: expect.stringContaining('Closing Kitchen.'),
      data: { actions: [] },
    });
    expect(valveInTheCloud()).not.toBe('closed');
    const told = await message(/^Leak at Kitchen, Willow Cottage: the valve is closed$/, 0);
    expect(valveInTheCloud()).toBe('closed');
    expect(told.data.actions).toEqual([openButton]);
    await phone.press('OPEN_ANOTHER');
    await phone.press(openButton.action);
    expect((await message(/Kitchen: you opened it/, 0)).message).toContain('A leak is still reported');
    expect(valveInTheCloud()).toBe('open');
    expect(phone.messages.length).toBe(3);
    expect(commands()).toEqual(['kitchen CLOSE', 'kitchen OPEN']);
  });

  test('closes it again at another leak, and says so if it does not close', async () => {
    const valve = household.cloud.world.valve(sonicId());
    if (valve) valve.weak = true;
    openLeak();
    const told = await message(/did NOT close/, 3);
    expect(told).toMatchObject({
      message: 'Kitchen is open. Close it by hand.',
      data: { actions: [] },
    });
    expect(valveInTheCloud()).toBe('open');
    if (valve) valve.weak = false;
  });

  test('opens nothing by a press that had to wait until a leak was handled', async () => {
    const valve = household.cloud.world.valve(sonicId());
    if (valve) valve.weak = true;
    const from = phone.messages.length;
    openLeak();
    await message(/^Leak at Kitchen, Willow Cottage$/, from);
    await phone.press(openButton.action);
    await message(/The button came too late/, from);
    expect(commands()).toEqual(['kitchen CLOSE']);
    if (valve) valve.weak = false;
  });

  test('can be tested as its description says, and closes it once then', async () => {
    await endLeaks();
    const from = phone.messages.length;
    await household.home.setState('binary_sensor.kitchen_leak', 'on', { id: 'test' });
    await message(/the valve is closed/, from);
    await expectIdle();
    expect(commands()).toEqual(['kitchen CLOSE']);
    expect(titles(from)).toHaveLength(2);
    await household.home.setState('binary_sensor.kitchen_leak', 'off');
    await commandValve('open');
    await expectIdle();
  });

  test.each(['yesterday', '2099-01-01T10:00:00'])('closes it whenever that was: %s', async (detected_at) => {
    const from = phone.messages.length;
    await household.home.setState('binary_sensor.kitchen_leak', 'on', { id: detected_at, detected_at });
    await message(/the valve is closed/, from);
    expect(valveInTheCloud()).toBe('closed');
    await commandValve('open');
  });

  test('does not confirm with a position from before the command', async () => {
    const valve = household.cloud.world.valve(sonicId());
    if (valve) valve.weak = true;
    const from = phone.messages.length;
    // Somebody has opened it a moment ago.
    await household.home.setState('valve.kitchen', 'closed');
    await household.home.setState('binary_sensor.kitchen_leak', 'on', { id: 'another' });
    expect((await message(/did NOT close|is closed/, from)).title).toContain('did NOT close');
    if (valve) valve.weak = false;
    await household.home.setState('binary_sensor.kitchen_leak', 'off');
    await expectIdle();
  });

  test('closes it once at a leak, and again if the incident opens again under its ID', async () => {
    const { world } = household.cloud;
    const { id } = openLeak();
    await expectState('valve.kitchen', 'closed');
    await expectIdle();
    await commandValve('open');
    world.actOnIncident(id, 'resolve');
    await expectState('binary_sensor.kitchen_leak', 'off');
    world.actOnIncident(id, 'reopen');
    await expectState('valve.kitchen', 'closed');
    await expectIdle();
    expect(commands()).toEqual(['kitchen CLOSE', 'kitchen OPEN', 'kitchen CLOSE']);
    await commandValve('open');
  });

  test('leaves it open that a person has opened, over restarts of the bridge, the broker and Home Assistant', async () => {
    const from = phone.messages.length;
    await household.program.stop();
    await expectState('binary_sensor.kitchen_leak', 'unavailable');
    household.program = startBridge(household.cloud, household.broker, household.program.cwd);
    await expectState('valve.kitchen', 'open');
    await expectState('binary_sensor.kitchen_leak', 'on');
    await household.broker.restart();
    await expectState('valve.kitchen', 'unavailable');
    await expectState('valve.kitchen', 'open');
    await expectState('binary_sensor.kitchen_leak', 'on');
    await reloadAutomations();
    await restartHomeAssistant();
    await expectState('binary_sensor.kitchen_leak', 'on');
    await expectState('valve.kitchen', 'open');
    await expectIdle();
    // The ID of a leak that ends goes a moment before the state.
    await household.home.setState('binary_sensor.kitchen_leak', 'on');
    await expectIdle();
    expect(commands()).toEqual([]);
    expect(titles(from)).toEqual([]);
  });

  test('closes it at a leak that began while Home Assistant was away', async () => {
    const from = phone.messages.length;
    await restartHomeAssistant(openLeak);
    await message(/the valve is closed/, from);
    await expectIdle();
    expect(commands()).toEqual(['kitchen CLOSE']);
    await commandValve('open');
    await endLeaks();
  });

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
          timeoutMs: 90_000,
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

  test('finishes what a restart of Home Assistant interrupts', async () => {
    const valve = household.cloud.world.valve(sonicId());
    if (valve) valve.weak = true;
    const from = phone.messages.length;
    openLeak();
    await message(/^Leak at Kitchen, Willow Cottage$/, from);
    await restartHomeAssistant();
    await message(/did NOT close/, from);
    if (valve) valve.weak = false;
    await endLeaks();
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
    await household.home.callService('automation', 'turn_off', 'automation.whole_house');
    await household.home.callService('valve', 'open_valve', 'valve.garden_tap');
    await endLeaks();
    await watcher.publish('homeassistant/binary_sensor/cellar/config', '', { retain: true });
    await commandValve('open');
  });
});

test('Home Assistant complains about nothing', async () => {
  expect(await household.home.complaints()).toEqual([]);
});
