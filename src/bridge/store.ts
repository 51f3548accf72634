import type { DeviceKind, PropertyView, SignalView, SonicView } from '../model/devices.ts';
import { isOpen } from '../model/incidents.ts';
import type { PressureTestDays } from '../model/pressureTests.ts';
import type {
  HubDetail,
  Incident,
  NotificationSettings,
  Property,
  PropertySettings,
  Signal,
  Sonic,
  Telemetry,
} from '../model/records.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import type { Usage } from '../model/usage.ts';
import type { AcceptedCommand } from '../model/valve.ts';
import { type Dirty, DirtySet, type PlannedKind, plannedKinds } from './dirty.ts';
import type { Slice } from './health.ts';
import { Measurements } from './measurements.ts';
import { Ownership } from './ownership.ts';
import { PerDevice } from './perDevice.ts';
import { Precedence } from './precedence.ts';
import { isSameRecord } from './sameRecord.ts';
import { Sightings } from './sightings.ts';
import { Valves } from './valves.ts';

/** A device of the cloud; the bridge itself is none. */
export type CloudDeviceKind = Exclude<DeviceKind, 'bridge'>;

/** What a reading of a list brought. */
export interface Reading<T> {
  readonly records: readonly T[];
  /** Whether every record that the cloud has was read; only such a reading removes anything. */
  readonly isComplete: boolean;
  /** When it was begun, in ms of the monotonic clock. */
  readonly startedAt: number;
}

/** Something that a reading changed and that is worth telling. */
export type Happening =
  | {
      readonly event: 'device_added' | 'device_removed';
      readonly kind: CloudDeviceKind;
      readonly record: object;
    }
  | { readonly event: 'incident_opened' | 'incident_changed' | 'incident_closed'; readonly record: Incident };

export interface StoreOptions {
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
  /** How long something may be missed by readings before it counts as unread, in ms. */
  readonly staleAfterMs: number;
}

/** A record is taken for gone after so many complete readings without it. */
const readingsUntilGone = 2;

/** What the cloud last said, slice by slice. A record that did not change keeps its identity. */
export class Store {
  readonly #properties = new Map<string, Property>();
  readonly #settings = new Map<string, PropertySettings | null>();
  readonly #notifications = new Map<string, NotificationSettings | null>();
  readonly #acceptedSettings = new Map<string, AcceptedSettings>();
  readonly #hubs = new PerDevice<HubDetail>();
  readonly #signals = new Map<string, Signal>();
  readonly #ownership = new Ownership();
  readonly #sonics = new Map<string, Sonic>();
  readonly #measurements: Measurements;
  readonly #usage = new PerDevice<Usage>();
  readonly #pressureTests = new PerDevice<PressureTestDays>();
  readonly #pressureTestJobs = new Map<string, string>();
  readonly #incidents = new Map<string, Incident>();

  readonly #valves = new Valves();
  readonly #sightings = new Sightings();
  readonly #signalSightings = new Sightings();
  readonly #precedence = new Precedence();
  /** When the last complete reading of the open incidents was begun; null while they are not all known. */
  #incidentsReadAt: number | null = null;
  readonly #absences = new Map<string, number>();
  readonly #wholeKinds = new Set<string>();

