import { type Incident, type IncidentType, incidentTypes, severities } from './records.ts';

/** The event type and sensor of an incident whose type is not among the twenty. */
export const unknownIncident = 'unknown_incident';

/** Whether the incident is open; a record without the flag counts as open until it is resolved. */
export function isOpen(incident: Incident): boolean {
  return incident.open ?? incident.state !== 'resolved';
}

/** Its type if it is one of the twenty, in whatever case it is written; null for any other, and for none. */
export function typeOf({ type: written }: Pick<Incident, 'type'>): IncidentType | null {
  const wanted = written?.trim().toLowerCase();
  return incidentTypes.find((type) => type === wanted) ?? null;
}

/** Whether it says that a link is lost: the cloud has found that out, and the records of devices say it too. */
export function isLinkLost(incident: Pick<Incident, 'type'>): boolean {
  const type = typeOf(incident);
  return type !== null && typesFoundByCloud.includes(type);
}

/** Whether nothing says of which type it is: it may be of any. */
export function isTypeUnknown({ type }: Pick<Incident, 'type'>): boolean {
  return type === null || type.trim() === '';
}

/** Its type if it is one of the twenty, else `unknown_incident`. */
export function eventTypeOf(incident: Incident): IncidentType | typeof unknownIncident {
  return typeOf(incident) ?? unknownIncident;
}

/** Types that are about a hub itself if the record names a hub and no sonic (cloud-interface 2.6: the link is the hub's). */
const hubTypes: readonly IncidentType[] = ['cloud_disconnection'];

/** Whether an incident that names no sonic is about its hub. */
export function isAboutHub(incident: Incident): boolean {
  const type = typeOf(incident);
  return incident.sonic_id === null && type !== null && hubTypes.includes(type);
}

/**
 * Types that the cloud finds out without the device: a sonic that its hub, and a hub that the cloud does not reach
 * (cloud-interface 2.4, `radio_disconnection`: "when a sonic cannot connect to its bridge"). All others are by measurements
 * and reports of the device itself, of which an unreachable one sends none.
 */
const typesFoundByCloud: readonly IncidentType[] = ['radio_disconnection', 'cloud_disconnection'];

/** The newest first, by time of detection; ties and unknown times by id, so that the order is stable. */
export function newestFirst(incidents: readonly Incident[]): Incident[] {
  return incidents.toSorted((left, right) => {
    const [later, earlier] = [detectedAt(right), detectedAt(left)];
    if (later !== earlier) return later < earlier ? -1 : 1;
    return left.id < right.id ? -1 : 1;
  });
}

function detectedAt({ detected_at: text }: Incident): number {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? Number.NEGATIVE_INFINITY : at;
}

const noneOpen = Object.fromEntries(incidentTypes.map((type) => [type, null]));

/** The newest incident of each type: all twenty types present, null where none is open, unknown types added. */
export function newestByType(incidents: readonly Incident[]): Readonly<Record<string, Incident | null>> {
  if (incidents.length === 0) return noneOpen;
  // A map, since a type could be called like a member that every object has.
  const newest = new Map<string, Incident | null>(incidentTypes.map((type) => [type, null]));
  for (const incident of newestFirst(incidents)) {
    const type = typeOf(incident) ?? (isTypeUnknown(incident) ? unknownIncident : `${incident.type}`);
    newest.set(type, newest.get(type) ?? incident);
  }
  return Object.fromEntries(newest);
}

/** The open incidents of a device, a property or the bridge. */
export interface WithIncidents {
  /** Open ones only. */
  readonly incidents: readonly Incident[];
  /** Open ones that do not name their device, or no known one, so that they may belong here. */
  readonly possibleIncidents: readonly Incident[];
  /** Whether no other incident is open: all were read, and not too long ago. */
  readonly areIncidentsKnown: boolean;
  /** Whether the device is reachable, so that an incident which only it can report would be open. */
  readonly isReporting: boolean;
}

/** How many incidents are open; null while it may be another number. */
export function openCount(view: WithIncidents): number | null {
  const { incidents, possibleIncidents, areIncidentsKnown, isReporting } = view;
  if (!areIncidentsKnown || possibleIncidents.length > 0) return null;
  return isReporting || incidents.length > 0 ? incidents.length : null;
}

/** Whether any incident is open; null where none is known, but one may be. */
export function hasOpen(view: WithIncidents): boolean | null {
  return view.incidents.length > 0 || (openCount(view) === null ? null : false);
}

/** Whether an incident of this type is open; null where none is known, but one may be. */
export function hasOpenOf(view: WithIncidents, type: IncidentType): boolean | null {
  const { incidents, possibleIncidents, areIncidentsKnown, isReporting } = view;
  if (incidents.some((incident) => typeOf(incident) === type)) return true;
  const mayBeOpen =
    !areIncidentsKnown ||
    !(isReporting || typesFoundByCloud.includes(type)) ||
    incidents.some(isTypeUnknown) ||
    possibleIncidents.some(isTypeUnknown) ||
    possibleIncidents.some((incident) => typeOf(incident) === type);
  return mayBeOpen ? null : false;
}

type Severity = (typeof severities)[number];

/** The highest severity of the open incidents; `none` where none is open, null while it may be another one. */
export function highestSeverity(view: WithIncidents): Severity | 'none' | null {
  const ranks = view.incidents.map(({ severity }) =>
    (severities as readonly string[]).indexOf(severity?.toLowerCase() ?? ''),
  );
  const highest = severities[Math.max(-1, ...ranks)];
  if (highest === undefined) return hasOpen(view) === false ? 'none' : null;
  const isCertain = openCount(view) !== null || highest === severities.at(-1);
  return isCertain && !ranks.includes(-1) ? highest : null;
}
