import type { PropertyView } from '../model/devices.ts';
import type { PropertySettings } from '../model/records.ts';
import { isTimezoneName, isWebhookUrl, timeOfDay } from '../model/settings.ts';
import { nameText } from './name.ts';
import { acceptedSwitch, type Shown, settingFields, settingRow, unlessGuest } from './propertySettings.ts';
import type { Refusal, SwitchRow, TextRow } from './row.ts';

type FieldOf<Value> = {
  [Field in keyof PropertySettings]: PropertySettings[Field] extends Value | null ? Field : never;
}[keyof PropertySettings];

function settingSwitch(field: FieldOf<boolean>, shown: Shown): SwitchRow<PropertyView> {
  return {
    component: 'switch',
    ...settingRow('settings', field),
    ...shown,
    value: ({ settings }) => settings?.[field] ?? null,
  };
}

function settingText(
  field: FieldOf<string>,
  shown: Shown & Pick<TextRow<PropertyView>, 'pattern'>,
): TextRow<PropertyView> {
  return {
    component: 'text',
    ...settingRow('settings', field),
    ...shown,
    value: ({ settings }) => settings?.[field] ?? null,
  };
}

/** The entities of a property's settings. */
export const settingEntities: readonly (SwitchRow<PropertyView> | TextRow<PropertyView>)[] = [
  settingSwitch('auto_shut_off', { name: 'Automatic shut-off', icon: 'mdi:water-off' }),
  acceptedSwitch(
    'leak_protection',
    { name: 'Leak protection', icon: 'mdi:shield-home', isDisabledByDefault: true },
    'update_property_configuration',
    'leak_protection_enabled',
  ),
  settingSwitch('pressure_tests_enabled', { name: 'Pressure tests', icon: 'mdi:gauge' }),
  settingText('pressure_tests_schedule', {
    name: 'Pressure test time',
    icon: 'mdi:clock-outline',
    pattern: '^$|^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$',
  }),
  settingText('timezone', { name: 'Time zone', icon: 'mdi:map-clock', isDisabledByDefault: true }),
  {
    ...nameText<PropertyView>('patch_property', 'cloud', ({ property, isStale }) =>
      isStale ? null : property.name,
    ),
    exists: unlessGuest,
  },
  {
    component: 'switch',
    key: 'active',
    name: 'Active',
    icon: 'mdi:home-switch',
    isDisabledByDefault: true,
    ...settingFields,
    exists: unlessGuest,
    value: ({ property, isStale }) => (isStale ? null : property.active),
    command: { path: 'active/set', operation: 'patch_property', field: 'active' },
  },
  settingSwitch('webhook_enabled', { name: 'Webhook', icon: 'mdi:webhook', isDisabledByDefault: true }),
  settingText('webhook_url', { name: 'Webhook address', icon: 'mdi:webhook', isDisabledByDefault: true }),
];

type Reader = (text: string) => string | Refusal;

/** Checks and converts the values of settings, if the body of the operation does not say enough. */
export const settingReaders: ReadonlyMap<string, Reader> = new Map<keyof PropertySettings, Reader>([
  [
    'pressure_tests_schedule',
    (text) => timeOfDay(text) ?? { refusal: 'must be a time of day such as 03:00 or 03:00:00' },
  ],
  [
    'timezone',
    (text) =>
      isTimezoneName(text) ? text : { refusal: 'must be the name of a time zone such as Europe/London' },
  ],
  [
    'webhook_url',
    (text) =>
      isWebhookUrl(text) ? text : { refusal: 'must be an address that begins with https:// or http://' },
  ],
]);
