import { isDeepStrictEqual } from 'node:util';
import { type OperationName, operationRow } from '../cloud/operations.ts';
import { applianceCategories } from './applianceCategories.ts';
import type { Asked, Handlers } from './asked.ts';
import { blankProperty } from './generation.ts';
import { isRole, roles } from './membership.ts';
import { startPressureTest } from './pressureTests.ts';
import { actOnIncident, found, moveValve, mustNotBeGuest, mustSuitProperty, Refusal } from './rules.ts';
import { testsByDay } from './testLog.ts';

/** What can be set of a user (a client's own documentation, as the interface document shows only two of them). */
const userTexts = ['first_name', 'last_name', 'email', 'phone', 'language'] as const;

/** The operations of the customers' app: a thing is its sonic, a hub its signal. */
export const customerHandlers = {
  act_on_property_incident: ({ world, params: { property_id, incident_id }, body: { action } }) => {
    found(world, world.properties, property_id);
    const incident = found(world, world.incidents, incident_id);
    if (world.propertyOfIncident(incident) !== property_id) throw new Refusal(404, 'not found');
    actOnIncident(world, incident_id, action);
    return { status: 'ok' };
  },
  change_thing_state: ({ world, params: { thing_id }, body: { action } }) => {
    found(world, world.things, thing_id);
    if (action !== 'open' && action !== 'close') throw new Refusal(422, 'action must be open or close');
    moveValve(world, thing_id, action);
    return { status: 'ok' };
  },

  create_property: ({ world, body }) => {
    mustSuitProperty(null, body);
    const { id, name } = world.addProperty({ ...blankProperty(world.nextId(), world.now), ...body });
    return { id, name };
  },
  update_customer_property: ({ world, params: { property_id }, body }) => {
    found(world, world.properties, property_id);
    mustNotBeGuest(world, property_id);
    mustSuitProperty(property_id, body);
    world.properties.change(property_id, body);
    return { id: property_id, name: found(world, world.properties, property_id).name };
  },
  update_property_configuration: ({ world, params: { property_id }, body }) => {
    found(world, world.properties, property_id);
    mustNotBeGuest(world, property_id);
    const { leak_protection_enabled } = body;
    world.leakProtection.set(property_id, leak_protection_enabled);
    return { leak_protection_enabled };
  },
  update_customer_notifications: ({ world, params: { property_id }, body: { push_enabled } }) => {
    found(world, world.properties, property_id);
    mustNotBeGuest(world, property_id);
    world.push.set(property_id, push_enabled);
    return { push_enabled };
  },
  create_invitation: ({ world, params: { property_id }, body }) => {
    found(world, world.properties, property_id);
    mustNotBeGuest(world, property_id);
    if (!isRole(body.role)) throw new Refusal(422, `role must be one of ${roles.join(', ')}`);
    const invitation_id = world.nextId();
    world.invitations.set(invitation_id, { ...body, role: body.role, invitation_id, property_id });
    return { invitation_id };
  },

  read_user: ({ world, params }) => found(world, world.users, params.user_id),
  update_user: changeUser,

  start_pressure_test: ({ world, params: { thing_id }, body }) => {
    found(world, world.things, thing_id);
    mustNotBeGuest(world, world.propertyOf(thing_id));
    if (world.valve(thing_id)?.testing) throw new Refusal(409, 'a pressure test is running');
    const test = startPressureTest(world, thing_id, body);
    if (!test) throw new Refusal(409, 'the valve is moving or out of reach');
    return { job_id: test.job_id };
  },
  read_pressure_tests: ({ world, params: { thing_id } }) => {
    found(world, world.things, thing_id);
    return testsByDay(world.pressureTestsOf(thing_id), world.timezoneOf(world.propertyOf(thing_id)));
  },
  read_daily_usage: ({ world, params: { thing_id }, query }) => {
    found(world, world.things, thing_id);
    return world.usage(thing_id, query);
  },
  read_appliance_categories: () => ({ categories: applianceCategories }),
  read_hub: ({ world, params: { hub_id } }) => {
    const { id, serial_no, cloud_connection } = found(world, world.signals, hub_id);
    return { id, serial_no, status: cloud_connection === 'connected' ? 'online' : 'offline' };
  },
} satisfies Partial<Handlers<OperationName>>;

function changeUser({ world, sessions, params: { user_id }, body }: Asked<'update_user'>) {
  const user = found(world, world.users, user_id);
  const given = new Map(Object.entries(body));
  const texts = userTexts.filter((name) => given.has(name));
  if (texts.length === 0) throw new Refusal(422, `at least one of ${userTexts.join(', ')} is needed`);
  for (const name of texts) {
    if (typeof given.get(name) !== 'string') throw new Refusal(422, `${name} must be text`);
  }
  for (const [name, value] of Object.entries(user)) {
    const isFixed = !(userTexts as readonly string[]).includes(name);
    if (isFixed && given.has(name) && !isDeepStrictEqual(given.get(name), value)) {
      throw new Refusal(422, `${name} cannot be set`);
    }
  }
  const { email = user.email, first_name = user.first_name, last_name = user.last_name } = body;
  if (!operationRow('sign_in').body?.safeParse({ email, password: 'any' }).success) {
    throw new Refusal(422, 'email must be an e-mail address');
  }
  // Who has another address signs in with that one.
  sessions.email = String(email);
  world.users.change(user_id, { ...body, full_name: `${first_name} ${last_name}`.trim() });
  return found(world, world.users, user_id);
}
