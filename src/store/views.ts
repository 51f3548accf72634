import {
  isSignalReachable,
  isSonicReachable,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { isLinkLost } from '../model/incidents.ts';
import { defaultPauseMinutes } from '../model/pause.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import type { Account } from './account.ts';

/** A property with all data that its entities show; null if it is not shown. */
export function propertyViewOf(
  account: Account,
  id: string,
  pause: PropertyView['pause'],
  contents: PropertyView['contents'],
  isReporting: (contents: ReturnType<PropertyView['contents']>) => boolean,
): PropertyView | null {
  const { devices, places, incidents, signalLists } = account;
  const accepted = account.kept.accepted.get(id) ?? {};
  const property = devices.property.get(id);
  if (!property || !places.property.get(id)?.isShown) return null;
  const ownIncidents = incidents.shownBy('property', id);
  return {
    kind: 'property',
    property,
    isStale: devices.property.isStale(id),
    settings: settingsOf(account, id, accepted),
    notifications: account.notifications.of(id),
    accepted,
    pause,
    pauseMinutes: account.kept.pauseMinutes.get(id) ?? defaultPauseMinutes,
    contents,
    incidents: ownIncidents,
    unconfirmedSince: incidents.unconfirmedSince(ownIncidents),
    possibleIncidents: incidents.possibleAt('property', id),
    // If a signal is not known to be in this property yet, its incidents would be missing here.
    areIncidentsKnown: incidents.areKnown && signalLists.isFresh(id),
    isReporting: isReporting(contents()),
  };
}

/**
 * The settings of a property. If the cloud does not show the address of the webhook, the last accepted address is used.
 */
function settingsOf({ settings }: Account, id: string, { webhook_url }: AcceptedSettings) {
  const read = settings.of(id);
  return read?.webhook_url === null && webhook_url !== undefined ? { ...read, webhook_url } : read;
}

/** A signal, and all data that decides whether it is reachable; null if the cloud's lists did not have it. */
function signalLinkOf({ devices, incidents, flaps }: Account, id: string) {
  const signal = devices.signal.get(id);
  if (!signal) return null;
  const lostAt = incidents.cloudLostAt(id);
  return {
    signal,
    // An open incident confirms a single reading that found the link down, so that it is no flap.
    isFlap: flaps.signal.has(id) && lostAt === null,
    // A reading that was sent after the incident decides, because the incident may stay open after the hub is back.
    isCloudLost: lostAt !== null && (devices.signal.readAt(id) ?? lostAt) < lostAt,
    isStale: devices.signal.isStale(id),
  };
}

/** A signal with all data that its entities show; null if it is not shown. */
export function signalViewOf(account: Account, id: string): SignalView | null {
  const { places, incidents, hubs } = account;
  const link = signalLinkOf(account, id);
  const place = places.signal.get(id);
  if (!link || !place?.isShown) return null;
  return {
    kind: 'signal',
    ...link,
    propertyId: place.propertyId,
    hub: hubs.of(id),
    incidents: incidents.shownBy('signal', id),
    possibleIncidents: incidents.possibleAt('signal', id),
    areIncidentsKnown: incidents.areKnown,
    isReporting: isSignalReachable(link),
  };
}

/** A sonic with all data that its entities show; null if it is not shown. */
export function sonicViewOf(account: Account, id: string): SonicView | null {
  const { devices, places, incidents, flaps, valves } = account;
  const sonic = devices.sonic.get(id);
  const place = places.sonic.get(id);
  if (!sonic || !place?.isShown) return null;
  const { isWifi, hub: signalId, propertyId } = place;
  const link = signalId === null ? null : signalLinkOf(account, signalId);
  const ownIncidents = incidents.shownBy('sonic', id);
  const view: SonicView = {
    kind: 'sonic',
    sonic,
    isWifi,
    signal: link?.signal ?? (signalId === null ? 'none' : 'unknown'),
    isSignalReachable: link && !link.isStale ? isSignalReachable(link) : signalId === null || null,
    isFlap: flaps.sonic.has(id) && !ownIncidents.some(isLinkLost),
    isSignalFlap: link?.isFlap ?? false,
    propertyId,
    isStale: devices.sonic.isStale(id),
    valve: valves.shown(sonic),
    travelTimeS: valves.travelTimeS(id),
    valveRecord: account.valveRecords.of(id),
    telemetry: account.telemetry[isWifi ? 'wifi' : 'hub'].of(id),
    restedAt: account.kept.rested.get(id) ?? null,
    usage: account.usage.of(id),
    pressureTests: account.pressureTests.of(id),
    pressureTestJobId: account.pressureTestJobs.get(id) ?? null,
    incidents: ownIncidents,
    possibleIncidents: incidents.possibleAt('sonic', id),
    areIncidentsKnown: incidents.areKnown,
    isReporting: true,
  };
  return { ...view, isReporting: isSonicReachable(view) };
}
