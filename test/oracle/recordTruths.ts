import type { DeviceKind } from '../../src/model/devices.ts';
import { type Incident, incidentTypes, valveStates } from '../../src/model/records.ts';
import { localTime } from '../../src/simulator/localTime.ts';
import { newSignal, newSonic } from '../../src/simulator/records.ts';
import { isConnected, wordOf } from './words.ts';
import type { WorldView } from './worldHistory.ts';

/** The state that an entity shows. Null means unknown. */
export type Shown = string | number | null;

/** A device, and the world in which to look it up: as it is now, or as it was at an earlier moment. */
export interface Place {
  readonly world: WorldView;
  readonly id: string;
}

const onOff = (flag: boolean | null | undefined): Shown =>
  flag === null || flag === undefined ? null : flag ? 'ON' : 'OFF';
const iso = (seconds: number | null | undefined): Shown =>
  seconds ? new Date(seconds * 1_000).toISOString() : null;

/** The open incidents for which `isAt` is true. */
export const openIncidents = ({ world }: Place, isAt: (incident: Incident) => boolean) =>
  [...world.incidents.values()].filter((incident) => incident.open && isAt(incident));
export const atSonic = (id: string) => (incident: Incident) => incident.sonic_id === id;
/** At that hub, and at none of its known valves. */
const atSignalAlone =
  ({ world, id }: Place) =>
  (incident: Incident) =>
    incident.signal_id === id && !world.things.get(incident.sonic_id ?? '');
const inProperty =
  ({ world, id }: Place) =>
  (incident: Incident) => {
    // The cloud does not say where a Wi-Fi valve is, so its incident counts in each property.
    if (world.things.get(incident.sonic_id ?? '')?.signal_id === null && world.properties.size > 1)
      return true;
    const propertyId = world.propertyOfIncident(incident);
    if (propertyId !== undefined) return propertyId === id;
    // An incident without a known device belongs to the property if the account has only one. What a hub says of
    // itself belongs to the bridge device alone if nobody lists the hub.
    return world.properties.size === 1 && (incident.signal_id === null || incident.sonic_id !== null);
  };

/** Whether an incident belongs to a device of that kind. */
export const isAt = {
  property: inProperty,
  signal: atSignalAlone,
  sonic: ({ id }: Place) => atSonic(id),
};

const property = ({ world, id }: Place) => world.properties.get(id);
const settings = ({ world, id }: Place) => world.settings.get(id);
const notifications = ({ world, id }: Place) => world.notifications.get(id);
const signal = ({ world, id }: Place) => world.signals.get(id);
const sonic = ({ world, id }: Place) => world.things.get(id);
const telemetry = ({ world, id }: Place) => world.telemetry(id);

/**
 * The truths of the entities that show a field of a record as it is, and are named like it. `example` has all fields, and
 * `others` have no such entity.
 */
function plainFields(
  example: object,
  record: (place: Place) => object | undefined,
  others: readonly string[],
): Readonly<Record<string, (place: Place) => Shown>> {
  const fields = Object.entries(example).filter(([field]) => !others.includes(field));
  return Object.fromEntries(
    fields.map(([field, value]) => {
      const of = (place: Place) => (record(place) as Readonly<Record<string, never>> | undefined)?.[field];
      return typeof value === 'boolean'
        ? [`binary_sensor_${field}`, (place) => onOff(of(place))]
        : [`sensor_${field}`, (place) => of(place) ?? null];
    }),
  );
}

/** Fields that no entity of their name shows as they are. */
const notShown = [
  ...['id', 'name', 'serial_no', 'created_at', 'signal_id', 'cloud_connection', 'radio_connection'],
];

const thousandth = (value: number | null | undefined): Shown =>
  value === null || value === undefined ? null : value / 1_000;

const batteries: Readonly<Record<string, string>> = {
  mid: 'Medium',
  high: 'High',
  low: 'Low',
  critical: 'Low',
  external_power_supply: 'External power',
};

const flags = [
  ...['battery_too_low_to_move_handle', 'cloud_disconnection', 'device_handle_moved', 'health_check_failed'],
  ...['high_humidity', 'high_humidity_threshold', 'high_temperature', 'high_temperature_threshold'],
  ...['legionella_risk', 'low_battery_level', 'low_temperature', 'low_temperature_threshold'],
  ...['low_water_temperature', 'pressure_test_failed', 'pressure_test_skipped', 'radio_disconnection'],
  'water_presence_detected',
] as const;
type Flag = Extract<keyof NonNullable<ReturnType<typeof notifications>>, (typeof flags)[number]>;

const positions: Readonly<Record<string, Shown>> = {
  open: 'open',
  closed: 'closed',
  opening: 'opening',
  requested_open: 'opening',
  closing: 'closing',
  requested_closed: 'closing',
};

/** During a pressure test the position before the test counts. An unknown state gives no position. */
function valveShown(state: string | null | undefined, settled: Shown | undefined): Shown {
  return (wordOf(state) === 'pressure_test' ? settled : positions[wordOf(state)]) ?? null;
}

