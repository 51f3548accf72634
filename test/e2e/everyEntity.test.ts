import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeviceKind } from '../../src/model/devices.ts';
import { incidentTypes } from '../../src/model/records.ts';
import { atSonic, openIncidents, type Place, placeOf, truths, untruths } from '../support/entityTruths.ts';
import {
  type Entity,
  type FakeHomeAssistant,
  type Shown,
  startFakeHomeAssistant,
} from '../support/fakeHomeAssistant.ts';
import { fault, type House, quick, startHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

/** As quick as the others, but for what only a refresh brings at once. */
const schedules = { usage: '400ms', pressure_tests: '400ms', signals: '1h' };

/** A control in somebody's hand. */
interface Trial extends Place {
  readonly device: string;
  readonly homeAssistant: FakeHomeAssistant;
  /** Uses it as Home Assistant does. */
  use(input?: string): Promise<void>;
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
      await trial.use(isOn ? 'on' : 'off');
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
      await trial.use(input);
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
  isDone: (place: Place, incidentId: string) => boolean,
): Try {
  return async ({ device, homeAssistant, house, use, ...place }) => {
    const { world } = place;
    const kind = placeOf(house, device).kind;
    const sonicId = kind === 'sonic' ? place.id : (world.thingIdsOf(place.id)[0] ?? '');
    const asked = world.openIncident({ type: 'low_temperature', sonicId });
    const stubborn = world.openIncident({ type: 'high_humidity', sonicId });
    world.incidents.change(asked.id, { possible_actions: willing });
    world.incidents.change(stubborn.id, { possible_actions: unwilling });
    for (const { id } of [asked, stubborn]) await house.watcher.waitForTopic(`sonic2mqtt/incident/${id}`);
    const outcomes = house.events('command').length;
    await use();
    await waitFor(() => isDone({ ...place, house }, asked.id), { what: 'the incident to be acted on' });
    await waitFor(() => house.events('command').length > outcomes, { what: 'the outcome' });
    expect(house.events('command').at(-1)).toMatchObject({ status: 'ok' });
    expect(world.incidents.get(stubborn.id)).toMatchObject({ open: true, possible_actions: unwilling });
    const requests = house.simulator.requests.entries.filter(
      ({ operation }) => operation === 'act_on_incident',
    );
    expect(requests.filter(({ path }) => path.includes(stubborn.id))).toEqual([]);
    expect(requests.filter(({ path }) => path.includes(asked.id))).toHaveLength(1);
    world.closeIncident(stubborn.id);
    await waitFor(() => !house.watcher.last.has(`sonic2mqtt/incident/${stubborn.id}`), { what: 'its end' });
  };
}

const resolved: Try = pressedForIncidents(
  ['dismiss'],
  ['snooze'],
  ({ world }, incidentId) => world.incidents.get(incidentId)?.open === false,
);
const snoozed: Try = pressedForIncidents(['snooze'], ['resolve'], ({ world }, incidentId) =>
  Object.hasOwn(world.incidents.get(incidentId) ?? {}, 'snoozed_until'),
);

/** How every control is tried, by component id. */
const tries: Readonly<Record<DeviceKind, Readonly<Record<string, Try>>>> = {
  bridge: {
    button_refresh: async ({ house, use }) => {
      // Everything else is polled all the time.
      const count = () => house.simulator.requests.count('list_signals');
      const before = count();
      await use();
      await waitFor(() => count() > before, { what: 'a poll of what is polled once an hour' });
    },
    select_log_level: async ({ house, use, shows }) => {
      for (const level of ['debug', 'warn', 'error', 'info']) {
        const events = house.events('command').length;
        await use(level);
        await shows(level);
        await waitFor(() => house.events('command').length > events, { what: 'the outcome' });
      }
      expect(house.events('command').at(-1)).toMatchObject({ status: 'ok' });
    },
  },
  property: {
    button_resolve_incidents: resolved,
    switch_auto_shut_off: setting('auto_shut_off'),
    switch_pressure_tests_enabled: setting('pressure_tests_enabled'),
    switch_webhook_enabled: setting('webhook_enabled'),
    switch_leak_protection: switched(({ world, id }) => world.leakProtection.get(id)),
    switch_push: switched(({ world, id }) => world.push.get(id)),
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
    text_webhook_url: chosen((place) => settings(place)?.webhook_url, 'https://example.com/hook', ''),
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
        await use(action);
        await recorded(state, ({ world, id }) => world.sonics.get(id)?.valve_state);
        await shows(state);
      }
    },
    button_resolve_incidents: resolved,
    button_snooze_incidents: snoozed,
    button_pressure_test_start: async ({ world, id, use, homeAssistant, device, recorded }) => {
      const before = world.pressureTestsOf(id).length;
      await use();
      await recorded(before + 1, (place) => place.world.pressureTestsOf(id).length);
      await homeAssistant.untilShown(device, 'binary_sensor_pressure_test_running', 'ON');
      // It closes the pipe to test it, which is not a closed valve.
      expect(homeAssistant.entity(device, 'valve_valve').state).toBe('open');
      await homeAssistant.untilShown(device, 'binary_sensor_pressure_test_running', 'OFF');
      await homeAssistant.untilShown(device, 'sensor_pressure_tests_today', before + 1);
    },
    text_name: chosen(({ world, id }) => world.sonics.get(id)?.name, 'Kitchen, under the sink'),
  },
};

