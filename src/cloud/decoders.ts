import { z } from 'zod';
import { isTooDeeplyNested } from '../base/nesting.ts';
import { batteryWords } from '../model/power.ts';
import * as records from '../model/records.ts';
import { unknownState } from '../model/valve.ts';
import { knownWord } from '../model/words.ts';
import { notificationFields, settingsFields } from './bodies.ts';
import { all } from './fields.ts';

/** Safe in a path, a topic and a unique id. `bridge` is excluded: the bridge's own device has that id. */
const safeIdPattern = /^(?!bridge(_\d+)?$)[A-Za-z0-9_-]{1,128}$/;

export function isSafeId(id: string): boolean {
  return safeIdPattern.test(id);
}

interface Refused {
  readonly ok: false;
  readonly message: string;
  /** Whether a list is complete without it: it is a device whose id cannot be used. */
  readonly isLeftOut: boolean;
}

/** Notices are oddities that were tolerated, to be reported once. */
type Decoded<T> = { readonly ok: true; readonly value: T; readonly notices: readonly string[] } | Refused;

/** Never throws. */
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

export interface SessionReply {
  readonly token_details: string;
}

// A header can only carry these characters.
const token = z.string().regex(/^[!-~]{1,8192}$/);

const day = z.iso.date();
const pressureTests = z.looseObject({ by_day: z.record(day, z.array(z.looseObject({ id: z.string() }))) });
// Negative litres are odd, but valid numbers. The sums of water use ignore them.
const dailyUsage = z.looseObject({ daily: z.array(z.looseObject({ date: day, liters: figure })) });
const categories = z.looseObject({ categories: z.array(z.looseObject({ id: z.string(), name: text })) });

/** Longer texts are cut before people see them. */
const longestText = 1_000;

/** By the names of their decoders. */
export const knownFields: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({ property, settings, notifications, signal, sonic, telemetry, incident, hub }).map(
    ([name, { shape }]) => [name, Object.keys(shape)],
  ),
);

interface Rules {
  /** The known words of each field that takes one of several words. Other words are kept, and reported. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** It has no id, and an object with none of the known fields is another kind of record. */
  readonly isOfOneKind?: true;
  /** A list misses it if it cannot be used, whatever its id is: it may be a leak. */
  readonly isNeverLeftOut?: true;
  /** Its list or table. If no entry can be read, it fails: an empty list would claim that there is nothing. */
  readonly holds?: string;
  /** Nothing of it is shown, so oddities are not reported. */
  readonly isSecret?: true;
}

const ofOneKind = { isOfOneKind: true } as const;

export const decoders = {
  incident: decoder<records.Incident>(incident, {
    isNeverLeftOut: true,
    words: { type: records.incidentTypes, severity: records.severities },
  }),
  property: decoder<records.Property>(property),
  notifications: decoder<records.NotificationSettings>(notifications, ofOneKind),
  settings: decoder<records.PropertySettings>(settings, ofOneKind),
  // The answer to a change need not hold the changed fields.
  changedNotifications: decoder<records.NotificationSettings>(notifications),
  changedSettings: decoder<records.PropertySettings>(settings),
  signal: decoder<records.Signal>(signal),
  sonic: decoder<records.Sonic>(sonic, {
    words: { valve_state: [...records.valveStates, unknownState], battery: batteryWords },
  }),
  telemetry: decoder<records.Telemetry>(telemetry, ofOneKind),
  session: decoder<SessionReply>(z.looseObject({ token_details: token }), { isSecret: true }),
  signedOut: decoder<{ readonly success: boolean | null }>(z.looseObject({ success: flag })),
  user: decoder<records.User>(z.looseObject(all(text, 'id', 'email', 'first_name', 'last_name'))),
  status: decoder<records.Status>(z.looseObject({ status: text })),
  customerProperty: decoder<records.CustomerProperty>(z.looseObject(all(text, 'id', 'name'))),
  leakProtection: decoder<records.LeakProtection>(z.looseObject({ leak_protection_enabled: flag })),
  pushNotifications: decoder<records.PushNotifications>(z.looseObject({ push_enabled: flag })),
  invitation: decoder<records.Invitation>(z.looseObject({ invitation_id: text })),
  pressureTestJob: decoder<records.PressureTestJob>(z.looseObject({ job_id: text })),
  hub: decoder<records.HubDetail>(hub, ofOneKind),
  pressureTests: decoder<records.PressureTests>(pressureTests, { holds: 'by_day' }),
  dailyUsage: decoder<records.DailyUsage>(dailyUsage, { holds: 'daily' }),
  applianceCategories: decoder<records.ApplianceCategories>(categories, { holds: 'categories' }),
} as const;

