import { emailPattern } from '../base/email.ts';
import {
  type BodyOf,
  type ListName,
  type OperationName,
  operationRow,
  type ParamsOf,
  type QueryOf,
  type RecordOf,
} from '../cloud/operations.ts';
import type { Incident, Property, Sonic, Telemetry } from '../model/records.ts';
import type { ValveAction } from '../model/valve.ts';
import { Rejection, shapeOf } from './document.ts';
import { isKnownTimezone } from './localTime.ts';
import { startPressureTest, testsByDay } from './pressureTests.ts';
import { blankProperty, type Records, type SomeFields } from './records.ts';
import type { Sessions } from './sessions.ts';
import type { World } from './world.ts';

interface ValidRequest<Name extends OperationName> {
  readonly params: ParamsOf<Name>;
  readonly query: QueryOf<Name>;
  readonly body: BodyOf<Name>;
  /** The bearer token. It is valid, except for session operations, which check it themselves. */
  readonly token: string;
  readonly world: World;
  readonly sessions: Sessions;
}

type ShownRecord<T> = T extends { readonly webhook_url: unknown } ? Omit<T, 'webhook_url'> : T;

/** The result of a handler: all records of a list, a record, or null for an answer without a body. */
type Result<Name extends OperationName> = Name extends ListName
  ? readonly RecordOf<Name>[]
  : ShownRecord<RecordOf<Name>>;

type Handlers = { readonly [Name in OperationName]: (request: ValidRequest<Name>) => Result<Name> };

/**
 * The fields of a user that can be set, as a client of the cloud documents them. The interface document has only two of
 * them.
 */
const userFields: readonly string[] = ['first_name', 'last_name', 'email', 'phone', 'language'];

const categories = ['Toilet', 'Tap', 'Shower', 'Bath', 'Washing machine', 'Dishwasher', 'Garden', 'Other'];
/** The categories with their ids, as operation 32 returns them. */
export const applianceCategories: readonly { readonly id: string; readonly name: string }[] = categories.map(
  (name) => ({ id: name.toLowerCase().replace(' ', '_'), name }),
);

/**
 * One handler for each row of the catalogue. In the operations of the customers' app, a thing is a sonic and a hub is a
 * signal.
 */
