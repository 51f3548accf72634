import {
  type BridgeFacts,
  isSonicReachable,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { idKey } from '../model/ids.ts';
import { openCount } from '../model/incidents.ts';
import type { Incident, Signal, Sonic } from '../model/records.ts';
import { failureKind } from '../model/valveCommand.ts';
import { alertsOf } from './alerts.ts';
import {
  type DeviceTitle,
  type HeadlineFacts,
  type HeadlineValve,
  headlineOf,
  type ShownFailure,
} from './headline.ts';
import type { Sentence } from './headlineTexts.ts';

// What the headline is made of: for the whole account on the status page, and for one property in its summary.

/** A hub or a valve. */
export type CloudDevice = SignalView | SonicView;

/** What a headline is about: the bridge, and an account or a property with its open incidents. */
interface Scope extends BridgeFacts {
  readonly properties: readonly PropertyView[];
  readonly sonics: readonly SonicView[];
  /** Whether there may be more valves. */
  readonly mayHaveMore?: boolean;
  readonly incidents: readonly Incident[];
  /** Whether no other incident is open. */
  readonly areIncidentsKnown: boolean;
}

/** Why what is shown of a valve may be different now; null if it is the present. `unsure`: its hub could not be read. */
export type Doubt = 'old' | 'unreachable' | 'unsure' | null;

/** Names are of any length in the cloud. */
const maxNameLength = 120;

/**
 * The sentences of a property's summary. The status page shows the same ones if the account has no other property, except in
 * an outage of the cloud: that changes no value in Home Assistant, where all of the property is unavailable then.
 */
export function summaryOf(view: PropertyView, bridge: BridgeFacts): readonly Sentence[] {
  const { signals, sonics, mayHaveMore } = view.contents();
  const { incidents, areIncidentsKnown } = view;
  const isDown = bridge.cloud.status === 'down';
  const scope = {
    ...bridge,
    ...(isDown && asBeforeOutage),
    properties: [view],
    sonics,
    mayHaveMore,
    incidents,
    areIncidentsKnown,
  };
  const { sentences, details } = headlineOf(headlineFacts(scope, [...signals, ...sonics]));
  return [...sentences, ...details].filter(({ text }) => text !== 'see_below');
}

const asBeforeOutage = { cloud: { status: 'up', workedAt: null }, health: 'ok' } as const;

/** The facts of the headline. The devices come in the order in which they are shown. */
export function headlineFacts(scope: Scope, devices: readonly CloudDevice[]): HeadlineFacts {
  const { cloud, broker, health, isLoading, isWhole, properties, sonics, mayHaveMore = false } = scope;
  const isFresh = isPresent(scope);
  const placeOf = placesOf(properties);
  const valves = new Map(sonics.map((view) => [view, headlineValve(view, placeOf(view), isFresh)]));
  const known = new Map(devices.map((device) => [idKey(recordOf(device).id), device]));
  const ownPlaces = new Map(
    properties.flatMap(({ property, incidents }) =>
      incidents.map(({ id }) => [id, { name: displayName(property), property: null }]),
    ),
  );
  const positions = new Map(devices.map((device, index) => [device, index]));
  const found = scope.incidents.flatMap((incident) => {
    const [sonic, signal] = [incident.sonic_id, incident.signal_id].map((id) => known.get(idKey(id ?? '')));
    const device = sonic && isSonic(sonic) ? sonic : signal;
    const place = device ? placeOf(device) : (ownPlaces.get(incident.id) ?? null);
    const valve = (device && isSonic(device) && valves.get(device)) || null;
    const position = (device && positions.get(device)) ?? -1;
    return alertsOf([incident], shortenedName).map((alert) => ({ alert, place, valve, position }));
  });
  return {
    ...{ cloud, broker, health, isLoading, isWhole },
    valves: [...valves.values()],
    mayHaveMore,
    // Of those that are as urgent, the headline names the one that the page shows first.
    alerts: found.toSorted((one, other) => one.position - other.position),
    // One that names no device, or is at a hub whose property is unknown, may be anywhere.
    areAlertsKnown:
      isFresh && scope.areIncidentsKnown && properties.every((view) => openCount(view) !== null),
    todayL: todayOf(sonics),
  };
}

/** What a device is called: with its property if there are several. */
function placesOf(properties: readonly PropertyView[]): (device: CloudDevice) => DeviceTitle {
  const names = new Map(properties.map(({ property }) => [property.id, displayName(property)]));
  return (device) => ({
    name: deviceName(device),
    property: (properties.length > 1 && names.get(device.propertyId ?? '')) || null,
  });
}

function headlineValve(view: SonicView, place: DeviceTitle, isFresh: boolean): HeadlineValve {
  const { sonic, valve } = view;
  const doubt = doubtOf(view, isFresh);
  const isSure = doubt === null;
  return {
    ...place,
    valve,
    isSure,
    isReachable: doubt !== 'unreachable',
    isTesting: isSure && sonic.valve_state === 'pressure_test',
    isFaulty: isSure && sonic.valve_state === 'faulty',
    failed: failureOf(view),
  };
}

/** A command that failed, as the headline and the page show it; null without one. */
export function failureOf({ valveRecord: { failed } }: SonicView): ShownFailure | null {
  return (
    failed && {
      text: `${failureKind(failed)}_${failed.action}`,
      details: failed.waited_s === null ? 'command_asked_at' : 'command_waited',
      at: Date.parse(failed.asked_at),
      count: failed.waited_s,
    }
  );
}

/** Why what is shown of a valve may be different now. `isFresh`: what was read last counts as the present. */
export function doubtOf(view: SonicView, isFresh: boolean): Doubt {
  if (!isFresh || view.isStale) return 'old';
  if (isSonicReachable(view)) return null;
  // Its own link may be all right.
  return isSonicReachable({ ...view, isSignalReachable: view.isSignalReachable ?? true })
    ? 'unsure'
    : 'unreachable';
}

/** Whether what was read is the present: not in an outage, of which the headline says that the water is not known. */
export function isPresent({ cloud }: Pick<BridgeFacts, 'cloud'>): boolean {
  return cloud.status !== 'down';
}

/** Litres of today of these sonics together; null where that is not known of one that has usage, or none has. */
export function todayOf(sonics: readonly SonicView[]): number | null {
  const having = sonics.flatMap(({ usage }) => (usage === null ? [] : [usage?.todayL ?? null]));
  const known = having.filter((litres) => litres !== null);
  if (known.length === 0 || known.length < having.length) return null;
  // Sums of thousandths are not exact.
  return Math.round(known.reduce((total, litres) => total + litres, 0) * 1_000) / 1_000;
}

/** Whether a device is a valve. */
export function isSonic(device: CloudDevice): device is SonicView {
  return device.kind === 'sonic';
}

function recordOf(device: CloudDevice): Sonic | Signal {
  return isSonic(device) ? device.sonic : device.signal;
}

/** The name of a hub or a valve, not too long; empty without one. */
export function deviceName(device: CloudDevice): string {
  return displayName(recordOf(device));
}

/** The name of a record, not too long; empty without one. */
export function displayName(record: { readonly name: string | null }): string {
  return shortenedName(record.name?.trim() ?? null) ?? '';
}

/** A text of the cloud, not too long. */
export function shortenedName(text: string | null): string | null {
  return text !== null && text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text;
}
