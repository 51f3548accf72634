import {
  type BodyOf,
  type Call,
  type OperationName,
  operationRow,
  type ParamsOf,
  paramNames,
  type QueryOf,
} from '../../src/cloud/operations.ts';
import type { World } from '../../src/simulator/world.ts';
import { stubEmail } from './cloudStub.ts';

/** The query and body of a valid call, and a valid answer. Undefined means an empty answer. */
export type OperationSample<Name extends OperationName> = { readonly reply: unknown } & ([
  QueryOf<Name>,
] extends [never]
  ? unknown
  : { readonly query: QueryOf<Name> }) &
  ([BodyOf<Name>] extends [never] ? unknown : { readonly body: BodyOf<Name> });

const incident = {
  id: 'i-1',
  detected_at: '2026-11-20T07:30:00.123456Z',
  type: 'long_flow_alert',
  open: true,
  severity: 'high',
  state: 'contacting',
  possible_actions: ['resolve', 'snooze'],
  signal_id: 'g-1',
  sonic_id: 's-1',
};
const property = { id: 'p-1', name: 'Home', active: true, lat: 51.5, lng: -0.1, uprn: '' };
const settings = { auto_shut_off: true, pressure_tests_schedule: '03:00:00', timezone: 'Europe/London' };
const notifications = { low_battery_level: true, high_volume_threshold_litres: 250 };
const signal = { id: 'g-1', name: 'Hub', cloud_connection: 'connected', wifi_rssi: -69 };
const sonic = {
  id: 's-1',
  name: 'Mains',
  valve_state: 'open',
  battery: 'high',
  radio_connection: 'connected',
  radio_rssi: 166,
};
const telemetry = { pressure: 3252, water_flow: 0, water_temp: 17.1, probed_at: 1_623_414_482 };
const session = { token_details: 'bG9uZw==--0123abcd', user_details: { id: 'u-1' } };
const user = { id: 'u-1', email: stubEmail, first_name: 'Ada', last_name: 'Byron' };
const customerProperty = { id: 'p-1', name: 'Cottage' };
const accepted = { status: 'ok' };
const byName = { name: 'Up & down = 100 %+ü', page: 2 };

function list(...data: unknown[]) {
  return { data, page_number: 2, page_size: 10, total_entries: 10 + data.length, total_pages: 2 };
}

