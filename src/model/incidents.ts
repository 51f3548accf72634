import { type Incident, type IncidentType, incidentTypes, severities } from './records.ts';
import { knownWord, wordOf } from './words.ts';

/** The event type of an incident with a type that is not one of the twenty. */
const unknownIncident = 'unknown_incident';

/** Whether the incident is open. If the record has no `open` flag, it counts as open until its state is `resolved`. */
export function isOpen(incident: Incident): boolean {
  return incident.open ?? wordOf(incident.state ?? '') !== 'resolved';
}

/**
 * The incident's type if it is one of the twenty, in upper or lower case; null for any other type, and if it has none.
 */
export function typeOf({ type }: Pick<Incident, 'type'>): IncidentType | null {
  return knownWord(incidentTypes, type);
}

/**
 * Whether the incident says that a link is lost. The cloud detects this itself, and the records of devices show it too.
 */
export function isLinkLost(incident: Pick<Incident, 'type'>): boolean {
  const type = typeOf(incident);
  return type !== null && typesFoundByCloud.includes(type);
}

/** Whether the record has no type. Then it may be of any type. */
export function isTypeUnknown({ type }: Pick<Incident, 'type'>): boolean {
  return type === null || type.trim() === '';
}

/** Types that concern the hub itself if the record names it and no sonic (cloud-interface 2.6: the link is the hub's). */
const hubTypes: readonly IncidentType[] = ['cloud_disconnection'];

/** Whether an incident that names a hub alone concerns the hub itself. */
export function isAboutHub(incident: Incident): incident is Incident & { readonly signal_id: string } {
  const type = typeOf(incident);
  const isOfHub = incident.sonic_id === null && incident.signal_id !== null;
  return isOfHub && type !== null && hubTypes.includes(type);
}

/**
 * Types that the cloud detects without the device: a hub cannot reach a sonic, or the cloud cannot reach a hub
 * (cloud-interface 2.4, `radio_disconnection`: "when a sonic cannot connect to its bridge"). All other types come from
 * measurements and reports of the device, and an unreachable device sends none.
 */
const typesFoundByCloud: readonly IncidentType[] = ['radio_disconnection', 'cloud_disconnection'];

/**
 * Sorts the newest first, by time of detection. Equal and unknown times are sorted by id, so that the order is stable.
 */
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

/** The newest incident of each type. All twenty types are present, null if none is open. Unknown types are added. */
export function newestByType(incidents: readonly Incident[]): Readonly<Record<string, Incident | null>> {
  if (incidents.length === 0) return noneOpen;
  // A map, because a type could have the name of a property that every object has.
  const newest = new Map<string, Incident | null>(incidentTypes.map((type) => [type, null]));
  for (const incident of newestFirst(incidents)) {
    const type = typeOf(incident) ?? (isTypeUnknown(incident) ? unknownIncident : `${incident.type}`);
    newest.set(type, newest.get(type) ?? incident);
  }
  return Object.fromEntries(newest);
}

export interface WithIncidents {
  readonly incidents: readonly Incident[];
  /** Open ones that may belong here: they name no device, or none that is known. */
  readonly possibleIncidents: readonly Incident[];
  /** Whether `incidents` is certainly complete: all lists were read, and not too long ago. */
  readonly areIncidentsFresh: boolean;
  /** Whether the device is reachable. If not, an incident that only the device can report may be missing. */
  readonly isReporting: boolean;
}

/** How many incidents are open; null if it is not certain. */
export function openCount(view: WithIncidents): number | null {
  const { incidents, possibleIncidents, areIncidentsFresh, isReporting } = view;
  if (!areIncidentsFresh || possibleIncidents.length > 0) return null;
  return isReporting || incidents.length > 0 ? incidents.length : null;
}

/** Whether any incident is open; null if none is known to be open but one may be. */
export function hasOpen(view: WithIncidents): boolean | null {
  return view.incidents.length > 0 || (openCount(view) === null ? null : false);
}

/** Whether an incident of this type is open; null if none is known to be open but one may be. */
export function hasOpenOf(view: WithIncidents, type: IncidentType): boolean | null {
  const { incidents, possibleIncidents, areIncidentsFresh, isReporting } = view;
  if (incidents.some((incident) => typeOf(incident) === type)) return true;
  const mayBeOpen =
    !areIncidentsFresh ||
    !(isReporting || typesFoundByCloud.includes(type)) ||
    incidents.some(isTypeUnknown) ||
    possibleIncidents.some(isTypeUnknown) ||
    possibleIncidents.some((incident) => typeOf(incident) === type);
  return mayBeOpen ? null : false;
}

type Severity = (typeof severities)[number];

/** The highest severity of the open incidents; `none` if none is open, null if it is not certain. */
export function highestSeverity(view: WithIncidents): Severity | 'none' | null {
  const ranks = view.incidents.map(({ severity }) => {
    const known = knownWord(severities, severity);
    return known === null ? -1 : severities.indexOf(known);
  });
  const highest = severities[Math.max(-1, ...ranks)];
  if (highest === undefined) return hasOpen(view) === false ? 'none' : null;
  const isCertain = openCount(view) !== null || (view.areIncidentsFresh && highest === severities.at(-1));
  return isCertain && !ranks.includes(-1) ? highest : null;
}
