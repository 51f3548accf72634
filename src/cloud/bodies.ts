import { z } from 'zod';
import { emailPattern } from '../base/email.ts';

/** The notification settings that can be changed. */
export const notificationFields = {
  battery_too_low_to_move_handle: z.boolean(),
  cloud_disconnection: z.boolean(),
  device_handle_moved: z.boolean(),
  health_check_failed: z.boolean(),
  high_humidity: z.boolean(),
  high_humidity_threshold: z.boolean(),
  high_temperature: z.boolean(),
  high_temperature_threshold: z.boolean(),
  high_volume_threshold_litres: z.int(),
  legionella_risk: z.boolean(),
  long_flow_notification_delay_mins: z.int(),
  low_battery_level: z.boolean(),
  low_temperature: z.boolean(),
  low_temperature_threshold: z.boolean(),
  low_water_temperature: z.boolean(),
  pressure_test_failed: z.boolean(),
  pressure_test_skipped: z.boolean(),
  radio_disconnection: z.boolean(),
  water_presence_detected: z.boolean(),
} as const;
/** The property settings that can be changed. */
export const settingsFields = {
  auto_shut_off: z.boolean(),
  pressure_tests_enabled: z.boolean(),
  pressure_tests_schedule: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/)
    .describe('a time HH:MM:SS'),
  timezone: z.string(),
  webhook_enabled: z.boolean(),
  webhook_url: z.string(),
} as const;

const action = z.string();
const name = z.string();

/**
 * The bodies that operations take, as strict as the interface document and no stricter: it requires one field, the action
 * of a valve command, and leaves some bodies open to additional properties. The cloud itself reports other faults.
 */
export const bodies = {
  property: some({
    active: z.boolean(),
    address: z.string(),
    city: z.string(),
    country: z.string(),
    created_at: z.string(),
    lat: z.number(),
    lng: z.number(),
    name,
    postcode: z.string(),
    uprn: z.string(),
  }),
  notifications: some(notificationFields),
  settings: some(settingsFields),
  name: some({ name }),
  incidentAction: some({ action }),
  valveAction: z.strictObject({ action: z.enum(['open', 'close']) }),
  // The same e-mail pattern as in the configuration. Only the cloud knows whether the account has that address.
  credentials: some({ email: z.email({ pattern: emailPattern }), password: z.string() }),
  refreshToken: some({ refresh_token: z.string() }),

  openAction: someAndMore({ action }),
  newProperty: someAndMore({ name }),
  customerProperty: someAndMore({ name }),
  configuration: someAndMore({ leak_protection_enabled: z.boolean() }),
  user: someAndMore({ first_name: z.string(), last_name: z.string() }),
  invitation: someAndMore({ email: z.string(), role: z.string() }),
  customerNotifications: someAndMore({ push_enabled: z.boolean() }),
  pressureTest: someAndMore({ source: z.string() }),
} as const;

/** An object that may have any of the fields, and no others. */
function some<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject(fields).partial();
}

/** An object that may have any of the fields, and also others. */
function someAndMore<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.looseObject(fields).partial();
}
