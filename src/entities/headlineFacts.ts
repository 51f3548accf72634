import {
  type BridgeFacts,
  type PropertyView,
  type SignalView,
  type SonicView,
  valveSeen,
} from '../model/devices.ts';
import { IdMap } from '../model/ids.ts';
import { openCount } from '../model/incidents.ts';
import { noPause } from '../model/pause.ts';
import { isBatteryLow } from '../model/power.ts';
import { isAvailable } from '../model/reach.ts';
import { type Incident, type Signal, type Sonic, valveStates } from '../model/records.ts';
import { sumOfLitres } from '../model/usage.ts';
import { failureTexts } from '../model/valveCommand.ts';
import { knownWord } from '../model/words.ts';
import type { Sentence } from '../texts/texts.ts';
import { alertsOf, shortenedName } from './alerts.ts';
import {
  type DeviceTitle,
  type Doubt,
  type HeadlineFacts,
  type HeadlineValve,
  headlineOf,
  type ShownFailure,
  usedToday,
} from './headline.ts';

// The facts of the headline: of the whole account for the status page, or of one property for its summary.

export type CloudDevice = SignalView | SonicView;

/** What a headline is about: the bridge, and an account or a property with its open incidents. */
interface Scope extends BridgeFacts {
  readonly properties: readonly PropertyView[];
  readonly sonics: readonly SonicView[];
  readonly mayHaveMore?: boolean;
  readonly incidents: readonly Incident[];
  readonly areIncidentsFresh: boolean;
  /** Since when the oldest of `incidents` was not confirmed, in ms since 1970; null if all are. */
  readonly unconfirmedSince: number | null;
}

/**
 * The sentences of a property's summary. If the account has only one property, the status page shows the same
 * sentences, but for where to find a problem of the bridge. The litres of today would change the summary all day.
 */
export function summaryOf(view: PropertyView, bridge: BridgeFacts): readonly Sentence[] {
  const { signals, sonics, strays, mayHaveMore } = view.contents;
  const scope = { ...bridge, ...view, properties: [view], sonics, mayHaveMore };
  // An alert of a valve that may be in this property is named by the valve.
  const { sentences, details } = headlineOf(headlineFacts(scope, [...signals, ...sonics, ...strays]));
  return [...sentences, ...details]
    .filter(({ text }) => text !== usedToday)
    .map((sentence) => (sentence.text === 'see_below' ? { text: 'see_health' } : sentence));
}

/** Collects the facts of the headline. `devices` are in the order in which the page shows them. */
export function headlineFacts(scope: Scope, devices: readonly CloudDevice[]): HeadlineFacts {
  const { cloud, broker, health, isLoading, isComplete, isWatchOnly } = scope;
  const { properties, sonics, mayHaveMore = false } = scope;
  const isFresh = isPresent(scope);
  const placeOf = placesOf(properties);
  const valves = new Map(sonics.map((view) => [view, headlineValve(view, placeOf(view), isFresh)]));
  const known = new IdMap(devices.map((device) => [recordOf(device).id, device]));
  const ownPlaces = new Map(
    properties.flatMap(({ property, incidents }) =>
      incidents.map(({ id }) => [id, { name: displayName(property), property: null }]),
    ),
  );
  const positions = new Map(devices.map((device, index) => [device, index]));
  const found = scope.incidents.flatMap((incident) => {
    const [sonic, signal] = [incident.sonic_id, incident.signal_id].map((id) => known.get(id ?? ''));
    const device = sonic && isSonic(sonic) ? sonic : signal;
    const place = device ? placeOf(device) : (ownPlaces.get(incident.id) ?? null);
    const valve = (device && isSonic(device) && valves.get(device)) || null;
    const position = (device && positions.get(device)) ?? -1;
    return alertsOf([incident]).map((alert) => ({ alert, place, valve, position }));
  });
  return {
    ...{ cloud, broker, health, isLoading, isComplete, isWatchOnly },
    valves: [...valves.values()],
    mayHaveMore,
    // Of several equally urgent alerts, the headline names the one that is first on the page.
    alerts: found.toSorted((one, other) => one.position - other.position),
    // An incident may name no device, or a hub whose property is unknown. It may then be in any property.
    areAlertsFresh: isFresh && scope.areIncidentsFresh && properties.every(areAlertsRead),
    unconfirmedSince: scope.unconfirmedSince,
    pauses: properties.flatMap((view) => pauseOf(view) ?? []),
    failedChanges: properties.flatMap((view) => failedChangeOf(view) ?? []),
    todayL: todayOf(sonics),
  };
}

