import type { DeviceKind } from '../model/devices.ts';
import { incidentCommand } from './incidents.ts';
import type { Command, FieldCommand, FieldOperation } from './row.ts';
import type { ViewOf } from './tables.ts';

/** A command that sets several fields at once: the keys of a JSON object. */
export interface FieldsCommand {
  readonly path: string;
  readonly operation: FieldOperation;
  /** Whether each field also has its own topic: `{path}/{field}/set` in place of `{path}/set`. */
  readonly hasFieldTopics: boolean;
}

export type WordCommand<View> = Command<View, string>;

/** THE TABLE of commands that have a topic but no entity. */
export const plainCommands: {
  readonly [Kind in DeviceKind]: readonly (WordCommand<ViewOf[Kind]> | FieldCommand | FieldsCommand)[];
} = {
  bridge: [],
  property: [
    incidentCommand,
    { path: 'set', operation: 'patch_property', hasFieldTopics: false },
    { path: 'settings/set', operation: 'update_property_settings', hasFieldTopics: true },
    { path: 'notifications/set', operation: 'update_notification_settings', hasFieldTopics: true },
    // The cloud does not show these two, so an entity would only show a guess.
    {
      path: 'leak_protection/set',
      operation: 'update_property_configuration',
      field: 'leak_protection_enabled',
    },
    { path: 'push/set', operation: 'update_customer_notifications', field: 'push_enabled' },
  ],
  signal: [incidentCommand],
  sonic: [incidentCommand],
};
