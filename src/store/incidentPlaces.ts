import { namedProperty } from '../model/devices.ts';
import { IdMap, isSameId } from '../model/ids.ts';
import { isAboutHub } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { DeviceLists, Places } from './places.ts';
import type { ReadonlyTable } from './table.ts';

/*
 * Where each open incident is. Each is shown at its sonic, or else at its hub. That of an unplaced device counts in each
 * property that the device may be in. An incident that names neither is shown at the account's only property, or at the bridge if
 * there are several. The incident entities of all devices that it may belong to are unknown then: of every device, or of
 * the sonics of its hub.
 */

export interface AnnouncingDevice {
  readonly kind: 'sonic' | 'signal';
  readonly id: string;
}

export interface IncidentPlace {
  readonly record: Incident;
  /** Its sonic, or else its signal; null if the account has neither. */
  readonly device: AnnouncingDevice | null;
  readonly propertyId: string | null;
  /** The properties that show it. */
  readonly shownIn: readonly string[];
  readonly isShown: boolean;
  /** When its last reading was sent, if that is too long ago, in ms of the monotonic clock; else null. */
  readonly staleSince: number | null;
}

export interface IncidentPlaces {
  readonly places: ReadonlyMap<string, IncidentPlace>;
  /** The incidents that may be at any device, or at any sonic of their hub, because their sonic is not known. */
  readonly withoutSonic: readonly IncidentPlace[];
  /** By `kind/id`, the incidents that a device or property shows. */
  readonly shownAt: ReadonlyMap<string, readonly Incident[]>;
  /** By hub that an open incident calls lost: when that was first read, in ms of the monotonic clock. */
  readonly lostHubs: ReadonlyMap<string, number>;
  /** Whether all open ones are known: the list was read completely, and not too long ago. */
  readonly areFresh: boolean;
}

export const noIncidents: IncidentPlaces = {
  places: new IdMap(),
  withoutSonic: [],
  shownAt: new Map(),
  lostHubs: new IdMap(),
  areFresh: false,
};

export interface IncidentContext {
  readonly devices: DeviceLists['devices'];
  readonly isFilterOn: boolean;
  /** Whether the last list of the property's hubs was complete, so that no other hub is in it. */
  readonly areHubsListed: (propertyId: string) => boolean;
  /** Whether the property's hubs were read, or could not be read, in this run. */
  readonly areHubsAsked: (propertyId: string) => boolean;
  readonly places: Places;
}

export function placeOfIncident(
  incident: Incident,
  { devices, isFilterOn, places }: IncidentContext,
): Pick<IncidentPlace, 'device' | 'propertyId' | 'isShown'> {
  const sonic = places.sonic.get(incident.sonic_id ?? '');
  const signal = places.signal.get(incident.signal_id ?? '');
  const device: AnnouncingDevice | null = sonic
    ? { kind: 'sonic', id: sonic.id }
    : signal && devices.signal.has(signal.id)
      ? { kind: 'signal', id: signal.id }
      : null;
  // What a hub reports of itself is in no property if no list has the hub: a replaced hub is no trouble of a home.
  const isOfStranger = isAboutHub(incident) && !devices.signal.has(incident.signal_id);
  const place = sonic ?? signal;
  const propertyId = place ? place.propertyId : isOfStranger ? null : places.onlyProperty;
  const isSought = incident.sonic_id !== null || incident.signal_id !== null;
  const areDevicesKnown = devices.signal.isComplete && devices.sonic.isComplete;
  const isNameless = !isSought || areDevicesKnown || places.areListsAsked;
  const isShown = device
    ? places[device.kind].get(device.id)?.isShown === true
    : propertyId !== null
      ? places.property.get(propertyId)?.isShown === true
      : !isFilterOn || isNameless;
  return { device, propertyId, isShown };
}