/** Names a device, together with its property if there are several properties. */
function placesOf(properties: readonly PropertyView[]): (device: CloudDevice) => DeviceTitle {
  const names = new Map(properties.map(({ property }) => [property.id, displayName(property)]));
  return (device) => ({
    name: deviceName(device),
    property: (properties.length > 1 && names.get(device.propertyId ?? '')) || null,
  });
}

export function headlineValve(view: SonicView, place: DeviceTitle, isFresh: boolean): HeadlineValve {
  const { sonic } = view;
  const doubt = doubtOf(view, isFresh);
  const isSure = doubt === null;
  const state = knownWord(valveStates, sonic.valve_state);
  return {
    ...place,
    valve: valveSeen(view),
    doubt,
    isTesting: isSure && state === 'pressure_test',
    isFaulty: isSure && state === 'faulty',
    isBatteryLow: isBatteryLow(sonic.battery) === true,
    offlineHub: offlineHubOf(view, isFresh),
    failed: failureOf(view),
  };
}

/**
 * Whether all open alerts of a property were read. Those that offline valves cannot report are not missing: other words say
 * that these valves are offline.
 */
export function areAlertsRead(view: PropertyView): boolean {
  const { areIncidentsFresh, possibleIncidents, contents } = view;
  const isAnyOffline = contents.sonics.some((sonic) => doubtOf(sonic, true) === 'unreachable');
  return openCount(view) !== null || (isAnyOffline && areIncidentsFresh && possibleIncidents.length === 0);
}

/** The name of its hub if a valve is offline because its hub is; else null. */
function offlineHubOf({ reach, signal }: SonicView, isFresh: boolean): string | null {
  return isFresh && reach === 'hub_offline' && typeof signal === 'object' ? displayName(signal) : null;
}

/** The sentence about the pause of the automatic shut-off; null if there is none. */
export function pauseOf({ property, pause }: PropertyView): Sentence | null {
  const { state, until } = pause ?? noPause;
  if (until === null) return null;
  const text = state === 'paused' ? 'shut_off_paused' : 'shut_off_still_off';
  return { text, values: { place: displayName(property), at: Date.parse(until) } };
}

function failedChangeOf({ property, failedChange }: PropertyView): Sentence | null {
  if (failedChange === null) return null;
  const { at, reason } = failedChange;
  return {
    text: 'change_failed',
    values: { place: displayName(property), at, reason: shortenedName(reason) },
  };
}

/** The failed command as the headline and the page show it; null if there is none. */
function failureOf({ valveRecord: { failed } }: SonicView): ShownFailure | null {
  if (failed === null) return null;
  const { waited_s: count, asked_at } = failed;
  const { text, advice, reason } = failureTexts(failed);
  const asked = count === null ? 'command_asked_at' : 'command_waited';
  const about = [
    { text: asked, values: { at: Date.parse(asked_at), count } },
    { text: advice, values: { reason: shortenedName(reason) } },
  ] as const;
  return { text, about };
}

export function doubtOf({ reach, isChecked }: SonicView, isFresh: boolean): Doubt {
  if (!isFresh || reach === 'stale') return 'old';
  if (isChecked && isAvailable(reach)) return 'checked';
  if (reach === 'up') return null;
  if (reach === 'hub_unread') return reach;
  return reach === 'unknown' ? 'unsure' : 'unreachable';
}

/** False during an outage: the headline then says that the water is not known. */
export function isPresent({ cloud }: Pick<BridgeFacts, 'cloud'>): boolean {
  return cloud.status !== 'down';
}

/** Litres. Null if they are not known of a sonic with usage, or if no sonic has usage. */
export function todayOf(sonics: readonly SonicView[]): number | null {
  const having = sonics.flatMap(({ usage }) => (usage === null ? [] : [usage?.todayL ?? null]));
  const known = having.filter((litres) => litres !== null);
  if (known.length === 0 || known.length < having.length) return null;
  return sumOfLitres(known);
}

export function isSonic(device: CloudDevice): device is SonicView {
  return device.kind === 'sonic';
}

function recordOf(device: CloudDevice): Sonic | Signal {
  return isSonic(device) ? device.sonic : device.signal;
}

/** The name of a hub or a valve, cut if it is too long; empty if it has none. */
export function deviceName(device: CloudDevice): string {
  return displayName(recordOf(device));
}

/** The name of a record, cut if it is too long; empty if it has none. */
export function displayName(record: { readonly name: string | null }): string {
  return shortenedName(record.name?.trim() ?? null) ?? '';
}
