import type { PropertyView } from '../model/devices.ts';
import type { NotificationSettings } from '../model/records.ts';
import { longFlowDelaysMins, volumeThresholdsLitres } from '../model/settings.ts';
import { rowsFor, type SelectRow, type SwitchRow } from './row.ts';
import { type Shown, settingRow } from './settings.ts';

const { toggle, select } = rowsFor<PropertyView>('cloud');

type NumberField = 'high_volume_threshold_litres' | 'long_flow_notification_delay_mins';
type FlagField = Exclude<keyof NotificationSettings, NumberField>;

const shownFlags: Readonly<Record<FlagField, Shown>> = {
  battery_too_low_to_move_handle: { name: 'Weak battery alert' },
  cloud_disconnection: { name: 'Cloud connection alert' },
  device_handle_moved: { name: 'Moved handle alert' },
  health_check_failed: { name: 'Failed health check alert' },
  high_humidity: { name: 'High humidity alert' },
  high_humidity_threshold: { name: 'High humidity threshold' },
  high_temperature: { name: 'High temperature alert' },
  high_temperature_threshold: { name: 'High temperature threshold' },
  // Not only a notification: according to the interface document, it makes the checks run every day.
  legionella_risk: { name: 'Daily legionella check', icon: 'mdi:bacteria-outline' },
  low_battery_level: { name: 'Low battery alert' },
  low_temperature: { name: 'Low temperature alert' },
  low_temperature_threshold: { name: 'Low temperature threshold' },
  low_water_temperature: { name: 'Low water temperature alert' },
  pressure_test_failed: { name: 'Failed pressure test alert' },
  pressure_test_skipped: { name: 'Skipped pressure test alert' },
  radio_disconnection: { name: 'Hub connection alert' },
  water_presence_detected: { name: 'Leak alert' },
};

function flagSwitch(field: FlagField, shown: Shown): SwitchRow<PropertyView> {
  return toggle({
    icon: 'mdi:bell-cog-outline',
    isDisabledByDefault: true,
    ...settingRow('notifications', field),
    ...shown,
    value: ({ notifications }) => notifications?.[field] ?? null,
  });
}

function numberSelect(field: NumberField, values: readonly number[], shown: Shown): SelectRow<PropertyView> {
  return select({
    isDisabledByDefault: true,
    ...settingRow('notifications', field),
    ...shown,
    options: values.map(String),
    value: ({ notifications }) => notifications?.[field]?.toString() ?? null,
  });
}

export const notificationEntities: readonly (SwitchRow<PropertyView> | SelectRow<PropertyView>)[] = [
  numberSelect('high_volume_threshold_litres', volumeThresholdsLitres, {
    name: 'High water use alert (L)',
    icon: 'mdi:water-plus',
  }),
  numberSelect('long_flow_notification_delay_mins', longFlowDelaysMins, {
    name: 'Water running too long alert (min)',
    icon: 'mdi:water-sync',
  }),
  ...(Object.entries(shownFlags) as [FlagField, Shown][]).map(([field, shown]) => flagSwitch(field, shown)),
];
