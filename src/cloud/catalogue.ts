import { z } from 'zod';
import { incidentTypes } from '../model/records.ts';
import { bodies } from './bodies.ts';
import { type Decoder, decoders } from './decoders.ts';
import { kinds } from './fields.ts';

/** What the option `control` must allow before an operation may be called through MQTT. */
export type Control = 'valves' | 'incidents' | 'pressure_tests' | 'settings' | 'account';

/** A `command` says where a valve moves to, a `test` closes it for a while, and an incident's action `maybe` moves it. */
export type Moves = 'command' | 'test' | 'maybe';

type Returns =
  | 'incident'
  | 'property'
  | 'signal'
  | 'sonic'
  | 'notifications'
  | 'settings'
  | 'pressureTestJob';

/**
 * Where a route is known from: `document`, the vendor's interface document; `public`, published by the vendor or a library;
 * `assumed`, not published, so it may not exist. In assumed routes, the id of a sonic is used as the id of a thing, and the
 * id of a signal as the id of a hub.
 */
type Source = 'document' | 'public' | 'assumed';

/**
 * An acknowledgement is a success by its status alone; its body is null if it cannot be read. If a record has a `part`,
 * only that part is passed on.
 */
export type Reply<T> =
  | { readonly kind: 'record'; readonly decode: Decoder<T>; readonly part?: string }
  | { readonly kind: 'page'; readonly decode: Decoder<T> }
  | { readonly kind: 'acknowledgement'; readonly decode: Decoder<T> };

export interface OperationRow<Path extends string, T> {
  /** In the interface document; null if it is not there. */
  readonly number: number | null;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: Path;
  readonly source: Source;
  /** `safe`: may be sent again after any failure; `never`: only if the cloud clearly did not act. */
  readonly retry: 'safe' | 'never';
  readonly reply: Reply<T>;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** All of these must be allowed. Absent if the operation changes nothing. */
  readonly control?: readonly Control[];
  /** Every decision about what may move a valve asks this column, mostly by `movesOf`. */
  readonly moves?: Moves;
  /** The poll that shows the change. Absent for valve commands: their confirmation shows it. */
  readonly refreshes?: 'properties' | 'signals' | 'sonics' | 'incidents';
  /** What the store takes from the reply to a change. */
  readonly returns?: Returns;
  /** The session operations manage the token themselves and are never callable through MQTT. */
  readonly session?: true;
}

