import {
  isSignalReachable,
  isSonicReachable,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { isLinkLost } from '../model/incidents.ts';
import type { PressureTestDays } from '../model/pressureTests.ts';
import type { HubDetail, NotificationSettings, PropertySettings } from '../model/records.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import type { Usage } from '../model/usage.ts';
import type { DetailTable, TelemetryTable } from './details.ts';
import type { OpenIncidents } from './incidents.ts';
import type { LinkFlaps } from './links.ts';
import type { SilentSonics } from './silentSonics.ts';
import type { DeviceTables, Topology } from './topology.ts';
import type { Valves } from './valves.ts';

/** All that is known of the account, part by part. */
export interface AccountData {
  readonly devices: DeviceTables;
  readonly topology: Topology;
  readonly incidents: OpenIncidents;
  readonly flaps: { readonly signal: LinkFlaps; readonly sonic: LinkFlaps };
  readonly valves: Valves;
  readonly silentSonics: SilentSonics;
  readonly settings: DetailTable<PropertySettings>;
  readonly notifications: DetailTable<NotificationSettings>;
  readonly hubs: DetailTable<HubDetail>;
  readonly telemetry: { readonly hub: TelemetryTable; readonly wifi: TelemetryTable };
  readonly usage: DetailTable<Usage>;
  readonly pressureTests: DetailTable<PressureTestDays>;
  /** By sonic, the pressure test that this bridge has started last. */
  readonly pressureTestJobs: ReadonlyMap<string, string>;
}

/** A property with all that is known around it; null where it is not shown. */
export function propertyViewOf(
  account: AccountData,
  id: string,
  accepted: AcceptedSettings,
): PropertyView | null {
  const { devices, topology, incidents } = account;
  const property = devices.property.get(id);
  if (!property || !topology.isShown('property', id)) return null;
  return {
    kind: 'property',
    property,
    isStale: devices.property.isStale(id),
    settings: settingsOf(account, id, accepted),
    notifications: account.notifications.of(id),
    accepted,
    incidents: incidents.shownBy('property', id),
    possibleIncidents: incidents.possibleAt('property', id),
    // An incident at a signal that is not known to be in this property would be missing.
    areIncidentsKnown: incidents.areKnown && topology.isSurveyed(id),
    isReporting: !account.silentSonics.mayBeIn(id),
  };
}

/** A webhook's address that the cloud does not show is the one that it accepted last. */
function settingsOf({ settings }: AccountData, id: string, { webhook_url }: AcceptedSettings) {
  const read = settings.of(id);
  return read?.webhook_url === null && webhook_url !== undefined ? { ...read, webhook_url } : read;
}

/** A signal, and all that decides whether it is reachable; null where the cloud's lists did not have it. */
function signalLinkOf({ devices, incidents, flaps }: AccountData, id: string) {
  const signal = devices.signal.get(id);
  if (!signal) return null;
  const lostAt = incidents.cloudLostAt(id);
  return {
    signal,
    // The incident is the second word that a reading needs.
    isFlap: flaps.signal.has(id) && lostAt === null,
    // A reading that was sent since then decides: the incident may stay open after the hub is back.
    isCloudLost: lostAt !== null && (devices.signal.readAt(id) ?? lostAt) < lostAt,
    isStale: devices.signal.isStale(id),
  };
}

/** A signal with all that is known around it; null where it is not shown. */
export function signalViewOf(account: AccountData, id: string): SignalView | null {
  const { topology, incidents, hubs } = account;
  const link = signalLinkOf(account, id);
  if (!link || !topology.isShown('signal', id)) return null;
  const propertyId = topology.propertyOf('signal', id);
  return {
    kind: 'signal',
    ...link,
    propertyId,
    hub: hubs.of(id),
    incidents: incidents.shownBy('signal', id),
    possibleIncidents: incidents.possibleAt('signal', id),
    areIncidentsKnown: incidents.areKnown,
    // What is shown of a hub the cloud finds out.
    isReporting: true,
  };
}

/** A sonic with all that is known around it; null where it is not shown. */
export function sonicViewOf(account: AccountData, id: string): SonicView | null {
  const { devices, topology, incidents, flaps, valves } = account;
  const sonic = devices.sonic.get(id);
  if (!sonic || !topology.isShown('sonic', id)) return null;
  const isWifi = topology.isWifi(id);
  const signalId = isWifi ? null : sonic.signal_id;
  const link = signalId === null ? null : signalLinkOf(account, signalId);
  const propertyId = topology.propertyOf('sonic', id);
  const ownIncidents = incidents.shownBy('sonic', id);
  const view: SonicView = {
    kind: 'sonic',
    sonic,
    isWifi,
    signal: link?.signal ?? (signalId === null ? 'none' : 'unknown'),
    isSignalReachable: link && !link.isStale ? isSignalReachable(link) : signalId === null || null,
    isFlap: flaps.sonic.has(id) && !ownIncidents.some(isLinkLost),
    propertyId,
    isStale: devices.sonic.isStale(id),
    valve: valves.shown(sonic),
    travelTimeS: valves.travelTimeS(id),
    telemetry: account.telemetry[isWifi ? 'wifi' : 'hub'].of(id),
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