const isStateless = ({ platform }: Entity['component']) => platform === 'button' || platform === 'event';
const isControl = ({ component }: Entity) => 'command_topic' in component;

async function untilTrue(house: House, homeAssistant: FakeHomeAssistant): Promise<void> {
  const wrong = () => untruths(house, homeAssistant.entities());
  // The words of what is not true say more than those of a wait in vain.
  await waitFor(() => wrong().length === 0, { what: 'the truth', timeoutMs: 12_000 }).catch(() => undefined);
  expect(wrong()).toEqual([]);
}

describe('Home Assistant', () => {
  let house: House;
  let homeAssistant: FakeHomeAssistant;
  let devices: { readonly property: string; readonly signal: string; readonly sonics: readonly string[] };

  beforeAll(async () => {
    house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 2, valveTravelMs: 600, pressureTestMs: 1_500 },
      config: { schedules: { ...quick, ...schedules } },
      isStarted: false,
    });
    const { world } = house.simulator;
    const [propertyId = ''] = world.properties.ids;
    const [signalId = ''] = world.signals.ids;
    devices = { property: propertyId, signal: signalId, sonics: world.sonics.ids };
    world.changeSonic(world.sonics.ids[0] ?? '', { battery: 'mid' });
    for (const type of incidentTypes) world.openIncident({ type, sonicId: world.sonics.ids[1] ?? '' });
    world.openIncident({ type: 'cloud_disconnection', signalId });
    homeAssistant = await startFakeHomeAssistant(house.broker.url);
    house.startBridge();
    await waitFor(() => homeAssistant.devices.size === 5, { what: 'five devices', timeoutMs: 15_000 });
  });
  afterAll(async () => {
    await homeAssistant.close();
    await house.close();
  });

  /** Kind and component id of each, once. */
  const names = (entities: readonly Entity[]) =>
    [...new Set(entities.map(({ device, id }) => `${placeOf(house, device).kind} ${id}`))].toSorted();
  const namesIn = (table: Readonly<Record<DeviceKind, object>>) =>
    Object.entries(table)
      .flatMap(([kind, rows]) => Object.keys(rows).map((id) => `${kind} ${id}`))
      .toSorted();

  it('shows of every entity what the cloud has', async () => {
    await untilTrue(house, homeAssistant);
    const unknown = homeAssistant
      .entities()
      .filter(({ state, component }) => state === null && !isStateless(component))
      .map(({ device, id }) => `${placeOf(house, device).kind} ${id}`);
    // Of these the cloud has nothing to tell before they are used, or nothing has happened yet.
    expect([...new Set(unknown)].toSorted()).toEqual([
      'property switch_leak_protection',
      'property switch_push',
      'sonic sensor_pressure_test_last_day',
      'sonic sensor_valve_travel_time',
    ]);
    expect(homeAssistant.complaints).toEqual([]);
    // And each that there can be is there.
    const shown = homeAssistant.entities().filter(({ component }) => component['platform'] !== 'button');
    expect(names(shown)).toEqual(namesIn(truths));
  });

  it('hears of every incident once, and shows its record with its sensor', async () => {
    const { world } = house.simulator;
    const [, sonicId = ''] = devices.sonics;
    await homeAssistant.untilShown(`sonic2mqtt_${devices.signal}`, 'event_incident', 'cloud_disconnection');
    const event = () => homeAssistant.entity(`sonic2mqtt_${sonicId}`, 'event_incident');
    const incidents = openIncidents(placeOf(house, `sonic2mqtt_${sonicId}`), atSonic(sonicId));
    await waitFor(() => event().events.length >= incidents.length, { what: 'all events', timeoutMs: 10_000 });
    expect(
      event()
        .events.map(({ id }) => id)
        .toSorted(),
    ).toEqual(incidents.map(({ id }) => id).toSorted());
    for (const incident of world.incidents.values()) {
      if (incident.sonic_id !== sonicId) continue;
      const { attributes } = homeAssistant.entity(
        `sonic2mqtt_${sonicId}`,
        `binary_sensor_incident_${incident.type}`,
      );
      // Home Assistant drops an attribute of that name.
      const { state: _, ...shown } = incident;
      expect(attributes).toEqual(shown);
    }
  });

  it('keeps showing what was, where the cloud refuses a change', async () => {
    const [sonicId = ''] = devices.sonics;
    const [onProperty, onSignal, onSonic] = [devices.property, devices.signal, sonicId].map(
      (id) => `sonic2mqtt_${id}`,
    ) as [string, string, string];
    const refused = [
      ['patch_property', onProperty, 'text_name', 'Elsewhere'],
      ['patch_property', onProperty, 'switch_active', 'off'],
      ['update_property_settings', onProperty, 'switch_auto_shut_off', 'on'],
      ['update_property_settings', onProperty, 'text_timezone', 'Europe/Warsaw'],
      ['update_property_configuration', onProperty, 'switch_leak_protection', 'on'],
      ['update_customer_notifications', onProperty, 'switch_push', 'on'],
      ['update_notification_settings', onProperty, 'switch_legionella_risk', 'on'],
      ['update_notification_settings', onProperty, 'select_high_volume_threshold_litres', '25'],
      ['patch_signal', onSignal, 'text_name', 'Elsewhere'],
      ['patch_sonic', onSonic, 'text_name', 'Elsewhere'],
      ['command_valve', onSonic, 'valve_valve', 'close'],
    ] as const;
    for (const [operation, device, id, input] of refused) {
      const before = homeAssistant.entity(device, id).state;
      const seen = homeAssistant.complaints.length;
      const outcomes = house.events('command').length;
      const from = house.watcher.messages.length;
      house.simulator.setFaults([fault(`error=422@${operation}`)]);
      await homeAssistant.use(device, id, input);
      await waitFor(() => house.events('command').length > outcomes, { what: `the outcome of ${id}` });
      house.simulator.setFaults([]);
      expect(house.events('command').at(-1), id).toMatchObject({ status: 'error', http_status: 422 });
      // It is said again: a card may have gone ahead.
      const { kind, id: recordId } = placeOf(house, device);
      await house.watcher.waitForMessage(
        ({ topic }) => topic === `sonic2mqtt/${kind}/${recordId}/homeassistant`,
        { what: `${id} to be shown again`, from },
      );
      expect(homeAssistant.entity(device, id).state, id).toBe(before);
      expect(homeAssistant.complaints.slice(seen)).toEqual([]);
    }
    await untilTrue(house, homeAssistant);
  });

  it('can use every control of every device, and the cloud does as it is told', async () => {
    const controls = homeAssistant.entities().filter(isControl);
    expect(names(controls)).toEqual(namesIn(tries));
    for (const { device, id } of controls) {
      const place = placeOf(house, device);
      const name = `${place.kind} ${id}`;
      const attempt = tries[place.kind][id];
      if (!attempt) throw new Error(`it is not said how ${name} is tried`);
      await attempt({
        ...place,
        device,
        homeAssistant,
        use: (input) => homeAssistant.use(device, id, input),
        shows: (state) => homeAssistant.untilShown(device, id, state),
        recorded: async (value, record) => {
          await waitFor(() => record({ ...place, world: house.simulator.world }) === value, {
            what: `${name} to be ${value} in the cloud`,
          });
        },
      });
    }
    await untilTrue(house, homeAssistant);
    expect(house.events('command').filter(({ http_status: status }) => status === 422)).toHaveLength(11);
    expect(house.events('command').filter(({ status }) => status !== 'ok')).toHaveLength(11);
    expect(homeAssistant.complaints).toEqual([]);
  }, 60_000);

  it('calls each device by its new name', async () => {
    const { world } = house.simulator;
    const names = new Map<string, string | null>(
      [world.properties, world.signals, world.sonics].flatMap((records) =>
        [...records.values()].map(({ id, name }): [string, string | null] => [`sonic2mqtt_${id}`, name]),
      ),
    );
    const called = () =>
      [...names].every(([device, name]) => homeAssistant.devices.get(device)?.about['name'] === name);
    await waitFor(called, { what: 'the new names', timeoutMs: 8_000 });
    expect(homeAssistant.devices.size).toBe(5);
  });
});
