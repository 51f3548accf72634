import { entityTable } from '../../src/entities/tables.ts';
import type { DeviceKind } from '../../src/model/devices.ts';
import { code, table } from './markdown.ts';

/** An entity of the custom integration, and what takes its place. */
interface Counterpart {
  /** Its name there, in English. */
  readonly there: string;
  readonly platform: 'switch' | 'sensor' | 'binary_sensor';
  readonly kind: DeviceKind;
  readonly key: string;
  readonly differs?: string;
}

/** As the public code of the integration has them. */
const counterparts: readonly Counterpart[] = [
  sonic('Sonic Valve Switch', 'switch', 'valve', 'open and closed, not on and off'),
  sonic('Current Valve State', 'sensor', 'valve_state', 'a word that is not known is `other`'),
  sonic('Water Flow Rate', 'sensor', 'flow', 'L/min, not *litres per min*'),
  sonic('Water Pressure', 'sensor', 'pressure'),
  sonic('Water Temperature', 'sensor', 'water_temperature'),
  sonic('Battery', 'sensor', 'battery', '`mid` is `medium`'),
  sonic('Telemetry Data Timestamp', 'sensor', 'telemetry_time'),
  sonic('Sonic Status Message', 'sensor', 'status'),
  sonic('Auto Shut Off Enabled', 'binary_sensor', 'auto_shut_off_enabled'),
  sonic('Auto Shut Off Time Limit', 'sensor', 'auto_shut_off_time_limit', 'seconds, not minutes'),
  sonic('Auto Shut Off Volume Limit', 'sensor', 'auto_shut_off_volume_limit'),
  property('Automatic Shutoff Setting', 'switch', 'auto_shut_off'),
  property('Pressure Tests Setting', 'switch', 'pressure_tests_enabled'),
  property(
    'Long Flow Notification Time Delay',
    'sensor',
    'long_flow_notification_delay_mins',
    'it can be changed',
  ),
  property(
    'High Volume Notification Threshold',
    'sensor',
    'high_volume_threshold_litres',
    'it can be changed',
  ),
  property('Alerts - Cloud Disconnection', 'switch', 'cloud_disconnection'),
  property('Alerts - Low Battery Level', 'switch', 'low_battery_level'),
  property('Alerts - Valve Position', 'switch', 'device_handle_moved'),
  property('Alerts - Health Check Failed', 'switch', 'health_check_failed'),
  property('Alerts - Pressure Test Failed', 'switch', 'pressure_test_failed'),
  property('Alerts - Pressure Test Skipped', 'switch', 'pressure_test_skipped'),
  property('Alerts - Radio Disconnection', 'switch', 'radio_disconnection'),
  property('Alerts - Legionella Check', 'switch', 'legionella_risk', 'the newer of two names of the cloud'),
];

function sonic(there: string, platform: Counterpart['platform'], key: string, differs?: string): Counterpart {
  return { there, platform, kind: 'sonic', key, ...(differs !== undefined && { differs }) };
}

function property(
  there: string,
  platform: Counterpart['platform'],
  key: string,
  differs?: string,
): Counterpart {
  return { ...sonic(there, platform, key, differs), kind: 'property' };
}

/** What docs/reference/migration.md has of each entity; throws where there is no such entity any more. */
export function counterpartTable(): string {
  const rows = counterparts.map(({ there, platform, kind, key, differs }) => {
    const row = entityTable(kind).find((each) => each.key === key);
    if (!row) throw new Error(`docs/reference/migration.md: no ${kind} has an entity ${key}`);
    const here = `${row.name ?? '*the name of the device*'} (${row.component})`;
    const differences = [differs, row.isDisabledByDefault && 'off by default'].filter((each) => each);
    return [`${there} (${platform})`, kind, here, code(key), differences.join(', ')];
  });
  return table(['There', 'Device', 'Here', 'Key', 'What differs'], rows);
}
