import { z } from 'zod';
import { emailPattern } from '../base/email.ts';
import { all, kinds } from './fields.ts';

const { text, flag, number, whole } = kinds;

export const notificationFields = {
  ...all(flag, 'battery_too_low_to_move_handle', 'cloud_disconnection', 'device_handle_moved'),
  ...all(flag, 'health_check_failed', 'high_humidity', 'high_humidity_threshold'),
  ...all(flag, 'high_temperature', 'high_temperature_threshold'),
  high_volume_threshold_litres: whole,
  legionella_risk: flag,
  long_flow_notification_delay_mins: whole,
  ...all(flag, 'low_battery_level', 'low_temperature', 'low_temperature_threshold'),
  ...all(flag, 'low_water_temperature', 'pressure_test_failed', 'pressure_test_skipped'),
  ...all(flag, 'radio_disconnection', 'water_presence_detected'),
} as const;
export const settingsFields = {
  ...all(flag, 'auto_shut_off', 'pressure_tests_enabled'),
  pressure_tests_schedule: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/)
    .describe('a time HH:MM:SS'),
  timezone: text,
  webhook_enabled: flag,
  webhook_url: text,
} as const;

/**
 * The bodies that operations take, as strict as the interface document and no stricter: it requires one field, the action
 * of a valve command, and leaves some bodies open to additional properties. The cloud itself reports other faults.
 */
export const bodies = {
  property: some({
    active: flag,
    ...all(text, 'address', 'city', 'country', 'created_at'),
    ...all(number, 'lat', 'lng'),
    ...all(text, 'name', 'postcode', 'uprn'),
  }),
  notifications: some(notificationFields),
  settings: some(settingsFields),
  name: some({ name: text }),
  incidentAction: some({ action: text }),
  valveAction: z.strictObject({ action: z.enum(['open', 'close']) }),
  // The same e-mail pattern as in the configuration. Only the cloud knows whether the account has that address.
  credentials: some({
    email: z.email({ pattern: emailPattern }).describe('an e-mail address'),
    password: text,
  }),
  refreshToken: some({ refresh_token: text }),

  openAction: someAndMore({ action: text }),
  customerProperty: someAndMore({ name: text }),
  configuration: someAndMore({ leak_protection_enabled: flag }),
  user: someAndMore({ first_name: text, last_name: text }),
  invitation: someAndMore({ email: text, role: text }),
  customerNotifications: someAndMore({ push_enabled: flag }),
  pressureTest: someAndMore({ source: text }),
} as const;

function some<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject(fields).partial();
}

function someAndMore<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.looseObject(fields).partial();
}
