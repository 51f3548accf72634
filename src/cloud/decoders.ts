import { z } from 'zod';
import { isTooDeeplyNested } from '../base/nesting.ts';
import { batteryWords } from '../model/power.ts';
import {
  type ApplianceCategories,
  type CustomerProperty,
  connectionStates,
  type DailyUsage,
  type HubDetail,
  type Incident,
  type Invitation,
  incidentTypes,
  type LeakProtection,
  type NotificationSettings,
  type PressureTestJob,
  type PressureTests,
  type Property,
  type PropertySettings,
  type PushNotifications,
  type Signal,
  type Sonic,
  type Status,
  severities,
  type Telemetry,
  type User,
  valveStates,
} from '../model/records.ts';
import { unknownState } from '../model/valve.ts';
import { knownWord } from '../model/words.ts';
import { notificationFields, settingsFields } from './bodies.ts';

/** Ids that are safe in a path, a topic and a unique id. `bridge` is excluded: the bridge's own device has that id. */
const safeIdPattern = /^(?!bridge(_\d+)?$)[A-Za-z0-9_-]{1,128}$/;

/** Whether an id is safe in a topic. */
export function isSafeId(id: string): boolean {
  return safeIdPattern.test(id);
}

/** The result of reading a record. Notices are oddities that were tolerated, to be reported once. */
type Decoded<T> =
  | { readonly ok: true; readonly value: T; readonly notices: readonly string[] }
  | {
      readonly ok: false;
      readonly message: string;
      /** Whether a list is complete without the record: it is a device whose id cannot be used. */
      readonly isLeftOut: boolean;
    };

/** Reads an answer, or a record of a list, tolerantly; never throws. */
export type Decoder<T> = (value: unknown) => Decoded<T>;

const text = z.string().nullable().default(null);
// Some clouds write numbers as texts.
const figure = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number)
    .pipe(z.number()),
]);
const number = figure.nullable().default(null);
const flag = z.boolean().nullable().default(null);
const id = z.string().regex(safeIdPattern);

// In the vendor's documentation of 2020, links were true and false.
const linkOfFlag = z.boolean().transform((isConnected) => (isConnected ? 'connected' : 'disconnected'));
const link = z.union([z.string(), linkOfFlag]).nullable().default(null);

// In the same documentation, actions were objects with a name and a title.
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
  cloud_connection: link,
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
  radio_connection: link,
  radio_rssi: number,
  status: text,
  valve_state: text,
  auto_shut_off_enabled: z.boolean().nullable().optional(),
  auto_shut_off_time_limit: figure.nullable().optional(),
  auto_shut_off_volume_limit: figure.nullable().optional(),
});
const telemetry = z.looseObject({
  pressure: number,
  water_flow: number,
  water_temp: number,
  probed_at: number,
});

// The bounds of request bodies do not apply to answers: every number that the cloud holds is shown.
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

/** The answer to a sign-in; user_details has no known fields that the bridge needs. */
export interface SessionReply {
  readonly token_details: string;
}

const user = z.looseObject({ id: text, email: text, first_name: text, last_name: text });
const status = z.looseObject({ status: text });
const signedOut = z.looseObject({ success: flag });
const customerProperty = z.looseObject({ id: text, name: text });
const leakProtection = z.looseObject({ leak_protection_enabled: flag });
const pushNotifications = z.looseObject({ push_enabled: flag });
const invitation = z.looseObject({ invitation_id: text });
const job = z.looseObject({ job_id: text });
const hub = z.looseObject({ id: text, serial_no: text, status: text });
const day = z.iso.date();
const pressureTest = z.looseObject({ id: z.string() });
// Negative litres are odd, but valid numbers. The sums of water use ignore them.
const dayOfUsage = z.looseObject({ date: day, liters: figure });
const category = z.looseObject({ id: z.string(), name: text });

// A header can only carry these characters.
const token = z.string().regex(/^[!-~]{1,8192}$/);
const session = z.looseObject({ token_details: token });

/** Longer texts are cut before people see them. */
const longestText = 1_000;

type KnownValues = Readonly<Record<string, readonly string[]>>;

