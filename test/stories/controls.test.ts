import { describe, expect, it } from 'vitest';
import type { DeviceKind } from '../../src/model/devices.ts';
import { type Incident, incidentTypes } from '../../src/model/records.ts';
import { atSonic, openIncidents, type Shown } from '../oracle/recordTruths.ts';
import { type Place, placeOf, truths, untruths } from './entityTruths.ts';
import { type Entity, FakeHomeAssistant } from './fakeHomeAssistant.ts';
import { Home, type HomeOptions, minuteMs, secondMs, startedHome } from './home.ts';

const schedules = { usage: '1m', pressure_tests: '1m', signals: '1m' };

/** A control in somebody's hand. */
interface Trial extends Place {
  readonly kind: DeviceKind;
  /** Uses it as Home Assistant does. */
  use(input?: string): void;
  /** Waits until it shows that. */
  shows(state: Shown): Promise<void>;
  /** Waits until that is so in the simulator's record. */
  recorded(value: unknown, record: (place: Place) => unknown): Promise<void>;
}

/** Uses a control in every way, and asks the simulator's record what came of it. */
type Try = (trial: Trial) => Promise<void>;

/** On and off, or off and on: where it began, it ends. */
function switched(record: (place: Place) => boolean | null | undefined): Try {
  return async (trial) => {
    const before = record(trial) ?? false;
    for (const isOn of [!before, before]) {
      trial.use(isOn ? 'on' : 'off');
      await trial.recorded(isOn, record);
      await trial.shows(isOn ? 'ON' : 'OFF');
    }
  };
}

/** Each input in turn, and what the record then says; an input alone is recorded as it is. */
function chosen(
  record: (place: Place) => unknown,
  ...inputs: readonly (string | readonly [string, unknown])[]
): Try {
  return async (trial) => {
    for (const each of inputs) {
      const [input, value] = typeof each === 'string' ? [each, each] : each;
      trial.use(input);
      await trial.recorded(value, record);
      await trial.shows(String(value));
    }
  };
}

const settings = ({ world, id }: Place) => world.settings.get(id);
const notifications = ({ world, id }: Place) => world.notifications.get(id);

type Settings = NonNullable<ReturnType<typeof settings>>;
type Notifications = NonNullable<ReturnType<typeof notifications>>;
type FlagOf<T> = { [Field in keyof T]: T[Field] extends boolean | null ? Field : never }[keyof T];
const setting = (field: FlagOf<Settings>) => switched((place) => settings(place)?.[field]);
const notification = (field: FlagOf<Notifications>) => switched((place) => notifications(place)?.[field]);

/**
 * Presses a button for the incidents of a sonic, of which one offers only what the button does not do. What was asked
 * of the cloud must be about the others.
 */
function pressedForIncidents(
  willing: readonly string[],
  unwilling: readonly string[],
  isDone: (incident: Incident | undefined) => boolean,
): Try {
  return async ({ home, world, kind, id, use }) => {
    const sonicId = kind === 'sonic' ? id : (world.thingIdsOf(id)[0] ?? '');
    const asked = world.openIncident({ type: 'low_temperature', sonicId });
    const stubborn = world.openIncident({ type: 'high_humidity', sonicId });
    world.incidents.change(asked.id, { possible_actions: willing });
    world.incidents.change(stubborn.id, { possible_actions: unwilling });
    await home.pass(minuteMs);
    const from = home.requests.length;
    use();
    await home.until(() => isDone(world.incidents.get(asked.id)), 'the incident to be acted on');
    expect(world.incidents.get(stubborn.id)).toMatchObject({ open: true, possible_actions: unwilling });
    // Others that are open may offer it, too.
    const acted = home.requests
      .slice(from)
      .map(({ operation, params }) => `${operation} ${params['incident_id']}`);
    expect(acted.filter((each) => each === `act_on_incident ${asked.id}`)).toHaveLength(1);
    expect(acted).not.toContain(`act_on_incident ${stubborn.id}`);
    world.closeIncident(stubborn.id);
    await home.pass(minuteMs);
  };
}