/** Whether it is a sonic on Wi-Fi that names no property, so it may be in any. */
function mayBeAnywhere(sonicId: string, { devices, places }: IncidentContext): boolean {
  const record = devices.sonic.get(sonicId);
  return places.sonic.get(sonicId)?.isWifi === true && !!record && namedProperty(record) === null;
}

export function incidentPlacesOf(
  table: ReadonlyTable<Incident>,
  context: IncidentContext,
  before: IncidentPlaces,
): IncidentPlaces {
  const found = new IdMap<IncidentPlace>();
  const shownAt = new Map<string, Incident[]>();
  const lostHubs = new IdMap<number>();
  for (const record of table.records) {
    const { id } = record;
    const place = placeOfIncident(record, context);
    const { device, propertyId } = place;
    const staleSince = table.isStale(id) ? (table.readAt(id) ?? null) : null;
    const mayBeIn = device && propertyId === null ? propertiesOf(device.id, context) : [];
    const propertyIds = propertyId === null ? mayBeIn : [propertyId];
    // A filter hides a Wi-Fi sonic that names no property, with its commands and actions, but not its leak.
    const isCounted = place.isShown || (device !== null && mayBeAnywhere(device.id, context));
    const shownIn = isCounted ? propertyIds : [];
    found.set(id, { ...place, shownIn, record, staleSince });
    const shownBy = [
      ...(device && place.isShown ? [`${device.kind}/${device.id}`] : []),
      ...shownIn.map((each) => `property/${each}`),
    ];
    for (const key of shownBy) {
      const others = shownAt.get(key);
      if (others) others.push(record);
      else shownAt.set(key, [record]);
    }
    if (!isAboutHub(record)) continue;
    const lostAt = before.lostHubs.get(record.signal_id) ?? table.readAt(id) ?? 0;
    lostHubs.set(record.signal_id, lostHubs.get(record.signal_id) ?? lostAt);
  }
  return {
    places: found,
    withoutSonic: [...found.values()].filter(isWithoutSonic),
    shownAt,
    lostHubs,
    areFresh: table.isListFresh,
  };
}

/**
 * The shown properties that an unplaced device may be in. Its incident counts in each: a leak is never
 * hidden. A hub, or a sonic with a hub, is in none whose hubs are all listed, unless that leaves none.
 */
function propertiesOf(
  deviceId: string,
  { places, areHubsAsked, areHubsListed }: IncidentContext,
): readonly string[] {
  // Until its hubs were asked for, the sums of a property are unknown anyway.
  const all = places.shown.property.filter(areHubsAsked);
  if (places.sonic.get(deviceId)?.isWifi) return all;
  const possible = all.filter((id) => !areHubsListed(id));
  return possible.length > 0 ? possible : all;
}

/** Whether an incident is about a sonic that the account does not have, or that it does not name. */
export function isWithoutSonic({ device, record }: IncidentPlace): boolean {
  return device === null || (device.kind === 'signal' && !isAboutHub(record));
}

/** The open incidents that may belong to a device, though it does not show them. */
export function possibleAt(
  kind: 'property' | 'signal' | 'sonic',
  id: string,
  { withoutSonic }: IncidentPlaces,
  places: Places,
): Incident[] {
  if (withoutSonic.length === 0) return [];
  const own = places[kind].get(id)?.propertyId ?? null;
  const hubOf = (sonicId: string) => places.sonic.get(sonicId)?.hub ?? null;
  const isPossible = (place: IncidentPlace) => {
    const { record, device, propertyId } = place;
    // What a hub reports of itself concerns that hub alone, even if no list has it.
    if (device === null && isAboutHub(record)) return false;
    if (kind === 'property') return device === null && propertyId === null;
    if (device === null) return propertyId === null || own === null || propertyId === own;
    const mayBeOn =
      places.sonic.get(id)?.isWifi === false && (hubOf(id) === null || isSameId(hubOf(id), device.id));
    return kind === 'sonic' && mayBeOn;
  };
  return withoutSonic.filter(isPossible).map(({ record }) => record);
}
