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

// Named so that a list by name keeps them together.
const shownFlags: Readonly<Record<FlagField, Shown>> = {
  battery_too_low_to_move_handle: { name: 'Notify of a battery too low to move the handle' },
  cloud_disconnection: { name: 'Notify of cloud disconnection' },
  device_handle_moved: { name: 'Notify of a moved handle' },
  health_check_failed: { name: 'Notify of a failed health check' },
  high_humidity: { name: 'Notify of high humidity' },
  high_humidity_threshold: { name: 'High humidity threshold', isDisabledByDefault: true },
  high_temperature: { name: 'Notify of high temperature' },
  high_temperature_threshold: { name: 'High temperature threshold', isDisabledByDefault: true },
  // More than a notification: it has the checks run every day (interface document 2.4).
  legionella_risk: { name: 'Daily legionella check', icon: 'mdi:bacteria-outline' },
  low_battery_level: { name: 'Notify of low battery' },
  low_temperature: { name: 'Notify of low temperature' },
  low_temperature_threshold: { name: 'Low temperature threshold', isDisabledByDefault: true },
  low_water_temperature: { name: 'Notify of low water temperature' },
  pressure_test_failed: { name: 'Notify of a failed pressure test' },
  pressure_test_skipped: { name: 'Notify of a skipped pressure test' },
  radio_disconnection: { name: 'Notify of radio disconnection' },
  water_presence_detected: { name: 'Notify of water presence' },
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
    { name: 'High volume alert after litres', icon: 'mdi:water-plus' },
    volumeThresholdsLitres,
  ),
  numberSelect(
    'long_flow_notification_delay_mins',
    { name: 'Long flow alert after minutes', icon: 'mdi:water-sync' },
    longFlowDelaysMins,
  ),
  ...(Object.entries(shownFlags) as [FlagField, Shown][]).map(flagSwitch),
];