const resolved: Try = pressedForIncidents(['dismiss'], ['snooze'], (incident) => incident?.open === false);
const snoozed: Try = pressedForIncidents(['snooze'], ['resolve'], (incident) =>
  Object.hasOwn(incident ?? {}, 'snoozed_until'),
);

/** How every control is tried, by component id. */
const tries: Readonly<Record<DeviceKind, Readonly<Record<string, Try>>>> = {
  bridge: {
    button_refresh: async ({ home, use }) => {
      const read = () => home.asked('list_properties').length;
      const before = read();
      use();
      await home.until(() => read() > before, 'a poll of what is polled once an hour', minuteMs);
    },
    select_log_level: async ({ use, shows }) => {
      for (const level of ['debug', 'warn', 'error', 'info']) {
        use(level);
        await shows(level);
      }
    },
  },
  property: {
    button_resolve_incidents: resolved,
    switch_auto_shut_off: setting('auto_shut_off'),
    number_pause: async ({ home, world, id, use, shows, recorded }) => {
      world.settings.change(id, { auto_shut_off: true });
      use('1440');
      await recorded(false, (place) => settings(place)?.auto_shut_off);
      await home.until(() => home.json(`property/${id}/pause`).state === 'paused', 'the pause');
      await shows(1_440);
      use('60');
      await shows(60);
    },
    button_resume: async ({ use, recorded }) => {
      use();
      await recorded(true, (place) => settings(place)?.auto_shut_off);
    },
    switch_pressure_tests_enabled: setting('pressure_tests_enabled'),
    switch_webhook_enabled: setting('webhook_enabled'),
    switch_active: switched(({ world, id }) => world.properties.get(id)?.active),
    switch_battery_too_low_to_move_handle: notification('battery_too_low_to_move_handle'),
    switch_cloud_disconnection: notification('cloud_disconnection'),
    switch_device_handle_moved: notification('device_handle_moved'),
    switch_health_check_failed: notification('health_check_failed'),
    switch_high_humidity: notification('high_humidity'),
    switch_high_humidity_threshold: notification('high_humidity_threshold'),
    switch_high_temperature: notification('high_temperature'),
    switch_high_temperature_threshold: notification('high_temperature_threshold'),
    switch_legionella_risk: notification('legionella_risk'),
    switch_low_battery_level: notification('low_battery_level'),
    switch_low_temperature: notification('low_temperature'),
    switch_low_temperature_threshold: notification('low_temperature_threshold'),
    switch_low_water_temperature: notification('low_water_temperature'),
    switch_pressure_test_failed: notification('pressure_test_failed'),
    switch_pressure_test_skipped: notification('pressure_test_skipped'),
    switch_radio_disconnection: notification('radio_disconnection'),
    switch_water_presence_detected: notification('water_presence_detected'),
    select_high_volume_threshold_litres: chosen(
      (place) => notifications(place)?.high_volume_threshold_litres,
      ...[25, 1_000, 150].map((litres) => [`${litres}`, litres] as const),
    ),
    select_long_flow_notification_delay_mins: chosen(
      (place) => notifications(place)?.long_flow_notification_delay_mins,
      ...[15, 360, 60].map((minutes) => [`${minutes}`, minutes] as const),
    ),
    text_pressure_tests_schedule: chosen(
      (place) => settings(place)?.pressure_tests_schedule,
      ['04:15', '04:15:00'],
      '23:59:30',
    ),
    text_timezone: chosen((place) => settings(place)?.timezone, 'Europe/Warsaw', 'Europe/London'),
    text_webhook_url: async ({ use, recorded, shows }) => {
      for (const address of ['https://example.com/hook', '']) {
        // An empty payload is no command.
        use(address || ' ');
        await recorded(address, (place) => settings(place)?.webhook_url);
        // The cloud does not show it.
        await shows('');
      }
    },
    text_name: chosen(({ world, id }) => world.properties.get(id)?.name, 'Haus „Zur Quelle“ 💧'),
  },
  signal: {
    text_name: chosen(({ world, id }) => world.signals.get(id)?.name, 'Cellar, left'),
  },
  sonic: {
    valve_valve: async ({ use, shows, recorded }) => {
      for (const [action, state] of [
        ['close', 'closed'],
        ['open', 'open'],
      ] as const) {
        use(action);
        await recorded(state, ({ world, id }) => world.sonics.get(id)?.valve_state);
        await shows(state);
      }
    },
    button_resolve_incidents: resolved,
    button_snooze_incidents: snoozed,
    button_dismiss_failure: async ({ home, id, use }) => {
      const failed = () => home.entity(id, 'binary_sensor_command_failed').state;
      home.strike = ({ operation }) => (operation === 'command_valve' ? answer(422) : null);
      home.broker.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE', false);
      await home.until(() => failed() === 'ON', 'the failure');
      home.strike = () => null;
      use();
      await home.until(() => failed() === 'OFF', 'its end');
    },
    button_pressure_test_start: async ({ home, id, use, recorded }) => {
      const before = home.world.pressureTestsOf(id).length;
      const shown = () => home.entity(id, 'binary_sensor_pressure_test_running').state;
      use();
      await recorded(before + 1, ({ world }) => world.pressureTestsOf(id).length);
      await home.until(() => shown() === 'ON', 'the test to be shown');
      // It closes the pipe to test it, which is not a closed valve.
      expect(home.entity(id, 'valve_valve').state).toBe('open');
      await home.until(() => shown() === 'OFF', 'its end');
    },
    text_name: chosen(({ world, id }) => world.sonics.get(id)?.name, 'Kitchen, under the sink'),
  },
};

