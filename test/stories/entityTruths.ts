import { version } from '../../src/base/version.ts';
import type { DeviceKind } from '../../src/model/devices.ts';
import { type Incident, incidentTypes } from '../../src/model/records.ts';
import { applianceCategories } from '../../src/simulator/handlers.ts';
import { localTime } from '../../src/simulator/localTime.ts';
import type { World } from '../../src/simulator/world.ts';
import type { Entity, Shown } from './fakeHomeAssistant.ts';
import type { Home } from './home.ts';

/** A device of the home, and the world in which it is. */
export interface Place {
  readonly home: Home;
  readonly world: World;
  /** Empty for the bridge. */
  readonly id: string;
}

/** What the world says that an entity has to show; a function judges what only the bridge itself can know. */
type Truth = (place: Place) => Shown | ((shown: Shown) => boolean);

const onOff = (flag: boolean | null | undefined): Shown =>
  flag === null || flag === undefined ? null : flag ? 'ON' : 'OFF';
const iso = (seconds: number | null | undefined): Shown =>
  seconds ? new Date(seconds * 1_000).toISOString() : null;
const tenth = (litres: number) => Math.round(litres * 10) / 10;

/** The open incidents that the world has somewhere. */
export const openIncidents = ({ world }: Place, isAt: (incident: Incident) => boolean) =>
  [...world.incidents.values()].filter((incident) => incident.open && isAt(incident));
/** At that sonic. */
export const atSonic = (id: string) => (incident: Incident) => incident.sonic_id === id;
const atSignalAlone =
  ({ world, id }: Place) =>
  (incident: Incident) =>
    incident.signal_id === id && !world.things.get(incident.sonic_id ?? '');
const inProperty =
  ({ world, id }: Place) =>
  (incident: Incident) =>
    world.propertyOfIncident(incident) === id;

const property = ({ world, id }: Place) => world.properties.get(id);
const settings = ({ world, id }: Place) => world.settings.get(id);
const notifications = ({ world, id }: Place) => world.notifications.get(id);
const signal = ({ world, id }: Place) => world.signals.get(id);
const sonic = ({ world, id }: Place) => world.things.get(id);
const telemetry = ({ world, id }: Place) => world.telemetry(id);

/** What an event may show: the type of an incident that was at the device, of any; nothing only where none is open. */
const lastType =
  (place: Place, isAt: (incident: Incident) => boolean) =>
  (shown: Shown): boolean => {
    const types = [...place.world.incidents.values()].filter(isAt).map(({ type }) => type);
    return shown === null ? openIncidents(place, isAt).length === 0 : types.includes(String(shown));
  };

/** The litres of each day that the cloud tells of, this month and last, by date. */
function days({ world, id }: Place): Map<string, number> {
  const { date } = today({ world, id });
  const [year, month] = [Number(date.slice(0, 4)), Number(date.slice(5, 7))];
  const last = month === 1 ? { year: year - 1, month: 12 } : { year, month: month - 1 };
  const daily = [last, { year, month }].flatMap((each) => world.usage(id, each).daily);
  return new Map(daily.map(({ date: day, liters }) => [day, liters]));
}
const today = ({ world, id }: Pick<Place, 'world' | 'id'>) =>
  localTime(world.now, world.timezoneOf(world.propertyOf(id)));
const dayBefore = (date: string) =>
  new Date(Date.parse(date) - 24 * 60 * 60 * 1_000).toISOString().slice(0, 10);
const sum = (litres: Iterable<number>) => tenth([...litres].reduce((all, each) => all + each, 0));

const batteries: Readonly<Record<string, string>> = {
  mid: 'medium',
  high: 'high',
  low: 'low',
  external_power_supply: 'external_power_supply',
};

const flags = [
  ...['battery_too_low_to_move_handle', 'cloud_disconnection', 'device_handle_moved', 'health_check_failed'],
  ...['high_humidity', 'high_humidity_threshold', 'high_temperature', 'high_temperature_threshold'],
  ...['legionella_risk', 'low_battery_level', 'low_temperature', 'low_temperature_threshold'],
  ...['low_water_temperature', 'pressure_test_failed', 'pressure_test_skipped', 'radio_disconnection'],
  'water_presence_detected',
] as const;
type Flag = Extract<keyof NonNullable<ReturnType<typeof notifications>>, (typeof flags)[number]>;

