import { version } from '../base/version.ts';
import { type Alert, alertsOf, byUrgency } from '../entities/alerts.ts';
import { type Headline, headlineOf, type ShownFailure } from '../entities/headline.ts';
import {
  type CloudDevice,
  type Doubt,
  deviceName,
  displayName,
  doubtOf,
  failureOf,
  headlineFacts,
  isPresent,
  isSonic,
  shortenedName,
} from '../entities/headlineFacts.ts';
import type { ComponentStatus } from '../health/readiness.ts';
import type { StatusSnapshot } from '../health/snapshots.ts';
import {
  type BridgeFacts,
  cloudLinkOf,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { openCount } from '../model/incidents.ts';
import { batteryOption } from '../model/power.ts';
import type { Incident } from '../model/records.ts';
import { measurementOf } from '../model/telemetry.ts';
import { type Valve, valveShown } from '../model/valve.ts';
import type { FlowDay, FlowHistory } from './flowHistory.ts';
import { type ShownUsage, usageOf } from './usage.ts';

/** Hubs and sonics on one page: more is too much to read. */
export const devicesAPage = 100;

/** More alerts of a device are counted and not named. */
const maxAlerts = 5;

/** Open incidents of one device, of a property, or of no device that is known. */
interface WithAlerts {
  /** The most urgent ones. */
  readonly alerts: readonly Alert[];
  readonly alertsInAll: number;
}

/** A valve, and what is measured beside it. Null where it is unknown. */
interface ShownSonic extends WithAlerts {
  /** Empty where it has none. */
  readonly name: string;
  /** What the valve is, or was when it was last known. */
  readonly valve: Valve | null;
  /** The cloud's own word where it names no position. */
  readonly word: string | null;
  readonly doubt: Doubt;
  /** The name of its hub if that is offline, which is why the valve is too; else null. */
  readonly offlineHub: string | null;
  /** When it was last read, in ms; null unless what is shown is old. */
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

/** A hub, and its open incidents. `isConnected` is null while it is unknown. */
interface ShownHub extends WithAlerts {
  readonly name: string;
  readonly isConnected: boolean | null;
}

/** The parts of a property that can have alerts. */
const alertSections = ['alerts', 'sonics', 'hubs'] as const;

/** What is in a property; or in none that is known. Its own alerts are those that name no device in it. */
interface ShownProperty extends WithAlerts {
  /** Null: in none that is known. */
  readonly name: string | null;
  /** Whether no other alert is open in it. */
  readonly areAlertsKnown: boolean;
  /** In the order of their most urgent alerts. */
  readonly sections: readonly (typeof alertSections)[number][];
  /** Hubs and sonics on this page. */
  readonly hubs: readonly ShownHub[];
  readonly sonics: readonly ShownSonic[];
  /** Their numbers on all pages. */
  readonly hubsInAll: number;
  readonly sonicsInAll: number;
  /** Of all sonics in it together; where the property is not known, of each by itself. */
  readonly usage: readonly ShownUsage[];
}

/** All that the page shows. Anyone who can open the port sees it, so it has no address, e-mail, id or serial number. */
interface StatusDocument {
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
  /** How many valves are in each position now. */
  readonly valves: Readonly<Record<Valve | 'unknown', number>>;
  readonly incidents: {
    /** Whether all open incidents are known. */
    readonly areKnown: boolean;
    /** When they were last read, in ms; null before the first reading. */
    readonly readAt: number | null;
    readonly inAll: number;
  };
  /** Alerts of no known device and no known property. `isFirst`: no alert with a place is more urgent. */
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

/** A property and its devices, in the order of the page; null for devices that are in no known property. */
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

/** Splits the status into pages. `nearest` finds the page that is nearest to a request, and `page` makes its document. */
export function statusPages(
  snapshot: StatusSnapshot,
  flows: Pick<FlowHistory, 'of'>,
  hide: (text: string) => string,
) {
  const ranks = rankDevices(snapshot);
  const all = groupsOf(snapshot, ranks).flatMap((group): Line[] =>
    // A property with nothing in it takes a line too.
    group.devices.length === 0
      ? [{ group, device: null }]
      : group.devices.map((device) => ({ group, device })),
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
      for (const { group, device } of lines.slice((number - 1) * devicesAPage, number * devicesAPage)) {
        const shown = onPage.get(group) ?? [];
        onPage.set(group, device ? [...shown, device] : shown);
      }
      const properties = [...onPage].map(([group, shown]) =>
        shownProperty(group, shown, ranks, snapshot, flows),
      );
      const page = { number, of: pagesOf(query), query, devices: countDevices(lines), devicesInAll };
      return { ...common, page, properties };
    },
  };
}

interface Line {
  readonly group: PropertyGroup;
  readonly device: CloudDevice | null;
}

function isNamed({ group, device }: Line, query: string): boolean {
  const names = [group.view && displayName(group.view.property), device && deviceName(device)];
  const wanted = query.toLowerCase();
  return names.some((name) => name?.toLowerCase().includes(wanted));
}

/** What is the same on all pages. The devices come in the order of the pages. */
function commonPart(
  snapshot: StatusSnapshot,
  devices: readonly CloudDevice[],
  hide: (text: string) => string,
): Omit<StatusDocument, 'page' | 'properties'> {
  const { startedAt, reason, readiness, polls, progress, incidents } = snapshot;
  const facts = factsOf(snapshot);
  const hidden = (message: string | null) => (message === null ? null : hide(message));
  const half = ({ status: stage, reason: why, workedAt }: ComponentStatus) => ({
    status: stage,
    reason: hidden(why),
    workedAt,
  });
  return {
    version,
    startedAt,
    headline: headlineOf(headlineFacts({ ...snapshot, ...facts }, devices)),
    health: { status: facts.health, reason: hidden(reason) },
    cloud: half(readiness.cloud),
    broker: half(readiness.broker),
    isLoading: facts.isLoading,
    isWhole: facts.isWhole,
    emptiness: hidden(snapshot.emptiness),
    valves: countValves(snapshot),
    incidents: {
      areKnown: isPresent(snapshot.readiness) && snapshot.areIncidentsKnown,
      readAt: snapshot.incidentsReadAt,
      inAll: incidents.length,
    },
    unplaced: unplacedAlerts(snapshot),
    progress,
    polls: polls.map((poll) => ({ ...poll, failure: hidden(poll.failure) })),
  };
}

function factsOf({ readiness, status: health, polls, isWhole }: StatusSnapshot): BridgeFacts {
  const isLoading = isPresent(readiness) && polls.some(({ isPending }) => isPending);
  return { ...readiness, health, isLoading, isWhole };
}

/** Properties with problems first, then by name; after equal ones comes what is in no known property. */
function groupsOf({ properties, signals, sonics }: StatusSnapshot, ranks: Ranks): PropertyGroup[] {
  const inside = new Map<string | null, CloudDevice[]>(properties.map(({ property }) => [property.id, []]));
  const unassigned: CloudDevice[] = [];
  for (const device of [...signals, ...sonics]) (inside.get(device.propertyId) ?? unassigned).push(device);
  const inOrder = (one: CloudDevice, other: CloudDevice) =>
    compareRanks(ranks.get(one), ranks.get(other)) ||
    Number(isSonic(other)) - Number(isSonic(one)) ||
    byName(deviceName(one), deviceName(other));
  const groups = properties.map((view): PropertyGroup => {
    return { view, devices: (inside.get(view.property.id) ?? []).toSorted(inOrder) };
  });
  if (unassigned.length > 0) groups.push({ view: null, devices: unassigned.toSorted(inOrder) });
  const sorted = groups.map((group) => {
    const own = group.view ? rankOf(group.view.incidents) : fine;
    const worst = group.devices[0] && ranks.get(group.devices[0]);
    const rank = compareRanks(worst, own) < 0 ? worst : own;
    return { group, rank, name: group.view && displayName(group.view.property) };
  });
  sorted.sort(
    (one, other) =>
      compareRanks(one.rank, other.rank) ||
      Number(one.name === null) - Number(other.name === null) ||
      byName(one.name ?? '', other.name ?? ''),
  );
  return sorted.map(({ group }) => group);
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
  const isFresh = isPresent(snapshot.readiness);
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
  const isFresh = isPresent(snapshot.readiness);
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
  const { sonic, signal, isSignalReachable, valve, telemetry, usage, incidents } = view;
  const doubt = doubtOf(view, isFresh);
  const measured = telemetry && doubt === null ? measurementOf(telemetry) : null;
  return {
    name: displayName(sonic),
    ...withAlerts(incidents),
    valve,
    word: valveShown(sonic.valve_state, null) === null ? shortenedName(sonic.valve_state) : null,
    doubt,
    offlineHub:
      doubt === 'unreachable' && isSignalReachable === false && typeof signal === 'object'
        ? displayName(signal)
        : null,
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

function countValves(snapshot: StatusSnapshot): StatusDocument['valves'] {
  const counts = { open: 0, opening: 0, closing: 0, closed: 0, unknown: 0 };
  for (const view of snapshot.sonics) {
    const isSure = doubtOf(view, isPresent(snapshot.readiness)) === null;
    counts[(isSure && view.valve) || 'unknown'] += 1;
  }
  return counts;
}

const order = new Intl.Collator('en', { numeric: true });

function byName(one: string, other: string): number {
  return order.compare(one, other);
}