const isStateless = ({ platform }: Entity['component']) => platform === 'button';
const isControl = ({ component }: Entity) => 'command_topic' in component;

const answer = (status: number) => ({ status, headers: { 'content-type': 'application/json' }, text: '{}' });

/** Waits until all of it is true; what is not says more than a wait in vain. Water runs all the time. */
async function expectTrue(home: Home, homeAssistant: FakeHomeAssistant): Promise<void> {
  const wrong = () => untruths(home, homeAssistant.entities());
  await home.until(() => wrong().length === 0, 'the truth').catch(() => undefined);
  expect(wrong()).toEqual([]);
  expect(homeAssistant.complaints).toEqual([]);
}

/** A home of which everything is shown to Home Assistant. Something of every type is wrong with its second sonic. */
async function shownHome() {
  // Nobody uses water here, so no sonic measures anything after the start.
  const home = new Home({ cloud: { sonics: 2 }, config: { schedules, stale_after: '24h' } });
  const { world, signalId } = home;
  const [first = '', second = ''] = world.sonics.ids;
  world.changeSonic(first, { battery: 'mid' });
  for (const type of incidentTypes) world.openIncident({ type, sonicId: second });
  world.openIncident({ type: 'cloud_disconnection', signalId });
  const homeAssistant = new FakeHomeAssistant(home);
  await home.start();
  await home.pass(2 * minuteMs);
  return { home, world, homeAssistant, first, second };
}

/** Kind and component id of each, once. */
const names = (home: Home, entities: readonly Entity[]) =>
  [...new Set(entities.map(({ device, id }) => `${placeOf(home, device).kind} ${id}`))].toSorted();
const namesIn = (table: Readonly<Record<DeviceKind, object>>) =>
  Object.entries(table)
    .flatMap(([kind, rows]) => Object.keys(rows).map((id) => `${kind} ${id}`))
    .toSorted();

