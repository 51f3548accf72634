import type { OperationName, QueryOf } from '../cloud/operations.ts';
import type { Incident } from '../model/records.ts';
import type { Asked, Handlers, Listing } from './asked.ts';
import { customerHandlers } from './customerHandlers.ts';
import type { Records } from './records.ts';
import { actOnIncident, found, moveValve, mustNotBeGuest, Refusal } from './rules.ts';
import type { World } from './world.ts';
import { isTimezone } from './zone.ts';

/** The only values that the cloud takes (cloud facts 3). */
const published = {
  high_volume_threshold_litres: [25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000],
  long_flow_notification_delay_mins: [15, 30, 60, 120, 180, 240, 300, 360],
};

/** One handler for each row of the catalogue. */
export const handlers: Handlers<OperationName> = {
  ...customerHandlers,

  sign_in: ({ world, sessions, body }) => session(world, sessions.signIn(body.email, body.password)),
  refresh_token: ({ world, sessions, token, body }) =>
    session(world, sessions.refresh(token, body.refresh_token)),
  validate_token: ({ world, token }) => session(world, token),
  sign_out: ({ sessions, token }) => {
    sessions.signOut(token);
    return { success: true };
  },

  list_incidents: ({ world, query }) => incidents(world, query),
  read_incident: ({ world, params }) => found(world, world.incidents, params.incident_id),
  act_on_incident: ({ world, params: { incident_id }, body: { action } }) => {
    actOnIncident(world, incident_id, action);
    return found(world, world.incidents, incident_id);
  },
  list_property_incidents: ({ world, params: { property_id }, query }) => {
    found(world, world.properties, property_id);
    return incidents(world, query, property_id);
  },

  list_properties: ({ world, query: { name = '', search = '', membership_role } }) => {
    if (name + search === '' && membership_role === undefined) return listing(world.properties);
    return listing(world.properties, (property) => {
      const { address, city, postcode } = property;
      const isFound = [property.name, address, city, postcode].some((text) => has(text, search));
      const role = world.roles.get(property.id);
      return isFound && has(property.name, name) && role === (membership_role ?? role);
    });
  },
  read_property: ({ world, params }) => found(world, world.properties, params.property_id),
  update_property: changeProperty,
  patch_property: changeProperty,
  read_notification_settings: ({ world, params }) => {
    found(world, world.properties, params.property_id);
    return found(world, world.notifications, params.property_id);
  },
  update_notification_settings: ({ world, params: { property_id }, body }) => {
    found(world, world.properties, property_id);
    mustNotBeGuest(world, property_id);
    for (const [field, allowed] of Object.entries(published)) {
      const value = body[field as keyof typeof published];
      if (value !== undefined && !allowed.includes(value)) {
        throw new Refusal(422, `${field} must be one of ${allowed.join(', ')}`);
      }
    }
    world.notifications.change(property_id, body);
    return found(world, world.notifications, property_id);
  },
  read_property_settings: ({ world, params }) => {
    found(world, world.properties, params.property_id);
    return shownSettings(world, params.property_id);
  },
  update_property_settings: ({ world, params: { property_id }, body }) => {
    found(world, world.properties, property_id);
    mustNotBeGuest(world, property_id);
    if (body.timezone !== undefined && !isTimezone(body.timezone)) {
      throw new Refusal(422, 'timezone is not the name of a time zone');
    }
    world.settings.change(property_id, body);
    return shownSettings(world, property_id);
  },

  list_property_signals: ({ world, params: { property_id } }) => {
    found(world, world.properties, property_id);
    return { ids: world.signalIdsOf(property_id), records: world.signals };
  },
  list_signals: ({ world, query: { name } }) => listing(world.signals, named(name)),
  read_signal: ({ world, params }) => found(world, world.signals, params.signal_id),
  update_signal: renameSignal,
  patch_signal: renameSignal,

  list_signal_sonics: ({ world, params: { signal_id } }) => {
    found(world, world.signals, signal_id);
    return { ids: world.sonicIdsOf(signal_id), records: world.sonics };
  },
  list_sonics: ({ world, query: { name } }) => listing(world.sonics, named(name)),
  read_sonic: ({ world, params }) => found(world, world.sonics, params.sonic_id),
  update_sonic: renameSonic,
  patch_sonic: renameSonic,
  command_valve: ({ world, params: { sonic_id }, body: { action } }) => {
    found(world, world.sonics, sonic_id);
    moveValve(world, sonic_id, action);
    return null;
  },
  read_telemetry: ({ world, params: { sonic_id } }) => {
    found(world, world.sonics, sonic_id);
    return telemetry(world, sonic_id);
  },

  list_wifi_sonics: ({ world, query: { name } }) => listing(world.wifiSonics, named(name)),
  read_wifi_sonic: ({ world, params }) => found(world, world.wifiSonics, params.sonic_id),
  update_wifi_sonic: renameWifiSonic,
  patch_wifi_sonic: renameWifiSonic,
  command_wifi_valve: ({ world, params: { sonic_id }, body: { action } }) => {
    found(world, world.wifiSonics, sonic_id);
    moveValve(world, sonic_id, action);
    return null;
  },
  read_wifi_telemetry: ({ world, params: { sonic_id } }) => {
    found(world, world.wifiSonics, sonic_id);
    return telemetry(world, sonic_id);
  },
};

