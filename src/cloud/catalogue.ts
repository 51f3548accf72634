import { z } from 'zod';
import { incidentTypes } from '../model/records.ts';
import { bodies } from './bodies.ts';
import { type Decoder, decoders } from './decoders.ts';
import { kinds } from './fields.ts';

/** What MQTT must be allowed to change (the option `control`) before an operation may be called. */
export type Control = 'valves' | 'incidents' | 'pressure_tests' | 'settings' | 'account';

type Refreshes = 'properties' | 'signals' | 'sonics' | 'incidents';

/** What the reply to a change holds: the record as it is now, the setting that no poll shows, or the job of a test. */
type Returns =
  | 'incident'
  | 'property'
  | 'signal'
  | 'sonic'
  | 'notifications'
  | 'settings'
  | 'leakProtection'
  | 'pushNotifications'
  | 'pressureTestJob';

/**
 * Where a route is known from: `document`, the vendor's interface document; `public`, published by the vendor or a library;
 * `assumed`, not published, so it may not exist. In assumed routes, the id of a sonic is used as the id of a thing, and the
 * id of a signal as the id of a hub.
 */
export type Source = 'document' | 'public' | 'assumed';

/**
 * What an operation answers: a record, a page of records, or an acknowledgement. An acknowledgement is a success by its
 * status alone; its body is null if it cannot be read. If a record has a `part`, only that part is passed on.
 */
export type Reply<T> =
  | { readonly kind: 'record'; readonly decode: Decoder<T>; readonly part?: string }
  | { readonly kind: 'page'; readonly decode: Decoder<T> }
  | { readonly kind: 'acknowledgement'; readonly decode: Decoder<T> };

/** All that is known of an operation of the cloud. */
export interface OperationRow<Path extends string, T> {
  /** The number in the interface document; null if it has none. */
  readonly number: number | null;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: Path;
  readonly source: Source;
  /** `safe`: may be sent again after any failure; `never`: only if the cloud clearly did not act. */
  readonly retry: 'safe' | 'never';
  readonly reply: Reply<T>;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** All of these must be allowed; absent if the operation changes nothing. */
  readonly control?: readonly Control[];
  /** The poll that shows the change. Absent if no poll does, and for valve commands: their confirmation does. */
  readonly refreshes?: Refreshes;
  /** What the store takes from the reply to a change; absent if nothing. */
  readonly returns?: Returns;
  /** The session operations manage the token themselves and are never callable through MQTT. */
  readonly session?: true;
}

const { text, flag, whole } = kinds;
const pageNumber = kinds.page.optional();
const anyPage = { query: z.strictObject({ page: pageNumber }) };
const byName = { query: z.strictObject({ name: text.optional(), page: pageNumber }) };
const incidentFilter = {
  query: z.strictObject({
    type: z.enum(incidentTypes).optional(),
    open: flag.optional(),
    page: pageNumber,
  }),
};
const propertyFilter = {
  query: z.strictObject({
    name: text.optional(),
    membership_role: z.enum(['owner', 'user', 'guest']).optional(),
    search: text.optional(),
    page: pageNumber,
  }),
};
const monthFilter = { query: z.strictObject({ month: whole.optional(), year: whole.optional() }) };

type Number = number | null;
type Core = 'number' | 'method' | 'path' | 'retry' | 'reply';
type Rest = Partial<Omit<OperationRow<string, unknown>, Core>>;
type Row<Path extends string, T, Own> = Pick<OperationRow<Path, T>, Core | 'source'> & Omit<Own, 'source'>;

/** A row with these own fields. Only a read may be repeated, and its source is `public` unless it says otherwise. */
function row<const Path extends string, T, const Own extends Rest>(
  method: OperationRow<Path, T>['method'],
  number: Number,
  path: Path,
  reply: Reply<T>,
  own: Own,
): Row<Path, T, Own> {
  const retry = method === 'GET' ? 'safe' : 'never';
  return { method, source: 'public', retry, number, path, reply, ...own };
}

const read = <const Path extends string, T, const Own extends Rest>(
  number: Number,
  path: Path,
  decode: Decoder<T>,
  own: Own = {} as Own,
) => row('GET', number, path, { kind: 'record', decode }, own);

const page = <const Path extends string, T, const Own extends Rest>(
  number: Number,
  path: Path,
  decode: Decoder<T>,
  own: Own,
) => row('GET', number, path, { kind: 'page', decode }, own);

