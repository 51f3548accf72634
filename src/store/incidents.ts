import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import type { CloudDeviceKind } from '../model/devices.ts';
import { idKey } from '../model/ids.ts';
import { isAboutHub, isOpen, isTypeUnknown } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { Changes } from './changes.ts';
import { type Reading, Table } from './table.ts';
import type { ReadonlyDevices, ReadonlyTopology } from './topology.ts';

/** The device that announces an incident. */
export interface AnnouncingDevice {
  readonly kind: 'sonic' | 'signal';
  readonly id: string;
}

/** What happened to an incident that this bridge shows. */
export interface IncidentEvent {
  readonly event: 'incident_opened' | 'incident_changed' | 'incident_closed';
  readonly record: Incident;
}

/** An open incident, where it is, and whether this bridge shows it. */
interface PlacedIncident {
  readonly record: Incident;
  /** Its sonic, or else its signal; null if the account has neither. */
  readonly device: AnnouncingDevice | null;
  readonly propertyId: string | null;
  /** The sonic that an earlier record of the incident named, if the record no longer names one of the account. */
  readonly formerSonic: string | null;
  readonly isShown: boolean;
}

/**
 * The open incidents of the account. Each is shown at its sonic, or else at its hub. An incident that names neither is shown
 * at the account's only property, or at the bridge if there are several. The incident entities of all devices that it may
 * belong to are unknown then: of every device, or of the sonics of its hub.
 */
export class OpenIncidents {
  /** An incident closes when one complete list no longer has it: the poll has read that incident by itself before. */
  readonly #table = new Table<Incident>(1);
  readonly #places = new Map<string, PlacedIncident>();
  readonly #devices: ReadonlyDevices;
  readonly #topology: ReadonlyTopology;
  readonly #changes: Changes;
  readonly #clock: Clock;
  /** By `kind/id`, the incidents that a device or property shows. */
  readonly #shownBy = new Map<string, Incident[]>();
  /** The incidents whose sonic or property is not known. */
  #unplaced: readonly PlacedIncident[] = [];
  /**
   * By the key of a hub that has lost the cloud, as an open incident of the hub itself says, when that incident was first
   * read, in ms of the monotonic clock.
   */
  #lostHubs = new Map<string, number>();
  /** The last records of the incidents that have closed since `place` last ran. */
  readonly #closed = new Map<string, Incident>();
  #mayMove = false;
  /** What the incident entities of all devices depend on, when all devices were last marked as changed. */
  #decisive = '';

  constructor(devices: ReadonlyDevices, topology: ReadonlyTopology, changes: Changes, clock: Clock) {
    this.#devices = devices;
    this.#topology = topology;
    this.#changes = changes;
    this.#clock = clock;
  }

