import { isoFromUnixSeconds } from '../model/calendar.ts';
import { isConnected, type SonicView } from '../model/devices.ts';
import { hasOpen } from '../model/incidents.ts';
import { batteryOption, batteryOptions, hasExternalPower, isBatteryLow } from '../model/power.ts';
import { lastPressureTestResult, pressureTestResults } from '../model/pressureTests.ts';
import { incidentTypes, type Sonic, valveStates } from '../model/records.ts';
import { type Measurement, measurementOf } from '../model/telemetry.ts';
import { valveStateKnown } from '../model/valve.ts';
import { movers } from '../model/valveCommand.ts';
import { knownWord } from '../model/words.ts';
import {
  incidentEvent,
  incidentSensor,
  openIncidents,
  resolveIncidents,
  snoozeIncidents,
} from './incidents.ts';
import { nameText } from './name.ts';
import type { EntityRow } from './row.ts';

const valveStateOptions = [...valveStates, 'other'] as const;

// Until this is known, Home Assistant keeps the entities of an earlier run.
const hasTelemetry = (view: SonicView) => view.telemetry !== null;

const hasUsage = (view: SonicView) => view.usage !== null;
const hasPressureTests = (view: SonicView) => view.pressureTests !== null;

function isInState({ valve_state: valveState }: Sonic, wanted: (typeof valveStates)[number]): boolean | null {
  const state = knownWord(valveStates, valveState);
  return state === null ? null : state === wanted;
}

function measured<Name extends keyof Measurement>(view: SonicView, name: Name): Measurement[Name] | null {
  return view.telemetry ? measurementOf(view.telemetry)[name] : null;
}

const valveOperation = ({ isWifi }: SonicView) => (isWifi ? 'command_wifi_valve' : 'command_valve');

