import { isDeepStrictEqual } from 'node:util';
import type { PropertyView, SignalView, SonicView } from '../model/devices.ts';
import { isLinkLost } from '../model/incidents.ts';
import { type Link, signalReach, sonicReach } from '../model/reach.ts';
import type { Account } from './account.ts';
import { linkOf } from './links.ts';

/** The views of the devices in a property. */
interface Views {
  readonly signalView: (id: string) => SignalView | null;
  readonly sonicView: (id: string) => SonicView | null;
}

/** A property with all data that its entities show; null if it is not shown. */
export function propertyViewOf(
  account: Account,
  id: string,
  { pause, failedChange }: Pick<PropertyView, 'pause' | 'failedChange'>,
  views: Views,
): PropertyView | null {
  const { devices, places, incidents, signalLists } = account;
  const property = devices.property.get(id);
  if (!property || !places.property.get(id)?.isShown) return null;
  const ownIncidents = incidents.shownBy('property', id);
  const contents = (propertyId: string) => places.contents.get(propertyId) ?? { signals: [], sonics: [] };
  const signals = contents(id).signals.flatMap((each) => views.signalView(each) ?? []);
  const sonics = contents(id).sonics.flatMap((each) => views.sonicView(each) ?? []);
  // A sonic whose property is not known may be in any, and so may one that no complete list has had yet.
  const strays = contents('').sonics.flatMap((each) => views.sonicView(each) ?? []);
  const all = [...signals, ...sonics, ...strays];
  return {
    kind: 'property',
    property,
    isStale: devices.property.isStale(id),
    settings: account.details.settings.of(id),
    notifications: account.details.notifications.of(id),
    pause,
    failedChange,
    contents: { signals, sonics, strays, mayHaveMore: places.hasUnplacedSonics },
    incidents: ownIncidents,
    unconfirmedSince: incidents.unconfirmedSince(ownIncidents),
    possibleIncidents: incidents.possibleAt('property', id),
    // If a signal is not known to be in this property yet, its incidents would be missing here.
    areIncidentsFresh: incidents.areFresh && signalLists.isFresh(id),
    isReporting: devices.sonic.isListFresh && all.every(({ isReporting }) => isReporting),
  };
}

/** Whether two views of a device say the same. What was not read again is the same object, so few fields are compared in depth. */
export function isSameView(one: object, other: object): boolean {
  const values = Object.values(other);
  return Object.values(one).every(
    (value, at) => value === values[at] || isDeepStrictEqual(value, values[at]),
  );
}

/** An open incident about a link confirms a single reading that found it down, so that it is no flap. */
function confirmed(link: Link, isConfirmed: boolean): Link {
  return link.isFlap && isConfirmed ? { isUp: false, isFlap: false } : link;
}

/** A signal, and whether it is reachable; null if the cloud's lists did not have it. */
function reachableSignal({ devices, incidents }: Account, id: string) {
  const signal = devices.signal.get(id);
  if (!signal) return null;
  const lostAt = incidents.cloudLostAt(id);
  const { isUp, isFlap } = confirmed(linkOf(devices.signal, id), lostAt !== null);
  // A reading that was sent after the incident decides, because the incident may stay open after the hub is back.
  const isCloudLost = lostAt !== null && (devices.signal.readAt(id) ?? lostAt) < lostAt;
  return { signal, reach: signalReach(isUp, devices.signal.isStale(id), isCloudLost), isChecked: isFlap };
}

/** A signal with all data that its entities show; null if it is not shown. */
export function signalViewOf(account: Account, id: string): SignalView | null {
  const { places, incidents, details } = account;
  const own = reachableSignal(account, id);
  const place = places.signal.get(id);
  if (!own || !place?.isShown) return null;
  return {
    kind: 'signal',
    ...own,
    propertyId: place.propertyId,
    hub: details.hubs.of(id),
    incidents: incidents.shownBy('signal', id),
    possibleIncidents: incidents.possibleAt('signal', id),
    areIncidentsFresh: incidents.areFresh,
    isReporting: own.reach === 'up',
  };
}

/** A sonic with all data that its entities show; null if it is not shown. */
export function sonicViewOf(account: Account, id: string): SonicView | null {
  const { devices, places, incidents, valveRecords, details } = account;
  const sonic = devices.sonic.get(id);
  const place = places.sonic.get(id);
  if (!sonic || !place?.isShown) return null;
  const { isWifi, hub: signalId, propertyId } = place;
  const hub = signalId === null ? null : reachableSignal(account, signalId);
  const ownIncidents = incidents.shownBy('sonic', id);
  const link = confirmed(linkOf(devices.sonic, id, isWifi), ownIncidents.some(isLinkLost));
  // A sonic on Wi-Fi needs no hub. It is not known which hub another one has that names none.
  const hubReach = signalId === null ? (isWifi ? 'up' : 'unknown') : (hub?.reach ?? null);
  const valveRecord = valveRecords.of(id);
  const reach = sonicReach(link.isUp, devices.sonic.isStale(id), hubReach);
  return {
    kind: 'sonic',
    sonic,
    isWifi,
    signal: hub?.signal ?? (signalId === null ? 'none' : 'unknown'),
    reach,
    isChecked: link.isFlap || hub?.isChecked === true,
    propertyId,
    valve: valveRecords.shown(sonic),
    travelTimeS: valveRecords.travelTimeS(id),
    valveRecord,
    telemetry: account.telemetry[isWifi ? 'wifi' : 'hub'].since(
      id,
      Date.parse(valveRecord.movement?.at ?? ''),
    ),
    restedAt: account.kept.rested.get(id) ?? null,
    usage: details.usage.of(id),
    pressureTests: details.pressureTests.of(id),
    pressureTestJobId: account.pressureTestJobs.get(id) ?? null,
    incidents: ownIncidents,
    possibleIncidents: incidents.possibleAt('sonic', id),
    areIncidentsFresh: incidents.areFresh,
    isReporting: reach === 'up',
  };
}
