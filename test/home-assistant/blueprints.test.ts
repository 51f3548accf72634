import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../support/waitFor.ts';
import { type Household, settled, startBridge, startHousehold, stopHousehold, version } from './household.ts';
import { addPhone, type Phone } from './phone.ts';

const folder = new URL('../../blueprints/', import.meta.url);
const files = readdirSync(folder);

const imported = z.object({
  raw_data: z.string(),
  validation_errors: z.array(z.string()).nullable(),
  suggested_filename: z.string(),
});

let household: Household;
let phone: Phone;
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    response.end(readFileSync(new URL(`.${request.url}`, folder)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  household = await startHousehold();
  phone = await addPhone(household.home, 'My phone');
});

afterAll(async () => {
  phone?.close();
  server?.close();
  await stopHousehold(household);
});

const sonicId = () => household.cloud.world.sonics.ids[0] ?? '';
const propertyId = () => household.cloud.world.properties.ids[0] ?? '';
const valveInTheCloud = () => household.cloud.world.sonics.get(sonicId())?.valve_state;

async function expectState(entityId: string, wanted: string): Promise<void> {
  const wrong = async () => {
    const state = (await household.home.states()).get(entityId)?.state;
    return state === wanted ? [] : [`${entityId} is ${state}, not ${wanted}`];
  };
  expect(await settled(wrong)).toEqual([]);
}

/** Waits for a message to the phone whose title is matched, of those after so many others. */
const message = (title: RegExp, from: number) =>
  waitFor(() => phone.messages.slice(from).find((each) => title.test(each.title)), {
    what: `the message ${title}; there are ${phone.messages.map((each) => each.title).join(', ')}`,
    timeoutMs: 90_000,
  });

/** Creates an automation of a blueprint, and waits until it is on. */
async function useBlueprint(blueprint: string, input: object, name = blueprint): Promise<void> {
  await household.home.saveAutomation(name, {
    alias: name.replaceAll('_', ' '),
    use_blueprint: { path: `sonic2mqtt/${blueprint}.yaml`, input },
  });
  await expectState(`automation.${name}`, 'on');
}

async function commandValve(action: 'open' | 'close'): Promise<void> {
  await household.home.callService('valve', `${action}_valve`, 'valve.kitchen');
  await expectState('valve.kitchen', action === 'open' ? 'open' : 'closed');
}

describe(`the blueprints, with Home Assistant ${version}`, () => {
  test.each(files)('%s is imported from its address, and valid', async (file) => {
    const { home } = household;
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/${file}`;
    const { raw_data: yaml, validation_errors: errors } = imported.parse(
      await home.ask('blueprint/import', { url }),
    );
    expect(errors).toBeNull();
    await home.ask('blueprint/save', { domain: 'automation', path: `sonic2mqtt/${file}`, yaml });
  });
});

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

async function reloadAutomations(): Promise<void> {
  await household.home.ask('call_service', { domain: 'automation', service: 'reload' });
}

async function restartHomeAssistant(meanwhile: () => void = () => {}): Promise<void> {
  await household.home.stop();
  meanwhile();
  household.home = await household.startHome();
}

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

  test('tells of a valve that closes without a command, and which incidents are open', async () => {
    const from = phone.messages.length;
    household.cloud.world.setValve(sonicId(), 'closed');
    household.cloud.world.openIncident({ type: 'device_handle_moved', sonicId: sonicId() });
    const told = await message(/Kitchen closed, and nobody here did it/, from);
    expect(told.message).toContain('Open incidents: Kitchen Handle moved.');
    await household.home.callService('automation', 'turn_off', 'automation.valve_closed_by_itself');
  });
});

describe('the blueprint for strict alerts while nobody is home', () => {
  const volume = () => household.cloud.world.notifications.get(propertyId())?.high_volume_threshold_litres;
  const minutes = () =>
    household.cloud.world.notifications.get(propertyId())?.long_flow_notification_delay_mins;
  const notifications = { high_volume_threshold_litres: 250, long_flow_notification_delay_mins: 60 };

  beforeAll(async () => {
    const { cloud, home } = household;
    cloud.world.notifications.change(propertyId(), notifications);
    await expectState('select.willow_cottage_high_water_use_alert_l', '250');
    await phone.moveTo('home');
    await home.ask('person/create', { name: 'Ann', device_trackers: ['device_tracker.my_phone'] });
    await expectState('person.ann', 'home');
  });

  const input = {
    people: ['person.ann'],
    away_delay: 0,
    volume: 'select.willow_cottage_high_water_use_alert_l',
    home_volume: '250',
    duration: 'select.willow_cottage_water_running_too_long_alert_min',
    home_duration: '60',
  };

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
      timeoutMs: 30_000,
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
