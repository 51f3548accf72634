import { type Incident, type IncidentType, incidentTypes, severities } from './records.ts';

/** The event type and sensor of an incident whose type is not among the twenty. */
export const unknownIncident = 'unknown_incident';

/** Whether the incident is open; a record without the flag counts as open until it is resolved. */
export function isOpen(incident: Incident): boolean {
  return incident.open ?? incident.state !== 'resolved';
}

/** Whether the incident says that a device has lost a link: that is a second word for what a reading says. */
export function isLinkLost({ type }: Incident): boolean {
  return type === 'cloud_disconnection' || type === 'radio_disconnection';
}

/** Its type if it is one of the twenty, else `unknown_incident`. */
export function eventTypeOf(incident: Incident): IncidentType | typeof unknownIncident {
  return incidentTypes.find((type) => type === incident.type) ?? unknownIncident;
}

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
    const type = incident.type ?? unknownIncident;
    newest.set(type, newest.get(type) ?? incident);
  }
  return Object.fromEntries(newest);
}

/** The open incidents of a device, a property or the bridge. */
export interface WithIncidents {
  /** Open ones only. */
  readonly incidents: readonly Incident[];
  /** Open ones that name no device of the account, so that they may belong here. */
  readonly possibleIncidents: readonly Incident[];
  /** Whether no other incident is open: all were read, and not too long ago. */
  readonly areIncidentsKnown: boolean;
}

/** How many incidents are open; null while not all of them are known, or one may belong here. */
export function openCount({ incidents, possibleIncidents, areIncidentsKnown }: WithIncidents): number | null {
  return areIncidentsKnown && possibleIncidents.length === 0 ? incidents.length : null;
}

/** Whether an incident like this is open; null where none is known, but one may be. */
export function hasOpen(
  { incidents, possibleIncidents, areIncidentsKnown }: WithIncidents,
  isLike: (incident: Incident) => boolean = () => true,
): boolean | null {
  if (incidents.some(isLike)) return true;
  // One without a type may be of any.
  const mayBeLike = possibleIncidents.some((incident) => incident.type === null || isLike(incident));
  return areIncidentsKnown && !mayBeLike ? false : null;
}

/** The highest of the known severities; null when none is known. */
export function highestSeverity(incidents: readonly Incident[]): (typeof severities)[number] | null {
  return (
    severities.findLast((severity) => incidents.some((incident) => incident.severity === severity)) ?? null
  );
}