describe('Home Assistant', () => {
  it('shows of every entity what the cloud has, and hears of every incident once', async () => {
    const { home, world, homeAssistant, second } = await shownHome();
    expect(homeAssistant.devices.size).toBe(5);
    await expectTrue(home, homeAssistant);
    const unknown = homeAssistant
      .entities()
      .filter(({ state, component }) => state === null && !isStateless(component));
    // Of these the cloud has nothing to tell before they are used, or nothing has happened yet.
    expect(names(home, unknown)).toEqual([
      ...['property sensor_paused_until'],
      ...['sonic sensor_moved_at', 'sonic sensor_moved_by', 'sonic sensor_pressure_test_last_day'],
      ...['sonic sensor_pressure_test_result', 'sonic sensor_valve_travel_time'],
      ...['sonic sensor_water_at_rest'],
    ]);
    // And each that there can be is there.
    const shown = homeAssistant.entities().filter(({ component }) => component['platform'] !== 'button');
    expect(names(home, shown)).toEqual(namesIn(truths));

    const incidents = openIncidents({ world, id: second }, atSonic(second));
    expect(home.opened(second).toSorted()).toEqual(incidents.map(({ id }) => id).toSorted());
    for (const incident of incidents) {
      const { attributes } = homeAssistant.entity(second, `binary_sensor_incident_${incident.type}`);
      // Home Assistant drops an attribute of that name.
      const { state: _, ...record } = incident;
      expect(attributes).toEqual(record);
    }
  });

  it('keeps showing what was if the cloud refuses a change, and is shown it again', async () => {
    const { home, homeAssistant, first } = await shownHome();
    const { propertyId, signalId } = home;
    const refused = [
      ['patch_property', propertyId, 'text_name', 'Elsewhere'],
      ['patch_property', propertyId, 'switch_active', 'off'],
      ['update_property_settings', propertyId, 'switch_auto_shut_off', 'on'],
      ['update_property_settings', propertyId, 'text_timezone', 'Europe/Warsaw'],
      ['update_notification_settings', propertyId, 'switch_legionella_risk', 'on'],
      ['update_notification_settings', propertyId, 'select_high_volume_threshold_litres', '25'],
      ['patch_signal', signalId, 'text_name', 'Elsewhere'],
      ['patch_sonic', first, 'text_name', 'Elsewhere'],
      ['command_valve', first, 'valve_valve', 'close'],
    ] as const;
    for (const [operation, device, id, input] of refused) {
      const { kind } = placeOf(home, `sonic2mqtt_${device}`);
      const before = homeAssistant.entity(device, id).state;
      const states = () => home.published(`${kind}/${device}/homeassistant`).length;
      const shown = states();
      home.strike = (request) => (request.operation === operation ? answer(422) : null);
      homeAssistant.use(device, id, input);
      await home.until(() => states() > shown, `${id} to be shown again`, 20 * secondMs);
      home.strike = () => null;
      expect(home.events('command').at(-1), id).toMatchObject({ status: 'error', http_status: 422 });
      // A card may have gone ahead.
      expect(homeAssistant.entity(device, id).state, id).toBe(before);
    }
    await expectTrue(home, homeAssistant);
  });

  it('can use every control of every device: the cloud makes each change, and all of it is shown', async () => {
    const { home, world, homeAssistant } = await shownHome();
    const controls = homeAssistant.entities().filter(isControl);
    expect(names(home, controls)).toEqual(namesIn(tries));
    for (const { device, id } of controls) {
      const place = placeOf(home, device);
      const deviceId = device.slice('sonic2mqtt_'.length);
      const waiting = (words: string) => () =>
        `${place.kind} ${id} ${words}. Last command: ${JSON.stringify(home.events('command').at(-1))}`;
      await tries[place.kind][id]?.({
        ...place,
        use: (input) => homeAssistant.use(deviceId, id, input),
        shows: (state) =>
          home.until(() => homeAssistant.entity(deviceId, id).state === state, waiting(`to show ${state}`)),
        recorded: (value, record) =>
          home.until(() => record(place) === value, waiting(`to be ${value} in the cloud`)),
      });
    }
    await home.pass(2 * minuteMs);
    // The failure that is dismissed is a command that the cloud has refused.
    const failed = home.events('command').filter(({ status }) => status !== 'ok');
    expect(failed.filter(({ http_status }) => http_status !== 422)).toEqual([]);
    await expectTrue(home, homeAssistant);
    for (const records of [world.properties, world.signals, world.sonics]) {
      for (const { id, name } of records.values()) expect(home.discovery(id).device.name).toBe(name);
    }
    expect(homeAssistant.devices.size).toBe(5);
  });
});

