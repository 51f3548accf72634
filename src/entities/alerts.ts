import { newestFirst, typeOf } from '../model/incidents.ts';
import { type Incident, severities } from '../model/records.ts';
import { knownWord } from '../model/words.ts';
import { incidentName } from './incidents.ts';

const urgencies = ['alarm', 'warning', 'notice'] as const;
export type Urgency = (typeof urgencies)[number];

/** An open incident as the status page shows it, at the device that the incident names. */
export interface Alert {
  /** The name of its sensor in Home Assistant; null if the type is not known. */
  readonly name: string | null;
  /** The type in the cloud's words. */
  readonly type: string | null;
  readonly urgency: Urgency;
  /** When it was detected, in ms since 1970; null if the cloud does not say. */
  readonly at: number | null;
  /** The text for `at`: most alerts last, and some are over at once. */
  readonly time: 'since' | 'time';
}

const momentary: readonly (string | null)[] = [
  'device_handle_moved',
  'pressure_test_failed',
  'pressure_test_skipped',
  'pressure_test_aborted',
];

/** Alerts during which water may be running out. Of two equally urgent ones, the one that is first here comes first. */
const waterTypes: readonly (string | null)[] = [
  'water_presence_detected',
  'long_flow_alert',
  'high_volume_alert',
];

const bySeverity: Readonly<Record<(typeof severities)[number], Urgency>> = {
  high: 'alarm',
  medium: 'warning',
  low: 'notice',
};

/** The urgency of an alert. A leak is an alarm, whatever its severity in the cloud. */
function urgencyOf(type: string | null, severity: string | null): Urgency {
  if (type === waterTypes[0]) return 'alarm';
  const known = knownWord(severities, severity);
  if (known !== null) return bySeverity[known];
  return waterTypes.includes(type) ? 'alarm' : 'warning';
}

/** The alerts of these incidents: the most urgent first, of those the ones about water, then the newest. */
export function alertsOf(incidents: readonly Incident[]): Alert[] {
  return newestFirst(incidents)
    .map((incident): Alert => {
      const at = Date.parse(incident.detected_at ?? '');
      const type = typeOf(incident) ?? incident.type;
      return {
        name: incidentName(incident),
        type: shortenedName(type),
        urgency: urgencyOf(type, incident.severity),
        at: Number.isNaN(at) ? null : at,
        time: momentary.includes(type) ? 'time' : 'since',
      };
    })
    .toSorted(byUrgency);
}

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

/** Longer names are cut: the cloud does not limit them. */
const maxNameLength = 120;

/** A text of the cloud, cut if it is too long. */
export function shortenedName(text: string | null): string | null {
  return text !== null && text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text;
}