  readonly #options: StoreOptions;
  readonly #dirty = new DirtySet();
  readonly #onChange: () => void;
  #incidentIndex: ReadonlyMap<string, readonly Incident[]> | null = null;
  #sonicIndex: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(options: StoreOptions, onChange: () => void) {
    this.#options = options;
    this.#measurements = new Measurements(options.staleAfterMs);
    this.#onChange = onChange;
  }

  // ---- readings -----------------------------------------------------------------------------------------------

  /** Takes in the properties. */
  replaceProperties(reading: Reading<Property>): Happening[] {
    const records = reading.records
      .filter((property) => this.#isSelected(property))
      .map((property) => this.#newest('property', this.#properties, property, reading.startedAt));
    return this.#replace('property', this.#properties, { ...reading, records });
  }

  /**
   * Takes in a property's settings and notification settings as they were read from that time on: null, it shows
   * none; undefined, nobody knows.
   */
  setPropertyDetails(
    id: string,
    settings: PropertySettings | null | undefined,
    notifications: NotificationSettings | null | undefined,
    startedAt: number,
  ): void {
    const isNew = <T extends object | null>(kind: string, map: Map<string, T>, read: T | undefined) =>
      read !== undefined && !this.#precedence.isOlder(kind, id, startedAt) && update(map, id, read);
    const areNew = [
      isNew('settings', this.#settings, settings),
      isNew('notifications', this.#notifications, notifications),
    ];
    if (areNew.includes(true)) this.touch('property', id);
  }

  /** Takes in which signals a property has; says whether that was news. */
  setOwnedSignals(propertyId: string, signalIds: readonly string[], isComplete: boolean): boolean {
    const changed = this.#ownership.set(propertyId, signalIds, isComplete);
    for (const id of changed) this.#touchSignal(id);
    return changed.length > 0;
  }

  /** Takes in the signals. */
  replaceSignals(reading: Reading<Signal>): Happening[] {
    const records = reading.records
      .filter((signal) => this.#isSignalSelected(signal.id))
      .map((signal) => this.#newest('signal', this.#signals, signal, reading.startedAt));
    for (const { id } of records) {
      if (this.#signalSightings.seen(id, reading.startedAt)) this.touch('signal', id);
    }
    if (!reading.isComplete) this.missed('signals', reading.startedAt);
    return this.#replace('signal', this.#signals, { ...reading, records });
  }

  /** Takes in what the cloud says of a signal as a hub; null, it has none. */
  setHub(signalId: string, hub: HubDetail | null): void {
    if (this.#hubs.set(signalId, hub)) this.touch('signal', signalId);
  }

  /** Forgets what it said: it could not be read, and what is old must not pass for the present. */
  missedHub(signalId: string): void {
    if (!this.#hubs.of(signalId)) return;
    this.#hubs.forget(signalId);
    this.touch('signal', signalId);
  }

  /** Forgets all hubs: the cloud does not offer them. */
  dropHubs(): void {
    if (!this.#hubs.drop()) return;
    for (const id of this.#signals.keys()) this.touch('signal', id);
  }

  /** Signals that are known, listed or not, in the selected properties. */
  ownedSignalIds(): string[] {
    return this.#ownership.signalIds();
  }

  /** Takes in the sonics; one that was read singly since this reading was begun keeps its newer state. */
  replaceSonics(reading: Reading<Sonic>): Happening[] {
    const records = reading.records
      .filter((sonic) => this.#isSignalSelected(sonic.signal_id))
      .map((sonic) => this.#newest('sonic', this.#sonics, sonic, reading.startedAt));
    for (const sonic of records) {
      this.#valves.note(sonic);
      if (this.#sightings.seen(sonic.id, reading.startedAt)) this.touch('sonic', sonic.id);
    }
    // A page that fails again and again leaves its sonics as they were: old values must not pass for the present.
    if (!reading.isComplete) this.missed('sonics', reading.startedAt);
    return this.#replace('sonic', this.#sonics, { ...reading, records });
  }

  /** Takes in one sonic that was read by itself. */
  setSonic(sonic: Sonic, startedAt: number): void {
    if (!this.#sonics.has(sonic.id)) return;
    this.#precedence.heard('sonic', sonic.id, startedAt);
    if (this.#sightings.seen(sonic.id, startedAt)) this.touch('sonic', sonic.id);
    this.#valves.note(sonic);
    if (update(this.#sonics, sonic.id, sonic)) this.touch('sonic', sonic.id);
  }

  /** Takes in a sonic's telemetry, read at that time in ms of the monotonic clock; null, the cloud has none. */
  setTelemetry(sonicId: string, telemetry: Telemetry | null, readAt: number): void {
    if (!this.#sonics.has(sonicId)) return;
    if (this.#measurements.set(sonicId, telemetry, readAt)) this.touch('sonic', sonicId);
  }

  /** Notes that a sonic's telemetry could not be read at that time. */
  missedTelemetry(sonicId: string, at: number): void {
    if (this.#measurements.missed(sonicId, at)) this.touch('sonic', sonicId);
  }

  /** Notes that a slice could not be read at that time, or not all of it: what was read too long ago is unread. */
  missed(slice: Slice, at: number): void {
    const { staleAfterMs } = this.#options;
    if (slice === 'sonics') {
      for (const id of this.#sightings.missed(at, staleAfterMs)) this.touch('sonic', id);
    } else if (slice === 'signals') {
      for (const id of this.#signalSightings.missed(at, staleAfterMs)) this.touch('signal', id);
    } else if (slice === 'incidents' && this.#incidentsReadAt !== null) {
      if (at - this.#incidentsReadAt > staleAfterMs) this.#setIncidentsReadAt(null);
    }
  }

  /** Forgets all telemetry: the cloud does not offer it. */
  dropTelemetry(): void {
    if (!this.#measurements.drop()) return;
    for (const id of this.#sonics.keys()) this.touch('sonic', id);
  }

  /** Shows a sonic's water usage; null, the cloud has none. */
  setUsage(sonicId: string, usage: Usage | null): void {
    if (this.#sonics.has(sonicId) && this.#usage.set(sonicId, usage)) this.touch('sonic', sonicId);
  }

  /** Shows no usage: the cloud does not offer it. */
  dropUsage(): void {
    if (!this.#usage.drop()) return;
    for (const id of this.#sonics.keys()) this.touch('sonic', id);
  }

  /** Shows a sonic's pressure tests; null, the cloud has none. */
  setPressureTests(sonicId: string, tests: PressureTestDays | null): void {
    if (this.#sonics.has(sonicId) && this.#pressureTests.set(sonicId, tests)) this.touch('sonic', sonicId);
  }

  /** Shows no pressure tests: the cloud does not offer them. */
  dropPressureTests(): void {
    if (!this.#pressureTests.drop()) return;
    for (const id of this.#sonics.keys()) this.touch('sonic', id);
  }

  /** Notes the pressure test that this bridge has started last. */
  notePressureTestJob(sonicId: string, jobId: string): void {
    if (!this.#sonics.has(sonicId)) return;
    this.#pressureTestJobs.set(sonicId, jobId);
    this.touch('sonic', sonicId);
  }

  /** Incidents that were open and that this list does not name. */
  incidentsMissingFrom(listed: readonly Incident[]): Incident[] {
    const ids = new Set(listed.map(({ id }) => id));
    return [...this.#incidents.values()].filter(({ id }) => !ids.has(id));
  }

  /** Takes in the open incidents; one that a complete reading does not list is closed. */
  replaceIncidents(reading: Reading<Incident>): Happening[] {
    const happenings: Happening[] = [];
    const isOlder = ({ id }: Incident) => this.#precedence.isOlder('incident', id, reading.startedAt);
    const open = reading.records.filter(
      (incident) => isOpen(incident) && this.#isIncidentSelected(incident) && !isOlder(incident),
    );
    for (const incident of open) {
      const before = this.#incidents.get(incident.id);
      if (before && isSameRecord(before, incident)) continue;
      if (before) this.#touchIncident(before);
      this.#incidents.set(incident.id, incident);
      this.#touchIncident(incident);
      happenings.push({ event: before ? 'incident_changed' : 'incident_opened', record: incident });
    }
    if (reading.isComplete) {
      const openIds = new Set(open.map(({ id }) => id));
      const told = new Map(reading.records.map((incident) => [incident.id, incident]));
      for (const [id, incident] of this.#incidents) {
        if (openIds.has(id) || isOlder(incident)) continue;
        happenings.push(this.#close(incident, told.get(id) ?? { ...incident, open: false }));
      }
      this.#wholeKinds.add('incident');
      this.#precedence.forgetBefore('incident', reading.startedAt);
      this.#setIncidentsReadAt(reading.startedAt);
    } else this.missed('incidents', reading.startedAt);
    return happenings;
  }

  // ---- changes ------------------------------------------------------------------------------------------------
  // What the cloud answered to a change at that time, in ms of the monotonic clock, as far as the answer tells.

  setProperty(id: string, answer: Property, at: number): void {
    if (!this.#takeAnswer('property', this.#properties, id, answer, at)) return;
    this.#touchWithNeighbours('property', id);
  }

  setSignal(id: string, answer: Signal, at: number): void {
    if (this.#takeAnswer('signal', this.#signals, id, answer, at)) this.#touchSignal(id);
  }

  setChangedSonic(id: string, answer: Sonic, at: number): void {
    const before = this.#sonics.get(id);
    if (before) this.setSonic({ ...merged(before, answer), id }, at);
  }

  setSettings(propertyId: string, answer: PropertySettings, at: number): void {
    if (!this.#properties.has(propertyId)) return;
    if (this.#takeAnswer('settings', this.#settings, propertyId, answer, at))
      this.touch('property', propertyId);
  }

  setNotifications(propertyId: string, answer: NotificationSettings, at: number): void {
    if (!this.#properties.has(propertyId)) return;
    if (this.#takeAnswer('notifications', this.#notifications, propertyId, answer, at)) {
      this.touch('property', propertyId);
    }
  }

  setIncident(id: string, answer: Incident, at: number): Happening[] {
    const before = this.#incidents.get(id);
    this.#precedence.heard('incident', id, at);
    if (!before) return [];
    const incident = { ...merged(before, answer), id };
    if (!isOpen(incident)) return [this.#close(before, incident)];
    if (isSameRecord(before, incident)) return [];
    this.#touchIncident(before);
    this.#incidents.set(id, incident);
    this.#touchIncident(incident);
    return [{ event: 'incident_changed', record: incident }];
  }

  /** Notes settings that the cloud accepted and does not show. */
  noteAcceptedSettings(propertyId: string, settings: AcceptedSettings): void {
    if (!this.#properties.has(propertyId)) return;
    this.#acceptedSettings.set(propertyId, { ...this.#acceptedSettings.get(propertyId), ...settings });
    this.touch('property', propertyId);
  }

  // ---- valve commands -----------------------------------------------------------------------------------------

  /** Notes that the cloud accepted a command; shown as its movement until the cloud says anything new. */
  noteAccepted(sonicId: string, command: AcceptedCommand): void {
    // It may have said something new before it answered the command.
    if (this.#sonics.get(sonicId)?.valve_state !== command.stateBefore) return;
    this.#valves.accept(sonicId, command);
    this.touch('sonic', sonicId);
  }

  /** Notes that a command is awaited no more: the cloud's word stands. */
  forgetAccepted(sonicId: string): void {
    if (this.#valves.forgetAccepted(sonicId)) this.touch('sonic', sonicId);
  }

  /** Notes how long a valve took from command to confirmation, in s. */
  noteTravelTime(sonicId: string, seconds: number): void {
    this.#valves.noteTravelTime(sonicId, seconds);
    this.touch('sonic', sonicId);
  }

  // ---- views --------------------------------------------------------------------------------------------------

  /** Null for an unknown id. */
  propertyView(id: string): PropertyView | null {
    const property = this.#properties.get(id);
    if (!property) return null;
    return {
      kind: 'property',
      property,
      settings: this.#settings.get(id),
      notifications: this.#notifications.get(id),
      accepted: this.#acceptedSettings.get(id) ?? {},
      incidents: this.#incidentsOf(`property/${id}`),
      areIncidentsKnown: this.#incidentsReadAt !== null,
    };
  }

  /** Null for an unknown id. */
  signalView(id: string): SignalView | null {
    const signal = this.#signals.get(id);
    if (!signal) return null;
    return {
      kind: 'signal',
      signal,
      propertyId: this.#ownership.of(id),
      isUnread: this.#signalSightings.isUnread(id),
      hub: this.#hubs.of(id),
      incidents: this.#incidentsOf(`signal/${id}`),
      areIncidentsKnown: this.#incidentsReadAt !== null,
    };
  }

  /** Null for an unknown id. */
  sonicView(id: string): SonicView | null {
    const sonic = this.#sonics.get(id);
    if (!sonic) return null;
    return {
      kind: 'sonic',
      sonic,
      signal: (sonic.signal_id !== null && this.#signals.get(sonic.signal_id)) || null,
      propertyId: this.#ownership.of(sonic.signal_id),
      isUnread: this.#sightings.isUnread(id),
      valve: this.#valves.shown(sonic),
      travelTimeS: this.#valves.travelTimeS(id),
      telemetry: this.#measurements.of(id),
      usage: this.#usage.of(id),
      pressureTests: this.#pressureTests.of(id),
      pressureTestJobId: this.#pressureTestJobs.get(id) ?? null,
      incidents: this.#incidentsOf(`sonic/${id}`),
      areIncidentsKnown: this.#incidentsReadAt !== null,
    };
  }

  /** The view of a device; null for an unknown one. */
  view(kind: CloudDeviceKind, id: string): PropertyView | SignalView | SonicView | null {
    switch (kind) {
      case 'property':
        return this.propertyView(id);
      case 'signal':
        return this.signalView(id);
      case 'sonic':
        return this.sonicView(id);
    }
  }

  /** The time zone of the property in which a sonic is; null while that is not known. */
  timezoneOf(sonicId: string): string | null {
    const propertyId = this.#ownership.of(this.#sonics.get(sonicId)?.signal_id ?? null);
    return (propertyId !== null && this.#settings.get(propertyId)?.timezone) || null;
  }

  /** A device in a log line: its name, if it has one, and its id. */
  label(kind: CloudDeviceKind, id: string): string {
    const names = { property: this.#properties, signal: this.#signals, sonic: this.#sonics };
    const name = names[kind].get(id)?.name?.slice(0, 60);
    return name ? `${kind} "${name}" (${id})` : `${kind} ${id}`;
  }

  /** An open incident; null once it is not. */
  incident(id: string): Incident | null {
    return this.#incidents.get(id) ?? null;
  }

  /** The device that announces an incident: its sonic if known, else its signal if known. */
  announcerOf(incident: Incident): { readonly kind: 'sonic' | 'signal'; readonly id: string } | null {
    const { sonic_id: sonicId, signal_id: signalId } = incident;
    if (sonicId !== null && this.#sonics.has(sonicId)) return { kind: 'sonic', id: sonicId };
    if (signalId !== null && this.#signals.has(signalId)) return { kind: 'signal', id: signalId };
    return null;
  }

  /** Ids of all devices of a kind, or of all open incidents. */
  ids(kind: CloudDeviceKind | 'incident'): string[] {
    const maps = {
      property: this.#properties,
      signal: this.#signals,
      sonic: this.#sonics,
      incident: this.#incidents,
    };
    return [...maps[kind].keys()];
  }

  /** How many there are of each. */
  counts(): { properties: number; signals: number; sonics: number; open_incidents: number } {
    return {
      properties: this.#properties.size,
      signals: this.#signals.size,
      sonics: this.#sonics.size,
      open_incidents: this.#incidents.size,
    };
  }

  /** Properties of which it is known that they have no signal. */
  propertiesWithoutSignals(): Property[] {
    const ids = this.#ownership.without(this.#properties.keys());
    return ids.flatMap((id) => this.#properties.get(id) ?? []);
  }

  /** Whether each list was once read completely, so that what is not in the store is not in the cloud. */
  get isWhole(): boolean {
    return ['property', 'signal', 'sonic', 'incident'].every((kind) => this.#wholeKinds.has(kind));
  }

  /** Whether only some properties are selected. */
  get isSelective(): boolean {
    return this.#options.selection.length > 0;
  }

  /** Names and ids in the selection that no property has; empty while not all properties are known. */
  unmatchedSelection(): string[] {
    if (!this.#wholeKinds.has('property')) return [];
    const properties = [...this.#properties.values()];
    return this.#options.selection.filter(
      (wanted) => !properties.some(({ id, name }) => wanted === id || wanted === name),
    );
  }

  /** What changed since the last time this was asked. */
  takeDirty(): Dirty {
    return this.#dirty.take();
  }

  /** Marks something as changed, so that it is planned anew. */
  touch(kind: PlannedKind, id: string): void {
    this.#dirty.add(kind, id);
    this.#onChange();
  }

  /** Marks everything as changed. */
  touchAll(): void {
    for (const kind of plannedKinds) for (const id of this.ids(kind)) this.touch(kind, id);
  }

  // ---- inside -------------------------------------------------------------------------------------------------

  #replace<T extends { readonly id: string }>(
    kind: CloudDeviceKind,
    map: Map<string, T>,
    reading: Reading<T>,
  ): Happening[] {
    const isFirst = !this.#wholeKinds.has(kind);
    const happenings: Happening[] = [];
    const present = new Set<string>();
    for (const record of reading.records) {
      present.add(record.id);
      this.#absences.delete(`${kind}/${record.id}`);
      const isNew = !map.has(record.id);
      if (!update(map, record.id, record)) continue;
      this.#touchWithNeighbours(kind, record.id);
      if (isNew) this.#touchIncidentsNaming(record.id);
      // What is there at the start was not added.
      if (isNew && !isFirst) happenings.push({ event: 'device_added', kind, record });
    }
    if (!reading.isComplete) return happenings;
    this.#wholeKinds.add(kind);
    for (const [id, record] of map) {
      if (present.has(id)) continue;
      const absences = (this.#absences.get(`${kind}/${id}`) ?? 0) + 1;
      this.#absences.set(`${kind}/${id}`, absences);
      if (absences < readingsUntilGone) continue;
      this.#touchWithNeighbours(kind, id);
      map.delete(id);
      this.#forget(kind, id);
      this.#touchIncidentsNaming(id);
      happenings.push({ event: 'device_removed', kind, record });
    }
    return happenings;
  }

  #forget(kind: CloudDeviceKind, id: string): void {
    this.#absences.delete(`${kind}/${id}`);
    this.#precedence.forget(kind, id);
    if (kind === 'property') {
      this.#settings.delete(id);
      this.#notifications.delete(id);
      this.#acceptedSettings.delete(id);
      this.#precedence.forget('settings', id);
      this.#precedence.forget('notifications', id);
      for (const signalId of this.#ownership.forget(id)) this.#touchSignal(signalId);
    }
    if (kind === 'signal') {
      this.#signalSightings.forget(id);
      this.#hubs.forget(id);
    }
    if (kind === 'sonic') {
      this.#measurements.forget(id);
      this.#usage.forget(id);
      this.#pressureTests.forget(id);
      this.#pressureTestJobs.delete(id);
      this.#sightings.forget(id);
      this.#valves.forget(id);
    }
  }

  /** The record of a list, or the known one where the list knows less. */
  #newest<T extends { readonly id: string }>(
    kind: CloudDeviceKind,
    map: ReadonlyMap<string, T>,
    record: T,
    startedAt: number,
  ): T {
    return (this.#precedence.isOlder(kind, record.id, startedAt) && map.get(record.id)) || record;
  }

  /** Takes in the answer to a change of what is known; says whether it was news. */
  #takeAnswer<T extends object>(
    kind: string,
    map: Map<string, T> | Map<string, T | null>,
    id: string,
    answer: T,
    at: number,
  ): boolean {
    const before = map.get(id);
    this.#precedence.heard(kind, id, at);
    return before ? update(map as Map<string, T>, id, merged(before, answer)) : false;
  }

  #close(before: Incident, record: Incident): Happening {
    this.#incidents.delete(before.id);
    this.#touchIncident(before);
    return { event: 'incident_closed', record };
  }

  #setIncidentsReadAt(readAt: number | null): void {
    const isNews = (readAt === null) !== (this.#incidentsReadAt === null);
    this.#incidentsReadAt = readAt;
    if (isNews) this.touchAll();
  }

  #isSelected(property: Property): boolean {
    if (!this.isSelective) return true;
    return this.#options.selection.some((wanted) => wanted === property.id || wanted === property.name);
  }

  #isSignalSelected(signalId: string | null): boolean {
    return !this.isSelective || this.#ownership.of(signalId) !== null;
  }

  #isIncidentSelected(incident: Incident): boolean {
    return !this.isSelective || this.#propertyOf(incident) !== null;
  }

  #propertyOf(incident: Incident): string | null {
    const sonic = incident.sonic_id === null ? undefined : this.#sonics.get(incident.sonic_id);
    return this.#ownership.of(sonic?.signal_id ?? null) ?? this.#ownership.of(incident.signal_id);
  }

  #incidentsOf(key: string): readonly Incident[] {
    this.#incidentIndex ??= this.#indexIncidents();
    return this.#incidentIndex.get(key) ?? [];
  }

  #indexIncidents(): Map<string, Incident[]> {
    const index = new Map<string, Incident[]>();
    const add = (key: string, incident: Incident) => {
      const list = index.get(key);
      if (list) list.push(incident);
      else index.set(key, [incident]);
    };
    for (const incident of this.#incidents.values()) {
      const announcer = this.announcerOf(incident);
      if (announcer) add(`${announcer.kind}/${announcer.id}`, incident);
      const property = this.#propertyOf(incident);
      if (property !== null) add(`property/${property}`, incident);
    }
    return index;
  }

  #indexSonics(): Map<string, string[]> {
    const index = new Map<string, string[]>();
    for (const { id, signal_id: signalId } of this.#sonics.values()) {
      if (signalId === null) continue;
      const ids = index.get(signalId);
      if (ids) ids.push(id);
      else index.set(signalId, [id]);
    }
    return index;
  }

  #touchIncident(incident: Incident): void {
    this.#incidentIndex = null;
    this.touch('incident', incident.id);
    const announcer = this.announcerOf(incident);
    if (announcer) this.touch(announcer.kind, announcer.id);
    const property = this.#propertyOf(incident);
    if (property !== null) this.touch('property', property);
  }

  /** A device that comes or goes takes its incidents along. */
  #touchIncidentsNaming(deviceId: string): void {
    for (const incident of this.#incidents.values()) {
      if (incident.sonic_id === deviceId || incident.signal_id === deviceId) this.#touchIncident(incident);
    }
  }

  #touchWithNeighbours(kind: CloudDeviceKind, id: string): void {
    this.#incidentIndex = null;
    if (kind === 'sonic') this.#sonicIndex = null;
    if (kind === 'signal') this.#touchSignal(id);
    else this.touch(kind, id);
  }

  /** What hangs on a signal shows its link and its property. */
  #touchSignal(id: string): void {
    this.#incidentIndex = null;
    this.touch('signal', id);
    const owner = this.#ownership.of(id);
    if (owner !== null) this.touch('property', owner);
    this.#sonicIndex ??= this.#indexSonics();
    for (const sonicId of this.#sonicIndex.get(id) ?? []) this.touch('sonic', sonicId);
  }
}

/** Keeps the record's identity when nothing changed; says whether anything did. */
function update<T extends object | null>(map: Map<string, T>, id: string, record: T): boolean {
  const before = map.get(id);
  if (before === record) return false;
  if (before && record && isSameRecord(before, record)) return false;
  map.set(id, record);
  return true;
}

/** The answer to a change; what it does not tell is as it was. */
function merged<T extends object>(before: T, answer: T): T {
  const told = Object.entries(answer).filter(([field, value]) => field !== 'id' && value !== null);
  return { ...before, ...Object.fromEntries(told) };
}