function session(world: World, token: string | null) {
  if (token === null) throw new Refusal(401, 'access denied');
  return { token_details: token, user_details: world.user };
}

function shownSettings(world: World, propertyId: string) {
  const { webhook_url: _, ...shown } = found(world, world.settings, propertyId);
  return shown;
}

function changeProperty({
  world,
  params: { property_id },
  body,
}: Asked<'update_property' | 'patch_property'>) {
  found(world, world.properties, property_id);
  mustNotBeGuest(world, property_id);
  world.properties.change(property_id, body);
  return found(world, world.properties, property_id);
}

function renameSignal({ world, params: { signal_id }, body }: Asked<'update_signal' | 'patch_signal'>) {
  found(world, world.signals, signal_id);
  mustNotBeGuest(world, world.propertyOf(signal_id));
  world.signals.change(signal_id, body);
  return found(world, world.signals, signal_id);
}

function renameSonic({ world, params: { sonic_id }, body }: Asked<'update_sonic' | 'patch_sonic'>) {
  found(world, world.sonics, sonic_id);
  mustNotBeGuest(world, world.propertyOf(sonic_id));
  world.sonics.change(sonic_id, body);
  return found(world, world.sonics, sonic_id);
}

function renameWifiSonic({
  world,
  params: { sonic_id },
  body,
}: Asked<'update_wifi_sonic' | 'patch_wifi_sonic'>) {
  found(world, world.wifiSonics, sonic_id);
  mustNotBeGuest(world, world.propertyOf(sonic_id));
  world.wifiSonics.change(sonic_id, body);
  return found(world, world.wifiSonics, sonic_id);
}

function telemetry(world: World, sonicId: string) {
  return found(world, { get: (id) => world.telemetry(id) }, sonicId);
}

/** Newest first, as the cloud lists them. */
function incidents(world: World, { type, open }: QueryOf<'list_incidents'>, propertyId?: string) {
  const { ids, records } = listing(
    world.incidents,
    (incident: Incident) =>
      (type === undefined || incident.type === type) &&
      (open === undefined || incident.open === open) &&
      (propertyId === undefined || world.propertyOfIncident(incident) === propertyId),
  );
  return { ids: ids.toReversed(), records };
}

/** All records, or those that are asked for. */
function listing<T>(records: Records<T>, isAsked?: (record: T) => boolean): Listing<T> {
  if (!isAsked) return { ids: records.ids, records };
  return { ids: [...records].filter(([, record]) => isAsked(record)).map(([id]) => id), records };
}

function named(name: string | undefined) {
  return name === undefined ? undefined : (record: { name: string | null }) => has(record.name, name);
}

function has(text: string | null, part: string): boolean {
  return (text ?? '').toLowerCase().includes(part.toLowerCase());
}
