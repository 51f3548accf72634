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
import { all } from './fields.ts';

/** Ids that are safe in a path, a topic and a unique id. `bridge` is excluded: the bridge's own device has that id. */
const safeIdPattern = /^(?!bridge(_\d+)?$)[A-Za-z0-9_-]{1,128}$/;

export function isSafeId(id: string): boolean {
  return safeIdPattern.test(id);
}

/** Why a record cannot be read, and whether a list is complete without it: it is a device whose id cannot be used. */
interface Refused {
  readonly ok: false;
  readonly message: string;
  readonly isLeftOut: boolean;
}

/** The result of reading a record. Notices are oddities that were tolerated, to be reported once. */
type Decoded<T> = { readonly ok: true; readonly value: T; readonly notices: readonly string[] } | Refused;

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

const named = <Fields extends object>(fields: Fields) => Object.keys(fields) as (keyof Fields & string)[];

const incident = z.looseObject({
  id,
  detected_at: text,
  open: flag,
  possible_actions: actions,
  ...all(text, 'severity', 'signal_id', 'sonic_id', 'state', 'type'),
});
const property = z.looseObject({
  id,
  active: flag,
  ...all(text, 'address', 'city', 'country', 'created_at'),
  ...all(number, 'lat', 'lng'),
  ...all(text, 'name', 'postcode', 'uprn'),
});
const signal = z.looseObject({
  id,
  ...all(text, 'name', 'serial_no', 'created_at'),
  cloud_connection: link,
  ...all(number, 'boot_time', 'modem_boot_time'),
  ...all(text, 'modem_version', 'version'),
  wifi_rssi: number,
});
const sonic = z.looseObject({
  id,
  ...all(text, 'name', 'serial_no', 'created_at', 'signal_id', 'battery'),
  radio_connection: link,
  radio_rssi: number,
  ...all(text, 'status', 'valve_state'),
  auto_shut_off_enabled: z.boolean().nullable().optional(),
  ...all(figure.nullable().optional(), 'auto_shut_off_time_limit', 'auto_shut_off_volume_limit'),
});
const telemetry = z.looseObject(all(number, 'pressure', 'water_flow', 'water_temp', 'probed_at'));

// The bounds of request bodies do not apply to answers: every number that the cloud holds is shown.
const notifications = z.looseObject({
  ...all(flag, ...named(notificationFields)),
  ...all(number, 'high_volume_threshold_litres', 'long_flow_notification_delay_mins'),
});
const settings = z.looseObject({
  ...all(flag, ...named(settingsFields)),
  ...all(text, 'pressure_tests_schedule', 'timezone', 'webhook_url'),
});
const hub = z.looseObject(all(text, 'id', 'serial_no', 'status'));

/** The answer to a sign-in; user_details has no known fields that the bridge needs. */
export interface SessionReply {
  readonly token_details: string;
}

// A header can only carry these characters.
const token = z.string().regex(/^[!-~]{1,8192}$/);

const day = z.iso.date();
const pressureTest = z.looseObject({ id: z.string() });
// Negative litres are odd, but valid numbers. The sums of water use ignore them.
const dayOfUsage = z.looseObject({ date: day, liters: figure });
const category = z.looseObject({ id: z.string(), name: text });

/** Longer texts are cut before people see them. */
const longestText = 1_000;

/** The fields that the program knows of the records that it reads, by the names of their decoders. */
export const knownFields: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({ property, settings, notifications, signal, sonic, telemetry, incident, hub }).map(
    ([name, { shape }]) => [name, Object.keys(shape)],
  ),
);

/** What else a decoder looks at. */
interface Rules {
  /** The known words of each field that takes one of several words. Other words are kept, and reported. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** It has no id, and an object with none of the known fields is another kind of record. */
  readonly isOfOneKind?: true;
  /** A list misses it if it cannot be used, whatever its id is: it may be a leak. */
  readonly isNeverLeftOut?: true;
  /** Nothing of it is shown, so oddities are not reported. */
  readonly isSecret?: true;
}

const ofOneKind = { isOfOneKind: true } as const;

export const decoders = {
  incident: decoder<Incident>(incident, {
    isNeverLeftOut: true,
    words: { type: incidentTypes, severity: severities },
  }),
  property: decoder<Property>(property),
  notifications: decoder<NotificationSettings>(notifications, ofOneKind),
  settings: decoder<PropertySettings>(settings, ofOneKind),
  // The answer to a change need not hold the changed fields.
  changedNotifications: decoder<NotificationSettings>(notifications),
  changedSettings: decoder<PropertySettings>(settings),
  signal: decoder<Signal>(signal, { words: { cloud_connection: connectionStates } }),
  sonic: decoder<Sonic>(sonic, {
    words: {
      valve_state: [...valveStates, unknownState],
      battery: batteryWords,
      radio_connection: connectionStates,
    },
  }),
  telemetry: decoder<Telemetry>(telemetry, ofOneKind),
  session: decoder<SessionReply>(z.looseObject({ token_details: token }), { isSecret: true }),
  signedOut: decoder<{ readonly success: boolean | null }>(z.looseObject({ success: flag })),
  user: decoder<User>(z.looseObject(all(text, 'id', 'email', 'first_name', 'last_name'))),
  status: decoder<Status>(z.looseObject({ status: text })),
  customerProperty: decoder<CustomerProperty>(z.looseObject(all(text, 'id', 'name'))),
  leakProtection: decoder<LeakProtection>(z.looseObject({ leak_protection_enabled: flag })),
  pushNotifications: decoder<PushNotifications>(z.looseObject({ push_enabled: flag })),
  invitation: decoder<Invitation>(z.looseObject({ invitation_id: text })),
  pressureTestJob: decoder<PressureTestJob>(z.looseObject({ job_id: text })),
  hub: decoder<HubDetail>(hub, ofOneKind),
  pressureTests: holder<PressureTests>('by_day', readTestsByDay),
  dailyUsage: holder<DailyUsage>('daily', (value) => readEntries('day', dayOfUsage, value)),
  applianceCategories: holder<ApplianceCategories>('categories', (value) =>
    readEntries('category', category, value),
  ),
} as const;