/** A valid call and its answer for each operation. An operation without one is a type error. */
export const operationSamples: { readonly [Name in OperationName]: OperationSample<Name> } = {
  sign_in: { body: { email: stubEmail, password: 'correct horse' }, reply: session },
  refresh_token: { body: {}, reply: session },
  validate_token: { reply: session },
  sign_out: { reply: { success: true } },

  list_incidents: { query: { type: 'long_flow_alert', open: true, page: 2 }, reply: list(incident) },
  read_incident: { reply: incident },
  act_on_incident: { body: { action: 'resolve' }, reply: incident },
  list_property_incidents: { query: { open: false, page: 2 }, reply: list(incident) },
  act_on_property_incident: { body: { action: 'snooze', until: '2026-11-21' }, reply: accepted },

  list_properties: { query: { membership_role: 'owner', search: 'a/b?c', page: 2 }, reply: list(property) },
  read_property: { reply: property },
  update_property: { body: { name: 'Cottage' }, reply: property },
  patch_property: { body: { lat: 51.5, lng: -0.1 }, reply: property },
  read_notification_settings: { reply: notifications },
  update_notification_settings: { body: { low_battery_level: false }, reply: notifications },
  read_property_settings: { reply: settings },
  update_property_settings: { body: { pressure_tests_schedule: '03:00:00' }, reply: settings },

  list_property_signals: { query: { page: 2 }, reply: list(signal) },
  list_signals: { query: byName, reply: list(signal) },
  read_signal: { reply: signal },
  update_signal: { body: { name: 'Hall' }, reply: signal },
  patch_signal: { body: { name: 'Hall' }, reply: signal },

  list_signal_sonics: { query: { page: 2 }, reply: list(sonic) },
  list_sonics: { query: byName, reply: list(sonic) },
  read_sonic: { reply: sonic },
  update_sonic: { body: { name: 'Mains' }, reply: sonic },
  patch_sonic: { body: { name: 'Mains' }, reply: sonic },
  // In practice the cloud sends an empty answer.
  command_valve: { body: { action: 'close' }, reply: undefined },
  change_thing_state: { body: { action: 'open' }, reply: accepted },

  create_property: { body: { name: 'Cottage', rooms: ['hall'] }, reply: customerProperty },
  update_customer_property: { body: { name: 'Cottage' }, reply: customerProperty },
  update_property_configuration: {
    body: { leak_protection_enabled: true },
    reply: { leak_protection_enabled: true },
  },
  update_user: { body: { first_name: 'Ada', last_name: 'Byron' }, reply: user },
  create_invitation: {
    body: { email: 'guest@example.com', role: 'guest' },
    reply: { invitation_id: 'v-1' },
  },
  update_customer_notifications: { body: { push_enabled: false }, reply: { push_enabled: false } },

  start_pressure_test: { body: { source: 'sonic2mqtt' }, reply: { job_id: 'j-1' } },
  read_pressure_tests: {
    reply: { by_day: { '2026-11-19': [{ id: 't-1' }, { id: 't-2' }], '2026-11-20': [] } },
  },
  read_daily_usage: {
    query: { month: 11, year: 2026 },
    reply: {
      daily: [
        { date: '2026-11-19', liters: 312.5 },
        { date: '2026-11-20', liters: 0 },
      ],
    },
  },
  read_appliance_categories: { reply: { categories: [{ id: 'c-1', name: 'Dishwasher' }] } },
  read_hub: { reply: { id: 'g-1', serial_no: 'HUB-1', status: 'online' } },

  read_own_user: { reply: { token_details: session.token_details, user_details: user } },
  read_user: { reply: user },
  read_telemetry: { reply: telemetry },
  list_wifi_sonics: { query: byName, reply: list(sonic) },
  read_wifi_sonic: { reply: sonic },
  update_wifi_sonic: { body: { name: 'Barn' }, reply: sonic },
  patch_wifi_sonic: { body: { name: 'Barn' }, reply: sonic },
  command_wifi_valve: { body: { action: 'open' }, reply: accepted },
  read_wifi_telemetry: { reply: telemetry },
};

/** A valid call of the operation. By default its path parameters contain characters that must be encoded. */
export function sampleCall<Name extends OperationName>(name: Name, params?: ParamsOf<Name>): Call<Name> {
  const { reply: _, ...parts } = operationSamples[name];
  const names = paramNames(operationRow(name).path);
  const nasty = Object.fromEntries(names.map((param) => [param, `${param} ü?#&+`]));
  return { operation: name, params: params ?? nasty, ...parts } as Call<Name>;
}

/** The IDs of records of the world, by the names of path parameters. */
export function idsIn(world: World, name: OperationName): Readonly<Record<string, string>> {
  const { properties, signals, sonics, wifiSonics, incidents, users } = world;
  const [property_id = '', signal_id = '', thing_id = '', user_id = ''] = [
    properties,
    signals,
    sonics,
    users,
  ].map(({ ids }) => ids[0]);
  const sonic_id = name.includes('wifi') ? (wifiSonics.ids[0] ?? '') : thing_id;
  const incident_id =
    incidents.ids.find((id) => world.propertyOf(incidents.get(id)?.sonic_id ?? null) === property_id) ?? '';
  return { property_id, signal_id, hub_id: signal_id, sonic_id, thing_id, incident_id, user_id };
}

/** The path of the operation with the IDs of records of the world, or with this one in their place. */
export function pathIn(world: World, name: OperationName, id?: string): string {
  const ids = idsIn(world, name);
  return operationRow(name).path.replaceAll(/\{(\w+)\}/g, (_, param: string) => id ?? ids[param] ?? '');
}
