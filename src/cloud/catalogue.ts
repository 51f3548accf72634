import { z } from 'zod';
import { incidentTypes } from '../model/records.ts';
import { bodies } from './bodies.ts';
import { type Reader, readers } from './wire.ts';

/** What MQTT must be allowed to change before an operation may be asked for (contract: `control`). */
export type Control = 'valves' | 'incidents' | 'pressure_tests' | 'settings' | 'account';

/**
 * Where a route is known from: `document`, the interface document; `public`, the vendor's or a library's own
 * publications (cloud-facts 1); `assumed`, nobody has published it.
 */
export type Provenance = 'document' | 'public' | 'assumed';

/**
 * What an operation answers: one record, a page of records, or an acknowledgement: there the status alone is the
 * success, whatever the body, which is null where it cannot be read.
 */
export type Reply<T> =
  | { readonly kind: 'record'; readonly read: Reader<T> }
  | { readonly kind: 'page'; readonly read: Reader<T> }
  | { readonly kind: 'acknowledgement'; readonly read: Reader<T> };

export interface Row<Path extends string, T> {
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
  /** All of these; absent for what changes nothing. */
  readonly control?: readonly Control[];
  /** The session operations manage the token themselves and are never callable through MQTT. */
  readonly session?: true;
}

const record = <T>(read: Reader<T>): Reply<T> => ({ kind: 'record', read });
const page = <T>(read: Reader<T>): Reply<T> => ({ kind: 'page', read });
const acknowledgement = <T>(read: Reader<T>): Reply<T | null> => ({ kind: 'acknowledgement', read });

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
  month: z.int().min(1).max(12).optional(),
  year: z.int().min(1970).max(9999).optional(),
});

function row<const Path extends string, T, Rest extends Omit<Row<Path, T>, 'path' | 'reply'>>(
  rest: Rest & { readonly path: Path; readonly reply: Reply<T> },
): Rest & { readonly path: Path; readonly reply: Reply<T> } {
  return rest;
}

const read = { method: 'GET', provenance: 'public', retry: 'safe' } as const;
const change = { provenance: 'public', retry: 'never', control: ['settings'] } as const;
const put = { ...change, method: 'PUT' } as const;
const patch = { ...change, method: 'PATCH' } as const;
// Routes that nobody has published (cloud-facts 8); a thing's id is its sonic's, a hub's its signal's.
const assumed = { provenance: 'assumed' } as const;
const session = { number: null, provenance: 'document', session: true } as const;

/** THE CATALOGUE: every operation of the cloud, one row each. */
export const catalogue = {
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
    reply: acknowledgement(readers.signedOut),
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
    control: ['incidents'],
  }),
  list_property_incidents: row({
    ...read,
    number: 4,
    path: '/ape/v1/properties/{property_id}/incidents',
    query: incidentFilter,
    reply: page(readers.incident),
  }),
  act_on_property_incident: row({
    ...put,
    ...assumed,
    number: 5,
    path: '/iot-core/customer_app/properties/{property_id}/incidents/{incident_id}/action',
    body: bodies.openAction,
    reply: acknowledgement(readers.status),
    control: ['incidents'],
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
    reply: record(readers.changedNotifications),
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
    reply: record(readers.changedSettings),
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
    reply: acknowledgement(readers.status),
    control: ['valves'],
  }),
  // Moves a valve, as the command does: the status alone is the answer.
  change_thing_state: row({
    ...put,
    ...assumed,
    number: 22,
    path: '/iot-core/customer_app/things/{thing_id}/state',
    body: bodies.openAction,
    reply: acknowledgement(readers.status),
    control: ['valves'],
  }),

  create_property: row({
    ...change,
    ...assumed,
    number: 23,
    method: 'POST',
    path: '/iot-core/customer_app/properties',
    body: bodies.newProperty,
    reply: record(readers.customerProperty),
    control: ['account'],
  }),
  update_customer_property: row({
    ...put,
    ...assumed,
    number: 24,
    path: '/iot-core/customer_app/properties/{property_id}',
    body: bodies.customerProperty,
    reply: record(readers.customerProperty),
  }),
  update_property_configuration: row({
    ...put,
    ...assumed,
    number: 25,
    path: '/iot-core/customer_app/properties/{property_id}/configuration',
    body: bodies.configuration,
    reply: record(readers.leakProtection),
  }),
  update_user: row({
    ...put,
    number: 26,
    path: '/user-service/customer_app/users/{user_id}',
    body: bodies.user,
    reply: record(readers.user),
    control: ['account'],
  }),
  create_invitation: row({
    ...change,
    ...assumed,
    number: 27,
    method: 'POST',
    path: '/user-service/customer_app/properties/{property_id}/invitations',
    body: bodies.invitation,
    reply: record(readers.invitation),
    control: ['account'],
  }),
  update_customer_notifications: row({
    ...put,
    ...assumed,
    number: 28,
    path: '/iot-core/customer_app/properties/{property_id}/notifications',
    body: bodies.customerNotifications,
    reply: record(readers.pushNotifications),
  }),

  start_pressure_test: row({
    ...change,
    ...assumed,
    number: 29,
    method: 'POST',
    path: '/iot-core/customer_app/things/{thing_id}/pressure_tests',
    body: bodies.pressureTest,
    reply: record(readers.pressureTestJob),
    // It closes the valve for a while.
    control: ['pressure_tests', 'valves'],
  }),
  read_pressure_tests: row({
    ...read,
    ...assumed,
    number: 30,
    path: '/iot-core/customer_app/things/{thing_id}/pressure_tests',
    reply: record(readers.pressureTests),
  }),
  read_daily_usage: row({
    ...read,
    ...assumed,
    number: 31,
    path: '/iot-core/customer_app/things/{thing_id}/daily_usage',
    query: monthFilter,
    reply: record(readers.dailyUsage),
  }),
  read_appliance_categories: row({
    ...read,
    ...assumed,
    number: 32,
    path: '/iot-core/customer_app/appliance_categories',
    reply: record(readers.applianceCategories),
  }),
  read_hub: row({
    ...read,
    ...assumed,
    number: 33,
    path: '/iot-core/customer_app/hubs/{hub_id}',
    reply: record(readers.hub),
  }),

  // Beyond the document (cloud-facts 1).
  read_user: row({
    ...read,
    number: null,
    path: '/user-service/customer_app/users/{user_id}',
    reply: record(readers.user),
  }),
  read_telemetry: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics/{sonic_id}/telemetry',
    reply: record(readers.telemetry),
  }),
  list_wifi_sonics: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics_wifi',
    query: byName,
    reply: page(readers.sonic),
  }),
  read_wifi_sonic: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}',
    reply: record(readers.sonic),
  }),
  update_wifi_sonic: row({
    ...put,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}',
    body: bodies.name,
    reply: record(readers.sonic),
  }),
  patch_wifi_sonic: row({
    ...patch,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}',
    body: bodies.name,
    reply: record(readers.sonic),
  }),
  command_wifi_valve: row({
    ...put,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}/valve',
    body: bodies.valveAction,
    reply: acknowledgement(readers.status),
    control: ['valves'],
  }),
  read_wifi_telemetry: row({
    ...read,
    number: null,
    path: '/ape/v1/sonics_wifi/{sonic_id}/telemetry',
    reply: record(readers.telemetry),
  }),
} as const;