/** The known words of each field that takes one of several words. */
const knownWords: Readonly<Record<'incident' | 'signal' | 'sonic', KnownValues>> = {
  incident: { type: incidentTypes, severity: severities },
  signal: { cloud_connection: connectionStates },
  sonic: {
    valve_state: [...valveStates, unknownState],
    battery: batteryWords,
    radio_connection: connectionStates,
  },
};

const fieldsOf = ({ shape }: z.ZodObject) => Object.keys(shape);

/** The fields that the program knows of the records that it reads, by the names of their decoders. */
export const knownFields: ReadonlyMap<string, readonly string[]> = new Map([
  ['property', fieldsOf(property)],
  ['settings', fieldsOf(settings)],
  ['notifications', fieldsOf(notifications)],
  ['signal', fieldsOf(signal)],
  ['sonic', fieldsOf(sonic)],
  ['telemetry', fieldsOf(telemetry)],
  ['incident', fieldsOf(incident)],
  ['hub', fieldsOf(hub)],
]);

/** Decoders of one record or answer each. */
export const decoders = {
  incident: neverLeftOut(decoder<Incident>(incident, knownWords.incident)),
  property: decoder<Property>(property),
  notifications: ofItsKind<NotificationSettings>(notifications),
  settings: ofItsKind<PropertySettings>(settings),
  // The answer to a change need not hold the changed fields.
  changedNotifications: decoder<NotificationSettings>(notifications),
  changedSettings: decoder<PropertySettings>(settings),
  signal: decoder<Signal>(signal, knownWords.signal),
  sonic: decoder<Sonic>(sonic, knownWords.sonic),
  telemetry: ofItsKind<Telemetry>(telemetry),
  // No notices of unknown words: nothing of a session is shown.
  session: decoder<SessionReply>(session, null),
  signedOut: decoder<{ readonly success: boolean | null }>(signedOut),
  user: decoder<User>(user),
  status: decoder<Status>(status),
  customerProperty: decoder<CustomerProperty>(customerProperty),
  leakProtection: decoder<LeakProtection>(leakProtection),
  pushNotifications: decoder<PushNotifications>(pushNotifications),
  invitation: decoder<Invitation>(invitation),
  pressureTestJob: decoder<PressureTestJob>(job),
  hub: ofItsKind<HubDetail>(hub),
  pressureTests: holder<PressureTests>('by_day', readTestsByDay),
  dailyUsage: holder<DailyUsage>('daily', (value) => readEntries('day', dayOfUsage, value)),
  applianceCategories: holder<ApplianceCategories>('categories', (value) =>
    readEntries('category', category, value),
  ),
} as const;

/**
 * A decoder that keeps unknown keys and words. A field of the wrong type becomes null, and wrong entries of a list are
 * left out. It fails only if the value is not an object or has no usable id.
 */
function decoder<T>(schema: z.ZodType<T>, knownValues: KnownValues | null = {}): Decoder<T> {
  const read = tolerantDecoder(schema);
  return (value) => {
    if (isTooDeeplyNested(value)) return tooDeep;
    const each = read(value);
    return each.ok ? { ...each, notices: [...each.notices, ...oddities(each.value, knownValues)] } : each;
  };
}

/** A decoder of records that a list misses if they cannot be used, whatever their id is: such a record may be a leak. */
function neverLeftOut<T>(read: Decoder<T>): Decoder<T> {
  return (value) => {
    const each = read(value);
    return each.ok ? each : { ...each, isLeftOut: false };
  };
}

/** A decoder of a record without an id. An object with none of the known fields is another kind of record. */
function ofItsKind<T>(schema: z.ZodObject & z.ZodType<T>): Decoder<T> {
  const read = decoder(schema);
  const isOther = (fields: readonly string[]) =>
    fields.length > 0 && !fields.some((field) => Object.hasOwn(schema.shape, field));
  return (value) => {
    const each = read(value);
    if (!each.ok || !isOther(Object.keys(value as object))) return each;
    return { ok: false, message: 'it has none of the requested fields', isLeftOut: false };
  };
}

const tooDeep = { ok: false, message: 'it is nested too deeply', isLeftOut: false } as const;

