import { version } from '../base/version.ts';
import { type Alert, alertsOf, byUrgency, shortenedName } from '../entities/alerts.ts';
import { type HeadlineValve, headlineOf, leakAdvice } from '../entities/headline.ts';
import {
  areAlertsRead,
  type CloudDevice,
  deviceName,
  displayName,
  doubtOf,
  headlineFacts,
  headlineValve,
  isPresent,
  isSonic,
  pauseOf,
} from '../entities/headlineFacts.ts';
import type { StatusSnapshot } from '../health/snapshots.ts';
import {
  type BridgeFacts,
  cloudLinkOf,
  type PropertyView,
  type Side,
  type SignalView,
  type SonicView,
  valveSeen,
} from '../model/devices.ts';
import { batteryOption } from '../model/power.ts';
import type { Incident } from '../model/records.ts';
import { measurementOf } from '../model/telemetry.ts';
import { valveShown } from '../model/valve.ts';
import type { Sentence } from '../texts/texts.ts';
import { usageOf } from './usage.ts';

/** How many hubs and sonics are on one page. More would be too much to read. */
export const devicesAPage = 100;

/** How many alerts of a device are named. Further ones are only counted. */
const maxAlerts = 5;

/** The parts of a property on the page. */
const alertSections = ['alerts', 'sonics', 'hubs'] as const;

/** A property with its devices in the order of the page. The view is null for devices in no known property. */
interface PropertyGroup {
  readonly view: PropertyView | null;
  readonly devices: readonly CloudDevice[];
}

/** `nearest` finds the existing page nearest to a request, and `page` makes its document. */
export function statusPages(snapshot: StatusSnapshot, hide: (text: string) => string) {
  const ranks = rankDevices(snapshot);
  const all = groupsOf(snapshot, ranks).flatMap((group): Line[] =>
    // A property without devices also takes a line.
    group.devices.length === 0
      ? [{ group, device: null }]
      : group.devices.map((device) => ({ group, device })),
  );
  const devices = all.flatMap(({ device }) => device ?? []);
  const common = commonPart(snapshot, devices, hide);
  const of = Math.max(1, Math.ceil(all.length / devicesAPage));
  return {
    nearest: (number: number) => Math.min(of, Math.max(1, Math.floor(number) || 1)),
    /** Anyone who can open the port can see it, so it has no address, e-mail, id or serial number. */
    page(number: number) {
      const onPage = new Map<PropertyGroup, CloudDevice[]>();
      for (const { group, device } of all.slice((number - 1) * devicesAPage, number * devicesAPage)) {
        const shown = onPage.get(group) ?? [];
        onPage.set(group, device ? [...shown, device] : shown);
      }
      const properties = [...onPage].map(([group, shown]) => shownProperty(group, shown, ranks, snapshot));
      return { ...common, page: { number, of }, properties };
    },
  };
}

interface Line {
  readonly group: PropertyGroup;
  readonly device: CloudDevice | null;
}

/** The part of the document that is the same on all pages. `devices` are in the order of the pages. */
function commonPart(
  snapshot: StatusSnapshot,
  devices: readonly CloudDevice[],
  hide: (text: string) => string,
) {
  const { startedAt, reason, readiness, polls, progress } = snapshot;
  const facts = factsOf(snapshot);
  const hidden = (message: string | null) => (message === null ? null : hide(message));
  // It last worked at `workedAt`, in ms since 1970; null if it works now, or has never worked.
  const half = ({ status: stage, reason: why, workedAt }: Side) => ({
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
    isComplete: facts.isComplete,
    isWatchOnly: facts.isWatchOnly,
    // Why there is nothing to show, for people; null if there is something, or if the reason is not known.
    emptiness: hidden(snapshot.emptiness),
    unplaced: unplacedAlerts(snapshot),
    progress,
    polls: polls.map((poll) => ({ ...poll, failure: hidden(poll.failure) })),
  };
}

function factsOf(snapshot: StatusSnapshot): BridgeFacts {
  const { readiness, status: health, polls, isComplete, isWatchOnly } = snapshot;
  const isLoading = isPresent(readiness) && polls.some(({ isPending }) => isPending);
  return { ...readiness, health, isLoading, isComplete, isWatchOnly };
}

/** Sorts properties by urgency, then by name. Of equal urgency, the devices in no known property come last. */
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

/** A lower grade is more urgent, and equal grades are ordered by the worst alert. */
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
      ? valveSeen(device) === null || doubtOf(device, true) !== null || device.valveRecord.failed !== null
      : cloudLinkOf(device) !== true;
  return new Map(
    [...snapshot.signals, ...snapshot.sonics].map((device) => {
      const rank = rankOf(device.incidents);
      // In an outage everything is old, so that makes no device more urgent than another.
      const isWorse = isFresh && isTroubled(device) && compareRanks(troubledRank, rank) < 0;
      return [device, isWorse ? troubledRank : rank];
    }),
  );
}

function rankOf(incidents: readonly Incident[]): Rank {
  const [worst] = alertsOf(incidents);
  return worst ? { grade: grades[worst.urgency], worst } : fine;
}

function compareRanks(one: Rank = fine, other: Rank = fine): number {
  return one.grade - other.grade || (one.worst && other.worst ? byUrgency(one.worst, other.worst) : 0);
}

