import { z } from 'zod';
import { incidentTypes } from '../model/records.ts';
import { bodies, type Reader, readers } from './wire.ts';

/** What MQTT must be allowed to change before an operation may be asked for (contract: `control`). */
export type Control = 'valves' | 'incidents' | 'pressure_tests' | 'settings' | 'account';

/**
 * Where a route is known from: `document`, the interface document; `public`, the vendor's or a library's own
 * publications (cloud-facts 1); `assumed`, nobody has published it.
 */
export type Provenance = 'document' | 'public' | 'assumed';

/** What an operation answers: one record, a page of records, or nothing that is looked at. */
export type Reply<T> =
  | { readonly kind: 'record'; readonly read: Reader<T> }
  | { readonly kind: 'page'; readonly read: Reader<T> }
  | { readonly kind: 'none' };

interface Row<Path extends string, T> {
  /** The number in section 4.2 of the interface document; null for what it does not number. */
  readonly number: number | null;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: Path;
  readonly provenance: Provenance;
  /** `safe`: may be asked again after any failure; `never`: only when the cloud plainly did not act. */
  readonly retry: 'safe' | 'never';
  readonly reply: Reply<T>;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Absent for what changes nothing. */
  readonly control?: Control;
  /** The session operations manage the token themselves and are never callable through MQTT. */
  readonly session?: true;
}

const record = <T>(read: Reader<T>): Reply<T> => ({ kind: 'record', read });
const page = <T>(read: Reader<T>): Reply<T> => ({ kind: 'page', read });
const nothing: Reply<null> = { kind: 'none' };

const pageNumber = z.int().min(1).optional();
const paging = z.strictObject({ page: pageNumber });
const byName = z.strictObject({ name: z.string().optional(), page: pageNumber });
const incidentFilter = z.strictObject({
  type: z.enum(incidentTypes).optional(),
  open: z.boolean().optional(),
  page: pageNumber,
});
const propertyFilter = z.strictObject({
  name: z.string().optional(),
  membership_role: z.enum(['owner', 'user', 'guest']).optional(),
  search: z.string().optional(),
  page: pageNumber,
});

function row<const Path extends string, T, Rest extends Omit<Row<Path, T>, 'path' | 'reply'>>(
  rest: Rest & { readonly path: Path; readonly reply: Reply<T> },
): Rest & { readonly path: Path; readonly reply: Reply<T> } {
  return rest;
}

const read = { method: 'GET', provenance: 'public', retry: 'safe' } as const;
const change = { provenance: 'public', retry: 'never', control: 'settings' } as const;
const put = { ...change, method: 'PUT' } as const;
const patch = { ...change, method: 'PATCH' } as const;
const session = { number: null, provenance: 'document', session: true } as const;

