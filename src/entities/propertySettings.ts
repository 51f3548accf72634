import type { BodyField } from '../cloud/operations.ts';
import { isOfGuest, type PropertyView } from '../model/devices.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import type { FieldOperation, SwitchRow } from './row.ts';

// Shared parts of the rows for a property's settings and for its notification settings.

/** How the entity of a setting is shown. */
export type Shown = Pick<SwitchRow<PropertyView>, 'name' | 'icon' | 'isDisabledByDefault'>;

/** The fields that all rows of settings share. */
export const settingFields = { needs: 'cloud', category: 'config' } as const;

/** For settings that have operations of their own. The cloud does not let guests change these either. */
export const unlessGuest = (view: PropertyView) => !isOfGuest(view);

const operations = {
  settings: 'update_property_settings',
  notifications: 'update_notification_settings',
} as const satisfies Record<string, FieldOperation>;

/** The parts of a row that follow from its field. */
export function settingRow<
  Kind extends keyof typeof operations,
  Field extends BodyField<(typeof operations)[Kind]>,
>(kind: Kind, field: Field) {
  return {
    key: field,
    ...settingFields,
    // The cloud does not show the settings to a guest, who could not change them. Until this is known, Home Assistant
    // keeps the entities of an earlier run.
    exists: (view: PropertyView) => view[kind] !== null,
    command: { path: `${kind}/${field}/set`, operation: operations[kind], field },
  } as const;
}

/** A switch for a setting that the cloud does not show. Its state is the value that the cloud accepted last. */
export function acceptedSwitch(
  key: string,
  shown: Shown,
  operation: FieldOperation,
  field: 'leak_protection_enabled' | 'push_enabled',
): SwitchRow<PropertyView> {
  return {
    component: 'switch',
    key,
    ...settingFields,
    ...shown,
    exists: unlessGuest,
    value: ({ accepted }: { readonly accepted: AcceptedSettings }) => accepted[field] ?? null,
    command: { path: `${key}/set`, operation, field },
  };
}
