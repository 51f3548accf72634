import { isConnected, type SonicView } from '../model/devices.ts';
import { batteryOption, batteryOptions, hasExternalPower, isBatteryLow } from '../model/power.ts';
import { incidentTypes, valveStates } from '../model/records.ts';
import { type Measurement, measurementOf } from '../model/telemetry.ts';
import { incidentEvent, incidentSensor, openIncidents } from './incidents.ts';
import type { EntityRow } from './row.ts';

const valveStateOptions = [...valveStates, 'other'] as const;

// As long as that is not known, what Home Assistant has from an earlier run stays.
const hasTelemetry = (view: SonicView) => view.telemetry !== null;

function measured<Name extends keyof Measurement>(view: SonicView, name: Name): Measurement[Name] | null {
  return view.telemetry ? measurementOf(view.telemetry)[name] : null;
}

/** THE TABLE of a sonic's entities, in the order in which a person reads them. */
export const sonicEntities: readonly EntityRow<SonicView>[] = [
  {
    component: 'valve',
    key: 'valve',
    name: null,
    needs: 'device',
    deviceClass: 'water',
    value: (view) => view.valve,
    command: {
      path: 'valve/set',
      operation: 'command_valve',
      order: (view, action) => ({
        operation: 'command_valve',
        params: { sonic_id: view.sonic.id },
        body: { action },
      }),
    },
  },
  {
    component: 'sensor',
    key: 'flow',
    name: 'Water flow',
    needs: 'device',
    deviceClass: 'volume_flow_rate',
    unit: 'L/min',
    stateClass: 'measurement',
    precision: 1,
    exists: hasTelemetry,
    value: (view) => measured(view, 'flowLMin'),
  },
  {
    component: 'sensor',
    key: 'pressure',
    name: 'Water pressure',
    needs: 'device',
    deviceClass: 'pressure',
    unit: 'bar',
    stateClass: 'measurement',
    precision: 2,
    exists: hasTelemetry,
    value: (view) => measured(view, 'pressureBar'),
  },
  {
    component: 'sensor',
    key: 'water_temperature',
    name: 'Water temperature',
    needs: 'device',
    deviceClass: 'temperature',
    unit: '°C',
    stateClass: 'measurement',
    precision: 1,
    exists: hasTelemetry,
    value: (view) => measured(view, 'waterTemperatureC'),
  },
  openIncidents,
  incidentEvent,
  ...incidentTypes.map(incidentSensor),
  {
    component: 'binary_sensor',
    key: 'valve_problem',
    name: 'Valve problem',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'problem',
    value: ({ sonic }) => (sonic.valve_state === null ? null : sonic.valve_state === 'faulty'),
  },
  {
    component: 'binary_sensor',
    key: 'pressure_test_running',
    name: 'Pressure test running',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'running',
    value: ({ sonic }) => (sonic.valve_state === null ? null : sonic.valve_state === 'pressure_test'),
  },
  {
    component: 'sensor',
    key: 'valve_state',
    name: 'Valve state',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:valve',
    deviceClass: 'enum',
    options: valveStateOptions,
    value: ({ sonic }) =>
      sonic.valve_state === null
        ? null
        : (valveStateOptions.find((option) => option === sonic.valve_state) ?? 'other'),
  },
  {
    component: 'sensor',
    key: 'valve_travel_time',
    name: 'Valve travel time',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:timer-outline',
    deviceClass: 'duration',
    unit: 's',
    stateClass: 'measurement',
    value: (view) => view.travelTimeS,
  },
  {
    component: 'sensor',
    key: 'battery',
    name: 'Battery',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:battery',
    deviceClass: 'enum',
    options: batteryOptions,
    value: ({ sonic }) => batteryOption(sonic.battery),
  },
  {
    component: 'binary_sensor',
    key: 'battery_low',
    name: 'Battery low',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'battery',
    value: ({ sonic }) => isBatteryLow(sonic.battery),
  },
  {
    component: 'binary_sensor',
    key: 'external_power',
    name: 'External power',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'power',
    value: ({ sonic }) => hasExternalPower(sonic.battery),
  },
  {
    component: 'binary_sensor',
    key: 'radio_connection',
    name: 'Radio connection',
    needs: 'cloud',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: ({ sonic }) => isConnected(sonic.radio_connection),
  },
  {
    // Positive in practice, so it is not dBm, and its unit is unknown (cloud facts 3).
    component: 'sensor',
    key: 'radio_rssi',
    name: 'Radio signal',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:access-point',
    isDisabledByDefault: true,
    stateClass: 'measurement',
    value: ({ sonic }) => sonic.radio_rssi,
  },
  {
    component: 'sensor',
    key: 'status',
    name: 'Status',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:information-outline',
    value: ({ sonic }) => sonic.status,
  },
  {
    component: 'sensor',
    key: 'telemetry_time',
    name: 'Measured at',
    needs: 'device',
    category: 'diagnostic',
    isDisabledByDefault: true,
    deviceClass: 'timestamp',
    exists: hasTelemetry,
    value: (view) => measured(view, 'probedAt'),
  },
  {
    component: 'binary_sensor',
    key: 'auto_shut_off_enabled',
    name: 'Automatic shut-off',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:water-off',
    exists: ({ sonic }) => sonic.auto_shut_off_enabled !== undefined,
    value: ({ sonic }) => sonic.auto_shut_off_enabled ?? null,
  },
  {
    component: 'sensor',
    key: 'auto_shut_off_time_limit',
    name: 'Automatic shut-off time limit',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'duration',
    unit: 's',
    exists: ({ sonic }) => sonic.auto_shut_off_time_limit !== undefined,
    value: ({ sonic }) => sonic.auto_shut_off_time_limit ?? null,
  },
  {
    component: 'sensor',
    key: 'auto_shut_off_volume_limit',
    name: 'Automatic shut-off volume limit',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'volume_storage',
    unit: 'L',
    exists: ({ sonic }) => sonic.auto_shut_off_volume_limit !== undefined,
    value: ({ sonic }) => litres(sonic.auto_shut_off_volume_limit),
  },
];

function litres(millilitres: number | null | undefined): number | null {
  return millilitres === null || millilitres === undefined ? null : millilitres / 1_000;
}