const renaming = ({ isWifi }: SonicView) => (isWifi ? 'patch_wifi_sonic' : 'patch_sonic');

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
      operation: valveOperation,
      action: (view, action) => ({
        operation: valveOperation(view),
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
    // A flow that is too small to be measured counts as none. While no water runs, each measurement is an entry in the
    // log book.
    component: 'sensor',
    key: 'water_at_rest',
    name: 'Water last at rest',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:water-check-outline',
    isDisabledByDefault: true,
    deviceClass: 'timestamp',
    exists: hasTelemetry,
    value: (view) => isoFromUnixSeconds(view.restedAt),
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
  {
    component: 'sensor',
    key: 'water_today',
    name: 'Water today',
    needs: 'device',
    deviceClass: 'water',
    unit: 'L',
    stateClass: 'total',
    precision: 1,
    exists: hasUsage,
    value: (view) => view.usage?.todayL ?? null,
    lastReset: (view) => view.usage?.lastReset ?? null,
  },
  {
    component: 'sensor',
    key: 'water_yesterday',
    name: 'Water yesterday',
    needs: 'device',
    deviceClass: 'water',
    unit: 'L',
    precision: 1,
    exists: hasUsage,
    value: (view) => view.usage?.yesterdayL ?? null,
  },
  {
    component: 'sensor',
    key: 'water_month',
    name: 'Water this month',
    needs: 'device',
    deviceClass: 'water',
    unit: 'L',
    precision: 0,
    exists: hasUsage,
    value: (view) => view.usage?.monthL ?? null,
  },
  {
    component: 'sensor',
    key: 'water_total',
    name: 'Water total',
    needs: 'device',
    deviceClass: 'water',
    unit: 'L',
    stateClass: 'total',
    precision: 0,
    exists: hasUsage,
    value: (view) => view.usage?.totalL ?? null,
  },
  {
    component: 'binary_sensor',
    key: 'alert',
    name: 'Alert',
    needs: 'cloud',
    deviceClass: 'problem',
    value: (view) => hasOpen(view),
    alerts: ({ incidents }) => incidents,
  },
  openIncidents,
  incidentEvent,
  resolveIncidents,
  snoozeIncidents,
  ...incidentTypes.map(incidentSensor),
  {
    component: 'button',
    key: 'pressure_test_start',
    name: 'Start pressure test',
    needs: 'device',
    icon: 'mdi:gauge',
    command: {
      path: 'pressure_test/start',
      operation: 'start_pressure_test',
      action: (view) => ({
        operation: 'start_pressure_test',
        params: { thing_id: view.sonic.id },
        body: { source: 'sonic2mqtt' },
      }),
    },
  },
  nameText(renaming, 'device', ({ sonic }) => sonic.name),
  {
    // Needs only the bridge: if the cloud or the valve is unreachable, commands fail, and this must be visible.
    component: 'binary_sensor',
    key: 'command_failed',
    name: 'Command failed',
    needs: 'bridge',
    deviceClass: 'problem',
    value: ({ valveRecord }) => valveRecord.failed !== null,
    attributes: { path: 'last_command', expression: 'value_json.failed or {}' },
  },
  {
    component: 'sensor',
    key: 'moved_at',
    name: 'Last movement',
    needs: 'cloud',
    deviceClass: 'timestamp',
    value: ({ valveRecord }) => valveRecord.movement?.at ?? null,
  },
  {
    component: 'sensor',
    key: 'moved_by',
    name: 'Moved by',
    needs: 'cloud',
    icon: 'mdi:account-question',
    deviceClass: 'enum',
    options: movers,
    value: ({ valveRecord }) => valveRecord.movement?.by ?? null,
  },
  {
    component: 'binary_sensor',
    key: 'valve_problem',
    name: 'Valve problem',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'problem',
    value: ({ sonic }) => isInState(sonic, 'faulty'),
  },
  {
    component: 'binary_sensor',
    key: 'pressure_test_running',
    name: 'Pressure test running',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'running',
    value: ({ sonic }) => isInState(sonic, 'pressure_test'),
  },
  {
    component: 'sensor',
    key: 'pressure_test_result',
    name: 'Pressure test result',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:clipboard-check-outline',
    deviceClass: 'enum',
    options: pressureTestResults,
    exists: hasPressureTests,
    // A test that is still running has no result.
    value: (view) =>
      isInState(view.sonic, 'pressure_test') ? null : lastPressureTestResult(view.pressureTests, view),
  },
  {
    component: 'sensor',
    key: 'pressure_tests_today',
    name: 'Pressure tests today',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:gauge',
    isDisabledByDefault: true,
    stateClass: 'measurement',
    exists: hasPressureTests,
    value: (view) => view.pressureTests?.todayCount ?? null,
  },
  {
    component: 'sensor',
    key: 'pressure_test_last_day',
    name: 'Last pressure test',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:gauge',
    deviceClass: 'date',
    exists: hasPressureTests,
    value: (view) => view.pressureTests?.lastDay ?? null,
  },
  {
    component: 'sensor',
    key: 'valve_state',
    name: 'Valve state',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:valve',
    isDisabledByDefault: true,
    deviceClass: 'enum',
    options: valveStateOptions,
    value: ({ sonic }) => {
      const state = valveStateKnown(sonic.valve_state);
      return state === null ? null : (knownWord(valveStateOptions, state) ?? 'other');
    },
  },
  {
    component: 'sensor',
    key: 'valve_travel_time',
    name: 'Valve travel time',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:timer-outline',
    isDisabledByDefault: true,
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
    isDisabledByDefault: true,
    deviceClass: 'power',
    value: ({ sonic }) => hasExternalPower(sonic.battery),
  },
  {
    component: 'binary_sensor',
    key: 'radio_connection',
    name: 'Connection',
    needs: 'cloud',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: ({ sonic, isStale }) => (isStale ? null : isConnected(sonic.radio_connection)),
  },
  {
    // The values are positive in practice, so the unit is not dBm but unknown.
    component: 'sensor',
    key: 'radio_rssi',
    name: 'Radio signal strength',
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
    name: 'Device status',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:information-outline',
    isDisabledByDefault: true,
    value: ({ sonic }) => sonic.status,
  },
  {
    component: 'sensor',
    key: 'telemetry_time',
    name: 'Last measurement',
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
    name: 'Shut-off limits set',
    needs: 'device',
    category: 'diagnostic',
    icon: 'mdi:water-off',
    isDisabledByDefault: true,
    exists: ({ sonic }) => sonic.auto_shut_off_enabled !== undefined,
    value: ({ sonic }) => sonic.auto_shut_off_enabled ?? null,
  },
  {
    component: 'sensor',
    key: 'auto_shut_off_time_limit',
    name: 'Shut-off time limit',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'duration',
    unit: 's',
    precision: 0,
    exists: ({ sonic }) => sonic.auto_shut_off_time_limit !== undefined,
    value: ({ sonic }) => sonic.auto_shut_off_time_limit ?? null,
  },
  {
    component: 'sensor',
    key: 'auto_shut_off_volume_limit',
    name: 'Shut-off volume limit',
    needs: 'device',
    category: 'diagnostic',
    deviceClass: 'volume',
    unit: 'L',
    precision: 1,
    exists: ({ sonic }) => sonic.auto_shut_off_volume_limit !== undefined,
    value: ({ sonic }) => litres(sonic.auto_shut_off_volume_limit),
  },
];

function litres(millilitres: number | null | undefined): number | null {
  return millilitres === null || millilitres === undefined ? null : millilitres / 1_000;
}
