import { isOfGuest, type PropertyView } from '../model/devices.ts';
import type { NotificationSettings } from '../model/records.ts';
import { longFlowDelaysMins, volumeThresholdsLitres } from '../model/settings.ts';
import type { FieldCommand, SelectRow, SwitchRow } from './row.ts';

type Field = keyof NotificationSettings;
type NumberField = 'high_volume_threshold_litres' | 'long_flow_notification_delay_mins';
type FlagField = Exclude<Field, NumberField>;
type Shown = Pick<SwitchRow<PropertyView>, 'name' | 'icon' | 'isDisabledByDefault'>;

const config = { needs: 'cloud', category: 'config' } as const;

// A guest is not shown them and could not change them.
const shownSetting = { ...config, exists: (view: PropertyView) => view.notifications !== null } as const;

function setting(field: Field): FieldCommand {
  return { path: `notifications/${field}/set`, operation: 'update_notification_settings', field };
}

const shownFlags: Readonly<Record<FlagField, Shown>> = {
  battery_too_low_to_move_handle: { name: 'Weak battery alert' },
  cloud_disconnection: { name: 'Cloud connection alert' },
  device_handle_moved: { name: 'Moved handle alert' },
  health_check_failed: { name: 'Failed health check alert' },
  high_humidity: { name: 'High humidity alert' },
  high_humidity_threshold: { name: 'High humidity threshold', isDisabledByDefault: true },
  high_temperature: { name: 'High temperature alert' },
  high_temperature_threshold: { name: 'High temperature threshold', isDisabledByDefault: true },
  // More than a notification: by the interface document it has the checks run every day.
  legionella_risk: { name: 'Daily legionella check', icon: 'mdi:bacteria-outline' },
  low_battery_level: { name: 'Low battery alert' },
  low_temperature: { name: 'Low temperature alert' },
  low_temperature_threshold: { name: 'Low temperature threshold', isDisabledByDefault: true },
  low_water_temperature: { name: 'Low water temperature alert' },
  pressure_test_failed: { name: 'Failed pressure test alert' },
  pressure_test_skipped: { name: 'Skipped pressure test alert' },
  radio_disconnection: { name: 'Hub connection alert' },
  water_presence_detected: { name: 'Leak alert' },
};

function flagSwitch([field, shown]: [FlagField, Shown]): SwitchRow<PropertyView> {
  return {
    component: 'switch',
    key: field,
    icon: 'mdi:bell-cog-outline',
    ...shownSetting,
    ...shown,
    value: ({ notifications }) => notifications?.[field] ?? null,
    command: setting(field),
  };
}

function numberSelect(field: NumberField, shown: Shown, values: readonly number[]): SelectRow<PropertyView> {
  return {
    component: 'select',
    key: field,
    ...shownSetting,
    ...shown,
    options: values.map(String),
    value: ({ notifications }) => notifications?.[field]?.toString() ?? null,
    command: setting(field),
  };
}

/** The entities of a property's notification settings. */
export const notificationEntities: readonly (SwitchRow<PropertyView> | SelectRow<PropertyView>)[] = [
  {
    // The cloud does not show it: what it last accepted is all that is known.
    component: 'switch',
    key: 'push',
    name: 'Push notifications',
    icon: 'mdi:cellphone-message',
    ...config,
    exists: (view) => !isOfGuest(view),
    value: ({ accepted }) => accepted.push_enabled ?? null,
    command: { path: 'push/set', operation: 'update_customer_notifications', field: 'push_enabled' },
  },
  numberSelect(
    'high_volume_threshold_litres',
    { name: 'High water use alert (L)', icon: 'mdi:water-plus' },
    volumeThresholdsLitres,
  ),
  numberSelect(
    'long_flow_notification_delay_mins',
    { name: 'Water running too long alert (min)', icon: 'mdi:water-sync' },
    longFlowDelaysMins,
  ),
  ...(Object.entries(shownFlags) as [FlagField, Shown][]).map(flagSwitch),
];