/** A home that is there, and how a command below the property ends. */
async function settingsHome(options: HomeOptions = {}) {
  const home = await startedHome(options);
  const command = async (path: string, payload: string) => {
    const before = home.events('command').length;
    home.broker.publish(`sonic2mqtt/property/${home.propertyId}/${path}/set`, payload, false);
    await home.until(() => home.events('command').length > before, `the outcome of ${path}`);
    return home.events('command').at(-1);
  };
  const sent = () => home.asked('update_property_settings').map(({ body }) => JSON.parse(body));
  return { home, command, sent };
}

describe('a setting', () => {
  it('is sent alone, or together with others in one request', async () => {
    const { home, command, sent } = await settingsHome();
    expect(await command('settings/auto_shut_off', 'ON')).toMatchObject({ status: 'ok', http_status: 200 });
    const fields = { auto_shut_off: false, pressure_tests_schedule: '05:00', timezone: 'Europe/Paris' };
    expect(await command('settings', JSON.stringify(fields))).toMatchObject({ status: 'ok' });
    expect(sent()).toEqual([{ auto_shut_off: true }, { ...fields, pressure_tests_schedule: '05:00:00' }]);
    await home.pass(secondMs);
    // The cloud does not show the address of the webhook.
    const held = home.world.settings.get(home.propertyId);
    expect(home.json(`property/${home.propertyId}/settings`)).toEqual({ ...held, webhook_url: null });
  });

  it('that is wrong is refused in words, by the bridge or by the cloud', async () => {
    const { home, command, sent } = await settingsHome();
    expect(await command('settings/auto_shutoff', 'ON')).toMatchObject({
      status: 'refused',
      reason: 'auto_shutoff is unknown. Did you mean auto_shut_off?',
    });
    expect(sent()).toEqual([]);
    // Which values the cloud takes, only the cloud knows, and what it says of them is passed on.
    const words = { errors: { high_volume_threshold_litres: ['must be one of 25, 50'] } };
    home.strike = ({ operation }) =>
      operation === 'update_notification_settings'
        ? { status: 422, headers: { 'content-type': 'application/json' }, text: JSON.stringify(words) }
        : null;
    expect(await command('notifications/high_volume_threshold_litres', '99')).toMatchObject({
      status: 'error',
      http_status: 422,
      reason: expect.stringContaining('high_volume_threshold_litres: must be one of 25, 50'),
    });
  });

  it('is unknown once it could not be read for too long, and known again once it is read', async () => {
    const { home } = await settingsHome({ config: { schedules: { properties: '10m' } } });
    const shown = (what: string) => home.json(`property/${home.propertyId}/${what}`);
    const before = { settings: shown('settings'), notifications: shown('notifications') };
    home.strike = ({ operation }) => (operation === 'read_property_settings' ? 'error-503' : null);
    await home.pass(11 * minuteMs);
    expect(shown('settings')).toEqual(before.settings);
    await home.pass(20 * minuteMs);
    expect(shown('settings')).toMatchObject({ auto_shut_off: null, timezone: null, webhook_enabled: null });
    expect(home.entity(home.propertyId, 'switch_auto_shut_off').state).toBeNull();
    expect(shown('notifications')).toEqual(before.notifications);
    home.strike = () => null;
    await home.pass(11 * minuteMs);
    expect(shown('settings')).toEqual(before.settings);
  });

  it('that the cloud does not show can be changed, and has neither an entity nor a state', async () => {
    const { home, command } = await settingsHome();
    const { propertyId, world } = home;
    for (const [name, set] of [
      ['leak_protection', world.leakProtection],
      ['push', world.push],
    ] as const) {
      for (const isOn of [true, false]) {
        expect(await command(name, isOn ? 'ON' : 'OFF')).toMatchObject({ status: 'ok', http_status: 200 });
        expect(set.get(propertyId)).toBe(isOn);
      }
      expect(Object.keys(home.discovery(propertyId).components)).not.toContain(`switch_${name}`);
      expect([...home.broker.retained.keys()].filter((topic) => topic.endsWith(`/${name}`))).toEqual([]);
    }
  });

  it('is not sent any more if the cloud turns out not to offer it', async () => {
    const { home, command } = await settingsHome({ cloud: { properties: 2 } });
    const status = () => home.json('bridge/info').operations.update_customer_notifications;
    home.strike = ({ operation }) => (operation === 'update_customer_notifications' ? answer(404) : null);
    expect(await command('push', 'ON')).toMatchObject({ status: 'error', http_status: 404 });
    await home.pass(minuteMs);
    // The property might just have been removed: a list that still shows it makes it certain.
    expect(status()).toBe('available');
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(minuteMs);
    expect(await command('push', 'ON')).toMatchObject({ status: 'error', http_status: 404 });
    await home.pass(minuteMs);
    expect(status()).toBe('unavailable');
    expect(await command('push', 'ON')).toMatchObject({ status: 'error', http_status: null });
    expect(home.asked('update_customer_notifications')).toHaveLength(2);
  });

  it('has no entity where control.settings is off', async () => {
    const { home } = await settingsHome({ config: { control: { settings: false } } });
    const components = Object.entries<object>(home.discovery(home.propertyId).components);
    const controls = components.filter(([, component]) => 'command_topic' in component).map(([id]) => id);
    expect(controls).toEqual(['button_resolve_incidents']);
  });
});

