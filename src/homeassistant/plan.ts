import { hasEntity, type Offers, type TextRow } from '../entities/row.ts';
import {
  type DeviceKind,
  type DeviceView,
  isSignalReachable,
  isSonicReachable,
  type SonicView,
} from '../model/devices.ts';
import {
  highestSeverity,
  newestByType,
  newestFirst,
  openCount,
  type WithIncidents,
} from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import { measurementOf } from '../model/telemetry.ts';
import type { Usage } from '../model/usage.ts';
import { type Announcement, announcementOf } from './announcement.ts';
import { allRowsOf, lastResetKey, longestState, shortened, statesPath, viewId } from './discovery.ts';
import type { Topics } from './topics.ts';

/** A retained message that is wanted on the broker; an empty payload is no message. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
}

/** What the plan needs to know besides the device. */
export interface PlanContext {
  readonly topics: Topics;
  readonly offers: Offers;
  readonly version: string;
  readonly isDiscoveryOn: boolean;
}

/** Everything that a device should have retained. */
export interface DevicePlan {
  /** Null when Home Assistant is switched off. */
  readonly discovery: { readonly topic: string; readonly announcement: Announcement } | null;
  /** Availability first, so that a state never shows for a device that is away. */
  readonly messages: readonly Message[];
  /** Topics of which it is not known yet whether they should have a message: what is there stays. */
  readonly undecided: readonly string[];
}

/** A property keeps at most so many open incidents in one message. */
const mostOpenIncidents = 50;

const paths: Readonly<Record<DeviceKind, readonly string[]>> = {
  bridge: [statesPath],
  property: ['', 'settings', 'notifications', 'incidents', statesPath],
  signal: ['', 'availability', 'incidents', statesPath],
  sonic: ['', 'availability', 'telemetry', 'usage', 'pressure_tests', 'incidents', statesPath],
};

/** The paths below a device of this kind at which messages may be retained; empty is its record. */
export function devicePaths(kind: DeviceKind): readonly string[] {
  return paths[kind];
}

/** The retained messages of a device, from nothing but what is known of it. */
export function planDevice(view: DeviceView, context: PlanContext): DevicePlan {
  const { topics, isDiscoveryOn } = context;
  const id = viewId(view);
  const below = (path: string, value: unknown): Message => ({
    topic: topics.below(view.kind, id, path),
    payload: typeof value === 'string' ? value : JSON.stringify(value),
  });
  const own = (value: unknown): Message => ({
    topic: topics.device(view.kind, id),
    payload: JSON.stringify(value),
  });
  const states = isDiscoveryOn ? [below(statesPath, entityStates(view, context))] : [];
  return {
    discovery: isDiscoveryOn
      ? {
          topic: topics.discovery(view.kind, id),
          announcement: announcementOf(view, topics, context.offers, context.version),
        }
      : null,
    messages: [...documents(view, below, own), ...states],
    undecided: undecidedPaths(view).map((path) => topics.below(view.kind, id, path)),
  };
}

function undecidedPaths(view: DeviceView): string[] {
  if (view.kind === 'sonic') {
    return [
      ...(view.telemetry === undefined ? ['telemetry'] : []),
      ...(view.usage === undefined ? ['usage'] : []),
      ...(view.pressureTests === undefined ? ['pressure_tests'] : []),
    ];
  }
  if (view.kind !== 'property') return [];
  return (['settings', 'notifications'] as const).filter((path) => view[path] === undefined);
}

type Below = (path: string, value: unknown) => Message;

function documents(view: DeviceView, below: Below, own: (value: unknown) => Message): Message[] {
  switch (view.kind) {
    case 'bridge':
      return [];
    case 'property':
      return [
        own(view.property),
        ...(view.settings ? [below('settings', view.settings)] : []),
        ...(view.notifications ? [below('notifications', view.notifications)] : []),
        below('incidents', {
          open_count: openCount(view),
          highest_severity: highestSeverity(view.incidents),
          open: newestFirst(view.incidents).slice(0, mostOpenIncidents),
        }),
      ];
    case 'signal':
      return [
        below('availability', isSignalReachable(view.signal) && !view.isUnread ? 'online' : 'offline'),
        own({ ...view.signal, property_id: view.propertyId }),
        below('incidents', openByType(view)),
      ];
    case 'sonic':
      return [
        below('availability', isSonicReachable(view) ? 'online' : 'offline'),
        own({ ...view.sonic, property_id: view.propertyId, valve: view.valve }),
        ...(view.telemetry ? [below('telemetry', telemetryShown(view.telemetry))] : []),
        ...(view.usage ? [below('usage', usageShown(view.usage))] : []),
        ...pressureTestsShown(view).map((shown) => below('pressure_tests', shown)),
        below('incidents', openByType(view)),
      ];
  }
}

function openByType(view: WithIncidents) {
  return { open_count: openCount(view), open: newestByType(view.incidents) };
}

function telemetryShown(telemetry: Parameters<typeof measurementOf>[0]) {
  const measurement = measurementOf(telemetry);
  return {
    flow_l_min: measurement.flowLMin,
    pressure_bar: measurement.pressureBar,
    water_temperature_c: measurement.waterTemperatureC,
    probed_at: measurement.probedAt,
  };
}

function usageShown(usage: Usage) {
  return {
    today: usage.todayL,
    yesterday: usage.yesterdayL,
    month: usage.monthL,
    total: usage.totalL,
    last_reset: usage.lastReset,
    days: usage.days,
    updated_at: usage.updatedAt,
  };
}

/** Where the cloud tells of no tests, one that was started here is still worth a message. */
function pressureTestsShown({ pressureTests: tests, pressureTestJobId }: SonicView) {
  if (tests === undefined || (tests === null && pressureTestJobId === null)) return [];
  const { lastDay = null, todayCount = null, days = {} } = tests ?? {};
  return [{ last_day: lastDay, today_count: todayCount, days, job_id: pressureTestJobId }];
}

/**
 * The states of a device's entities by key, in the words that Home Assistant takes; null is unknown. Those that the
 * device does not have are there too: Home Assistant warns of a missing key until it has withdrawn its entity.
 */
export function entityStates(
  view: DeviceView,
  { offers }: Pick<PlanContext, 'offers'>,
): Record<string, unknown> {
  const states: Record<string, unknown> = {};
  for (const row of allRowsOf(view)) {
    const isThere = hasEntity(row, view, offers);
    if (row.component === 'text') states[row.key] = isThere ? shownText(row, view) : '';
    else if ('value' in row) states[row.key] = isThere ? stateWord(row.value(view)) : null;
    // Home Assistant skips an empty one, and warns of any other word that is no time.
    if ('lastReset' in row) states[lastResetKey] = (isThere && row.lastReset?.(view)) || '';
  }
  return states;
}

function stateWord(value: string | number | boolean | null): string | number | null {
  if (typeof value === 'boolean') return value ? 'ON' : 'OFF';
  return typeof value === 'string' ? shortened(value, longestState) || null : value;
}

/** A text has no word for unknown, and Home Assistant fails on one that its pattern does not take. */
function shownText<View>({ pattern, value }: TextRow<View>, view: View): string {
  const text = shortened(value(view) ?? '', longestState);
  return pattern === undefined || new RegExp(pattern, 'u').test(text) ? text : '';
}

/** The retained message of an open incident. */
export function planIncident(incident: Incident, topics: Topics): Message {
  return { topic: topics.incident(incident.id), payload: JSON.stringify(incident) };
}