function tolerantDecoder<T>(schema: z.ZodType<T>): Decoder<T> {
  return (value) => {
    const first = schema.safeParse(value);
    if (first.success) return { ok: true, value: first.data, notices: [] };
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { ok: false, message: 'it is not an object', isLeftOut: false };
    }
    const { issues } = first.error;
    const notices = new Map(
      issues.map(({ path: [field], message }) => [
        field,
        `${String(field)} has an unexpected value (${message.replace(/^Invalid input: /, '')})`,
      ]),
    );
    const second = schema.safeParse(mend(value, issues));
    if (second.success) return { ok: true, value: second.data, notices: [...notices.values()] };
    const badId = 'id' in value && typeof value.id === 'string' && !isSafeId(value.id);
    if (badId) {
      return { ok: false, message: `its id is not safe in a topic: ${quoted(value.id)}`, isLeftOut: true };
    }
    const reasons = new Set(second.error.issues.map(({ path: [field] }) => notices.get(field)));
    return { ok: false, message: [...reasons].join(', '), isLeftOut: false };
  };
}

/** A copy without the values that the issues name: a field becomes null, a list loses the wrong entries. */
function mend(value: object, issues: readonly z.core.$ZodIssue[]): Record<string, unknown> {
  const wrong = new Set(issues.map(({ path }) => path.slice(0, 2).join(' ')));
  const mended = Object.entries(value).map(([field, held]: [string, unknown]): [string, unknown] => {
    if (wrong.has(field)) return [field, null];
    if (!Array.isArray(held)) return [field, held];
    return [field, held.filter((_, index) => !wrong.has(`${field} ${index}`))];
  });
  return Object.fromEntries(mended);
}

const anyObject = z.looseObject({});

/** The usable entries of a list or table, and notices about the others; null if it is not a list or table. */
type Entries = { readonly good: unknown; readonly notices: readonly string[] } | null;

/**
 * A decoder of an answer that holds one list or table of entries. Bad entries are left out. If all entries are bad, it
 * fails, because an empty list would claim that there is nothing.
 */
function holder<T>(field: string, readHeld: (value: unknown) => Entries): Decoder<T> {
  return (value) => {
    if (isTooDeeplyNested(value)) return tooDeep;
    const { data: held } = anyObject.safeParse(value);
    const entries = readHeld(held?.[field]);
    if (!entries) return { ok: false, message: `it has no ${field}`, isLeftOut: false };
    const { good, notices } = entries;
    if (isEmpty(good) && !isEmpty(held?.[field])) {
      return { ok: false, message: `its ${field} cannot be read`, isLeftOut: false };
    }
    return { ok: true, value: { ...held, [field]: good } as T, notices };
  };
}

function isEmpty(entries: unknown): boolean {
  return Object.keys(entries as object).length === 0;
}

function readEntries(what: string, schema: z.ZodType, value: unknown): Entries {
  if (!Array.isArray(value)) return null;
  const good = value.flatMap((each) => {
    const read = schema.safeParse(each);
    return read.success ? [read.data] : [];
  });
  const bad = value.length - good.length;
  return { good, notices: bad === 0 ? [] : [`a ${what} was skipped: unexpected format`] };
}

function readTestsByDay(value: unknown): Entries {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const days: [string, unknown][] = [];
  const notices: string[] = [];
  for (const [date, tests] of Object.entries(value)) {
    const entries = day.safeParse(date).success ? readEntries('pressure test', pressureTest, tests) : null;
    if (entries) days.push([date, entries.good]);
    notices.push(...(entries?.notices ?? ['a day was skipped: unexpected format']));
  }
  return { good: Object.fromEntries(days), notices: [...new Set(notices)] };
}

/** Notices about values that are kept although they are unknown words, or too long to show. */
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
    if (typeof value === 'string' && knownWord(known, value) === null)
      notices.push(`unknown value of ${field}: ${quoted(value)}`);
  }
  return notices;
}

/** The value as shown to people. It is never cut, because half a secret could not be recognised and hidden. */
function quoted(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'nothing').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  return text.length > 80 ? `something of ${text.length} characters` : text;
}

/** The envelope of a list; its counts are hints, its records are read one by one. */
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
export const readEnvelope: Decoder<Envelope> = tolerantDecoder<Envelope>(envelope);

/** Whether it can be a session token, wherever it comes from. */
export function isToken(value: unknown): value is string {
  return token.safeParse(value).success;
}