export const handlers: Handlers = {
  sign_in: ({ world, sessions, body: { email = '', password = '' } }) =>
    session(world, sessions.signIn(email, password)),
  refresh_token: ({ world, sessions, token, body }) =>
    session(world, sessions.refresh(token, body.refresh_token)),
  validate_token: ({ world, token }) => session(world, token),
  sign_out: ({ sessions, token }) => {
    sessions.signOut(token);
    return { success: true };
  },

  list_incidents: ({ world, query }) => listIncidents(world, query),
  read_incident: ({ world, params }) => found(world, world.incidents, params.incident_id),
  act_on_incident: ({ world, params: { incident_id }, body }) => {
    actOnIncident(world, incident_id, body.action);
    return found(world, world.incidents, incident_id);
  },
  list_property_incidents: ({ world, params: { property_id }, query }) => {
    found(world, world.properties, property_id);
    return listIncidents(world, query).filter((each) => world.propertyOfIncident(each) === property_id);
  },
  act_on_property_incident: ({ world, params: { property_id, incident_id }, body }) => {
    found(world, world.properties, property_id);
    const incident = found(world, world.incidents, incident_id);
    if (world.propertyOfIncident(incident) !== property_id) throw new Rejection(404, 'not found');
    actOnIncident(world, incident_id, body.action);
    return { status: 'ok' };
  },

  list_properties: ({ world, query: { name = '', search = '', membership_role } }) =>
    [...world.properties.values()].filter((property) => {
      const { address, city, postcode } = property;
      const role = world.roles.get(property.id);
      return (
        [property.name, address, city, postcode].some((text) => contains(text, search)) &&
        contains(property.name, name) &&
        role === (membership_role ?? role)
      );
    }),
  read_property: ({ world, params }) => found(world, world.properties, params.property_id),
  update_property: ({ world, params, body }) => change(world, world.properties, params.property_id, body),
  patch_property: ({ world, params, body }) => change(world, world.properties, params.property_id, body),
  create_property: ({ world, body }) => {
    const { id } = world.addProperty(blankProperty(world.nextId(), world.now), 'owner');
    const { name } = change(world, world.properties, id, propertyFieldsOf(body));
    return { id, name };
  },
  update_customer_property: ({ world, params: { property_id }, body }) => {
    const { id, name } = change(world, world.properties, property_id, propertyFieldsOf(body));
    return { id, name };
  },
  update_property_configuration: ({ world, params: { property_id }, body: { leak_protection_enabled } }) => {
    foundToChange(world, world.properties, property_id);
    world.leakProtection.set(property_id, leak_protection_enabled === true);
    return { leak_protection_enabled: leak_protection_enabled === true };
  },
  create_invitation: ({ world, params }) => {
    foundToChange(world, world.properties, params.property_id);
    return { invitation_id: world.nextId() };
  },

  read_notification_settings: ({ world, params }) => found(world, world.notifications, params.property_id),
  update_notification_settings: ({ world, params, body }) =>
    change(world, world.notifications, params.property_id, body),
  update_customer_notifications: ({ world, params: { property_id }, body: { push_enabled } }) => {
    foundToChange(world, world.properties, property_id);
    world.push.set(property_id, push_enabled === true);
    return { push_enabled: push_enabled === true };
  },
  read_property_settings: ({ world, params }) =>
    withoutWebhookUrl(found(world, world.settings, params.property_id)),
  update_property_settings: ({ world, params, body }) => {
    if (body.timezone !== undefined && !isKnownTimezone(body.timezone)) {
      throw new Rejection(422, 'timezone is not the name of a time zone');
    }
    return withoutWebhookUrl(change(world, world.settings, params.property_id, body));
  },

  list_property_signals: ({ world, params: { property_id } }) => {
    found(world, world.properties, property_id);
    return [...world.signals.values()].filter(({ id }) => world.propertyOf(id) === property_id);
  },
  list_signals: ({ world, query }) => named(world.signals, query.name),
  read_signal: ({ world, params }) => found(world, world.signals, params.signal_id),
  update_signal: ({ world, params, body }) => change(world, world.signals, params.signal_id, body),
  patch_signal: ({ world, params, body }) => change(world, world.signals, params.signal_id, body),
  read_hub: ({ world, params: { hub_id } }) => {
    const { id, serial_no, cloud_connection } = found(world, world.signals, hub_id);
    return { id, serial_no, status: cloud_connection === 'connected' ? 'online' : 'offline' };
  },

  list_signal_sonics: ({ world, params }) => {
    const signal = found(world, world.signals, params.signal_id);
    return [...world.sonics.values()].filter(({ signal_id }) => signal_id === signal.id);
  },
  list_sonics: ({ world, query }) => named(world.sonics, query.name),
  read_sonic: ({ world, params }) => found(world, world.sonics, params.sonic_id),
  update_sonic: ({ world, params, body }) => change(world, world.sonics, params.sonic_id, body),
  patch_sonic: ({ world, params, body }) => change(world, world.sonics, params.sonic_id, body),
  command_valve: ({ world, params, body }) => {
    moveValve(world, found(world, world.sonics, params.sonic_id).id, body.action);
    return null;
  },
  read_telemetry: ({ world, params }) => telemetry(world, world.sonics, params.sonic_id),

  list_wifi_sonics: ({ world, query }) => named(world.wifiSonics, query.name),
  read_wifi_sonic: ({ world, params }) => found(world, world.wifiSonics, params.sonic_id),
  update_wifi_sonic: ({ world, params, body }) => change(world, world.wifiSonics, params.sonic_id, body),
  patch_wifi_sonic: ({ world, params, body }) => change(world, world.wifiSonics, params.sonic_id, body),
  command_wifi_valve: ({ world, params, body }) => {
    moveValve(world, found(world, world.wifiSonics, params.sonic_id).id, body.action);
    return null;
  },
  read_wifi_telemetry: ({ world, params }) => telemetry(world, world.wifiSonics, params.sonic_id),

  change_thing_state: ({ world, params, body: { action } }) => {
    const { id } = foundToChange(world, world.things, params.thing_id);
    // A valve has no other actions. For a thing, other actions are accepted and do nothing.
    if (action === 'open' || action === 'close') moveValve(world, id, action);
    return { status: 'ok' };
  },
  start_pressure_test: ({ world, params: { thing_id }, body }) => {
    foundToChange(world, world.things, thing_id);
    if (world.valve(thing_id)?.testing) throw new Rejection(409, 'a pressure test is running');
    const test = startPressureTest(world, thing_id, body);
    if (!test) throw new Rejection(409, 'the valve is moving or out of reach');
    return { job_id: test.job_id };
  },
  read_pressure_tests: ({ world, params: { thing_id } }) => {
    found(world, world.things, thing_id);
    return testsByDay(world.pressureTestsOf(thing_id), world.timezoneOf(world.propertyOf(thing_id)));
  },
  read_daily_usage: ({ world, params, query }) => {
    const { month = 1 } = query;
    if (month < 1 || month > 12) throw new Rejection(422, 'month: must be from 1 to 12');
    return world.usage(found(world, world.things, params.thing_id).id, query);
  },
  read_appliance_categories: () => ({ categories: applianceCategories }),

  // Another name for validate_token, which gives the same answer.
  read_own_user: ({ world }) => found(world, world.users, world.user?.id ?? ''),
  read_user: ({ world, params }) => found(world, world.users, params.user_id),
  update_user: changeUser,
};

