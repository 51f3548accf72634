import { isoFromUnixSeconds } from '../model/calendar.ts';
import { type SonicView, valveSeen } from '../model/devices.ts';
import { hasOpen } from '../model/incidents.ts';
import { batteryOption, batteryOptions, hasExternalPower, isBatteryLow } from '../model/power.ts';
import { lastPressureTestResult, pressureTestResults } from '../model/pressureTests.ts';
import { isConnected } from '../model/reach.ts';
import { incidentTypes, type Sonic, valveStates } from '../model/records.ts';
import { type Measurement, measurementOf } from '../model/telemetry.ts';
import { valveStateKnown } from '../model/valve.ts';
import { movers } from '../model/valveCommand.ts';
import { knownWord } from '../model/words.ts';
import { incidentSensor, openIncidents, resolveIncidents, snoozeIncidents } from './incidents.ts';
import { nameText } from './name.ts';
import { type EntityRow, rare, rowsFor } from './row.ts';

const { sensor, binarySensor, valve, button } = rowsFor<SonicView>('device');

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
  valve({
    key: 'valve',
    name: null,
    deviceClass: 'water',
    value: valveSeen,
    command: {
      path: 'valve/set',
      operation: valveOperation,
      action: (view, action) => ({
        operation: valveOperation(view),
        params: { sonic_id: view.sonic.id },
        body: { action },
      }),
    },
  }),
  sensor({
    key: 'flow',
    name: 'Water flow',
    deviceClass: 'volume_flow_rate',
    unit: 'L/min',
    stateClass: 'measurement',
    precision: 1,
    exists: hasTelemetry,
    value: (view) => measured(view, 'flowLMin'),
  }),
  sensor({
    // A flow that is too small to be measured counts as none. While no water runs, each measurement is an entry in the
    // log book.
    ...rare,
    key: 'water_at_rest',
    name: 'Water last at rest',
    icon: 'mdi:water-check-outline',
    deviceClass: 'timestamp',
    exists: hasTelemetry,
    value: (view) => isoFromUnixSeconds(view.restedAt),
  }),
  sensor({
    key: 'pressure',
    name: 'Water pressure',
    deviceClass: 'pressure',
    unit: 'bar',
    stateClass: 'measurement',
    precision: 2,
    exists: hasTelemetry,
    value: (view) => measured(view, 'pressureBar'),
  }),
  sensor({
    key: 'water_temperature',
    name: 'Water temperature',
    deviceClass: 'temperature',
    unit: '°C',
    stateClass: 'measurement',
    precision: 1,
    exists: hasTelemetry,
    value: (view) => measured(view, 'waterTemperatureC'),
  }),
  sensor({
    key: 'water_today',
    name: 'Water today',
    deviceClass: 'water',
    unit: 'L',
    stateClass: 'total',
    precision: 1,
    exists: hasUsage,
    value: (view) => view.usage?.todayL ?? null,
    lastReset: (view) => view.usage?.lastReset ?? null,
  }),
  sensor({
    key: 'water_yesterday',
    name: 'Water yesterday',
    deviceClass: 'water',
    unit: 'L',
    precision: 1,
    exists: hasUsage,
    value: (view) => view.usage?.yesterdayL ?? null,
  }),
  sensor({
    key: 'water_month',
    name: 'Water this month',
    deviceClass: 'water',
    unit: 'L',
    precision: 0,
    exists: hasUsage,
    value: (view) => view.usage?.monthL ?? null,
  }),
  sensor({
    key: 'water_total',
    name: 'Water total',
    deviceClass: 'water',
    unit: 'L',
    stateClass: 'total',
    precision: 0,
    exists: hasUsage,
    value: (view) => view.usage?.totalL ?? null,
  }),
  binarySensor({
    key: 'alert',
    name: 'Alert',
    needs: 'cloud',
    deviceClass: 'problem',
    value: (view) => hasOpen(view),
    alerts: ({ incidents }) => incidents,
  }),
  openIncidents,
  resolveIncidents,
  snoozeIncidents,
  ...incidentTypes.map(incidentSensor),
  button({
    key: 'pressure_test_start',
    name: 'Start pressure test',
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
  }),
  nameText(renaming, 'device', ({ sonic }) => sonic.name),
  binarySensor({
    // Needs only the bridge: if the cloud or the valve is unreachable, commands fail, and this must be visible.
    key: 'command_failed',
    name: 'Command failed',
    needs: 'bridge',
    deviceClass: 'problem',
    value: ({ valveRecord }) => valveRecord.failed !== null,
    attributes: { path: 'last_command', expression: 'value_json.failed or {}' },
  }),
  button({
    // Needs only the bridge, like the entity above, and no permission: the owner's word changes nothing in the cloud, and
    // commands that `control` forbids fail too.
    key: 'dismiss_failure',
    name: 'Dismiss failed command',
    needs: 'bridge',
    category: 'diagnostic',
    icon: 'mdi:check',
    command: {
      path: 'last_command/dismiss',
      operation: null,
      action: ({ sonic, valveRecord }) =>
        valveRecord.failed === null
          ? { refusal: 'there is no failed command' }
          : { kind: 'dismiss_failure', sonicId: sonic.id },
    },
  }),
  sensor({
    key: 'moved_at',
    name: 'Last movement',
    needs: 'cloud',
    deviceClass: 'timestamp',
    value: ({ valveRecord }) => valveRecord.movement?.at ?? null,
  }),
  sensor({
    key: 'moved_by',
    name: 'Moved by',
    needs: 'cloud',
    icon: 'mdi:account-question',
    deviceClass: 'enum',
    options: movers,
    isInWords: true,
    value: ({ valveRecord }) => valveRecord.movement?.by ?? null,
  }),
  binarySensor({
    key: 'valve_problem',
    name: 'Valve problem',
    category: 'diagnostic',
    deviceClass: 'problem',
    value: ({ sonic }) => isInState(sonic, 'faulty'),
  }),
  binarySensor({
    key: 'pressure_test_running',
    name: 'Pressure test running',
    category: 'diagnostic',
    deviceClass: 'running',
    value: ({ sonic }) => isInState(sonic, 'pressure_test'),
  }),
  sensor({
    key: 'pressure_test_result',
    name: 'Pressure test result',
    category: 'diagnostic',
    icon: 'mdi:clipboard-check-outline',
    deviceClass: 'enum',
    options: pressureTestResults,
    isInWords: true,
    exists: hasPressureTests,
    // A test that is still running has no result.
    value: (view) =>
      isInState(view.sonic, 'pressure_test') ? null : lastPressureTestResult(view.pressureTests, view),
  }),
  sensor({
    ...rare,
    key: 'pressure_tests_today',
    name: 'Pressure tests today',
    icon: 'mdi:gauge',
    stateClass: 'measurement',
    exists: hasPressureTests,
    value: (view) => view.pressureTests?.todayCount ?? null,
  }),
  sensor({
    key: 'pressure_test_last_day',
    name: 'Last pressure test',
    category: 'diagnostic',
    icon: 'mdi:gauge',
    deviceClass: 'date',
    exists: hasPressureTests,
    value: (view) => view.pressureTests?.lastDay ?? null,
  }),
  sensor({
    ...rare,
    key: 'valve_state',
    name: 'Valve state',
    icon: 'mdi:valve',
    deviceClass: 'enum',
    options: valveStateOptions,
    value: ({ sonic }) => {
      const state = valveStateKnown(sonic.valve_state);
      return state === null ? null : (knownWord(valveStateOptions, state) ?? 'other');
    },
  }),
  sensor({
    ...rare,
    key: 'valve_travel_time',
    name: 'Valve travel time',
    icon: 'mdi:timer-outline',
    deviceClass: 'duration',
    unit: 's',
    stateClass: 'measurement',
    value: (view) => view.travelTimeS,
  }),
  sensor({
    key: 'battery',
    name: 'Battery',
    category: 'diagnostic',
    icon: 'mdi:battery',
    deviceClass: 'enum',
    options: batteryOptions,
    isInWords: true,
    value: ({ sonic }) => batteryOption(sonic.battery),
  }),
  binarySensor({
    key: 'battery_low',
    name: 'Battery low',
    category: 'diagnostic',
    deviceClass: 'battery',
    value: ({ sonic }) => isBatteryLow(sonic.battery),
  }),
  binarySensor({
    ...rare,
    key: 'external_power',
    name: 'External power',
    deviceClass: 'power',
    value: ({ sonic }) => hasExternalPower(sonic.battery),
  }),
  binarySensor({
    key: 'radio_connection',
    name: 'Connection',
    needs: 'cloud',
    category: 'diagnostic',
    deviceClass: 'connectivity',
    value: ({ sonic, reach }) => (reach === 'stale' ? null : isConnected(sonic.radio_connection)),
  }),
  sensor({
    // The values are positive in practice, so the unit is not dBm but unknown.
    ...rare,
    key: 'radio_rssi',
    name: 'Radio signal strength',
    icon: 'mdi:access-point',
    stateClass: 'measurement',
    value: ({ sonic }) => sonic.radio_rssi,
  }),
  sensor({
    ...rare,
    key: 'status',
    name: 'Device status',
    icon: 'mdi:information-outline',
    value: ({ sonic }) => sonic.status,
  }),
  sensor({
    ...rare,
    key: 'telemetry_time',
    name: 'Last measurement',
    deviceClass: 'timestamp',
    exists: hasTelemetry,
    value: (view) => measured(view, 'probedAt'),
  }),
  binarySensor({
    ...rare,
    key: 'auto_shut_off_enabled',
    name: 'Shut-off limits set',
    icon: 'mdi:water-off',
    exists: ({ sonic }) => sonic.auto_shut_off_enabled !== undefined,
    value: ({ sonic }) => sonic.auto_shut_off_enabled ?? null,
  }),
  sensor({
    key: 'auto_shut_off_time_limit',
    name: 'Shut-off time limit',
    category: 'diagnostic',
    deviceClass: 'duration',
    unit: 's',
    precision: 0,
    exists: ({ sonic }) => sonic.auto_shut_off_time_limit !== undefined,
    value: ({ sonic }) => sonic.auto_shut_off_time_limit ?? null,
  }),
  sensor({
    key: 'auto_shut_off_volume_limit',
    name: 'Shut-off volume limit',
    category: 'diagnostic',
    deviceClass: 'volume',
    unit: 'L',
    precision: 1,
    exists: ({ sonic }) => sonic.auto_shut_off_volume_limit !== undefined,
    value: ({ sonic }) => litres(sonic.auto_shut_off_volume_limit),
  }),
];

function litres(millilitres: number | null | undefined): number | null {
  return millilitres === null || millilitres === undefined ? null : millilitres / 1_000;
}
