import type { BodyField } from '../cloud/operations.ts';
import { isOfGuest, type PropertyView } from '../model/devices.ts';
import type { PropertySettings } from '../model/records.ts';
import { isTimezoneName, isWebhookUrl, timeOfDay } from '../model/settings.ts';
import { nameText } from './name.ts';
import { type FieldOperation, type Refusal, rowsFor, type SwitchRow, type TextRow } from './row.ts';

const { toggle, text } = rowsFor<PropertyView>('cloud');

export type Shown = Pick<SwitchRow<PropertyView>, 'name' | 'icon' | 'isDisabledByDefault'>;

/** For settings that have operations of their own. The cloud does not let guests change these either. */
const unlessGuest = (view: PropertyView) => !isOfGuest(view);

const operations = {
  settings: 'update_property_settings',
  notifications: 'update_notification_settings',
} as const satisfies Record<string, FieldOperation>;

export function settingRow<
  Kind extends keyof typeof operations,
  Field extends BodyField<(typeof operations)[Kind]>,
>(kind: Kind, field: Field) {
  return {
    key: field,
    category: 'config',
    // The cloud does not show the settings to a guest, who could not change them. Until this is known, Home Assistant
    // keeps the entities of an earlier run.
    exists: (view: PropertyView) => view[kind] !== null,
    command: { path: `${kind}/${field}/set`, operation: operations[kind], field },
  } as const;
}

type FieldOf<Value> = {
  [Field in keyof PropertySettings]: PropertySettings[Field] extends Value | null ? Field : never;
}[keyof PropertySettings];

function settingSwitch(field: FieldOf<boolean>, shown: Shown): SwitchRow<PropertyView> {
  const value = ({ settings }: PropertyView) => settings?.[field] ?? null;
  return toggle({ ...settingRow('settings', field), ...shown, value });
}

function settingText(field: FieldOf<string>, shown: Shown & Pick<TextRow<unknown>, 'pattern'>) {
  const value = ({ settings }: PropertyView) => settings?.[field] ?? null;
  return text({ ...settingRow('settings', field), ...shown, value });
}

export const settingEntities: readonly (SwitchRow<PropertyView> | TextRow<PropertyView>)[] = [
  settingSwitch('auto_shut_off', { name: 'Automatic shut-off', icon: 'mdi:water-off' }),
  settingSwitch('pressure_tests_enabled', { name: 'Pressure tests', icon: 'mdi:gauge' }),
  settingText('pressure_tests_schedule', {
    name: 'Pressure test time',
    icon: 'mdi:clock-outline',
    pattern: '^$|^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$',
  }),
  settingText('timezone', { name: 'Time zone', icon: 'mdi:map-clock', isDisabledByDefault: true }),
  {
    ...nameText('patch_property', 'cloud', ({ property, isStale }: PropertyView) =>
      isStale ? null : property.name,
    ),
    exists: unlessGuest,
  },
  toggle({
    key: 'active',
    name: 'Active',
    category: 'config',
    icon: 'mdi:home-switch',
    isDisabledByDefault: true,
    exists: unlessGuest,
    value: ({ property, isStale }) => (isStale ? null : property.active),
    command: { path: 'active/set', operation: 'patch_property', field: 'active' },
  }),
  settingSwitch('webhook_enabled', { name: 'Webhook', icon: 'mdi:webhook', isDisabledByDefault: true }),
  settingText('webhook_url', { name: 'Webhook address', icon: 'mdi:webhook', isDisabledByDefault: true }),
];

/** Checks and converts the values of settings, if the body of the operation does not say enough. */
export const settingReaders: ReadonlyMap<string, (text: string) => string | Refusal> = new Map([
  reader('pressure_tests_schedule', timeOfDay, 'must be a time of day such as 03:00 or 03:00:00'),
  reader('timezone', only(isTimezoneName), 'must be the name of a time zone such as Europe/London'),
  reader('webhook_url', only(isWebhookUrl), 'must be an address that begins with https:// or http://'),
]);

function reader(field: keyof PropertySettings, read: (text: string) => string | null, refusal: string) {
  return [field, (given: string) => read(given) ?? { refusal }] as const;
}

function only(isValid: (text: string) => boolean) {
  return (given: string) => (isValid(given) ? given : null);
}
