import { z } from 'zod';
import { emailPattern } from '../base/email.ts';

/** What can be set of notification settings. */
export const notificationFields = {
  battery_too_low_to_move_handle: z.boolean(),
  cloud_disconnection: z.boolean(),
  device_handle_moved: z.boolean(),
  health_check_failed: z.boolean(),
  high_humidity: z.boolean(),
  high_humidity_threshold: z.boolean(),
  high_temperature: z.boolean(),
  high_temperature_threshold: z.boolean(),
  high_volume_threshold_litres: z.int().nonnegative(),
  legionella_risk: z.boolean(),
  long_flow_notification_delay_mins: z.int().nonnegative(),
  low_battery_level: z.boolean(),
  low_temperature: z.boolean(),
  low_temperature_threshold: z.boolean(),
  low_water_temperature: z.boolean(),
  pressure_test_failed: z.boolean(),
  pressure_test_skipped: z.boolean(),
  radio_disconnection: z.boolean(),
  water_presence_detected: z.boolean(),
} as const;
/** What can be set of property settings. */
export const settingsFields = {
  auto_shut_off: z.boolean(),
  pressure_tests_enabled: z.boolean(),
  pressure_tests_schedule: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/)
    .describe('a time HH:MM:SS'),
  timezone: z.string().min(1),
  webhook_enabled: z.boolean(),
  webhook_url: z.string(),
} as const;

/** The bodies that operations take: strict, but for those that the document leaves open to additional properties. */
export const bodies = {
  property: some({
    active: z.boolean(),
    address: z.string(),
    city: z.string(),
    country: z.string(),
    created_at: z.string(),
    lat: z.number(),
    lng: z.number(),
    name: z.string().min(1),
    postcode: z.string(),
    uprn: z.string(),
  }),
  notifications: some(notificationFields),
  settings: some(settingsFields),
  name: z.strictObject({ name: z.string().min(1) }),
  incidentAction: z.strictObject({ action: z.string().min(1) }),
  valveAction: z.strictObject({ action: z.enum(['open', 'close']) }),
  // As the configuration takes it: whether the account has that address, the cloud says.
  credentials: z.strictObject({
    email: z.email({ pattern: emailPattern }),
    password: z.string().min(1),
  }),
  refreshToken: z.strictObject({ refresh_token: z.string().min(1).optional() }),

  openAction: z.looseObject({ action: z.string().min(1) }),
  newProperty: z.looseObject({ name: z.string().min(1) }),
  customerProperty: someAndMore({ name: z.string().min(1) }),
  configuration: z.looseObject({ leak_protection_enabled: z.boolean() }),
  user: someAndMore({ first_name: z.string(), last_name: z.string() }),
  invitation: z.looseObject({ email: z.email(), role: z.string().min(1) }),
  customerNotifications: z.looseObject({ push_enabled: z.boolean() }),
  pressureTest: z.looseObject({ source: z.string().min(1) }),
} as const;

/** Any of the fields, at least one. */
function some<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject(fields).partial().refine(isSomething, 'needs at least one field');
}

/** The same, with any other field besides. */
function someAndMore<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.looseObject(fields).partial().refine(isSomething, 'needs at least one field');
}

function isSomething(body: object): boolean {
  return Object.keys(body).length > 0;
}
