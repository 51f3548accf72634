import { newestFirst, typeOf } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import { incidentName } from './incidents.ts';

/** How urgent an alert is, the most urgent first. */
const urgencies = ['alarm', 'warning', 'notice'] as const;
export type Urgency = (typeof urgencies)[number];

/** An open incident as the page shows it, at the device that it names. */
export interface Alert {
  /** As Home Assistant has it; null for a type that is not known. */
  readonly name: string | null;
  /** The cloud's word. */
  readonly type: string | null;
  readonly urgency: Urgency;
  /** When it was detected, in ms; null if the cloud does not say. */
  readonly at: number | null;
}

/** Types during which water may be running out. The first comes first of those that are as urgent. */
const waterTypes: readonly (string | null)[] = [
  'water_presence_detected',
  'long_flow_alert',
  'high_volume_alert',
];

/** The severities that the cloud is known to use. */
const bySeverity: Readonly<Record<string, Urgency>> = { high: 'alarm', medium: 'warning', low: 'notice' };

/** A leak is an alarm whatever severity the cloud gives it. */
function urgencyOf(type: string | null, severity: string | null): Urgency {
  if (type === waterTypes[0]) return 'alarm';
  const isWater = waterTypes.includes(type);
  return (
    (Object.hasOwn(bySeverity, severity ?? '') && bySeverity[severity ?? '']) ||
    (isWater ? 'alarm' : 'warning')
  );
}

/** The most urgent first, water before everything else, then the newest. */
export function alertsOf(
  incidents: readonly Incident[],
  shorten: (text: string | null) => string | null,
): Alert[] {
  return newestFirst(incidents)
    .map((incident): Alert => {
      const at = Date.parse(incident.detected_at ?? '');
      const type = typeOf(incident) ?? incident.type;
      return {
        name: incidentName(incident),
        type: shorten(type),
        urgency: urgencyOf(type, incident.severity),
        at: Number.isNaN(at) ? null : at,
      };
    })
    .toSorted(byUrgency);
}

/** For sorting: the more urgent one first, water before everything else, then the newer one. */
export function byUrgency(one: Alert, other: Alert): number {
  return (
    urgencies.indexOf(one.urgency) - urgencies.indexOf(other.urgency) ||
    waterRank(one) - waterRank(other) ||
    (other.at ?? 0) - (one.at ?? 0)
  );
}

function waterRank({ type }: Alert): number {
  const rank = waterTypes.indexOf(type);
  return rank === -1 ? waterTypes.length : rank;
}
