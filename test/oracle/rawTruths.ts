import { type Place, recordTruths, type Shown } from './recordTruths.ts';
import { isOnline } from './words.ts';

type Truths = Readonly<Record<string, (place: Place) => Shown>>;

const plain = (value: unknown): Shown =>
  typeof value === 'boolean'
    ? String(value)
    : typeof value === 'string' || typeof value === 'number'
      ? value
      : null;

/** The fields of a record as the cloud has them. True and false are given as texts. */
function fields<Name extends string>(
  record: (place: Place) => object | undefined,
  ...names: readonly Name[]
): Truths {
  const one = (name: string) => (place: Place) =>
    plain(Object.entries(record(place) ?? {}).find(([key]) => key === name)?.[1]);
  return Object.fromEntries(names.map((name) => [name, one(name)]));
}

const { sonic, signal, property } = recordTruths;

function only(truths: Truths, names: Readonly<Record<string, string>>): Truths {
  return Object.fromEntries(
    Object.entries(names).flatMap(([field, id]) => {
      const truth = truths[id];
      return truth ? [[field, truth]] : [];
    }),
  );
}

const online = (isUp: boolean): Shown => (isUp ? 'online' : 'offline');

function isReachable({ world, id }: Place): boolean {
  const record = world.things.get(id);
  if (!record) return false;
  const { signal_id: signalId, radio_connection: radio } = record;
  return isOnline(radio) && (signalId === null || isHubOnline({ world, id: signalId }));
}

function isHubOnline({ world, id }: Place): boolean {
  return isOnline(world.signals.get(id)?.cloud_connection);
}

/** What the raw topics of each device must show: by the path below the device's topic, then by field. */
export const rawTruths: Readonly<Record<keyof typeof recordTruths, Readonly<Record<string, Truths>>>> = {
  property: {
    '': fields(({ world, id }) => world.properties.get(id), 'name', 'active', 'address', 'city', 'postcode'),
    settings: fields(
      ({ world, id }) => world.settings.get(id),
      ...[
        'auto_shut_off',
        'pressure_tests_enabled',
        'pressure_tests_schedule',
        'timezone',
        'webhook_enabled',
      ],
    ),
    notifications: fields(
      ({ world, id }) => world.notifications.get(id),
      ...['water_presence_detected', 'low_battery_level', 'high_volume_threshold_litres'],
    ),
    incidents: only(property, {
      open_count: 'sensor_open_incidents',
      highest_severity: 'sensor_highest_severity',
    }),
  },
  signal: {
    '': fields(({ world, id }) => world.signals.get(id), 'name', 'cloud_connection', 'wifi_rssi', 'version'),
    // "Offline" is always allowed, because it only makes everything unavailable.
    availability: { availability: (place) => online(isHubOnline(place)) },
    incidents: only(signal, { open_count: 'sensor_open_incidents' }),
  },
  sonic: {
    '': {
      ...fields(
        ({ world, id }) => world.things.get(id),
        ...['name', 'valve_state', 'battery', 'radio_connection', 'radio_rssi', 'status', 'signal_id'],
      ),
      ...only(sonic, { valve: 'valve_valve' }),
    },
    availability: { availability: (place) => online(isReachable(place)) },
    telemetry: only(sonic, {
      flow_l_min: 'sensor_flow',
      pressure_bar: 'sensor_pressure',
      water_temperature_c: 'sensor_water_temperature',
    }),
    incidents: only(sonic, { open_count: 'sensor_open_incidents' }),
  },
};