const change = <const Path extends string, T, const Own extends Rest>(
  method: 'POST' | 'PUT' | 'PATCH',
  number: Number,
  path: Path,
  decode: Decoder<T>,
  own: Own,
) => row(method, number, path, { kind: 'record', decode }, own);

/** A change whose answer is a success by its status alone. In practice a valve command is answered 200 without a body. */
const acknowledged = <const Path extends string, T, const Own extends Rest>(
  method: 'PUT' | 'DELETE',
  number: Number,
  path: Path,
  decode: Decoder<T>,
  own: Own,
) => row<Path, T | null, Own>(method, number, path, { kind: 'acknowledgement', decode }, own);

const session = { source: 'document', session: true } as const;
const assumed = { source: 'assumed' } as const;
const forSettings = { control: ['settings'] } as const;
const forAccount = { control: ['account'] } as const;
const forValve = { control: ['valves'], body: bodies.valveAction } as const;
const forIncident = { control: ['incidents'], refreshes: 'incidents' } as const;
const forTest = { control: ['pressure_tests', 'valves'], refreshes: 'sonics' } as const;
const forProperty = { ...forSettings, refreshes: 'properties' } as const;
const ownProperty = { ...forProperty, body: bodies.property, returns: 'property' } as const;
const nameOfSignal = { ...forSettings, body: bodies.name, refreshes: 'signals', returns: 'signal' } as const;
const nameOfSonic = { ...forSettings, body: bodies.name, refreshes: 'sonics', returns: 'sonic' } as const;

const { incident, property, notifications, changedNotifications, settings, changedSettings } = decoders;
const { signal, sonic, telemetry, session: tokens, signedOut, user, status, customerProperty } = decoders;
const { leakProtection, pushNotifications, invitation, pressureTestJob, hub, pressureTests } = decoders;
const { dailyUsage, applianceCategories } = decoders;

