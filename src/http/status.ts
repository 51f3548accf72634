import { version } from '../base/version.ts';
import { incidentName } from '../entities/incidents.ts';
import type { ComponentStatus } from '../health/readiness.ts';
import type { StatusSnapshot } from '../health/snapshots.ts';
import {
  isConnected,
  isSonicReachable,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { newestFirst, openCount } from '../model/incidents.ts';
import { batteryOption } from '../model/power.ts';
import type { Incident } from '../model/records.ts';
import { measurementOf } from '../model/telemetry.ts';
import { type Valve, valveShown } from '../model/valve.ts';
import { alertsOf } from './alerts.ts';
import { type Headline, type HeadlineValve, headlineOf, type PlacedAlert } from './headline.ts';
import { type ShownUsage, todayOf, usageOf } from './usage.ts';

/** Hubs and sonics: more is not read by anybody at once, the rest is on other pages. */
export const devicesAPage = 100;

/** More incidents are counted and not named. */
const maxIncidents = 50;

/** Names are of any length in the cloud. */
const maxNameLength = 120;

/** A valve, and what is measured beside it. What nobody knows is null. */
export interface ShownSonic {
  /** Empty where it has none. */
  readonly name: string;
  /** What the valve is, or was when it was last known. */
  readonly valve: Valve | null;
  /** The cloud's own word where it names no position. */
  readonly word: string | null;
  /** Why what is shown may not be so any more; null where it is the present. `unsure`: its hub could not be read. */
  readonly doubt: 'old' | 'unreachable' | 'unsure' | null;
  /** When it was last read, in ms; told where it is old. */
  readonly readAt: number | null;
  readonly battery: string | null;
  readonly flowLMin: number | null;
  readonly pressureBar: number | null;
  readonly temperatureC: number | null;
}

export interface ShownHub {
  readonly name: string;
  readonly isConnected: boolean | null;
}

/** What is in a property; or in none that is known. */
export interface ShownProperty {
  /** Null: in none that is known. */
  readonly name: string | null;
  /** Those that are known, or were when they were last read; null before the first reading. */
  readonly openIncidents: number | null;
  /** Whether no other is open. */
  readonly areIncidentsKnown: boolean;
  /** When they were last read, in ms; told while the cloud is away. */
  readonly incidentsReadAt: number | null;
  /** Those on this page. */
  readonly hubs: readonly ShownHub[];
  readonly sonics: readonly ShownSonic[];
  /** Those on all pages. */
  readonly hubsInAll: number;
  readonly sonicsInAll: number;
  /** Of all sonics in it together; where the property is not known, of each by itself. */
  readonly usage: readonly ShownUsage[];
}

export interface ShownIncident {
  /** As Home Assistant has it; null for a type that is not known. */
  readonly name: string | null;
  /** The cloud's word. */
  readonly type: string | null;
  readonly severity: string | null;
  readonly property: string | null;
  readonly device: string | null;
  /** As the cloud has written it, ISO 8601. */
  readonly since: string | null;
}

/** All that the page shows: whoever reaches the port sees it, so no address, e-mail, id or serial number is in it. */
export interface StatusDocument {
  readonly version: string;
  readonly startedAt: number;
  /** What the page says first. */
  readonly headline: Headline;
  readonly health: { readonly status: string | null; readonly reason: string | null };
  readonly cloud: ShownHalf;
  readonly broker: ShownHalf;
  /** Whether the first reading of everything is under way. */
  readonly isLoading: boolean;
  /** Whether everything was read once. */
  readonly isWhole: boolean;
  /** Why there is nothing to show, in words; null where there is something, or that is not known. */
  readonly emptiness: string | null;
  /** How many valves are known to be so at present. */
  readonly valves: Readonly<Record<Valve | 'unknown', number>>;
  readonly incidents: {
    /** Whether no other is open. */
    readonly areKnown: boolean;
    /** When they were last read, in ms; null before the first reading. */
    readonly readAt: number | null;
    readonly inAll: number;
    readonly newest: readonly ShownIncident[];
  };
  readonly page: { readonly number: number; readonly of: number };
  readonly properties: readonly ShownProperty[];
  readonly polls: StatusSnapshot['polls'];
  /** How far the first reading is of each schedule that was not read yet; empty once everything was. */
  readonly progress: StatusSnapshot['progress'];
}

interface ShownHalf {
  readonly status: ComponentStatus['status'];
  readonly reason: string | null;
  /** When it last worked, in ms; null while it works, and if it never did. */
  readonly workedAt: number | null;
}

type Device = SignalView | SonicView;

/** A property, or null for what is in none that is known, and what is in it, its hubs first. */
interface Household {
  readonly view: PropertyView | null;
  readonly devices: readonly Device[];
}

/** Lays the status out on pages: the nearest that there is to a number, and what is on it. */
export function statusPages(snapshot: StatusSnapshot, hide: (text: string) => string) {
  const lines = householdsOf(snapshot).flatMap((household): { household: Household; device?: Device }[] =>
    // A property with nothing in it takes a line too.
    household.devices.length === 0
      ? [{ household }]
      : household.devices.map((device) => ({ household, device })),
  );
  const of = Math.max(1, Math.ceil(lines.length / devicesAPage));
  const common = commonPart(snapshot, hide);
  return {
    nearest: (wanted: number) => Math.min(of, Math.max(1, Math.floor(wanted) || 1)),
    page(number: number): StatusDocument {
      const onPage = new Map<Household, Device[]>();
      for (const { household, device } of lines.slice((number - 1) * devicesAPage, number * devicesAPage)) {
        const shown = onPage.get(household) ?? [];
        onPage.set(household, device ? [...shown, device] : shown);
      }
      const properties = [...onPage].map(([household, shown]) => shownProperty(household, shown, snapshot));
      return { ...common, page: { number, of }, properties };
    },
  };
}

/** What is the same on all pages. */
function commonPart(
  snapshot: StatusSnapshot,
  hide: (text: string) => string,
): Omit<StatusDocument, 'page' | 'properties'> {
  const { startedAt, status, reason, readiness, polls, progress, isWhole, incidents } = snapshot;
  const words = (text: string | null) => (text === null ? null : hide(text));
  const half = ({ status: stage, reason: why, workedAt }: ComponentStatus) => ({
    status: stage,
    reason: words(why),
    workedAt,
  });
  return {
    version,
    startedAt,
    headline: headlineOf(headlineFacts(snapshot)),
    health: { status, reason: words(reason) },
    cloud: half(readiness.cloud),
    broker: half(readiness.broker),
    isLoading: readiness.cloud.status !== 'down' && polls.some(({ isPending }) => isPending),
    isWhole,
    emptiness: words(snapshot.emptiness),
    valves: countValves(snapshot),
    incidents: {
      areKnown: isPresent(snapshot) && snapshot.areIncidentsKnown,
      readAt: snapshot.incidentsReadAt,
      inAll: incidents.length,
      newest: newestFirst(incidents)
        .slice(0, maxIncidents)
        .map((incident) => shownIncident(incident, snapshot)),
    },
    progress,
    polls: polls.map((poll) => ({ ...poll, failure: words(poll.failure) })),
  };
}

function headlineFacts(snapshot: StatusSnapshot): Parameters<typeof headlineOf>[0] {
  const { readiness, status: health, isWhole, sonics, signals, properties, polls } = snapshot;
  const isFresh = isPresent(snapshot);
  const valves = new Map(sonics.map((view) => [view.sonic.id, headlineValve(view, isFresh)]));
  const names = new Map([
    ...signals.map(({ signal }) => [signal.id, nameOf(signal)] as const),
    ...sonics.map(({ sonic }) => [sonic.id, nameOf(sonic)] as const),
  ]);
  const alerts = snapshot.incidents.flatMap((incident): PlacedAlert[] => {
    const valve = valves.get(incident.sonic_id ?? '') ?? null;
    const place = (valve ? names.get(incident.sonic_id ?? '') : names.get(incident.signal_id ?? '')) ?? null;
    return alertsOf([incident], shortened).map((alert) => ({ alert, place, valve }));
  });
  return {
    ...readiness,
    health,
    isLoading: readiness.cloud.status !== 'down' && polls.some(({ isPending }) => isPending),
    isWhole,
    valves: [...valves.values()],
    alerts,
    // One that names no device, or is at a hub of which nobody knows where it is, may be anywhere.
    areAlertsKnown:
      isFresh && snapshot.areIncidentsKnown && properties.every((view) => openCount(view) !== null),
    todayL: todayOf(sonics),
  };
}

function headlineValve(view: SonicView, isFresh: boolean): HeadlineValve {
  const { sonic, valve } = view;
  const doubt = doubtOf(view, isFresh);
  const isSure = doubt === null;
  return {
    name: nameOf(sonic),
    valve,
    isSure,
    isReachable: doubt !== 'unreachable',
    isTesting: isSure && sonic.valve_state === 'pressure_test',
    isFaulty: isSure && sonic.valve_state === 'faulty',
  };
}

/** Whether what was read is not too old: nothing is, before the cloud has failed. */
function isPresent({ readiness: { cloud } }: StatusSnapshot): boolean {
  return cloud.isWorking || cloud.status !== 'down';
}

/** By name, as people look for them; what is in no known property comes last. */
function householdsOf({ properties, signals, sonics }: StatusSnapshot): Household[] {
  const inside = new Map<string | null, Device[]>(properties.map(({ property }) => [property.id, []]));
  const unassigned: Device[] = [];
  for (const device of [...signals, ...sonics]) (inside.get(device.propertyId) ?? unassigned).push(device);
  const homes = properties
    .toSorted((one, other) => byName(nameOf(one.property), nameOf(other.property)))
    .map((view) => ({ view, devices: (inside.get(view.property.id) ?? []).toSorted(hubsFirst) }));
  return unassigned.length === 0
    ? homes
    : [...homes, { view: null, devices: unassigned.toSorted(hubsFirst) }];
}

/** An outage takes nothing back of what was known before it. */
function incidentsIn(view: PropertyView | null, snapshot: StatusSnapshot) {
  const { incidentsReadAt, readiness } = snapshot;
  if (view === null || incidentsReadAt === null) {
    return { openIncidents: null, areIncidentsKnown: false, incidentsReadAt: null };
  }
  return {
    openIncidents: view.incidents.length,
    areIncidentsKnown: isPresent(snapshot) && openCount(view) !== null,
    incidentsReadAt: readiness.cloud.status === 'down' ? incidentsReadAt : null,
  };
}

function hubsFirst(one: Device, other: Device): number {
  if (one.kind !== other.kind) return one.kind === 'signal' ? -1 : 1;
  return byName(deviceName(one), deviceName(other));
}

function shownProperty(
  { view, devices }: Household,
  shown: readonly Device[],
  snapshot: StatusSnapshot,
): ShownProperty {
  const isFresh = isPresent(snapshot);
  const sonics = devices.filter(isSonic);
  const shownSonics = shown.filter(isSonic);
  const usage = view
    ? [usageOf(null, sonics)]
    : // What is in no known property has no water in common.
      shownSonics.map((each) => usageOf(nameOf(each.sonic), [each]));
  return {
    name: view && nameOf(view.property),
    ...incidentsIn(view, snapshot),
    hubs: shown.flatMap((device) => (isSonic(device) ? [] : shownHub(device, isFresh))),
    sonics: shownSonics.map((each) => shownSonic(each, isFresh, snapshot.readAt)),
    hubsInAll: devices.length - sonics.length,
    sonicsInAll: sonics.length,
    usage: usage.filter((each) => each !== null),
  };
}

function isSonic(device: Device): device is SonicView {
  return device.kind === 'sonic';
}

function shownHub({ signal, isStale }: SignalView, isFresh: boolean): ShownHub {
  return {
    name: nameOf(signal),
    isConnected: isStale || !isFresh ? null : isConnected(signal.cloud_connection),
  };
}

function shownSonic(view: SonicView, isFresh: boolean, readAt: StatusSnapshot['readAt']): ShownSonic {
  const { sonic, valve, telemetry } = view;
  const doubt = doubtOf(view, isFresh);
  const measured = telemetry && doubt === null ? measurementOf(telemetry) : null;
  return {
    name: nameOf(sonic),
    valve,
    word: valveShown(sonic.valve_state, null) === null ? shortened(sonic.valve_state) : null,
    doubt,
    readAt: doubt === 'old' ? readAt(sonic.id) : null,
    battery: batteryOption(sonic.battery),
    flowLMin: measured?.flowLMin ?? null,
    pressureBar: measured?.pressureBar ?? null,
    temperatureC: measured?.waterTemperatureC ?? null,
  };
}

function doubtOf(view: SonicView, isFresh: boolean): ShownSonic['doubt'] {
  if (!isFresh || view.isStale) return 'old';
  const isReachable = isSonicReachable(view);
  if (isReachable === undefined) return 'unsure';
  return isReachable ? null : 'unreachable';
}

function countValves(snapshot: StatusSnapshot): StatusDocument['valves'] {
  const counts = { open: 0, opening: 0, closing: 0, closed: 0, unknown: 0 };
  for (const view of snapshot.sonics) {
    const isSure = doubtOf(view, isPresent(snapshot)) === null;
    counts[(isSure && view.valve) || 'unknown'] += 1;
  }
  return counts;
}

function shownIncident(incident: Incident, snapshot: StatusSnapshot): ShownIncident {
  const { sonics, signals, properties } = snapshot;
  const { sonic_id: sonicId, signal_id: signalId, severity, detected_at: since, type } = incident;
  const sonic = sonics.find((view) => view.sonic.id === sonicId);
  const signal = signals.find((view) => view.signal.id === signalId);
  const propertyId = (sonic ?? signal)?.propertyId;
  const property = properties.find((view) => view.property.id === propertyId)?.property;
  return {
    name: incidentName(incident),
    type: shortened(type),
    severity: shortened(severity),
    property: property ? nameOf(property) : null,
    device: sonic ? nameOf(sonic.sonic) : signal ? nameOf(signal.signal) : null,
    since: shortened(since),
  };
}

function deviceName(device: Device): string {
  return nameOf(isSonic(device) ? device.sonic : device.signal);
}

function nameOf(record: { readonly name: string | null } | undefined): string {
  return shortened(record?.name?.trim() ?? null) ?? '';
}

function shortened(text: string | null): string | null {
  return text !== null && text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text;
}

const order = new Intl.Collator('en', { numeric: true });

function byName(one: string, other: string): number {
  return order.compare(one, other);
}