/** What each entity has to show, by component id. */
export const truths: Readonly<Record<DeviceKind, Readonly<Record<string, Truth>>>> = {
  bridge: {
    binary_sensor_cloud: () => 'ON',
    binary_sensor_unassigned_incidents: () => 'OFF',
    sensor_status: () => 'ok',
    sensor_last_update:
      ({ world }) =>
      (shown) =>
        Date.parse(String(shown)) <= world.now,
    sensor_requests_last_hour:
      ({ home }) =>
      (shown) =>
        Number(shown) > 0 && Number(shown) <= home.requests.length,
    sensor_version: () => version,
    select_log_level: () => 'info',
    sensor_appliance_categories: () => applianceCategories.length,
  },
  property: {
    binary_sensor_problem: (place) => onOff(openIncidents(place, inProperty(place)).length > 0),
    sensor_open_incidents: (place) => openIncidents(place, inProperty(place)).length,
    sensor_highest_severity: (place) => {
      const severities = openIncidents(place, inProperty(place)).map(({ severity }) => severity);
      return ['high', 'medium', 'low'].find((severity) => severities.includes(severity)) ?? 'none';
    },
    switch_auto_shut_off: (place) => onOff(settings(place)?.auto_shut_off),
    switch_pressure_tests_enabled: (place) => onOff(settings(place)?.pressure_tests_enabled),
    switch_webhook_enabled: (place) => onOff(settings(place)?.webhook_enabled),
    // The cloud shows neither: they are unknown until something was set.
    switch_leak_protection: ({ world, id }) => onOff(world.leakProtection.get(id)),
    switch_push: ({ world, id }) => onOff(world.push.get(id)),
    switch_active: (place) => onOff(property(place)?.active),
    ...Object.fromEntries(
      flags.map((flag) => [`switch_${flag}`, (place: Place) => onOff(notifications(place)?.[flag as Flag])]),
    ),
    select_high_volume_threshold_litres: (place) =>
      String(notifications(place)?.high_volume_threshold_litres),
    select_long_flow_notification_delay_mins: (place) =>
      String(notifications(place)?.long_flow_notification_delay_mins),
    text_pressure_tests_schedule: (place) => settings(place)?.pressure_tests_schedule ?? '',
    text_timezone: (place) => settings(place)?.timezone ?? '',
    text_webhook_url: (place) => settings(place)?.webhook_url ?? '',
    text_name: (place) => property(place)?.name ?? '',
    sensor_address: (place) => {
      const { address, postcode, city } = property(place) ?? {};
      return `${address}, ${postcode}, ${city}`;
    },
  },
  signal: {
    binary_sensor_cloud_connection: (place) => onOff(signal(place)?.cloud_connection === 'connected'),
    binary_sensor_incident_cloud_disconnection: (place) =>
      onOff(openIncidents(place, atSignalAlone(place)).some(({ type }) => type === 'cloud_disconnection')),
    // What a sonic announced before it went is not announced again.
    event_incident: (place) => (shown) => shown === null || lastType(place, atSignalAlone(place))(shown),
    sensor_open_incidents: (place) => openIncidents(place, atSignalAlone(place)).length,
    sensor_wifi_rssi: (place) => signal(place)?.wifi_rssi ?? null,
    sensor_boot_time: (place) => iso(signal(place)?.boot_time),
    sensor_modem_boot_time: (place) => iso(signal(place)?.modem_boot_time),
    sensor_version: (place) => signal(place)?.version ?? null,
    sensor_modem_version: (place) => signal(place)?.modem_version ?? null,
    sensor_hub_status: (place) => (signal(place)?.cloud_connection === 'connected' ? 'online' : 'offline'),
    text_name: (place) => signal(place)?.name ?? '',
  },
  sonic: {
    valve_valve: ({ world, id }) => world.valve(id)?.settled ?? null,
    sensor_valve_state: (place) => sonic(place)?.valve_state ?? null,
    binary_sensor_valve_problem: (place) => onOff(sonic(place)?.valve_state === 'faulty'),
    binary_sensor_pressure_test_running: ({ world, id }) => onOff(world.valve(id)?.testing),
    sensor_battery: (place) => batteries[sonic(place)?.battery ?? ''] ?? 'other',
    binary_sensor_battery_low: (place) => onOff(sonic(place)?.battery === 'low'),
    binary_sensor_external_power: (place) => onOff(sonic(place)?.battery === 'external_power_supply'),
    binary_sensor_radio_connection: (place) => onOff(sonic(place)?.radio_connection === 'connected'),
    sensor_radio_rssi: (place) => sonic(place)?.radio_rssi ?? null,
    sensor_status: (place) => sonic(place)?.status ?? null,
    ...Object.fromEntries(
      incidentTypes.map((type) => [
        `binary_sensor_incident_${type}`,
        (place: Place) => onOff(openIncidents(place, atSonic(place.id)).some((each) => each.type === type)),
      ]),
    ),
    event_incident: (place) => lastType(place, atSonic(place.id)),
    sensor_open_incidents: (place) => openIncidents(place, atSonic(place.id)).length,
    sensor_pressure_tests_today: (place) =>
      place.world
        .pressureTestsOf(place.id)
        .filter(({ started_at }) => dateOf(place, started_at) === today(place).date).length,
    sensor_pressure_test_last_day: (place) => {
      const last = place.world.pressureTestsOf(place.id).at(-1);
      return last ? dateOf(place, last.started_at) : null;
    },
    sensor_water_today: (place) => days(place).get(today(place).date) ?? null,
    sensor_water_yesterday: (place) => days(place).get(dayBefore(today(place).date)) ?? null,
    sensor_water_month: (place) => {
      const month = today(place).date.slice(0, 7);
      return sum([...days(place)].filter(([date]) => date.startsWith(month)).map(([, litres]) => litres));
    },
    sensor_water_total: (place) => sum(days(place).values()),
    sensor_flow: (place) => (telemetry(place)?.water_flow ?? 0) / 1_000,
    sensor_pressure: (place) => (telemetry(place)?.pressure ?? 0) / 1_000,
    sensor_water_temperature: (place) => telemetry(place)?.water_temp ?? null,
    sensor_telemetry_time: (place) => iso(telemetry(place)?.probed_at),
    binary_sensor_auto_shut_off_enabled: (place) => onOff(sonic(place)?.auto_shut_off_enabled),
    sensor_auto_shut_off_time_limit: (place) => sonic(place)?.auto_shut_off_time_limit ?? null,
    sensor_auto_shut_off_volume_limit: (place) => (sonic(place)?.auto_shut_off_volume_limit ?? 0) / 1_000,
    // Nobody but the bridge measures it; unknown before the first command.
    sensor_valve_travel_time:
      ({ home, id }) =>
      (shown) =>
        isMoved(home, id) ? Number(shown) > 0 && Number(shown) < 60 : shown === null,
    text_name: (place) => sonic(place)?.name ?? '',
  },
};