function session({ user }: World, token: string | null) {
  if (token === null) throw new Rejection(401, 'access denied');
  return { token_details: token, user_details: user };
}

/** The record with that id. Records of other accounts are forbidden (403). */
function found<T>(world: World, records: { get(id: string): T | undefined }, id: string): T {
  const record = records.get(id);
  if (record) return record;
  throw world.isForeign(id) ? new Rejection(403, 'forbidden') : new Rejection(404, 'not found');
}

/** Rejects a change by a guest of the property, who may only read. */
function rejectGuest(world: World, propertyId: string | undefined): void {
  if (propertyId !== undefined && world.roles.get(propertyId) === 'guest') {
    throw new Rejection(403, 'a guest may not change anything');
  }
}

/** The record with that id, for a change. Rejects a guest of its property. */
function foundToChange<T>(world: World, records: { get(id: string): T | undefined }, id: string): T {
  const record = found(world, records, id);
  rejectGuest(world, world.propertyOf(id));
  return record;
}

function change<T>(world: World, records: Records<T>, id: string, fields: SomeFields<T>): T {
  foundToChange(world, records, id);
  records.change(id, fields);
  return found(world, records, id);
}

function actOnIncident(world: World, id: string, action = ''): void {
  const incident = found(world, world.incidents, id);
  rejectGuest(world, world.propertyOfIncident(incident));
  if (world.actOnIncident(id, action)) return;
  const possible = incident.possible_actions.join(', ');
  throw new Rejection(422, `action ${action} is not possible, only ${possible}`);
}

function moveValve(world: World, id: string, action: ValveAction): void {
  foundToChange(world, world.things, id);
  if (world.valve(id)?.testing) throw new Rejection(409, 'a pressure test is running');
  world.commandValve(id, action);
}

function telemetry(world: World, sonics: Records<Sonic>, id: string): Telemetry {
  found(world, sonics, id);
  return found(world, { get: (each) => world.telemetry(each) }, id);
}

/** Sorted like the cloud's list, the newest first. */
function listIncidents(world: World, { type, open }: QueryOf<'list_incidents'>): readonly Incident[] {
  const asked = [...world.incidents.values()].filter(
    (each) => each.type === (type ?? each.type) && each.open === (open ?? each.open),
  );
  return asked.reverse();
}

function named<T extends { readonly name: string | null }>(records: Records<T>, name = ''): readonly T[] {
  const all = [...records.values()];
  return name === '' ? all : all.filter((record) => contains(record.name, name));
}

function contains(text: string | null, part: string): boolean {
  return (text ?? '').toLowerCase().includes(part.toLowerCase());
}

function withoutWebhookUrl<T extends { readonly webhook_url: unknown }>({ webhook_url: _, ...shown }: T) {
  return shown;
}

/** The known fields of a property in a body. Additional fields may have any value, but the known ones must fit. */
function propertyFieldsOf(given: Readonly<Record<string, unknown>>): SomeFields<Property> {
  const own = new Map(Object.entries(shapeOf(operationRow('update_property').body)));
  const fits = ([field, value]: [string, unknown]) =>
    field !== 'id' && (own.get(field)?.safeParse(value).success ?? true);
  return Object.fromEntries(Object.entries(given).filter(fits));
}

function changeUser({ world, sessions, params: { user_id }, body }: ValidRequest<'update_user'>) {
  const user = found(world, world.users, user_id);
  const fits = ([field, value]: [string, unknown]) => {
    if (!userFields.includes(field)) return !Object.hasOwn(user, field);
    return typeof value === 'string' && (field !== 'email' || emailPattern.test(value));
  };
  const changed = { ...user, ...Object.fromEntries(Object.entries(body).filter(fits)) };
  const full_name = `${changed.first_name} ${changed.last_name}`.trim();
  // After a change of the e-mail address, the user signs in with the new one.
  sessions.email = changed.email;
  world.users.change(user_id, { ...changed, full_name });
  return found(world, world.users, user_id);
}
