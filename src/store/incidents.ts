import type { Clock } from '../base/clock.ts';
import type { CloudDeviceKind } from '../model/devices.ts';
import { IdMap } from '../model/ids.ts';
import { isOpen, isTypeUnknown } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import {
  type AnnouncingDevice,
  type IncidentContext,
  type IncidentPlace,
  incidentPlacesOf,
  isWithoutSonic,
  noIncidents,
  placeOfIncident,
  possibleAt,
} from './incidentPlaces.ts';
import { type Reading, type ReadonlyTable, Table } from './table.ts';

const none: readonly Incident[] = [];

/** What happened to an incident that this bridge shows. */
export interface IncidentEvent {
  readonly event: 'incident_opened' | 'incident_changed' | 'incident_closed';
  readonly record: Incident;
}

export class OpenIncidents {
  /** An incident closes when one complete list no longer has it: the poll has read that incident by itself before. */
  readonly #table = new Table<Incident>(1);
  readonly #context: () => IncidentContext;
  readonly #clock: Clock;
  #now = noIncidents;
  /** The last records of the incidents that have closed since `place` last ran. */
  readonly #closed = new IdMap<Incident>();

  constructor(context: () => IncidentContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
  }

  /** Stores the open incidents. An incident is closed if a complete list misses it, or any list has it as closed. */
  replaceAll(reading: Reading<Incident>): void {
    const { records, startedAt } = reading;
    for (const record of records) {
      if (!isOpen(record) && !this.#table.isOlder(record.id, startedAt)) this.#close(record);
    }
    this.#table.replaceAll({ ...reading, records: records.filter(isOpen) });
  }

  change(id: string, answer: object, heardAt: number): void {
    const change = this.#table.change(id, answer, heardAt);
    if (change?.after && !isOpen(change.after)) this.#close(change.after);
  }

  markStale(readBefore: number): boolean {
    return this.#table.markStale(readBefore);
  }

  /** Finds out where each incident is now, and what has happened since that was last found out. */
  place(): readonly IncidentEvent[] {
    const before = this.#now;
    const after = incidentPlacesOf(this.#table, this.#context(), before);
    this.#now = after;
    const events: IncidentEvent[] = [];
    for (const [id, { record, isShown }] of before.places) {
      if (after.places.has(id) || !isShown) continue;
      events.push({ event: 'incident_closed', record: this.#closed.get(id) ?? { ...record, open: false } });
    }
    for (const [id, { record, isShown }] of after.places) {
      const known = before.places.get(id);
      // An incident that is no longer shown has left with its device. It did not close.
      if (!isShown || (known?.isShown && known.record === record)) continue;
      events.push({ event: known?.isShown ? 'incident_changed' : 'incident_opened', record });
    }
    this.#closed.clear();
    return events;
  }

  /** The open incidents of the account, shown or not. */
  get list(): ReadonlyTable<Incident> {
    return this.#table;
  }

  /** The record of an open incident; null if this bridge does not show it. */
  get(id: string): Incident | null {
    const place = this.#now.places.get(id);
    return place?.isShown ? place.record : null;
  }

  /** The ids of the open incidents that this bridge shows. */
  get ids(): string[] {
    return [...this.#now.places.values()].flatMap(({ record, isShown }) => (isShown ? record.id : []));
  }

  get areFresh(): boolean {
    return this.#table.isListFresh;
  }

  /** The shown incidents that a list does not have. The one that was read longest ago comes first. */
  missingFrom(listed: readonly Incident[]): Incident[] {
    const ids = new IdMap(listed.map(({ id }) => [id, true]));
    const readAt = ({ id }: Incident) => this.#table.readAt(id) ?? 0;
    return this.#table.records
      .filter(({ id }) => !ids.has(id) && this.#now.places.get(id)?.isShown)
      .toSorted((one, other) => readAt(one) - readAt(other));
  }

  /** When the oldest reading that is too old was sent, in ms since 1970; null if none is too old. */
  unconfirmedSince(incidents: readonly Incident[]): number | null {
    const times = incidents.flatMap(({ id }) => this.#now.places.get(id)?.staleSince ?? []);
    return times.length === 0 ? null : Math.min(...times) + this.#clock.now() - this.#clock.monotonic();
  }

  /** Since when an open incident says that a hub has lost the cloud, in ms of the monotonic clock; null if none does. */
  cloudLostAt(signalId: string): number | null {
    return this.#now.lostHubs.get(signalId) ?? null;
  }

  shownBy(kind: CloudDeviceKind, id: string): readonly Incident[] {
    return this.#now.shownAt.get(`${kind}/${id}`) ?? none;
  }

  possibleAt(kind: CloudDeviceKind, id: string): readonly Incident[] {
    return possibleAt(kind, id, this.#now, this.#context().places);
  }

  /** The incidents that this bridge shows in no property. Until the lists were requested, the property of a device is to come. */
  get unassigned(): readonly Incident[] {
    const { areListsAsked } = this.#context().places;
    const isUnassigned = ({ device, shownIn, isShown }: IncidentPlace) =>
      isShown && shownIn.length === 0 && (device === null || areListsAsked);
    return [...this.#now.places.values()].filter(isUnassigned).map(({ record }) => record);
  }

  /** The incidents that make incident entities of this bridge unknown, each with the device that shows it. */
  get uncertain(): readonly Pick<IncidentPlace, 'record' | 'device'>[] {
    return [...this.#now.places.values()].filter((place) => {
      const isNear = place.isShown || (place.device === null && place.propertyId === null);
      return isNear && (isWithoutSonic(place) || isTypeUnknown(place.record));
    });
  }

  /** The device that announces an incident; null if this bridge shows none that the incident names. */
  announcerOf(incident: Incident): AnnouncingDevice | null {
    const { device, isShown } = placeOfIncident(incident, this.#context());
    return isShown ? device : null;
  }

  /** The property of an incident, also of one that is not open; null if it is not known. */
  propertyOf(incident: Incident): string | null {
    return placeOfIncident(incident, this.#context()).propertyId;
  }

  /** Whether this bridge shows an incident, or would if it were open. */
  isShownHere(incident: Incident): boolean {
    return placeOfIncident(incident, this.#context()).isShown;
  }

  /** Whether an incident is open of which it is not known yet whether this bridge shows it. */
  isPlacePending(id: string): boolean {
    return this.#now.places.get(id)?.isShown === false && !this.#context().places.areHubListsRead;
  }

  #close(record: Incident): void {
    for (const { id } of this.#table.remove(record.id)) this.#closed.set(id, { ...record, id });
  }
}

export type ReadonlyIncidents = Omit<OpenIncidents, 'replaceAll' | 'change' | 'markStale' | 'place'>;