function refused(message: string, isLeftOut = false): Refused {
  return { ok: false, message, isLeftOut };
}

/** Keeps unknown keys and words. A wrong field becomes null, and lists lose wrong entries. Fails without a usable id. */
function decoder<T>(schema: z.ZodObject & z.ZodType<T>, rules: Rules = {}): Decoder<T> {
  const read = tolerantDecoder<T>(schema);
  return (value) => {
    if (isTooDeeplyNested(value)) return refused('it is nested too deeply');
    const each = read(value);
    if (!each.ok) return rules.isNeverLeftOut ? refused(each.message) : each;
    const given = value as Readonly<Record<string, unknown>>;
    const { holds = '', isOfOneKind } = rules;
    const isKnown = isEmpty(given) || Object.keys(given).some((field) => Object.hasOwn(schema.shape, field));
    if (isOfOneKind && !isKnown) return refused('it has none of the requested fields');
    const isLost = isEmpty((each.value as typeof given)[holds]) && !isEmpty(given[holds]);
    if (isLost) return refused(`its ${holds} cannot be read`);
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

/** A copy without the wrong values: a field becomes null, a list or table loses the entries. */
function mend(value: object, issues: readonly z.core.$ZodIssue[]): Record<string, unknown> {
  const isIndex = (key: PropertyKey) => typeof key === 'number';
  const endOf = (path: readonly PropertyKey[]) => path.slice(0, Math.max(2, path.findLastIndex(isIndex) + 1));
  const wrong = new Set(issues.map(({ path }) => endOf(path).join(' ')));
  const hasWrong = (at: string) => [...wrong].some((path) => path.startsWith(`${at} `));
  const without = (held: unknown, at: string): unknown => {
    // What nothing is wrong with may be nested thousands of levels deep.
    if (!hasWrong(at) || typeof held !== 'object' || held === null) return held;
    if (Array.isArray(held)) return held.filter((_, index) => !wrong.has(`${at} ${index}`));
    const entries = Object.entries(held).filter(([key]) => !wrong.has(`${at} ${key}`));
    return Object.fromEntries(entries.map(([key, each]) => [key, without(each, `${at} ${key}`)]));
  };
  return Object.fromEntries(
    Object.entries(value).map(([field, held]) => [field, wrong.has(field) ? null : without(held, field)]),
  );
}

const isEmpty = (held: unknown) => Object.keys(Object(held)).length === 0;

function oddities(record: object, { words = {}, isSecret }: Rules): string[] {
  if (isSecret) return [];
  return Object.entries(record).flatMap(([field, value]: [string, unknown]) => {
    if (typeof value !== 'string') return [];
    if (value.length > longestText) return [`${field} has ${value.length} characters`];
    const known = Object.hasOwn(words, field) ? words[field] : undefined;
    if (known === undefined || knownWord(known, value) !== null) return [];
    return [`unknown value of ${field}: ${quoted(value)}`];
  });
}

/** The value as shown to people. It is never cut, because half a secret could not be recognised and hidden. */
function quoted(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'nothing').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
  return text.length > 80 ? `something of ${text.length} characters` : text;
}

const count = figure.pipe(z.int().min(0)).nullable().default(null);
const envelope = z.looseObject({
  data: z.array(z.unknown()),
  ...all(count, 'page_number', 'page_size', 'total_entries', 'total_pages'),
});

/** Of a page. Its counts are hints, and its records are read one by one. */
export const readEnvelope = tolerantDecoder(envelope);

export function isToken(value: unknown): value is string {
  return token.safeParse(value).success;
}