function refused(message: string, isLeftOut = false): Refused {
  return { ok: false, message, isLeftOut };
}

/** Keeps unknown keys and words. A wrong field becomes null, and lists lose wrong entries. It fails without a usable id. */
function decoder<T>(schema: z.ZodObject & z.ZodType<T>, rules: Rules = {}): Decoder<T> {
  const read = tolerantDecoder<T>(schema);
  return (value) => {
    if (isTooDeeplyNested(value)) return refused('it is nested too deeply');
    const each = read(value);
    if (!each.ok) return rules.isNeverLeftOut ? refused(each.message) : each;
    const given = Object.keys(value as object);
    const isKnown = given.length === 0 || given.some((field) => Object.hasOwn(schema.shape, field));
    if (rules.isOfOneKind && !isKnown) return refused('it has none of the requested fields');
    return { ...each, notices: [...each.notices, ...oddities(each.value as object, rules)] };
  };
}

function tolerantDecoder<T>(schema: z.ZodType<T>): Decoder<T> {
  return (value) => {
    const first = schema.safeParse(value);
    if (first.success) return { ok: true, value: first.data, notices: [] };
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return refused('it is not an object');
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
    const hasBadId = 'id' in value && typeof value.id === 'string' && !isSafeId(value.id);
    if (hasBadId) return refused(`its id is not safe in a topic: ${quoted(value.id)}`, true);
    const reasons = new Set(second.error.issues.map(({ path: [field] }) => notices.get(field)));
    return refused([...reasons].join(', '));
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
type Entries = { readonly good: object; readonly notices: readonly string[] } | null;

/** Bad entries are left out. If all are bad, it fails, because an empty list would claim that there is nothing. */
function holder<T>(field: string, readHeld: (value: unknown) => Entries): Decoder<T> {
  return (value) => {
    if (isTooDeeplyNested(value)) return refused('it is nested too deeply');
    const { data: held } = anyObject.safeParse(value);
    const given = held?.[field];
    const entries = readHeld(given);
    if (!entries) return refused(`it has no ${field}`);
    const { good, notices } = entries;
    const isAnyGood = Object.keys(good).length > 0 || Object.keys(given as object).length === 0;
    if (!isAnyGood) return refused(`its ${field} cannot be read`);
    return { ok: true, value: { ...held, [field]: good } as T, notices };
  };
}

function readEntries(what: string, schema: z.ZodType, value: unknown): Entries {
  if (!Array.isArray(value)) return null;
  const good = value.flatMap((each) => {
    const { success, data } = schema.safeParse(each);
    return success ? [data] : [];
  });
  const notices = good.length === value.length ? [] : [`a ${what} was skipped: unexpected format`];
  return { good, notices };
}

function readTestsByDay(value: unknown): Entries {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const days: [string, unknown][] = [];
  const notices = new Set<string>();
  for (const [date, tests] of Object.entries(value)) {
    const entries = day.safeParse(date).success ? readEntries('pressure test', pressureTest, tests) : null;
    if (entries) days.push([date, entries.good]);
    for (const notice of entries?.notices ?? ['a day was skipped: unexpected format']) notices.add(notice);
  }
  return { good: Object.fromEntries(days), notices: [...notices] };
}

/** Notices about values that are kept although they are unknown words, or too long to show. */
function oddities(record: object, { words = {}, isSecret }: Rules): string[] {
  if (isSecret) return [];
  const texts = Object.entries(record).filter(
    (field): field is [string, string] => typeof field[1] === 'string',
  );
  const long = texts.filter(([, value]) => value.length > longestText);
  const unknown = Object.entries(words).flatMap(([field, known]) => {
    const value = texts.find(([name]) => name === field)?.[1];
    return value === undefined || knownWord(known, value) !== null ? [] : [{ field, value }];
  });
  return [
    ...long.map(([field, value]) => `${field} has ${value.length} characters`),
    ...unknown.map(({ field, value }) => `unknown value of ${field}: ${quoted(value)}`),
  ];
}

/** The value as shown to people. It is never cut, because half a secret could not be recognised and hidden. */
function quoted(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'nothing').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  return text.length > 80 ? `something of ${text.length} characters` : text;
}

const envelope = z.looseObject({
  data: z.array(z.unknown()),
  ...all(number, 'page_number', 'page_size', 'total_entries', 'total_pages'),
});

/** Reads the envelope of a list; its counts are hints, its records are read one by one. */
export const readEnvelope = tolerantDecoder(envelope);

export function isToken(value: unknown): value is string {
  return token.safeParse(value).success;
}