  /** Stores the open incidents. An incident is closed if a complete list misses it, or any list has it as closed. */
  replaceAll(reading: Reading<Incident>): void {
    const { records, startedAt } = reading;
    this.#mayMove = true;
    for (const record of records) {
      if (!isOpen(record) && !this.#table.isOlder(record.id, startedAt)) this.#close(record);
    }
    this.#table.replaceAll({ ...reading, records: records.filter(isOpen) });
  }

  /** Stores the answer to a change, received at that time. */
  change(id: string, answer: Incident, heardAt: number): void {
    const change = this.#table.change(id, answer, heardAt);
    if (change) this.#mayMove = true;
    if (change?.after && !isOpen(change.after)) this.#close(change.after);
  }

  /** Devices have come, left or moved: the next `place` looks at all incidents. */
  markMoved(): void {
    this.#mayMove = true;
  }

  /** Notes that records which were read before that time are too old. Returns the ids of which that is new. */
  markStale(readBefore: number): string[] {
    const { areKnown } = this;
    const ids = this.#table.markStale(readBefore);
    if (this.areKnown !== areKnown || ids.length > 0) this.#mayMove = true;
    return ids;
  }

  /**
   * Finds out where each incident belongs, if incidents or devices have changed since it last ran, and marks the devices that
   * show a difference. Returns also whether that may be all devices.
   */
  place(): { readonly events: readonly IncidentEvent[]; readonly isAllAffected: boolean } {
    if (!this.#mayMove) return { events: [], isAllAffected: false };
    this.#mayMove = false;
    const events: IncidentEvent[] = [];
    this.#shownBy.clear();
    for (const [id, place] of this.#places) {
      if (this.#table.has(id)) continue;
      this.#mark(id, place);
      this.#places.delete(id);
      const record = this.#closed.get(id) ?? { ...place.record, open: false };
      if (place.isShown) events.push({ event: 'incident_closed', record });
    }
    this.#closed.clear();
    for (const record of this.#table.records) {
      const before = this.#places.get(record.id);
      const now = this.#placeOf(record);
      this.#places.set(record.id, now);
      if (now.isShown) this.#index(now);
      if (before && isDeepStrictEqual(before, now)) continue;
      if (before) this.#mark(record.id, before);
      this.#mark(record.id, now);
      // An incident that is no longer shown has left with its device. It did not close.
      if (!now.isShown) continue;
      if (!before?.isShown) events.push({ event: 'incident_opened', record });
      else if (before.record !== record) events.push({ event: 'incident_changed', record });
    }
    this.#placeLostHubs();
    this.#unplaced = [...this.#places.values()].filter(
      (place) => place.propertyId === null || isWithoutSonic(place),
    );
    const unplaced = this.#unplaced.map(({ record: { id, type }, device, propertyId, formerSonic }) => [
      ...[id, type, device?.id, propertyId],
      ...(formerSonic === null ? [] : [formerSonic, this.#topology.propertyOf('sonic', formerSonic)]),
    ]);
    const decisive = JSON.stringify([
      this.areKnown,
      this.#staleTimes(this.#table.records),
      this.#topology.onlyProperty,
      unplaced,
    ]);
    const isAllAffected = decisive !== this.#decisive;
    this.#decisive = decisive;
    return { events, isAllAffected };
  }

  /** The record of an open incident; null if this bridge does not show it. */
  get(id: string): Incident | null {
    return this.#places.get(this.#table.idOf(id))?.isShown ? (this.#table.get(id) ?? null) : null;
  }

  /** The ids of the open incidents that this bridge shows. */
  get ids(): string[] {
    return this.#table.ids.filter((id) => this.#places.get(id)?.isShown);
  }

  /** Whether the incident is open in the account, shown or not. */
  isOpen(id: string): boolean {
    return this.#table.has(id);
  }

  /** Whether the list was once read completely. */
  get isComplete(): boolean {
    return this.#table.isComplete;
  }

  /** Whether the list was read completely by requests that were sent since then. */
  isReadSince(at: number): boolean {
    return this.#table.isReadSince(at);
  }

  /** Whether all open ones are known: the list was read completely, and not too long ago. */
  get areKnown(): boolean {
    return this.#table.isListFresh;
  }

  /** The shown incidents that a list does not have. The one that was read longest ago comes first. */
  missingFrom(listed: readonly Incident[]): Incident[] {
    const ids = new Set(listed.map(({ id }) => idKey(id)));
    const readAt = ({ id }: Incident) => this.#table.readAt(id) ?? 0;
    return this.#table.records
      .filter(({ id }) => !ids.has(idKey(id)) && this.#places.get(id)?.isShown)
      .toSorted((one, other) => readAt(one) - readAt(other));
  }

  /**
   * Since when open incidents were not confirmed, in ms since 1970: when the oldest reading among them was sent. Null if no
   * reading is too old.
   */
  unconfirmedSince(incidents: readonly Incident[]): number | null {
    const times = this.#staleTimes(incidents);
    return times.length === 0 ? null : Math.min(...times) + this.#clock.now() - this.#clock.monotonic();
  }

  #staleTimes(incidents: readonly Incident[]): number[] {
    return incidents.flatMap(({ id }) => (this.#table.isStale(id) ? (this.#table.readAt(id) ?? []) : []));
  }

  /** Since when an open incident says that a hub has lost the cloud, in ms of the monotonic clock; null if none does. */
  cloudLostAt(signalId: string): number | null {
    return this.#lostHubs.get(idKey(signalId)) ?? null;
  }

  /** The open incidents that a device shows. */
  shownBy(kind: CloudDeviceKind, id: string): readonly Incident[] {
    return this.#shownBy.get(`${kind}/${id}`) ?? [];
  }

  /** The open incidents that may belong to a device, though it does not show them. */
  possibleAt(kind: CloudDeviceKind, id: string): readonly Incident[] {
    const ownPropertyId = this.#topology.propertyOf(kind, id);
    const isPossible = (place: PlacedIncident) => {
      const { record, device, propertyId, formerSonic } = place;
      // What a hub reports of itself concerns that hub alone, even if no list has it.
      if (device === null && isAboutHub(record)) return false;
      if (formerSonic !== null) {
        // An incident does not move, so it may still be at the sonic where it began.
        if (kind === 'sonic' && formerSonic === id) return true;
        if (kind === 'property' && this.#topology.propertyOf('sonic', formerSonic) === id)
          return propertyId !== id;
      }
      // A sonic without a hub may be in any property: the lists of signals do not show where it is.
      const mayBeAnywhere =
        device === null || (device.kind === 'sonic' && this.#topology.isHubless(device.id));
      if (kind === 'property') return propertyId === null && mayBeAnywhere;
      if (device === null)
        return propertyId === null || ownPropertyId === null || propertyId === ownPropertyId;
      return kind === 'sonic' && isWithoutSonic(place) && this.#topology.mayBeOn(id, device.id);
    };
    return this.#unplaced.filter(isPossible).map(({ record }) => record);
  }

  /** The incidents that this bridge shows at no device and in no property, because they name none that is known. */
  get unassigned(): readonly Incident[] {
    const isUnassigned = ({ device, propertyId, isShown }: PlacedIncident) =>
      isShown && !device && propertyId === null;
    return this.#unplaced.filter(isUnassigned).map(({ record }) => record);
  }

  /** The incidents that make incident entities of this bridge unknown, each with the device that shows it. */
  get uncertain(): readonly Pick<PlacedIncident, 'record' | 'device'>[] {
    return [...this.#places.values()].filter((place) => {
      const isNear = place.isShown || (place.device === null && place.propertyId === null);
      return isNear && (isWithoutSonic(place) || isTypeUnknown(place.record));
    });
  }

  /** The device that announces an incident; null if this bridge shows none that the incident names. */
  announcerOf(incident: Incident): AnnouncingDevice | null {
    const device = this.#deviceOf(incident);
    return device && this.#topology.isShown(device.kind, device.id) ? device : null;
  }

  /** Whether this bridge shows an incident, or would if it were open. */
  isShownHere(incident: Incident): boolean {
    return this.#placeOf(incident).isShown;
  }

  /** Whether an incident is open of which it is not known yet whether this bridge shows it. */
  isUnplaced(id: string): boolean {
    const place = this.#places.get(this.#table.idOf(id));
    return place !== undefined && !place.isShown && !this.#topology.arePlacesKnown;
  }

  /** Notes which hubs have lost the cloud. Marks each hub of which that is new, with its sonics. */
  #placeLostHubs(): void {
    const before = this.#lostHubs;
    this.#lostHubs = new Map();
    for (const record of this.#table.records) {
      if (record.signal_id === null || !isAboutHub(record)) continue;
      const hub = idKey(record.signal_id);
      this.#lostHubs.set(hub, before.get(hub) ?? this.#table.readAt(record.id) ?? 0);
    }
    const changed = new Set([...before.keys(), ...this.#lostHubs.keys()]);
    for (const hub of changed) if (before.has(hub) === this.#lostHubs.has(hub)) changed.delete(hub);
    if (changed.size === 0) return;
    for (const id of this.#devices.signal.ids) if (changed.has(idKey(id))) this.#markLinks(id);
  }

  #markLinks(signalId: string): void {
    const mark = (kind: 'signal' | 'sonic', id: string) => {
      if (this.#topology.isShown(kind, id)) this.#changes.mark(kind, id);
    };
    mark('signal', signalId);
    for (const sonicId of this.#topology.sonicsOn(signalId)) mark('sonic', sonicId);
  }

  #placeOf(incident: Incident): PlacedIncident {
    const device = this.#deviceOf(incident);
    const propertyId = this.#topology.propertyOfIncident(incident);
    const isShown = this.#isShown(incident, device, propertyId);
    const formerSonic = device?.kind === 'sonic' ? null : this.#formerSonicOf(incident);
    return { record: incident, device, propertyId, formerSonic, isShown };
  }

  #formerSonicOf({ id }: Incident): string | null {
    const before = this.#places.get(id);
    const former = before?.device?.kind === 'sonic' ? before.device.id : (before?.formerSonic ?? null);
    return former !== null && this.#devices.sonic.has(former) ? former : null;
  }

  #isShown(incident: Incident, device: AnnouncingDevice | null, propertyId: string | null): boolean {
    const topology = this.#topology;
    if (device) return topology.isShown(device.kind, device.id);
    if (propertyId !== null) return topology.isShown('property', propertyId);
    const { signal, sonic } = this.#devices;
    const isSought = incident.sonic_id !== null || incident.signal_id !== null;
    const isNameless = !isSought || (signal.isComplete && sonic.isComplete);
    return topology.isWholeAccount || isNameless;
  }

  #deviceOf({ sonic_id: sonicId, signal_id: signalId }: Incident): AnnouncingDevice | null {
    const { sonic, signal } = this.#devices;
    if (sonicId !== null && sonic.has(sonicId)) return { kind: 'sonic', id: sonic.idOf(sonicId) };
    if (signalId !== null && signal.has(signalId)) return { kind: 'signal', id: signal.idOf(signalId) };
    return null;
  }

  #close(record: Incident): void {
    const id = this.#table.idOf(record.id);
    if (this.#table.remove(id).length > 0) this.#closed.set(id, { ...record, id });
  }

  #index({ record, device, propertyId }: PlacedIncident): void {
    const keys = [device && `${device.kind}/${device.id}`, propertyId && `property/${propertyId}`];
    for (const key of keys) {
      if (key === null) continue;
      const shown = this.#shownBy.get(key);
      if (shown) shown.push(record);
      else this.#shownBy.set(key, [record]);
    }
  }

  #mark(id: string, { device, propertyId, isShown }: PlacedIncident): void {
    if (!isShown) return;
    this.#changes.mark('incident', id);
    if (device) this.#changes.mark(device.kind, device.id);
    if (propertyId !== null) this.#changes.mark('property', propertyId);
  }
}

/** The incidents as the other rooms see them: only the store writes them. */
export type ReadonlyIncidents = Omit<
  OpenIncidents,
  'replaceAll' | 'change' | 'markMoved' | 'markStale' | 'place'
>;

/** Whether an incident is about a sonic that the account does not have, or that it does not name. */
function isWithoutSonic({ device, record }: PlacedIncident): boolean {
  return device === null || (device.kind === 'signal' && !isAboutHub(record));
}
