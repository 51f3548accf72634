import { z } from 'zod';
import { incidentTypes } from '../model/records.ts';
import { bodies } from './bodies.ts';
import { type Decoder, decoders } from './decoders.ts';

/** What MQTT must be allowed to change (the option `control`) before an operation may be called. */
export type Control = 'valves' | 'incidents' | 'pressure_tests' | 'settings' | 'account';

/** A poll that shows what an operation changed. */
type Refreshes = 'properties' | 'signals' | 'sonics' | 'incidents';

/**
 * What the reply to a change holds: the record as it is now, the setting that no poll shows, or the job of a pressure
 * test.
 */
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

/** A row of the catalogue: all that is known of an operation of the cloud. */
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
  /**
   * The poll that shows the change. Absent if no poll does. Absent for valve commands too: their confirmation reads the
   * valve.
   */
  readonly refreshes?: Refreshes;
  /** What the store takes from the reply to a change; absent if nothing. */
  readonly returns?: Returns;
  /** The session operations manage the token themselves and are never callable through MQTT. */
  readonly session?: true;
}

const record = <T>(decode: Decoder<T>, part?: string): Reply<T> => ({
  kind: 'record',
  decode,
  ...(part !== undefined && { part }),
});
const page = <T>(decode: Decoder<T>): Reply<T> => ({ kind: 'page', decode });
const acknowledgement = <T>(decode: Decoder<T>): Reply<T | null> => ({ kind: 'acknowledgement', decode });

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

const monthFilter = z.strictObject({
  month: z.int().optional(),
  year: z.int().optional(),
});

function row<const Path extends string, T, Rest extends Omit<OperationRow<Path, T>, 'path' | 'reply'>>(
  rest: Rest & { readonly path: Path; readonly reply: Reply<T> },
): Rest & { readonly path: Path; readonly reply: Reply<T> } {
  return rest;
}

// Shared fields of most rows. A row spreads them first, so its own fields, such as `source: 'assumed'`, replace them.
const read = { method: 'GET', source: 'public', retry: 'safe' } as const;
const change = { source: 'public', retry: 'never', control: ['settings'] } as const;
const put = { ...change, method: 'PUT' } as const;
const patch = { ...change, method: 'PATCH' } as const;
const session = { number: null, source: 'document', session: true } as const;

// Shared fields of the two rows, PUT and PATCH, that change the same record.
const property = {
  number: 8,
  path: '/ape/v1/properties/{property_id}',
  body: bodies.property,
  reply: record(decoders.property),
  refreshes: 'properties',
  returns: 'property',
} as const;
const signalName = {
  number: 16,
  path: '/ape/v1/signals/{signal_id}',
  body: bodies.name,
  reply: record(decoders.signal),
  refreshes: 'signals',
  returns: 'signal',
} as const;
const sonicName = {
  number: 20,
  path: '/ape/v1/sonics/{sonic_id}',
  body: bodies.name,
  reply: record(decoders.sonic),
  refreshes: 'sonics',
  returns: 'sonic',
} as const;
const wifiSonicName = { ...sonicName, number: null, path: '/ape/v1/sonics_wifi/{sonic_id}' } as const;