/** THE CATALOGUE: every operation of the cloud, one row each. */
export const catalogue = {
  sign_in: change('POST', null, '/user-service/auth/sign_in', tokens, {
    ...session,
    body: bodies.credentials,
  }),
  // A refresh disables the old token at once. A second one would lose the session.
  refresh_token: change('PUT', null, '/user-service/auth/refresh_token', tokens, {
    ...session,
    body: bodies.refreshToken,
  }),
  validate_token: read(null, '/user-service/auth/validate_token', tokens, session),
  sign_out: acknowledged('DELETE', null, '/user-service/auth/sign_out', signedOut, session),

  list_incidents: page(1, '/ape/v1/incidents', incident, incidentFilter),
  read_incident: read(2, '/ape/v1/incidents/{incident_id}', incident),
  act_on_incident: change('PUT', 3, '/ape/v1/incidents/{incident_id}/action', incident, {
    ...forIncident,
    body: bodies.incidentAction,
    returns: 'incident',
  }),
  list_property_incidents: page(4, '/ape/v1/properties/{property_id}/incidents', incident, incidentFilter),
  act_on_property_incident: acknowledged(
    'PUT',
    5,
    '/iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
    status,
    { ...assumed, ...forIncident, body: bodies.openAction },
  ),

  list_properties: page(6, '/ape/v1/properties', property, propertyFilter),
  read_property: read(7, '/ape/v1/properties/{property_id}', property),
  update_property: change('PUT', 8, '/ape/v1/properties/{property_id}', property, ownProperty),
  patch_property: change('PATCH', 8, '/ape/v1/properties/{property_id}', property, ownProperty),
  read_notification_settings: read(9, '/ape/v1/properties/{property_id}/notifications', notifications),
  update_notification_settings: change(
    'PUT',
    10,
    '/ape/v1/properties/{property_id}/notifications',
    changedNotifications,
    { ...forProperty, body: bodies.notifications, returns: 'notifications' },
  ),
  read_property_settings: read(11, '/ape/v1/properties/{property_id}/settings', settings),
  update_property_settings: change('PUT', 12, '/ape/v1/properties/{property_id}/settings', changedSettings, {
    ...forProperty,
    body: bodies.settings,
    returns: 'settings',
  }),

  list_property_signals: page(13, '/ape/v1/properties/{property_id}/signals', signal, anyPage),
  list_signals: page(14, '/ape/v1/signals', signal, byName),
  read_signal: read(15, '/ape/v1/signals/{signal_id}', signal),
  update_signal: change('PUT', 16, '/ape/v1/signals/{signal_id}', signal, nameOfSignal),
  patch_signal: change('PATCH', 16, '/ape/v1/signals/{signal_id}', signal, nameOfSignal),

  list_signal_sonics: page(17, '/ape/v1/signals/{signal_id}/sonics', sonic, anyPage),
  list_sonics: page(18, '/ape/v1/sonics', sonic, byName),
  read_sonic: read(19, '/ape/v1/sonics/{sonic_id}', sonic),
  update_sonic: change('PUT', 20, '/ape/v1/sonics/{sonic_id}', sonic, nameOfSonic),
  patch_sonic: change('PATCH', 20, '/ape/v1/sonics/{sonic_id}', sonic, nameOfSonic),
  command_valve: acknowledged('PUT', 21, '/ape/v1/sonics/{sonic_id}/valve', status, forValve),
  // Moves a valve, as the command does.
  change_thing_state: acknowledged('PUT', 22, '/iot-core/customer_app/things/{thing_id}/state', status, {
    ...assumed,
    control: ['valves'],
    body: bodies.openAction,
  }),

  create_property: change('POST', 23, '/iot-core/customer_app/properties', customerProperty, {
    ...assumed,
    ...forAccount,
    body: bodies.newProperty,
    refreshes: 'properties',
  }),
  update_customer_property: change(
    'PUT',
    24,
    '/iot-core/customer_app/properties/{property_id}',
    customerProperty,
    { ...assumed, ...forProperty, body: bodies.customerProperty },
  ),
  update_property_configuration: change(
    'PUT',
    25,
    '/iot-core/customer_app/properties/{property_id}/configuration',
    leakProtection,
    { ...assumed, ...forProperty, body: bodies.configuration, returns: 'leakProtection' },
  ),
  update_user: change('PUT', 26, '/user-service/customer_app/users/{user_id}', user, {
    ...forAccount,
    body: bodies.user,
  }),
  create_invitation: change(
    'POST',
    27,
    '/user-service/customer_app/properties/{property_id}/invitations',
    invitation,
    { ...assumed, ...forAccount, body: bodies.invitation },
  ),
  update_customer_notifications: change(
    'PUT',
    28,
    '/iot-core/customer_app/properties/{property_id}/notifications',
    pushNotifications,
    { ...assumed, ...forProperty, body: bodies.customerNotifications, returns: 'pushNotifications' },
  ),

  // A pressure test closes the valve for a while, and shows as the state of the valve.
  start_pressure_test: change(
    'POST',
    29,
    '/iot-core/customer_app/things/{thing_id}/pressure_tests',
    pressureTestJob,
    { ...assumed, ...forTest, body: bodies.pressureTest, returns: 'pressureTestJob' },
  ),
  read_pressure_tests: read(
    30,
    '/iot-core/customer_app/things/{thing_id}/pressure_tests',
    pressureTests,
    assumed,
  ),
  read_daily_usage: read(31, '/iot-core/customer_app/things/{thing_id}/daily_usage', dailyUsage, {
    ...assumed,
    ...monthFilter,
  }),
  read_appliance_categories: read(
    32,
    '/iot-core/customer_app/appliance_categories',
    applianceCategories,
    assumed,
  ),
  read_hub: read(33, '/iot-core/customer_app/hubs/{hub_id}', hub, assumed),

  // The user of the session. The operations on users need this user's id. The answer also holds the token, which is not
  // passed on.
  read_own_user: row(
    'GET',
    null,
    '/user-service/auth/validate_token',
    { kind: 'record', decode: user, part: 'user_details' },
    { source: 'document' },
  ),

  // Beyond the interface document.
  read_user: read(null, '/user-service/customer_app/users/{user_id}', user),
  read_telemetry: read(null, '/ape/v1/sonics/{sonic_id}/telemetry', telemetry),
  list_wifi_sonics: page(null, '/ape/v1/sonics_wifi', sonic, byName),
  read_wifi_sonic: read(null, '/ape/v1/sonics_wifi/{sonic_id}', sonic),
  update_wifi_sonic: change('PUT', null, '/ape/v1/sonics_wifi/{sonic_id}', sonic, nameOfSonic),
  patch_wifi_sonic: change('PATCH', null, '/ape/v1/sonics_wifi/{sonic_id}', sonic, nameOfSonic),
  command_wifi_valve: acknowledged('PUT', null, '/ape/v1/sonics_wifi/{sonic_id}/valve', status, forValve),
  read_wifi_telemetry: read(null, '/ape/v1/sonics_wifi/{sonic_id}/telemetry', telemetry),
} as const;