const { text, flag, whole } = kinds;
const pageNumber = kinds.page.optional();
const anyPage = { query: z.strictObject({ page: pageNumber }) };
const byName = { query: z.strictObject({ name: text.optional(), page: pageNumber }) };
const ofIncidents = {
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

const record = <T>(decode: Decoder<T>): Reply<T> => ({ kind: 'record', decode });
const page = <T>(decode: Decoder<T>): Reply<T> => ({ kind: 'page', decode });
const done = <T>(decode: Decoder<T>): Reply<T | null> => ({ kind: 'acknowledgement', decode });

type Core = 'number' | 'method' | 'path' | 'source' | 'retry' | 'reply';
type Method = OperationRow<string, unknown>['method'];
type PathOf<Route> = Route extends `${string} ${infer Path}` ? Path : never;

function row<
  const Route extends `${Method} /${string}`,
  T,
  const Own extends Partial<Omit<OperationRow<string, unknown>, Exclude<Core, 'source'>>>,
>(
  number: number | null,
  route: Route,
  reply: Reply<T>,
  own: Own = {} as Own,
): Pick<OperationRow<PathOf<Route>, T>, Core> & Omit<Own, 'source'> {
  const [method, path] = route.split(' ') as [Method, PathOf<Route>];
  return {
    method,
    source: 'public',
    retry: method === 'GET' ? 'safe' : 'never',
    number,
    path,
    reply,
    ...own,
  };
}

const session = { source: 'document', session: true } as const;
const assumed = { source: 'assumed' } as const;
const forSettings = { control: ['settings'] } as const;
const forAccount = { control: ['account'] } as const;
const forValve = { control: ['valves'], moves: 'command', body: bodies.valveAction } as const;
const forIncident = { control: ['incidents'], moves: 'maybe', refreshes: 'incidents' } as const;
const forTest = { control: ['pressure_tests', 'valves'], moves: 'test', refreshes: 'sonics' } as const;
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
  sign_in: row(null, 'POST /user-service/auth/sign_in', record(tokens), {
    ...session,
    body: bodies.credentials,
  }),
  // A refresh disables the old token at once. A second one would lose the session.
  refresh_token: row(null, 'PUT /user-service/auth/refresh_token', record(tokens), {
    ...session,
    body: bodies.refreshToken,
  }),
  validate_token: row(null, 'GET /user-service/auth/validate_token', record(tokens), session),
  sign_out: row(null, 'DELETE /user-service/auth/sign_out', done(signedOut), session),

  list_incidents: row(1, 'GET /ape/v1/incidents', page(incident), ofIncidents),
  read_incident: row(2, 'GET /ape/v1/incidents/{incident_id}', record(incident)),
  act_on_incident: row(3, 'PUT /ape/v1/incidents/{incident_id}/action', record(incident), {
    ...forIncident,
    body: bodies.incidentAction,
    returns: 'incident',
  }),
  list_property_incidents: row(
    4,
    'GET /ape/v1/properties/{property_id}/incidents',
    page(incident),
    ofIncidents,
  ),
  act_on_property_incident: row(
    5,
    'PUT /iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
    done(status),
    { ...assumed, ...forIncident, body: bodies.openAction },
  ),

  list_properties: row(6, 'GET /ape/v1/properties', page(property), propertyFilter),
  read_property: row(7, 'GET /ape/v1/properties/{property_id}', record(property)),
  update_property: row(8, 'PUT /ape/v1/properties/{property_id}', record(property), ownProperty),
  patch_property: row(8, 'PATCH /ape/v1/properties/{property_id}', record(property), ownProperty),
  read_notification_settings: row(
    9,
    'GET /ape/v1/properties/{property_id}/notifications',
    record(notifications),
  ),
  update_notification_settings: row(
    10,
    'PUT /ape/v1/properties/{property_id}/notifications',
    record(changedNotifications),
    { ...forProperty, body: bodies.notifications, returns: 'notifications' },
  ),
  read_property_settings: row(11, 'GET /ape/v1/properties/{property_id}/settings', record(settings)),
  update_property_settings: row(
    12,
    'PUT /ape/v1/properties/{property_id}/settings',
    record(changedSettings),
    { ...forProperty, body: bodies.settings, returns: 'settings' },
  ),

  list_property_signals: row(13, 'GET /ape/v1/properties/{property_id}/signals', page(signal), anyPage),
  list_signals: row(14, 'GET /ape/v1/signals', page(signal), byName),
  read_signal: row(15, 'GET /ape/v1/signals/{signal_id}', record(signal)),
  update_signal: row(16, 'PUT /ape/v1/signals/{signal_id}', record(signal), nameOfSignal),
  patch_signal: row(16, 'PATCH /ape/v1/signals/{signal_id}', record(signal), nameOfSignal),

  list_signal_sonics: row(17, 'GET /ape/v1/signals/{signal_id}/sonics', page(sonic), anyPage),
  list_sonics: row(18, 'GET /ape/v1/sonics', page(sonic), byName),
  read_sonic: row(19, 'GET /ape/v1/sonics/{sonic_id}', record(sonic)),
  update_sonic: row(20, 'PUT /ape/v1/sonics/{sonic_id}', record(sonic), nameOfSonic),
  patch_sonic: row(20, 'PATCH /ape/v1/sonics/{sonic_id}', record(sonic), nameOfSonic),
  command_valve: row(21, 'PUT /ape/v1/sonics/{sonic_id}/valve', done(status), forValve),
  change_thing_state: row(22, 'PUT /iot-core/customer_app/things/{thing_id}/state', done(status), {
    ...assumed,
    control: ['valves'],
    moves: 'command',
    body: bodies.openAction,
  }),

  create_property: row(23, 'POST /iot-core/customer_app/properties', record(customerProperty), {
    ...assumed,
    ...forAccount,
    body: bodies.customerProperty,
    refreshes: 'properties',
  }),
  update_customer_property: row(
    24,
    'PUT /iot-core/customer_app/properties/{property_id}',
    record(customerProperty),
    { ...assumed, ...forProperty, body: bodies.customerProperty },
  ),
  update_property_configuration: row(
    25,
    'PUT /iot-core/customer_app/properties/{property_id}/configuration',
    record(leakProtection),
    { ...assumed, ...forProperty, body: bodies.configuration },
  ),
  update_user: row(26, 'PUT /user-service/customer_app/users/{user_id}', record(user), {
    ...forAccount,
    body: bodies.user,
  }),
  create_invitation: row(
    27,
    'POST /user-service/customer_app/properties/{property_id}/invitations',
    record(invitation),
    { ...assumed, ...forAccount, body: bodies.invitation },
  ),
  update_customer_notifications: row(
    28,
    'PUT /iot-core/customer_app/properties/{property_id}/notifications',
    record(pushNotifications),
    { ...assumed, ...forProperty, body: bodies.customerNotifications },
  ),

  start_pressure_test: row(
    29,
    'POST /iot-core/customer_app/things/{thing_id}/pressure_tests',
    record(pressureTestJob),
    { ...assumed, ...forTest, body: bodies.pressureTest, returns: 'pressureTestJob' },
  ),
  read_pressure_tests: row(
    30,
    'GET /iot-core/customer_app/things/{thing_id}/pressure_tests',
    record(pressureTests),
    assumed,
  ),
  read_daily_usage: row(31, 'GET /iot-core/customer_app/things/{thing_id}/daily_usage', record(dailyUsage), {
    ...assumed,
    ...monthFilter,
  }),
  read_appliance_categories: row(
    32,
    'GET /iot-core/customer_app/appliance_categories',
    record(applianceCategories),
    assumed,
  ),
  read_hub: row(33, 'GET /iot-core/customer_app/hubs/{hub_id}', record(hub), assumed),

  // The operations on users need the id of the user. The answer also holds the token, which is not passed on.
  read_own_user: row(
    null,
    'GET /user-service/auth/validate_token',
    { kind: 'record', decode: user, part: 'user_details' },
    { source: 'document' },
  ),

  // Beyond the interface document.
  read_user: row(null, 'GET /user-service/customer_app/users/{user_id}', record(user)),
  read_telemetry: row(null, 'GET /ape/v1/sonics/{sonic_id}/telemetry', record(telemetry)),
  list_wifi_sonics: row(null, 'GET /ape/v1/sonics_wifi', page(sonic), byName),
  read_wifi_sonic: row(null, 'GET /ape/v1/sonics_wifi/{sonic_id}', record(sonic)),
  update_wifi_sonic: row(null, 'PUT /ape/v1/sonics_wifi/{sonic_id}', record(sonic), nameOfSonic),
  patch_wifi_sonic: row(null, 'PATCH /ape/v1/sonics_wifi/{sonic_id}', record(sonic), nameOfSonic),
  command_wifi_valve: row(null, 'PUT /ape/v1/sonics_wifi/{sonic_id}/valve', done(status), forValve),
  read_wifi_telemetry: row(null, 'GET /ape/v1/sonics_wifi/{sonic_id}/telemetry', record(telemetry)),
} as const;