/** THE CATALOGUE: every operation of the cloud, one row each. */
const operations = {
  sign_in: row({
    ...session,
    method: 'POST',
    path: '/user-service/auth/sign_in',
    retry: 'never',
    body: bodies.credentials,
    reply: record(readers.session),
  }),
  // A refresh disables the old token at once (cloud-facts 2): asked twice, it would lose the session.
  refresh_token: row({
    ...session,
    method: 'PUT',
    path: '/user-service/auth/refresh_token',
    retry: 'never',
    body: bodies.refreshToken,
    reply: record(readers.session),
  }),
  validate_token: row({
    ...session,
    method: 'GET',
    path: '/user-service/auth/validate_token',
    retry: 'safe',
    reply: record(readers.session),
  }),
  sign_out: row({
    ...session,
    method: 'DELETE',
    path: '/user-service/auth/sign_out',
    retry: 'never',
    reply: nothing,
  }),

  list_incidents: row({
    ...read,
    number: 1,
    path: '/ape/v1/incidents',
    query: incidentFilter,
    reply: page(readers.incident),
  }),
  read_incident: row({
    ...read,
    number: 2,
    path: '/ape/v1/incidents/{incident_id}',
    reply: record(readers.incident),
  }),
  act_on_incident: row({
    ...put,
    number: 3,
    path: '/ape/v1/incidents/{incident_id}/action',
    body: bodies.incidentAction,
    reply: record(readers.incident),
    control: 'incidents',
  }),
  list_property_incidents: row({
    ...read,
    number: 4,
    path: '/ape/v1/properties/{property_id}/incidents',
    query: incidentFilter,
    reply: page(readers.incident),
  }),

  list_properties: row({
    ...read,
    number: 6,
    path: '/ape/v1/properties',
    query: propertyFilter,
    reply: page(readers.property),
  }),
  read_property: row({
    ...read,
    number: 7,
    path: '/ape/v1/properties/{property_id}',
    reply: record(readers.property),
  }),
  update_property: row({
    ...put,
    number: 8,
    path: '/ape/v1/properties/{property_id}',
    body: bodies.property,
    reply: record(readers.property),
  }),
  patch_property: row({
    ...patch,
    number: 8,
    path: '/ape/v1/properties/{property_id}',
    body: bodies.property,
    reply: record(readers.property),
  }),
  read_notification_settings: row({
    ...read,
    number: 9,
    path: '/ape/v1/properties/{property_id}/notifications',
    reply: record(readers.notifications),
  }),
  update_notification_settings: row({
    ...put,
    number: 10,
    path: '/ape/v1/properties/{property_id}/notifications',
    body: bodies.notifications,
    reply: record(readers.notifications),
  }),
  read_property_settings: row({
    ...read,
    number: 11,
    path: '/ape/v1/properties/{property_id}/settings',
    reply: record(readers.settings),
  }),
  update_property_settings: row({
    ...put,
    number: 12,
    path: '/ape/v1/properties/{property_id}/settings',
    body: bodies.settings,
    reply: record(readers.settings),
  }),

  list_property_signals: row({
    ...read,
    number: 13,
    path: '/ape/v1/properties/{property_id}/signals',
    query: paging,
    reply: page(readers.signal),
  }),
  list_signals: row({
    ...read,
    number: 14,
    path: '/ape/v1/signals',
    query: byName,
    reply: page(readers.signal),
  }),
  read_signal: row({
    ...read,
    number: 15,
    path: '/ape/v1/signals/{signal_id}',
    reply: record(readers.signal),
  }),
  update_signal: row({
    ...put,
    number: 16,
    path: '/ape/v1/signals/{signal_id}',
    body: bodies.name,
    reply: record(readers.signal),
  }),
  patch_signal: row({
    ...patch,
    number: 16,
    path: '/ape/v1/signals/{signal_id}',
    body: bodies.name,
    reply: record(readers.signal),
  }),

  list_signal_sonics: row({
    ...read,
    number: 17,
    path: '/ape/v1/signals/{signal_id}/sonics',
    query: paging,
    reply: page(readers.sonic),
  }),
  list_sonics: row({
    ...read,
    number: 18,
    path: '/ape/v1/sonics',
    query: byName,
    reply: page(readers.sonic),
  }),
  read_sonic: row({
    ...read,
    number: 19,
    path: '/ape/v1/sonics/{sonic_id}',
    reply: record(readers.sonic),
  }),
  update_sonic: row({
    ...put,
    number: 20,
    path: '/ape/v1/sonics/{sonic_id}',
    body: bodies.name,
    reply: record(readers.sonic),
  }),
  patch_sonic: row({
    ...patch,
    number: 20,
    path: '/ape/v1/sonics/{sonic_id}',
    body: bodies.name,
    reply: record(readers.sonic),
  }),
  // Answers 200 with an empty body in practice (cloud-facts 6): the status alone is the answer.
  command_valve: row({
    ...put,
    number: 21,
    path: '/ape/v1/sonics/{sonic_id}/valve',
    body: bodies.valveAction,
    reply: nothing,
    control: 'valves',
  }),
  read_telemetry: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics/{sonic_id}/telemetry',
    reply: record(readers.telemetry),
  }),
} as const;

type Operations = typeof operations;
export type OperationName = keyof Operations;

/** A row with its literal types forgotten, for loops over all rows. */
export type AnyOperation = Row<string, unknown>;

/** The row of a name; every name of the type has one. */
export function operationRow(name: OperationName): AnyOperation {
  return operations[name];
}

/** All names, in the catalogue's order. */
export const operationNames = Object.keys(operations) as OperationName[];

/** Whether a word is the name of an operation. */
export function isOperationName(word: string): word is OperationName {
  return Object.hasOwn(operations, word);
}

type ParamNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;

/** Path parameters of an operation, snake_case. */
export type ParamsOf<Name extends OperationName> = Readonly<
  Record<ParamNames<Operations[Name]['path']>, string>
>;
export type QueryOf<Name extends OperationName> = Operations[Name] extends { readonly query: infer Schema }
  ? z.input<Schema>
  : never;
export type BodyOf<Name extends OperationName> = Operations[Name] extends { readonly body: infer Schema }
  ? z.input<Schema>
  : never;

/** What an operation's reply holds: the record, or one record of its page. */
export type RecordOf<Name extends OperationName> =
  Operations[Name]['reply'] extends Reply<infer T> ? T : never;

/** A call as data: the operation, its path parameters, query and body. */
export type Call<Name extends OperationName = OperationName> = {
  [Each in Name]: { readonly operation: Each } & ([ParamNames<Operations[Each]['path']>] extends [never]
    ? { readonly params?: Record<string, never> }
    : { readonly params: ParamsOf<Each> }) &
    ([QueryOf<Each>] extends [never] ? unknown : { readonly query?: QueryOf<Each> }) &
    ([BodyOf<Each>] extends [never] ? unknown : { readonly body: BodyOf<Each> });
}[Name];

/** Names of the operations that answer pages. */
export type ListName = {
  [Name in OperationName]: Operations[Name] extends { readonly query: infer Schema }
    ? 'page' extends keyof z.input<Schema>
      ? Name
      : never
    : never;
}[OperationName];

/** Names of the path parameters in a path template, in order. */
export function paramNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '');
}
