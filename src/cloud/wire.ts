import { z } from 'zod';
import {
  batteryLevels,
  connectionStates,
  type Incident,
  incidentTypes,
  type NotificationSettings,
  type Property,
  type PropertySettings,
  type Signal,
  type Sonic,
  severities,
  type Telemetry,
  valveStates,
} from '../model/records.ts';

/** Ids that are safe in a path, a topic and a unique id; the bridge's own device is called bridge. */
const safeId = /^(?!bridge(_\d+)?$)[A-Za-z0-9_-]{1,128}$/;

/** What came of reading a record: notices are oddities that were tolerated, to be reported once. */
export type Read<T> =
  | { readonly ok: true; readonly value: T; readonly notices: readonly string[] }
  | { readonly ok: false; readonly reason: string; readonly unsafeId: boolean };

/** Reads an answer, or a record of a list, tolerantly; never throws. */
export type Reader<T> = (value: unknown) => Read<T>;

const text = z.string().nullable().default(null);
const number = z.number().nullable().default(null);
const flag = z.boolean().nullable().default(null);
const id = z.string().regex(safeId);

// In 2020 actions were objects with a name and a title (cloud-facts 4).
const action = z.union([z.string(), z.looseObject({ name: z.string() }).transform(({ name }) => name)]);
const actions = z
  .array(action)
  .nullable()
  .default(null)
  .transform((list) => list ?? []);

const incident = z.looseObject({
  id,
  detected_at: text,
  open: flag,
  possible_actions: actions,
  severity: text,
  signal_id: text,
  sonic_id: text,
  state: text,
  type: text,
});
const property = z.looseObject({
  id,
  active: flag,
  address: text,
  city: text,
  country: text,
  created_at: text,
  lat: number,
  lng: number,
  name: text,
  postcode: text,
  uprn: text,
});
const signal = z.looseObject({
  id,
  name: text,
  serial_no: text,
  created_at: text,
  cloud_connection: text,
  boot_time: number,
  modem_boot_time: number,
  modem_version: text,
  version: text,
  wifi_rssi: number,
});
const sonic = z.looseObject({
  id,
  name: text,
  serial_no: text,
  created_at: text,
  signal_id: text,
  battery: text,
  radio_connection: text,
  radio_rssi: number,
  status: text,
  valve_state: text,
  auto_shut_off_enabled: z.boolean().nullable().optional(),
  auto_shut_off_time_limit: z.number().nullable().optional(),
  auto_shut_off_volume_limit: z.number().nullable().optional(),
});
const telemetry = z.looseObject({
  pressure: number,
  water_flow: number,
  water_temp: number,
  probed_at: number,
});

const notificationFields = {
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
const settingsFields = {
  auto_shut_off: z.boolean(),
  pressure_tests_enabled: z.boolean(),
  pressure_tests_schedule: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/, 'must be a time HH:MM:SS'),
  timezone: z.string().min(1),
  webhook_enabled: z.boolean(),
  webhook_url: z.string(),
} as const;

// Replies must not be judged by the bounds that bodies have: whatever number the cloud holds is shown.
const notifications = z.looseObject({
  ...tolerant(notificationFields, flag),
  high_volume_threshold_litres: number,
  long_flow_notification_delay_mins: number,
});
const settings = z.looseObject({
  ...tolerant(settingsFields, flag),
  pressure_tests_schedule: text,
  timezone: text,
  webhook_url: text,
});

function tolerant<Fields extends object, Schema>(fields: Fields, schema: Schema) {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, schema])) as Record<
    keyof Fields,
    Schema
  >;
}

/** Bodies of the updates of operations 8, 10, 12, 16 and 20: strict, any of the fields, at least one. */
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
  credentials: z.strictObject({ email: z.email(), password: z.string().min(1) }),
  refreshToken: z.strictObject({ refresh_token: z.string().min(1).optional() }),
} as const;

function some<Fields extends z.ZodRawShape>(fields: Fields) {
  return z
    .strictObject(fields)
    .partial()
    .refine((body) => Object.keys(body).length > 0, 'needs at least one field');
}

/** Interface document 2.8; user_details has no known fields that the bridge needs. */
export interface SessionReply {
  readonly token_details: string;
}

const session = z.looseObject({ token_details: z.string().min(1) });

/** Longer texts are cut where they are shown to people. */
const longestText = 1_000;

type KnownValues = Readonly<Record<string, readonly string[]>>;

/** Readers of one record or answer each. */
export const readers = {
  incident: reader<Incident>(incident, { type: incidentTypes, severity: severities }),
  property: reader<Property>(property),
  notifications: reader<NotificationSettings>(notifications),
  settings: reader<PropertySettings>(settings),
  signal: reader<Signal>(signal, { cloud_connection: connectionStates }),
  sonic: reader<Sonic>(sonic, {
    valve_state: valveStates,
    battery: batteryLevels,
    radio_connection: connectionStates,
  }),
  telemetry: reader<Telemetry>(telemetry),
  // Nobody is shown any of it.
  session: reader<SessionReply>(session, null),
} as const;

/**
 * A reader that keeps unknown keys and words, turns a field of the wrong type into null, and gives up only on
 * what is no object or has no usable id.
 */
function reader<T>(schema: z.ZodType<T>, knownValues: KnownValues | null = {}): Reader<T> {
  return (value) => {
    const first = schema.safeParse(value);
    if (first.success) return { ok: true, value: first.data, notices: oddities(first.data, knownValues) };
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { ok: false, reason: 'it is not an object', unsafeId: false };
    }
    const notices: string[] = [];
    const mended: Record<string, unknown> = { ...value };
    for (const issue of first.error.issues) {
      const field = String(issue.path[0] ?? '');
      mended[field] = null;
      notices.push(`${field} is not as promised (${issue.message})`);
    }
    const second = schema.safeParse(mended);
    if (second.success) {
      return {
        ok: true,
        value: second.data,
        notices: [...notices, ...oddities(second.data, knownValues)],
      };
    }
    const badId = 'id' in value && typeof value.id === 'string' && !safeId.test(value.id);
    const reason = badId ? `its id is not safe in a topic: ${shown(value.id)}` : notices.join(', ');
    return { ok: false, reason, unsafeId: badId };
  };
}

/** What is kept as it came, although nobody knows the word or would read it to its end. */
function oddities(record: unknown, knownValues: KnownValues | null): string[] {
  const notices: string[] = [];
  if (knownValues === null) return notices;
  for (const [field, value] of Object.entries(record as object)) {
    if (typeof value === 'string' && value.length > longestText) {
      notices.push(`${field} has ${value.length} characters`);
    }
  }
  for (const [field, known] of Object.entries(knownValues)) {
    const value = (record as Record<string, unknown>)[field];
    if (typeof value === 'string' && !known.includes(value)) notices.push(`${field} says ${shown(value)}`);
  }
  return notices;
}

/** The value in words. Nothing is cut: half a secret could not be recognised and hidden. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 80 ? `something of ${text.length} characters` : text;
}

/** The envelope of a list (interface document 2.1); its counts are hints, its records are read one by one. */
export interface Envelope {
  readonly data: readonly unknown[];
  readonly page_number: number | null;
  readonly page_size: number | null;
  readonly total_entries: number | null;
  readonly total_pages: number | null;
}

const envelope = z.looseObject({
  data: z.array(z.unknown()),
  page_number: number,
  page_size: number,
  total_entries: number,
  total_pages: number,
});

/** Reads the envelope of a list. */
export const readEnvelope: Reader<Envelope> = reader<Envelope>(envelope);
