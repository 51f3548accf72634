import { version } from '../base/version.ts';
import type { ComponentStatus } from '../health/readiness.ts';
import type { StatusSnapshot } from '../health/snapshots.ts';
import {
  cloudLinkOf,
  isSonicReachable,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { idKey } from '../model/ids.ts';
import { openCount } from '../model/incidents.ts';
import { batteryOption } from '../model/power.ts';
import type { Incident, Signal, Sonic } from '../model/records.ts';
import { measurementOf } from '../model/telemetry.ts';
import { type Valve, valveShown } from '../model/valve.ts';
import { failureKind } from '../model/valveCommand.ts';
import { type Alert, alertsOf, byUrgency } from './alerts.ts';
import type { FlowDay, FlowHistory } from './flowHistory.ts';
import { type DeviceTitle, type Headline, type HeadlineValve, headlineOf } from './headline.ts';
import type { TextKey } from './texts.ts';
import { type ShownUsage, todayOf, usageOf } from './usage.ts';

/** Hubs and sonics: more is not read by anybody at once, the rest is on other pages. */
export const devicesAPage = 100;

/** More alerts of a device are counted and not named. */
const maxAlerts = 5;

/** Names are of any length in the cloud. */
const maxNameLength = 120;

/** Open incidents of one device, of a property, or of no device that is known. */
interface WithAlerts {
  /** The most urgent ones. */
  readonly alerts: readonly Alert[];
  readonly alertsInAll: number;
}

/** A valve, and what is measured beside it. Null where it is unknown. */
export interface ShownSonic extends WithAlerts {
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
  /** A command that failed; null without one. */
  readonly failed: ShownFailure | null;
  readonly battery: string | null;
  readonly flowLMin: number | null;
  readonly pressureBar: number | null;
  readonly temperatureC: number | null;
  readonly todayL: number | null;
  /** The flow of the last day; null where none was measured. */
  readonly flowDay: FlowDay | null;
}

/** A failed command: the texts of its sentence and of its details, and what stands in their gaps. */
export interface ShownFailure {
  readonly text: TextKey;
  readonly details: TextKey;
  /** When it was sent, in ms. */
  readonly at: number;
  /** How long the valve was read in vain, in s. */
  readonly count: number | null;
}

export interface ShownHub extends WithAlerts {
  readonly name: string;
  readonly isConnected: boolean | null;
}

/** The parts of a property that can have alerts. */
const alertSections = ['alerts', 'sonics', 'hubs'] as const;

/** What is in a property; or in none that is known. Its own alerts are those that name no device in it. */
export interface ShownProperty extends WithAlerts {
  /** Null: in none that is known. */
  readonly name: string | null;
  /** Whether no other alert is open in it. */
  readonly areAlertsKnown: boolean;
  /** The part with the most urgent alert first. */
  readonly sections: readonly (typeof alertSections)[number][];
  /** Those on this page. */
  readonly hubs: readonly ShownHub[];
  readonly sonics: readonly ShownSonic[];
  /** Those on all pages. */
  readonly hubsInAll: number;
  readonly sonicsInAll: number;
  /** Of all sonics in it together; where the property is not known, of each by itself. */
  readonly usage: readonly ShownUsage[];
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
  };
  /** Those of no device and no property that is known. `isFirst`: none that has a place is more urgent. */
  readonly unplaced: WithAlerts & { readonly isFirst: boolean };
  readonly page: {
    readonly number: number;
    readonly of: number;
    /** What was searched for; empty for all. */
    readonly query: string;
    /** How many hubs and sonics were found, and of how many. */
    readonly devices: number;
    readonly devicesInAll: number;
  };
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

type CloudDevice = SignalView | SonicView;

/** A property, or null for what is in none that is known, and what is in it, its hubs first. */
interface PropertyGroup {
  readonly view: PropertyView | null;
  readonly devices: readonly CloudDevice[];
}

/** What a browser asks for. */
export interface PageRequest {
  readonly number: number;
  /** A part of the name of a property, hub or sonic; empty for all. */
  readonly query: string;
}

/** Lays the status out on pages: the nearest that there is to a number, and what is on it. */
export function statusPages(
  snapshot: StatusSnapshot,
  flows: Pick<FlowHistory, 'of'>,
  hide: (text: string) => string,
) {
  const ranks = rankDevices(snapshot);
  const all = householdsOf(snapshot, ranks).flatMap((household): Line[] =>
    // A property with nothing in it takes a line too.
    household.devices.length === 0
      ? [{ household, device: null }]
      : household.devices.map((device) => ({ household, device })),
  );
  const countDevices = (lines: readonly Line[]) => lines.filter(({ device }) => device !== null).length;
  const devicesInAll = countDevices(all);
  const devices = all.flatMap(({ device }) => device ?? []);
  const common = commonPart(snapshot, devices, hide);
  let last = { query: '', lines: all };
  // Only the last search is kept: strangers can search for anything.
  const find = (query: string) => {
    if (query === '') return all;
    if (query !== last.query) last = { query, lines: all.filter((line) => isNamed(line, query)) };
    return last.lines;
  };
  const pagesOf = (query: string) => Math.max(1, Math.ceil(find(query).length / devicesAPage));
  return {
    nearest: ({ number, query }: PageRequest): PageRequest => ({
      query,
      number: Math.min(pagesOf(query), Math.max(1, Math.floor(number) || 1)),
    }),
    page({ number, query }: PageRequest): StatusDocument {
      const lines = find(query);
      const onPage = new Map<PropertyGroup, CloudDevice[]>();
      for (const { household, device } of lines.slice((number - 1) * devicesAPage, number * devicesAPage)) {
        const shown = onPage.get(household) ?? [];
        onPage.set(household, device ? [...shown, device] : shown);
      }
      const properties = [...onPage].map(([household, shown]) =>
        shownProperty(household, shown, ranks, snapshot, flows),
      );
      const page = { number, of: pagesOf(query), query, devices: countDevices(lines), devicesInAll };
      return { ...common, page, properties };
    },
  };
}

interface Line {
  readonly household: PropertyGroup;
  readonly device: CloudDevice | null;
}

function isNamed({ household, device }: Line, query: string): boolean {
  const names = [household.view && displayName(household.view.property), device && deviceName(device)];
  const wanted = query.toLowerCase();
  return names.some((name) => name?.toLowerCase().includes(wanted));
}

/** What is the same on all pages. The devices come in the order of the pages. */
function commonPart(
  snapshot: StatusSnapshot,
  devices: readonly CloudDevice[],
  hide: (text: string) => string,
): Omit<StatusDocument, 'page' | 'properties'> {
  const { startedAt, status, reason, readiness, polls, progress, isWhole, incidents } = snapshot;
  const hidden = (message: string | null) => (message === null ? null : hide(message));
  const half = ({ status: stage, reason: why, workedAt }: ComponentStatus) => ({
    status: stage,
    reason: hidden(why),
    workedAt,
  });
  return {
    version,
    startedAt,
    headline: headlineOf(headlineFacts(snapshot, devices)),
    health: { status, reason: hidden(reason) },
    cloud: half(readiness.cloud),
    broker: half(readiness.broker),
    isLoading: readiness.cloud.status !== 'down' && polls.some(({ isPending }) => isPending),
    isWhole,
    emptiness: hidden(snapshot.emptiness),
    valves: countValves(snapshot),
    incidents: {
      areKnown: isPresent(snapshot) && snapshot.areIncidentsKnown,
      readAt: snapshot.incidentsReadAt,
      inAll: incidents.length,
    },
    unplaced: unplacedAlerts(snapshot),
    progress,
    polls: polls.map((poll) => ({ ...poll, failure: hidden(poll.failure) })),
  };
}

function headlineFacts(
  snapshot: StatusSnapshot,
  devices: readonly CloudDevice[],
): Parameters<typeof headlineOf>[0] {
  const { readiness, status: health, isWhole, signals, sonics, properties, polls } = snapshot;
  const isFresh = isPresent(snapshot);
  const placeOf = placesOf(devices, properties);
  const valves = new Map(sonics.map((view) => [view, headlineValve(view, placeOf(view), isFresh)]));
  const known = new Map([...signals, ...sonics].map((device) => [idKey(recordOf(device).id), device]));
  const homes = new Map(
    properties.flatMap(({ property, incidents }) =>
      incidents.map(({ id }) => [id, { name: displayName(property), property: null }]),
    ),
  );
  const positions = new Map(devices.map((device, index) => [device, index]));
  const found = snapshot.incidents.flatMap((incident) => {
    const [sonic, signal] = [incident.sonic_id, incident.signal_id].map((id) => known.get(idKey(id ?? '')));
    const device = sonic && isSonic(sonic) ? sonic : signal;
    const place = device ? placeOf(device) : (homes.get(incident.id) ?? null);
    const valve = (device && isSonic(device) && valves.get(device)) || null;
    const position = (device && positions.get(device)) ?? -1;
    return alertsOf([incident], shortenedName).map((alert) => ({ alert, place, valve, position }));
  });
  return {
    ...readiness,
    health,
    isLoading: readiness.cloud.status !== 'down' && polls.some(({ isPending }) => isPending),
    isWhole,
    valves: [...valves.values()],
    // Of those that are as urgent, the headline names the one that the page shows first.
    alerts: found.toSorted((one, other) => one.position - other.position),
    // One that names no device, or is at a hub whose property is unknown, may be anywhere.
    areAlertsKnown:
      isFresh && snapshot.areIncidentsKnown && properties.every((view) => openCount(view) !== null),
    todayL: todayOf(sonics),
  };
}

/** What a device is called: with its property if another one has the same name. */
function placesOf(
  devices: readonly CloudDevice[],
  properties: readonly PropertyView[],
): (device: CloudDevice) => DeviceTitle {
  const homes = new Map(properties.map(({ property }) => [property.id, displayName(property)]));
  const counts = new Map<string, number>();
  for (const name of devices.map(deviceName)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return (device) => {
    const name = deviceName(device);
    const isTwin = (counts.get(name) ?? 0) > 1;
    return { name, property: (isTwin && homes.get(device.propertyId ?? '')) || null };
  };
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

/** Whether what was read is the present: not in an outage, of which the headline says that the water is not known. */
function isPresent({ readiness: { cloud } }: StatusSnapshot): boolean {
  return cloud.status !== 'down';
}

/** What has a problem first, then by name; what is in no known property comes after those that are as well. */
function householdsOf({ properties, signals, sonics }: StatusSnapshot, ranks: Ranks): PropertyGroup[] {
  const inside = new Map<string | null, CloudDevice[]>(properties.map(({ property }) => [property.id, []]));
  const unassigned: CloudDevice[] = [];
  for (const device of [...signals, ...sonics]) (inside.get(device.propertyId) ?? unassigned).push(device);
  const inOrder = (one: CloudDevice, other: CloudDevice) =>
    compareRanks(ranks.get(one), ranks.get(other)) ||
    Number(isSonic(other)) - Number(isSonic(one)) ||
    byName(deviceName(one), deviceName(other));
  const homes = properties.map((view): PropertyGroup => {
    return { view, devices: (inside.get(view.property.id) ?? []).toSorted(inOrder) };
  });
  if (unassigned.length > 0) homes.push({ view: null, devices: unassigned.toSorted(inOrder) });
  const sorted = homes.map((home) => {
    const own = home.view ? rankOf(home.view.incidents) : fine;
    const worst = home.devices[0] && ranks.get(home.devices[0]);
    const rank = compareRanks(worst, own) < 0 ? worst : own;
    return { home, rank, name: home.view && displayName(home.view.property) };
  });
  sorted.sort(
    (one, other) =>
      compareRanks(one.rank, other.rank) ||
      Number(one.name === null) - Number(other.name === null) ||
      byName(one.name ?? '', other.name ?? ''),
  );
  return sorted.map(({ home }) => home);
}

/** How urgently somebody should look at something: the lowest grade first, then by the worst alert. */
interface Rank {
  readonly grade: number;
  readonly worst: Alert | null;
}

type Ranks = ReadonlyMap<CloudDevice, Rank>;
const grades = { alarm: 0, warning: 1, notice: 3 } as const;
const troubledRank: Rank = { grade: 2, worst: null };
const fine: Rank = { grade: 4, worst: null };

function rankDevices(snapshot: StatusSnapshot): Ranks {
  const isFresh = isPresent(snapshot);
  const isTroubled = (device: CloudDevice) =>
    isSonic(device)
      ? device.valve === null || doubtOf(device, true) !== null || device.valveRecord.failed !== null
      : device.isStale || cloudLinkOf(device) !== true;
  return new Map(
    [...snapshot.signals, ...snapshot.sonics].map((device) => {
      const rank = rankOf(device.incidents);
      // In an outage everything is old, which is no reason to look at one before another.
      const isWorse = isFresh && isTroubled(device) && compareRanks(troubledRank, rank) < 0;
      return [device, isWorse ? troubledRank : rank];
    }),
  );
}

function rankOf(incidents: readonly Incident[]): Rank {
  const [worst] = alertsOf(incidents, shortenedName);
  return worst ? { grade: grades[worst.urgency], worst } : fine;
}

function compareRanks(one: Rank = fine, other: Rank = fine): number {
  return one.grade - other.grade || (one.worst && other.worst ? byUrgency(one.worst, other.worst) : 0);
}

/** The most urgent alerts, and how many there are. */
function withAlerts(incidents: readonly Incident[]): WithAlerts {
  return { alerts: alertsOf(incidents, shortenedName).slice(0, maxAlerts), alertsInAll: incidents.length };
}

/** What neither a device nor a property shows. */
function unplacedAlerts(snapshot: StatusSnapshot): StatusDocument['unplaced'] {
  const { incidents, properties, signals, sonics } = snapshot;
  const placed = idsOf([...properties, ...signals, ...sonics]);
  const here = incidents.filter(({ id }) => !placed.has(id));
  const elsewhere = incidents.filter(({ id }) => placed.has(id));
  return { ...withAlerts(here), isFirst: compareRanks(rankOf(here), rankOf(elsewhere)) <= 0 };
}

function idsOf(views: readonly (PropertyView | CloudDevice)[]): Set<string> {
  return new Set(views.flatMap(({ incidents }) => incidents.map(({ id }) => id)));
}

function shownProperty(
  { view, devices }: PropertyGroup,
  shown: readonly CloudDevice[],
  ranks: Ranks,
  snapshot: StatusSnapshot,
  flows: Pick<FlowHistory, 'of'>,
): ShownProperty {
  const isFresh = isPresent(snapshot);
  const sonics = devices.filter(isSonic);
  const shownSonics = shown.filter(isSonic);
  const usage = view
    ? [usageOf(null, sonics, isFresh)]
    : // What is in no known property has no water in common.
      shownSonics.map((each) => usageOf(displayName(each.sonic), [each], isFresh));
  const placed = idsOf(devices);
  const own = view ? view.incidents.filter(({ id }) => !placed.has(id)) : [];
  const rankOfFirst = ([first]: readonly CloudDevice[]) => first && ranks.get(first);
  const worst = {
    alerts: rankOf(own),
    sonics: rankOfFirst(shownSonics),
    hubs: rankOfFirst(shown.filter((device) => !isSonic(device))),
  };
  return {
    name: view && displayName(view.property),
    ...withAlerts(own),
    areAlertsKnown: isFresh && (view ? openCount(view) !== null : snapshot.areIncidentsKnown),
    sections: alertSections.toSorted((one, other) => compareRanks(worst[one], worst[other])),
    hubs: shown.flatMap((device) => (isSonic(device) ? [] : shownHub(device, isFresh))),
    sonics: shownSonics.map((each) => shownSonic(each, isFresh, snapshot.readAt, flows)),
    hubsInAll: devices.length - sonics.length,
    sonicsInAll: sonics.length,
    usage: usage.filter((each) => each !== null),
  };
}

function isSonic(device: CloudDevice): device is SonicView {
  return device.kind === 'sonic';
}

function shownHub(view: SignalView, isFresh: boolean): ShownHub {
  return {
    name: displayName(view.signal),
    ...withAlerts(view.incidents),
    isConnected: isFresh ? cloudLinkOf(view) : null,
  };
}

function shownSonic(
  view: SonicView,
  isFresh: boolean,
  readAt: StatusSnapshot['readAt'],
  flows: Pick<FlowHistory, 'of'>,
): ShownSonic {
  const { sonic, valve, telemetry, usage, incidents } = view;
  const doubt = doubtOf(view, isFresh);
  const measured = telemetry && doubt === null ? measurementOf(telemetry) : null;
  return {
    name: displayName(sonic),
    ...withAlerts(incidents),
    valve,
    word: valveShown(sonic.valve_state, null) === null ? shortenedName(sonic.valve_state) : null,
    doubt,
    readAt: doubt === 'old' ? readAt(sonic.id) : null,
    failed: failureOf(view),
    battery: batteryOption(sonic.battery),
    flowLMin: measured?.flowLMin ?? null,
    pressureBar: measured?.pressureBar ?? null,
    temperatureC: measured?.waterTemperatureC ?? null,
    todayL: isFresh ? (usage?.todayL ?? null) : null,
    flowDay: flows.of(sonic.id),
  };
}

function failureOf({ valveRecord: { failed } }: SonicView): ShownFailure | null {
  return (
    failed && {
      text: `${failureKind(failed)}_${failed.action}`,
      details: failed.waited_s === null ? 'command_asked_at' : 'command_waited',
      at: Date.parse(failed.asked_at),
      count: failed.waited_s,
    }
  );
}

function doubtOf(view: SonicView, isFresh: boolean): ShownSonic['doubt'] {
  if (!isFresh || view.isStale) return 'old';
  if (isSonicReachable(view)) return null;
  // Its own link may be all right.
  return isSonicReachable({ ...view, isSignalReachable: view.isSignalReachable ?? true })
    ? 'unsure'
    : 'unreachable';
}

function countValves(snapshot: StatusSnapshot): StatusDocument['valves'] {
  const counts = { open: 0, opening: 0, closing: 0, closed: 0, unknown: 0 };
  for (const view of snapshot.sonics) {
    const isSure = doubtOf(view, isPresent(snapshot)) === null;
    counts[(isSure && view.valve) || 'unknown'] += 1;
  }
  return counts;
}

function recordOf(device: CloudDevice): Sonic | Signal {
  return isSonic(device) ? device.sonic : device.signal;
}

function deviceName(device: CloudDevice): string {
  return displayName(recordOf(device));
}

function displayName(record: { readonly name: string | null } | undefined): string {
  return shortenedName(record?.name?.trim() ?? null) ?? '';
}

function shortenedName(text: string | null): string | null {
  return text !== null && text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text;
}

const order = new Intl.Collator('en', { numeric: true });

function byName(one: string, other: string): number {
  return order.compare(one, other);
}