/**
 * The result comes from the newest open incident about a test, if it is not older than the day of the last
 * test.
 */
function pressureTestResult(place: Place): Shown {
  const { world, id } = place;
  const dayOf = (at: string | null) =>
    localTime(Date.parse(at ?? ''), world.timezoneOf(world.propertyOf(id))).date;
  const last = world.pressureTestsOf(id).at(-1);
  if (!last) return null;
  const [newest] = openIncidents(place, atSonic(id))
    .filter(
      ({ type, detected_at }) =>
        type?.startsWith('pressure_test_') && dayOf(detected_at) >= dayOf(last.started_at),
    )
    .toSorted((one, other) => Date.parse(other.detected_at ?? '') - Date.parse(one.detected_at ?? ''));
  const word = newest?.type?.slice('pressure_test_'.length) ?? 'no open alert';
  return word[0]?.toUpperCase() + word.slice(1);
}

/** An unknown word of the valve is unknown, not "no". */
function isInState(place: Place, wanted: string): Shown {
  const word = wordOf(sonic(place)?.valve_state);
  return valveStates.some((each) => each === word) ? onOff(word === wanted) : null;
}

/** An unknown word of the battery is unknown, not "no". */
function isPowered(place: Place, wanted: string): Shown {
  const word = batteries[wordOf(sonic(place)?.battery)];
  return word === undefined ? null : onOff(word === wanted);
}

/**
 * What each entity must show that shows fields of a record: by kind of device, then by component ID. `world`
 * is the simulated cloud with all its devices.
 */
export const recordTruths: Readonly<
  Record<Exclude<DeviceKind, 'bridge'>, Readonly<Record<string, (place: Place) => Shown>>>
> = {
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
    // The cloud does not show it.
    text_webhook_url: () => '',
    text_name: (place) => property(place)?.name ?? '',
    sensor_address: (place) => {
      const { address, postcode, city } = property(place) ?? {};
      return `${address}, ${postcode}, ${city}`;
    },
  },
  signal: {
    ...plainFields(
      newSignal(0, () => 0, 0),
      signal,
      notShown,
    ),
    binary_sensor_cloud_connection: (place) => onOff(isConnected(signal(place)?.cloud_connection)),
    binary_sensor_incident_cloud_disconnection: (place) =>
      onOff(openIncidents(place, atSignalAlone(place)).some(({ type }) => type === 'cloud_disconnection')),
    sensor_open_incidents: (place) => openIncidents(place, atSignalAlone(place)).length,
    sensor_boot_time: (place) => iso(signal(place)?.boot_time),
    sensor_modem_boot_time: (place) => iso(signal(place)?.modem_boot_time),
    sensor_hub_status: (place) => (signal(place)?.cloud_connection === 'connected' ? 'online' : 'offline'),
    text_name: (place) => signal(place)?.name ?? '',
  },
  sonic: {
    ...plainFields(
      newSonic(0, null, () => 0, 0),
      sonic,
      notShown,
    ),
    valve_valve: ({ world, id }) => valveShown(world.things.get(id)?.valve_state, world.valve(id)?.settled),
    sensor_valve_state: (place) => {
      const written = sonic(place)?.valve_state ?? null;
      return written === null ? null : (valveStates.find((each) => each === wordOf(written)) ?? 'other');
    },
    binary_sensor_valve_problem: (place) => isInState(place, 'faulty'),
    binary_sensor_pressure_test_running: (place) => isInState(place, 'pressure_test'),
    sensor_battery: (place) => batteries[wordOf(sonic(place)?.battery)] ?? 'Other',
    binary_sensor_battery_low: (place) => isPowered(place, 'Low'),
    binary_sensor_external_power: (place) => isPowered(place, 'External power'),
    binary_sensor_radio_connection: (place) => onOff(isConnected(sonic(place)?.radio_connection)),
    ...Object.fromEntries(
      incidentTypes.map((type) => [
        `binary_sensor_incident_${type}`,
        (place: Place) => onOff(openIncidents(place, atSonic(place.id)).some((each) => each.type === type)),
      ]),
    ),
    binary_sensor_alert: (place) => onOff(openIncidents(place, atSonic(place.id)).length > 0),
    sensor_open_incidents: (place) => openIncidents(place, atSonic(place.id)).length,
    sensor_pressure_test_result: pressureTestResult,
    sensor_flow: (place) => thousandth(telemetry(place)?.water_flow),
    sensor_pressure: (place) => thousandth(telemetry(place)?.pressure),
    sensor_water_temperature: (place) => telemetry(place)?.water_temp ?? null,
    sensor_telemetry_time: (place) => iso(telemetry(place)?.probed_at),
    // The cloud has millilitres.
    sensor_auto_shut_off_volume_limit: (place) => thousandth(sonic(place)?.auto_shut_off_volume_limit),
    text_name: (place) => sonic(place)?.name ?? '',
  },
};