/** The open incidents of a device, of a property, or of no known device, and what to do. `own` is null unless it is a valve. */
function withAlerts(incidents: readonly Incident[], own: HeadlineValve | null, bridge: BridgeFacts) {
  const adviceOf = ({ name, type }: Alert) => {
    if (type === 'water_presence_detected') return leakAdvice(own, bridge);
    return `advice_${name === null ? 'other' : type}`;
  };
  const alerts = alertsOf(incidents).slice(0, maxAlerts);
  return {
    alerts: alerts.map((alert) => ({ ...alert, advice: adviceOf(alert) })),
    alertsInAll: incidents.length,
  };
}

/** Alerts of no known device and no known property. `isFirst` says that no other alert is more urgent. */
function unplacedAlerts(snapshot: StatusSnapshot) {
  const { incidents, properties, signals, sonics } = snapshot;
  const placed = idsOf([...properties, ...signals, ...sonics]);
  const here = incidents.filter(({ id }) => !placed.has(id));
  const elsewhere = incidents.filter(({ id }) => placed.has(id));
  return {
    ...withAlerts(here, null, factsOf(snapshot)),
    isFirst: compareRanks(rankOf(here), rankOf(elsewhere)) <= 0,
  };
}

function idsOf(views: readonly (PropertyView | CloudDevice)[]): Set<string> {
  return new Set(views.flatMap(({ incidents }) => incidents.map(({ id }) => id)));
}

/** Its own alerts are those that name none of its devices. The name is null for devices in no known property. */
function shownProperty(
  { view, devices }: PropertyGroup,
  shown: readonly CloudDevice[],
  ranks: Ranks,
  snapshot: StatusSnapshot,
) {
  const bridge = factsOf(snapshot);
  const isFresh = isPresent(bridge);
  const sonics = devices.filter(isSonic);
  const shownSonics = shown.filter(isSonic);
  const usage = view
    ? [usageOf(null, sonics, isFresh)]
    : // Devices in no known property have no usage in common.
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
    ...withAlerts(own, null, bridge),
    // Whether its shown alerts are complete, as far as valves can report any.
    areAlertsFresh: isFresh && (view ? areAlertsRead(view) : snapshot.areIncidentsFresh),
    // Whether the automatic shut-off is on, off or paused; null if that is not known.
    shutOff: isFresh && view ? shutOffOf(view) : null,
    // In the order of their most urgent alerts.
    sections: alertSections.toSorted((one, other) => compareRanks(worst[one], worst[other])),
    hubs: shown.flatMap((device) => (isSonic(device) ? [] : shownHub(device, bridge))),
    sonics: shownSonics.map((each) => shownSonic(each, bridge, snapshot.readAt)),
    hubsInAll: devices.length - sonics.length,
    sonicsInAll: sonics.length,
    usage: usage.filter((each) => each !== null),
  };
}

function shutOffOf(view: PropertyView): Sentence | null {
  const isOn = view.settings?.auto_shut_off ?? null;
  return pauseOf(view) ?? (isOn === null ? null : { text: isOn ? 'shut_off_on' : 'shut_off_off' });
}

/** `checked`: only one reading says that it is offline. */
function shownHub(view: SignalView, bridge: BridgeFacts) {
  const isFresh = isPresent(bridge);
  const isConnected = isFresh ? cloudLinkOf(view) : null;
  const known = isConnected === null ? 'unknown' : isConnected ? 'connected' : 'disconnected';
  const link = isFresh && view.isChecked ? 'checked' : known;
  return { name: displayName(view.signal), ...withAlerts(view.incidents, null, bridge), link };
}

/** A valve with its measurements. A value is null if it is not known. Times are ms since 1970. */
function shownSonic(view: SonicView, bridge: BridgeFacts, readAt: StatusSnapshot['readAt']) {
  const { sonic, telemetry, usage, incidents, valveRecord } = view;
  const isFresh = isPresent(bridge);
  const own = headlineValve(view, { name: displayName(sonic), property: null }, isFresh);
  const { name, valve, doubt, offlineHub, failed } = own;
  const { at, by } = valveRecord.movement ?? { at: null, by: null };
  const measured = telemetry && doubt === null ? measurementOf(telemetry) : null;
  return {
    name,
    ...withAlerts(incidents, own, bridge),
    valve,
    word:
      valve === null || valveShown(sonic.valve_state, null) === null
        ? shortenedName(sonic.valve_state)
        : null,
    doubt,
    offlineHub,
    // Null if the shown state is not old.
    readAt: doubt === 'old' ? readAt(sonic.id) : null,
    failed,
    battery: batteryOption(sonic.battery),
    flowLMin: measured?.flowLMin ?? null,
    pressureBar: measured?.pressureBar ?? null,
    temperatureC: measured?.waterTemperatureC ?? null,
    todayL: isFresh ? (usage?.todayL ?? null) : null,
    // What brought the valve to its position, and when.
    moved:
      doubt === null && valve === valveRecord.movement?.valve && at && by ? { by, at: Date.parse(at) } : null,
  };
}

const order = new Intl.Collator('en', { numeric: true });

function byName(one: string, other: string): number {
  return order.compare(one, other);
}
