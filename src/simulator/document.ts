import { z } from 'zod';
import { emailPattern } from '../base/email.ts';
import type { OperationName } from '../cloud/operations.ts';
import { incidentTypes } from '../model/records.ts';

// The interface document's rules for queries and bodies, written a second time. If the simulator used the client's own
// schemas, no request of the client could ever be wrong.

const text = z.string();
const flag = z.boolean();
const integer = z.int();

/** An object with any of these fields, and no others. */
function anyOf<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape).partial();
}

/** An object with any of these fields, "plus any additional properties". */
function anyOfAndMore<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.looseObject(shape).partial();
}

const property = {
  ...{ active: flag, address: text, city: text, country: text, created_at: text, lat: z.number() },
  ...{ lng: z.number(), name: text, postcode: text, uprn: text },
};
const notifications = {
  ...{ battery_too_low_to_move_handle: flag, cloud_disconnection: flag, device_handle_moved: flag },
  ...{ health_check_failed: flag, high_humidity: flag, high_humidity_threshold: flag },
  ...{ high_temperature: flag, high_temperature_threshold: flag, high_volume_threshold_litres: integer },
  ...{ legionella_risk: flag, long_flow_notification_delay_mins: integer, low_battery_level: flag },
  ...{ low_temperature: flag, low_temperature_threshold: flag, low_water_temperature: flag },
  ...{ pressure_test_failed: flag, pressure_test_skipped: flag, radio_disconnection: flag },
  ...{ water_presence_detected: flag },
};
const settings = {
  auto_shut_off: flag,
  pressure_tests_enabled: flag,
  pressure_tests_schedule: text.regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/, 'must be HH:MM:SS'),
  timezone: text,
  webhook_enabled: flag,
  webhook_url: text,
};
const name = anyOf({ name: text });
const valveCommand = z.strictObject({ action: z.enum(['open', 'close']) });

export const bodySchemas = {
  sign_in: anyOf({ email: text.regex(emailPattern, 'must be an e-mail address'), password: text }),
  refresh_token: anyOf({ refresh_token: text }),
  act_on_incident: anyOf({ action: text }),
  act_on_property_incident: anyOfAndMore({ action: text }),
  update_property: anyOf(property),
  patch_property: anyOf(property),
  update_notification_settings: anyOf(notifications),
  update_property_settings: anyOf(settings),
  update_signal: name,
  patch_signal: name,
  update_sonic: name,
  patch_sonic: name,
  command_valve: valveCommand,
  change_thing_state: anyOfAndMore({ action: text }),
  create_property: anyOfAndMore({ name: text }),
  update_customer_property: anyOfAndMore({ name: text }),
  update_property_configuration: anyOfAndMore({ leak_protection_enabled: flag }),
  update_user: anyOfAndMore({ first_name: text, last_name: text }),
  create_invitation: anyOfAndMore({ email: text, role: text }),
  update_customer_notifications: anyOfAndMore({ push_enabled: flag }),
  start_pressure_test: anyOfAndMore({ source: text }),
  update_wifi_sonic: name,
  patch_wifi_sonic: name,
  command_wifi_valve: valveCommand,
} as const satisfies { readonly [Name in OperationName]?: z.ZodType };

export type DocumentBody<Name extends OperationName> = Name extends keyof typeof bodySchemas
  ? z.output<(typeof bodySchemas)[Name]>
  : undefined;

const number = text.regex(/^\d+$/, 'must be a whole number').transform(Number);
const page = { page: number.pipe(integer.min(1)) };
const named = { ...page, name: text };
const incidents = {
  ...page,
  type: z.enum(incidentTypes),
  open: z.enum(['true', 'false']).transform((word) => word === 'true'),
};

/** The query of each operation that has one. The document does not mention other parameters, so they change nothing. */
export const queries = {
  list_incidents: anyOfAndMore(incidents),
  list_property_incidents: anyOfAndMore(incidents),
  list_properties: anyOfAndMore({
    ...named,
    membership_role: z.enum(['owner', 'user', 'guest']),
    search: text,
  }),
  list_property_signals: anyOfAndMore(page),
  list_signals: anyOfAndMore(named),
  list_signal_sonics: anyOfAndMore(page),
  list_sonics: anyOfAndMore(named),
  list_wifi_sonics: anyOfAndMore(named),
  read_daily_usage: anyOfAndMore({ month: number.pipe(integer.min(1).max(12)), year: number }),
} as const satisfies { readonly [Name in OperationName]?: z.ZodType };

export type DocumentQuery<Name extends OperationName> = Name extends keyof typeof queries
  ? z.output<(typeof queries)[Name]>
  : Record<string, never>;