describe('a sonic on Wi-Fi', () => {
  it('is shown with all that one on a hub has, below its property', async () => {
    const home = new Home({ cloud: { properties: 2, wifiSonics: 2 } });
    const { world } = home;
    const [barn = '', annexe = ''] = world.wifiSonics.ids;
    const [, cottage = ''] = world.properties.ids;
    world.wifiSonics.change(annexe, { property_id: cottage } as object);
    await home.start();
    expect(home.json(`sonic/${barn}/telemetry`).pressure_bar).toBeGreaterThan(0);
    expect(home.json(`sonic/${barn}/usage`).total).toBeGreaterThan(0);
    expect(home.json(`sonic/${barn}`)).toMatchObject({
      ...world.wifiSonics.get(barn),
      signal_id: null,
      valve: 'open',
    });
    expect(home.json(`sonic/${annexe}`).property_id).toBe(cottage);
    expect(home.discovery(barn).device.via_device).toBe('sonic2mqtt_bridge');
    expect(home.discovery(annexe).device.via_device).toBe(`sonic2mqtt_${cottage}`);
    const [ofHub, ofWifi] = [home.sonicId, barn].map((id) => Object.keys(home.discovery(id).components));
    expect(ofWifi?.toSorted()).toEqual(ofHub?.toSorted());
  });

  it('changes its valve and its name by its own routes, and never by those of a hub', async () => {
    const home = new Home({ cloud: { wifiSonics: 1 } });
    const [barn = ''] = home.world.wifiSonics.ids;
    await home.start();
    home.broker.publish(`sonic2mqtt/sonic/${barn}/valve/set`, 'CLOSE', false);
    home.broker.publish(`sonic2mqtt/sonic/${barn}/name/set`, 'Stable', false);
    await home.pass(minuteMs);
    expect(home.events('command')).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
    expect(home.json(`sonic/${barn}`)).toMatchObject({ valve: 'closed', name: 'Stable' });
    expect(home.world.wifiSonics.get(barn)).toMatchObject({ valve_state: 'closed', name: 'Stable' });
    const routes = ['command_wifi_valve', 'patch_wifi_sonic', 'command_valve', 'patch_sonic', 'read_sonic'];
    expect(routes.map((name) => home.asked(name).length)).toEqual([1, 1, 0, 0, 0]);
  });
});