/** THE CATALOGUE: every operation of the cloud, one row each. */
export const catalogue = {
  sign_in: row({
    ...session,
    method: 'POST',
    path: '/user-service/auth/sign_in',
    retry: 'never',
    body: bodies.credentials,
    reply: record(decoders.session),
  }),
  // A refresh disables the old token at once. A second one would lose the session.
  refresh_token: row({
    ...session,
    method: 'PUT',
    path: '/user-service/auth/refresh_token',
    retry: 'never',
    body: bodies.refreshToken,
    reply: record(decoders.session),
  }),
  validate_token: row({
    ...session,
    method: 'GET',
    path: '/user-service/auth/validate_token',
    retry: 'safe',
    reply: record(decoders.session),
  }),
  sign_out: row({
    ...session,
    method: 'DELETE',
    path: '/user-service/auth/sign_out',
    retry: 'never',
    reply: acknowledgement(decoders.signedOut),
  }),

  list_incidents: row({
    ...read,
    number: 1,
    path: '/ape/v1/incidents',
    query: incidentFilter,
    reply: page(decoders.incident),
  }),
  read_incident: row({
    ...read,
    number: 2,
    path: '/ape/v1/incidents/{incident_id}',
    reply: record(decoders.incident),
  }),
  act_on_incident: row({
    ...put,
    number: 3,
    path: '/ape/v1/incidents/{incident_id}/action',
    body: bodies.incidentAction,
    reply: record(decoders.incident),
    control: ['incidents'],
    refreshes: 'incidents',
    returns: 'incident',
  }),
  list_property_incidents: row({
    ...read,
    number: 4,
    path: '/ape/v1/properties/{property_id}/incidents',
    query: incidentFilter,
    reply: page(decoders.incident),
  }),
  act_on_property_incident: row({
    ...put,
    source: 'assumed',
    number: 5,
    path: '/iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
    body: bodies.openAction,
    reply: acknowledgement(decoders.status),
    control: ['incidents'],
    refreshes: 'incidents',
  }),

  list_properties: row({
    ...read,
    number: 6,
    path: '/ape/v1/properties',
    query: propertyFilter,
    reply: page(decoders.property),
  }),
  read_property: row({
    ...read,
    number: 7,
    path: '/ape/v1/properties/{property_id}',
    reply: record(decoders.property),
  }),
  update_property: row({ ...put, ...property }),
  patch_property: row({ ...patch, ...property }),
  read_notification_settings: row({
    ...read,
    number: 9,
    path: '/ape/v1/properties/{property_id}/notifications',
    reply: record(decoders.notifications),
  }),
  update_notification_settings: row({
    ...put,
    number: 10,
    path: '/ape/v1/properties/{property_id}/notifications',
    body: bodies.notifications,
    reply: record(decoders.changedNotifications),
    refreshes: 'properties',
    returns: 'notifications',
  }),
  read_property_settings: row({
    ...read,
    number: 11,
    path: '/ape/v1/properties/{property_id}/settings',
    reply: record(decoders.settings),
  }),
  update_property_settings: row({
    ...put,
    number: 12,
    path: '/ape/v1/properties/{property_id}/settings',
    body: bodies.settings,
    reply: record(decoders.changedSettings),
    refreshes: 'properties',
    returns: 'settings',
  }),

  list_property_signals: row({
    ...read,
    number: 13,
    path: '/ape/v1/properties/{property_id}/signals',
    query: paging,
    reply: page(decoders.signal),
  }),
  list_signals: row({
    ...read,
    number: 14,
    path: '/ape/v1/signals',
    query: byName,
    reply: page(decoders.signal),
  }),
  read_signal: row({
    ...read,
    number: 15,
    path: '/ape/v1/signals/{signal_id}',
    reply: record(decoders.signal),
  }),
  update_signal: row({ ...put, ...signalName }),
  patch_signal: row({ ...patch, ...signalName }),

  list_signal_sonics: row({
    ...read,
    number: 17,
    path: '/ape/v1/signals/{signal_id}/sonics',
    query: paging,
    reply: page(decoders.sonic),
  }),
  list_sonics: row({
    ...read,
    number: 18,
    path: '/ape/v1/sonics',
    query: byName,
    reply: page(decoders.sonic),
  }),
  read_sonic: row({
    ...read,
    number: 19,
    path: '/ape/v1/sonics/{sonic_id}',
    reply: record(decoders.sonic),
  }),
  update_sonic: row({ ...put, ...sonicName }),
  patch_sonic: row({ ...patch, ...sonicName }),
  // Answers 200 with an empty body in practice: the status alone is the answer.
  command_valve: row({
    ...put,
    number: 21,
    path: '/ape/v1/sonics/{sonic_id}/valve',
    body: bodies.valveAction,
    reply: acknowledgement(decoders.status),
    control: ['valves'],
  }),
  // Moves a valve, as the command does: the status alone is the answer.
  change_thing_state: row({
    ...put,
    source: 'assumed',
    number: 22,
    path: '/iot-core/customer_app/things/{thing_id}/state',
    body: bodies.openAction,
    reply: acknowledgement(decoders.status),
    control: ['valves'],
  }),

  create_property: row({
    ...change,
    source: 'assumed',
    number: 23,
    method: 'POST',
    path: '/iot-core/customer_app/properties',
    body: bodies.newProperty,
    reply: record(decoders.customerProperty),
    control: ['account'],
    refreshes: 'properties',
  }),
  update_customer_property: row({
    ...put,
    source: 'assumed',
    number: 24,
    path: '/iot-core/customer_app/properties/{property_id}',
    body: bodies.customerProperty,
    reply: record(decoders.customerProperty),
    refreshes: 'properties',
  }),
  update_property_configuration: row({
    ...put,
    source: 'assumed',
    number: 25,
    path: '/iot-core/customer_app/properties/{property_id}/configuration',
    body: bodies.configuration,
    reply: record(decoders.leakProtection),
    refreshes: 'properties',
    returns: 'leakProtection',
  }),
  update_user: row({
    ...put,
    number: 26,
    path: '/user-service/customer_app/users/{user_id}',
    body: bodies.user,
    reply: record(decoders.user),
    control: ['account'],
  }),
  create_invitation: row({
    ...change,
    source: 'assumed',
    number: 27,
    method: 'POST',
    path: '/user-service/customer_app/properties/{property_id}/invitations',
    body: bodies.invitation,
    reply: record(decoders.invitation),
    control: ['account'],
  }),
  update_customer_notifications: row({
    ...put,
    source: 'assumed',
    number: 28,
    path: '/iot-core/customer_app/properties/{property_id}/notifications',
    body: bodies.customerNotifications,
    reply: record(decoders.pushNotifications),
    refreshes: 'properties',
    returns: 'pushNotifications',
  }),

  start_pressure_test: row({
    ...change,
    source: 'assumed',
    number: 29,
    method: 'POST',
    path: '/iot-core/customer_app/things/{thing_id}/pressure_tests',
    body: bodies.pressureTest,
    reply: record(decoders.pressureTestJob),
    // A pressure test closes the valve for a while.
    control: ['pressure_tests', 'valves'],
    // The test shows as the state of the valve.
    refreshes: 'sonics',
    returns: 'pressureTestJob',
  }),
  read_pressure_tests: row({
    ...read,
    source: 'assumed',
    number: 30,
    path: '/iot-core/customer_app/things/{thing_id}/pressure_tests',
    reply: record(decoders.pressureTests),
  }),
  read_daily_usage: row({
    ...read,
    source: 'assumed',
    number: 31,
    path: '/iot-core/customer_app/things/{thing_id}/daily_usage',
    query: monthFilter,
    reply: record(decoders.dailyUsage),
  }),
  read_appliance_categories: row({
    ...read,
    source: 'assumed',
    number: 32,
    path: '/iot-core/customer_app/appliance_categories',
    reply: record(decoders.applianceCategories),
  }),
  read_hub: row({
    ...read,
    source: 'assumed',
    number: 33,
    path: '/iot-core/customer_app/hubs/{hub_id}',
    reply: record(decoders.hub),
  }),

  // The user of the session. The operations on users need this user's id. The answer also holds the token, which is not
  // passed on.
  read_own_user: row({
    ...read,
    source: 'document',
    number: null,
    path: '/user-service/auth/validate_token',
    reply: record(decoders.user, 'user_details'),
  }),

  // Beyond the interface document.
  read_user: row({
    ...read,
    number: null,
    path: '/user-service/customer_app/users/{user_id}',
    reply: record(decoders.user),
  }),
  read_telemetry: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics/{sonic_id}/telemetry',
    reply: record(decoders.telemetry),
  }),
  list_wifi_sonics: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics_wifi',
    query: byName,
    reply: page(decoders.sonic),
  }),
  read_wifi_sonic: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}',
    reply: record(decoders.sonic),
  }),
  update_wifi_sonic: row({ ...put, ...wifiSonicName }),
  patch_wifi_sonic: row({ ...patch, ...wifiSonicName }),
  command_wifi_valve: row({
    ...put,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}/valve',
    body: bodies.valveAction,
    reply: acknowledgement(decoders.status),
    control: ['valves'],
  }),
  read_wifi_telemetry: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}/telemetry',
    reply: record(decoders.telemetry),
  }),
} as const;
