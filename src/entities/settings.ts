import { isOfGuest, type PropertyView } from '../model/devices.ts';
import type { PropertySettings } from '../model/records.ts';
import { isTimezoneName, isWebhookUrl, timeOfDay } from '../model/settings.ts';
import { nameText } from './name.ts';
import type { FieldCommand, Refusal, SwitchRow, TextRow } from './row.ts';

const config = { needs: 'cloud', category: 'config' } as const;

// A guest is not shown the settings and could not change them; as long as that is not known, what Home Assistant has
// from an earlier run stays.
const shownSetting = { ...config, exists: (view: PropertyView) => view.settings !== null } as const;

// Other operations change these, so they do not hang on the settings; but a guest could not change them either.
const exists = (view: PropertyView) => !isOfGuest(view);

type FieldOf<Value> = {
  [Field in keyof PropertySettings]: PropertySettings[Field] extends Value | null ? Field : never;
}[keyof PropertySettings];

function setting(field: keyof PropertySettings): FieldCommand {
  return { path: `settings/${field}/set`, operation: 'update_property_settings', field };
}

type Shown = Pick<SwitchRow<PropertyView>, 'name' | 'icon' | 'isDisabledByDefault'>;

function settingSwitch(field: FieldOf<boolean>, shown: Shown): SwitchRow<PropertyView> {
  return {
    component: 'switch',
    key: field,
    ...shownSetting,
    ...shown,
    value: ({ settings }) => settings?.[field] ?? null,
    command: setting(field),
  };
}

function settingText(
  field: FieldOf<string>,
  shown: Shown & Pick<TextRow<PropertyView>, 'pattern'>,
): TextRow<PropertyView> {
  return {
    component: 'text',
    key: field,
    ...shownSetting,
    ...shown,
    value: ({ settings }) => settings?.[field] ?? null,
    command: setting(field),
  };
}

/** The entities of a property's settings. */
export const settingEntities: readonly (SwitchRow<PropertyView> | TextRow<PropertyView>)[] = [
  settingSwitch('auto_shut_off', { name: 'Automatic shut-off', icon: 'mdi:water-off' }),
  {
    // The cloud does not show it: what it last accepted is all that is known.
    component: 'switch',
    key: 'leak_protection',
    name: 'Leak protection',
    icon: 'mdi:shield-home',
    ...config,
    exists,
    value: ({ accepted }) => accepted.leak_protection_enabled ?? null,
    command: {
      path: 'leak_protection/set',
      operation: 'update_property_configuration',
      field: 'leak_protection_enabled',
    },
  },
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
    exists,
  },
  {
    component: 'switch',
    key: 'active',
    name: 'Active',
    icon: 'mdi:home-switch',
    isDisabledByDefault: true,
    ...config,
    exists,
    value: ({ property, isStale }) => (isStale ? null : property.active),
    command: { path: 'active/set', operation: 'patch_property', field: 'active' },
  },
  settingSwitch('webhook_enabled', { name: 'Webhook', icon: 'mdi:webhook', isDisabledByDefault: true }),
  settingText('webhook_url', { name: 'Webhook address', icon: 'mdi:webhook', isDisabledByDefault: true }),
];

type Reader = (text: string) => string | Refusal;

/** What is asked of a settings field's value beyond what the operation's body says, and how it is put for the cloud. */
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