const dateOf = ({ world, id }: Place, at: string) =>
  localTime(Date.parse(at), world.timezoneOf(world.propertyOf(id))).date;

const isMoved = ({ valveCommands }: Home, id: string) =>
  valveCommands.some(({ target, status }) => target.includes(id) && status === 200);

/** The place of a device, by its identifier. */
export function placeOf(home: Home, device: string): Place & { readonly kind: DeviceKind } {
  const { world } = home;
  if (device === 'sonic2mqtt_bridge') return { kind: 'bridge', home, world, id: '' };
  const id = device.slice('sonic2mqtt_'.length);
  const kind = world.properties.has(id) ? 'property' : world.signals.has(id) ? 'signal' : 'sonic';
  return { kind, home, world, id };
}

/** Each entity that is unavailable or shows something else than the world says, in words. */
export function untruths(home: Home, entities: readonly Entity[]): string[] {
  return entities.flatMap(({ device, id, component, state, isAvailable }) => {
    const place = placeOf(home, device);
    const name = `${place.kind} ${place.id} ${id}`;
    if (!isAvailable) return [`${name} is unavailable`];
    if (component['platform'] === 'button') return [];
    const truth = truths[place.kind][id];
    if (!truth) return [`${name} is not among the truths`];
    const wanted = truth(place);
    if (typeof wanted === 'function') return wanted(state) ? [] : [`${name} shows ${state}`];
    return wanted === state ? [] : [`${name} shows ${state}, not ${wanted}`];
  });
}
