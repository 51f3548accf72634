import type { PropertyView, SignalView, SonicView } from '../model/devices.ts';
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
import { type Shard, wholeAccount } from '../model/shard.ts';
import { measurementAgeMs, measuringIntervalMs } from '../model/telemetry.ts';
import type { Usage } from '../model/usage.ts';
import type { ValveAction } from '../model/valve.ts';
import type { Slice } from '../polling/pollStatus.ts';
import { Devices } from './devices.ts';
import type { Dirty, PlannedKind } from './dirty.ts';
import { areCertain, areWhole, type Lists } from './lists.ts';
import { Neighbourhood } from './neighbourhood.ts';
import { type AnnouncingDevice, OpenIncidents } from './openIncidents.ts';
import { PerDevice } from './perDevice.ts';
import { Precedence } from './precedence.ts';
import { type AcceptedMemory, PropertyDetails } from './propertyDetails.ts';
import type { CloudDeviceKind, Happening, Reading } from './readings.ts';
import { Ripples } from './ripples.ts';
import { SonicFigures } from './sonicFigures.ts';
import { Territory } from './territory.ts';
import { Valves } from './valves.ts';
import { Whereabouts } from './whereabouts.ts';

export type { CloudDeviceKind, Happening, Reading } from './readings.ts';

/** Where each kind of device is listed. */
const listOf = {
  property: 'properties',
  signal: 'signals',
  sonic: 'sonics',
} as const satisfies Record<CloudDeviceKind, Slice>;

export interface StoreOptions {
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
  /** Which part of the properties is this bridge's; all unless given. */
  readonly shard?: Shard;
  /** A device has come from a property of that other bridge, or gone there. */
  readonly crossed?: (bridge: string) => void;
  /** How long something may be missed by readings before it counts as unread, in ms. */
  readonly staleAfterMs: number;
  /** The same of a list that is read so seldom that one failure would make it old; `staleAfterMs` unless given. */
  readonly allowedMs?: (slice: Slice) => number;
  /** What the cloud's clock shows, in ms since 1970; the machine's own unless given. */
  readonly cloudNow?: () => number;
  /** Keeps what the cloud accepted and does not show; not over a restart unless given. */
  readonly memory?: AcceptedMemory;
}

/** What the cloud last said, slice by slice. A record that did not change keeps its identity. */
export class Store {
  /** Which bridge shows what the cloud lists. */
  readonly neighbourhood: Neighbourhood;
  readonly #options: StoreOptions;
  readonly #precedence = new Precedence();
  readonly #whereabouts = new Whereabouts({
    hasProperty: (id) => this.#properties.has(id) || this.#properties.unwantedIn(id) !== undefined,
    onlyProperty: () => this.#onlyProperty,
    sonic: (id) => this.#sonics.get(id),
    propertyOfUnshown: (id) => this.#sonics.unwantedIn(id) ?? null,
    sonics: () => this.#sonics.all,
  });
  readonly #properties: Devices<Property>;
  /** The only property of the account when all was marked last. */
  #markedOnlyProperty: string | null = null;
  readonly #details: PropertyDetails;
  readonly #signals: Devices<Signal>;
  #areSignalsAsked = false;
  #areSignalsRefused = false;
  readonly #hubs = new PerDevice<HubDetail>();
  readonly #sonics: Devices<Sonic>;
  readonly #figures = new SonicFigures();
  readonly #valves = new Valves();
  readonly #incidents: OpenIncidents;
  readonly #lists: Lists;
  readonly #territory: Territory;
  readonly #ripples: Ripples;

  constructor(options: StoreOptions, onChange: () => void) {
    this.#options = options;
    this.#details = new PropertyDetails(this.#precedence, options.memory);
    this.#territory = new Territory(options.selection, options.shard ?? wholeAccount);
    this.#properties = this.#devices(
      'property',
      ({ id }) => id,
      (property) => this.#territory.has(property),
    );
    this.#signals = this.#devices('signal', ({ id }) => this.#whereabouts.signals.of(id));
    this.#sonics = this.#devices('sonic', (sonic) => this.#whereabouts.propertyOfSonic(sonic));
    this.#incidents = new OpenIncidents(this.#precedence, {
      announcerOf: (incident) => this.announcerOf(incident),
      propertyOf: (incident) => this.#whereabouts.propertyOf(incident),
      isSelected: (incident) => this.neighbourhood.isIncidentHere(incident),
      isDeviceless: (incident) => this.neighbourhood.isDeviceless(incident),
      // One that names a sonic is where that is.
      arePlacesKnown: () => this.neighbourhood.arePlacesKnown && this.#sonics.isPlaced,
      isElsewhere: (home) => this.neighbourhood.isHomeElsewhere(home),
      touch: (kind, id) => this.#ripples.touch(kind, id),
      touchAll: () => this.#ripples.touchAll(),
    });
    this.#lists = {
      property: this.#properties,
      signal: this.#signals,
      sonic: this.#sonics,
      incident: this.#incidents,
    };
    this.neighbourhood = new Neighbourhood(this.#territory, this.#lists, this.#whereabouts);
    this.#ripples = new Ripples(this.#lists, this.#whereabouts, onChange);
  }

  // ---- readings -----------------------------------------------------------------------------------------------

  /** Takes in the properties. */
  replaceProperties(reading: Reading<Property>): Happening[] {
    if (reading.isComplete) this.#territory.forgetMatches();
    return this.#properties.replace(reading);
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
    if (this.#details.replace(id, settings, notifications, startedAt)) this.#ripples.touch('property', id);
  }

  /** Takes in which signals a property has; says whether that was news. */
  setOwnedSignals(propertyId: string, signalIds: readonly string[], isComplete: boolean): boolean {
    const { signals } = this.#whereabouts;
    const owners = new Map(signalIds.map((id) => [id, signals.of(id)]));
    const wasWhole = signals.isWhole([propertyId]);
    const changed = signals.set(propertyId, signalIds, isComplete);
    if (signals.isWhole([propertyId]) !== wasWhole) this.#ripples.touch('property', propertyId);
    for (const id of changed) {
      // Its incidents leave the one that it was in.
      this.#ripples.touch('property', owners.get(id) ?? propertyId);
      this.#ripples.changed('signal', id);
      if (!this.neighbourhood.isHomeElsewhere(this.#whereabouts.signals.of(id))) continue;
      // At once: what is published now may be another bridge's already.
      for (const sonicId of this.#whereabouts.sonicsOn(id)) this.#sonics.leaveIfElsewhere(sonicId);
      this.#signals.leaveIfElsewhere(id);
    }
    return changed.length > 0;
  }

  /** Takes in the signals. */
  replaceSignals(reading: Reading<Signal>): Happening[] {
    const happenings = this.#signals.replace(reading);
    this.#areSignalsRefused = false;
    if (this.#signals.isWhole) this.#allSignalsAsked();
    return happenings;
  }

  /** The cloud does not list the signals to this user: nothing more will be known of them. */
  dropSignals(): void {
    this.#areSignalsRefused = true;
    this.#allSignalsAsked();
  }

  #allSignalsAsked(): void {
    if (this.#areSignalsAsked) return;
    this.#areSignalsAsked = true;
    // Of those that name a signal which is not there it is known only now.
    this.#ripples.touchEach('sonic');
  }

  /** Takes in what the cloud says of a signal as a hub; null, it has none. */
  setHub(signalId: string, hub: HubDetail | null): void {
    if (this.#hubs.set(signalId, hub)) this.#ripples.touch('signal', signalId);
  }

  /** Forgets what it said: it could not be read, and what is old must not pass for the present. */
  missedHub(signalId: string): void {
    if (!this.#hubs.of(signalId)) return;
    this.#hubs.forget(signalId);
    this.#ripples.touch('signal', signalId);
  }

  /** Forgets all hubs: the cloud does not offer them. */
  dropHubs(): void {
    if (this.#hubs.drop()) this.#ripples.touchEach('signal');
  }

  /** Takes in the sonics with a hub while nothing is known yet of the others; none is removed, none missed. */
  seeSonics(hub: Reading<Sonic>): Happening[] {
    const happenings = this.#sonics.see(this.#joined(hub, { records: [], isComplete: false }));
    this.#noteValves(hub.records);
    return happenings;
  }

  /**
   * Takes in the sonics, those with a hub and those without, which were read at the same time; one that was read
   * singly since that was begun keeps its newer state.
   */
  replaceSonics(
    hub: Reading<Sonic>,
    wifi: Omit<Reading<Sonic>, 'startedAt'> = { records: [], isComplete: true },
  ): Happening[] {
    const reading = this.#joined(hub, wifi);
    const isNews = !this.#sonics.isStanding(reading.records);
    const happenings = this.#sonics.replace(reading);
    if (isNews) this.#noteValves(reading.records);
    // That nothing is new is news where a command is awaited.
    else for (const id of this.#valves.awaited) this.#noteValve(id);
    return happenings;
  }

  /** Takes in one sonic that was read by itself, unless more is known of it by now: some answers come late. */
  setSonic(sonic: Sonic, startedAt: number): void {
    const { id } = sonic;
    if (!this.#sonics.has(id)) return;
    const isAnother = this.#sonics.set(sonic, startedAt);
    this.#noteValve(id);
    if (isAnother) this.#ripples.changed('sonic', id);
  }

  /**
   * Takes in a sonic's telemetry as it is read now, at that time in ms of the monotonic clock; null, the cloud has none.
   * Its values are shown unless they were measured too long ago; says whether they are.
   */
  setTelemetry(sonicId: string, telemetry: Telemetry | null, now: number): boolean {
    if (!this.#sonics.has(sonicId)) return false;
    const { cloudNow = Date.now } = this.#options;
    const measurements = this.#measurementsOf(sonicId);
    const ageMs = telemetry ? measurementAgeMs(telemetry, cloudNow()) : 0;
    const readAllowedMs = this.#allowedMs('telemetry');
    // Measured once a minute and read once a minute, none is younger than two for long.
    const measuredAllowedMs = Math.max(readAllowedMs, 3 * measuringIntervalMs);
    const isPresent = telemetry !== null && ageMs <= measuredAllowedMs;
    const expiresAt = now + Math.min(readAllowedMs, measuredAllowedMs - ageMs);
    const isNew =
      telemetry === null
        ? measurements.setNone(sonicId)
        : isPresent
          ? measurements.set(sonicId, telemetry, expiresAt)
          : measurements.setOld(sonicId, telemetry);
    if (isNew) this.#ripples.touch('sonic', sonicId);
    return isPresent;
  }

  /**
   * Drops the values of telemetry that were measured or read too long ago by now, in ms of the monotonic clock; says
   * how long it is until the next will be, in ms: infinity, none are shown.
   */
  expireTelemetry(now: number): number {
    for (const id of this.#figures.expire(now)) this.#ripples.touch('sonic', id);
    return this.#figures.nextExpiryAt - now;
  }

  /** Notes that a slice could not be read at that time, or not all of it: what was read too long ago is unread. */
  missed(slice: Slice, at: number): void {
    if (slice === 'sonics') this.#sonics.missed(at);
    else if (slice === 'signals') this.#signals.missed(at);
    else if (slice === 'incidents') this.#incidents.missed(at, this.#allowedMs(slice));
  }

  /** Forgets all telemetry of sonics with a hub, or of those without: the cloud does not offer it. */
  dropTelemetry(isWifi = false): void {
    if (this.#figures.measurements(isWifi).drop()) this.#ripples.touchEach('sonic');
  }

  /** Shows a sonic's water usage; null, the cloud has none. */
  setUsage(sonicId: string, usage: Usage | null): void {
    if (this.#sonics.has(sonicId) && this.#figures.usage.set(sonicId, usage))
      this.#ripples.touch('sonic', sonicId);
  }

  /** Shows no usage: the cloud does not offer it. */
  dropUsage(): void {
    if (this.#figures.usage.drop()) this.#ripples.touchEach('sonic');
  }

  /** Shows a sonic's pressure tests; null, the cloud has none. */
  setPressureTests(sonicId: string, tests: PressureTestDays | null): void {
    if (!this.#sonics.has(sonicId)) return;
    if (this.#figures.pressureTests.set(sonicId, tests)) this.#ripples.touch('sonic', sonicId);
  }

  /** Shows no pressure tests: the cloud does not offer them. */
  dropPressureTests(): void {
    if (this.#figures.pressureTests.drop()) this.#ripples.touchEach('sonic');
  }

  /** Notes the pressure test that this bridge has started last. */
  notePressureTestJob(sonicId: string, jobId: string): void {
    if (!this.#sonics.has(sonicId)) return;
    this.#figures.noteJob(sonicId, jobId);
    this.#ripples.touch('sonic', sonicId);
  }

  /** Takes in the open incidents; one that a complete reading does not list is closed. */
  replaceIncidents(reading: Reading<Incident>): Happening[] {
    const happenings = this.#incidents.replace(reading);
    if (!reading.isComplete) this.missed('incidents', reading.startedAt);
    this.#incidents.markDeviceless();
    return happenings;
  }

  // ---- changes ------------------------------------------------------------------------------------------------
  // What the cloud answered to a change at that time, in ms of the monotonic clock, as far as the answer tells.

  setProperty(id: string, answer: Property, at: number): void {
    if (this.#properties.change(id, answer, at)) this.#ripples.changed('property', id);
  }

  setSignal(id: string, answer: Signal, at: number): void {
    if (this.#signals.change(id, answer, at)) this.#ripples.changed('signal', id);
  }

  /** Only the name is changed so; nobody knows when the rest was as the answer tells, be it a valve that moves. */
  setChangedSonic(id: string, { name }: Sonic, at: number): void {
    const sonic = this.#sonics.get(id);
    if (sonic && this.#sonics.change(id, { ...sonic, name }, at)) this.#ripples.changed('sonic', id);
  }

  setSettings(propertyId: string, answer: PropertySettings, at: number): void {
    if (!this.#properties.has(propertyId)) return;
    if (this.#details.changeSettings(propertyId, answer, at)) this.#ripples.touch('property', propertyId);
  }

  setNotifications(propertyId: string, answer: NotificationSettings, at: number): void {
    if (!this.#properties.has(propertyId)) return;
    if (this.#details.changeNotifications(propertyId, answer, at))
      this.#ripples.touch('property', propertyId);
  }

  setIncident(id: string, answer: Incident, at: number): Happening[] {
    return this.#incidents.change(id, answer, at);
  }

  /** Notes settings that the cloud accepted and does not show. */
  noteAcceptedSettings(propertyId: string, settings: AcceptedSettings): void {
    if (!this.#properties.has(propertyId)) return;
    this.#details.accept(propertyId, settings);
    this.#ripples.touch('property', propertyId);
  }

  // ---- valve commands -----------------------------------------------------------------------------------------

  /**
   * Notes that the cloud accepted a command at that time, in ms of the monotonic clock; shown as its movement until a
   * reading begun since then says anything new.
   */
  noteAccepted(sonicId: string, action: ValveAction, at: number): void {
    const sonic = this.#sonics.get(sonicId);
    if (!sonic) return;
    this.#valves.accept(sonic, action, at);
    this.#ripples.touch('sonic', sonicId);
  }

  /** Notes that a command is awaited no more: the cloud's word stands. */
  forgetAccepted(sonicId: string): void {
    if (this.#valves.forgetAccepted(sonicId)) this.#ripples.touch('sonic', sonicId);
  }

  /** Notes how long a valve took from command to confirmation, in s. */
  noteTravelTime(sonicId: string, seconds: number): void {
    this.#valves.noteTravelTime(sonicId, seconds);
    this.#ripples.touch('sonic', sonicId);
  }

  // ---- views --------------------------------------------------------------------------------------------------

  /** Null for an unknown id. */
  propertyView(id: string): PropertyView | null {
    const property = this.#properties.get(id);
    if (!property) return null;
    return {
      kind: 'property',
      property,
      settings: this.#details.settings(id),
      notifications: this.#details.notifications(id),
      accepted: this.#details.accepted(id),
      incidents: this.#incidents.shownBy('property', id),
      possibleIncidents: this.#incidents.unassigned,
      // One at a signal of which nobody knows that it is here would be missed.
      areIncidentsKnown: this.#incidents.areKnown && this.#whereabouts.signals.isWhole([id]),
    };
  }

  /** Null for an unknown id. */
  signalView(id: string): SignalView | null {
    const signal = this.#signals.get(id);
    if (!signal) return null;
    const propertyId = this.#whereabouts.signals.of(id);
    return {
      kind: 'signal',
      signal,
      propertyId,
      isFlap: this.#signals.isFlap(id),
      isUnread: this.#signals.isUnread(id),
      hub: this.#hubs.of(id),
      incidents: this.#incidents.shownBy('signal', id),
      possibleIncidents: this.#incidents.possibleAt(propertyId),
      areIncidentsKnown: this.#incidents.areKnown,
    };
  }

  /** Null for an unknown id. */
  sonicView(id: string): SonicView | null {
    const sonic = this.#sonics.get(id);
    if (!sonic) return null;
    const isWifi = this.isWifi(id);
    const signal = isWifi ? null : this.#signalOf(sonic);
    const propertyId = this.#whereabouts.propertyOfSonic(sonic);
    return {
      kind: 'sonic',
      sonic,
      isWifi,
      signal,
      isSignalMissing: signal === null && !isWifi && sonic.signal_id !== null && !this.#areSignalsRefused,
      isFlap: this.#sonics.isFlap(id),
      isSignalFlap: signal ? this.#signals.isFlap(signal.id) : false,
      propertyId,
      isUnread: this.#sonics.isUnread(id),
      valve: this.#valves.shown(sonic),
      travelTimeS: this.#valves.travelTimeS(id),
      ...this.#figures.of(id, isWifi),
      incidents: this.#incidents.shownBy('sonic', id),
      possibleIncidents: this.#incidents.possibleAt(propertyId),
      areIncidentsKnown: this.#incidents.areKnown,
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

  /** Whether the cloud lists the sonic among those without a hub. */
  isWifi(sonicId: string): boolean {
    return this.#whereabouts.wifi.has(sonicId);
  }

  /** The time zone of the property in which a sonic is; null, it has none; undefined, nobody knows. */
  timezoneOf(sonicId: string): string | null | undefined {
    const propertyId = this.#whereabouts.propertyOfSonic(this.#sonics.get(sonicId));
    return propertyId === null ? undefined : this.#details.settings(propertyId)?.timezone;
  }

  /** A device in a log line: its name, or its id if it has none. */
  label(kind: CloudDeviceKind, id: string): string {
    return `"${this.#lists[kind].get(id)?.name?.slice(0, 60) || id}"`;
  }

  /** An open incident; null once it is not. */
  incident(id: string): Incident | null {
    return this.#incidents.get(id);
  }

  /** Whether an incident is open, be it shown here or not. */
  isOpen(incidentId: string): boolean {
    return this.#incidents.has(incidentId);
  }

  /** Incidents that were open and that this list does not name. */
  incidentsMissingFrom(listed: readonly Incident[]): Incident[] {
    return this.#incidents.missingFrom(listed);
  }

  /** Open incidents that name no device that the account has: they may be at any of what they may belong to. */
  get devicelessIncidents(): readonly Incident[] {
    return this.#incidents.deviceless;
  }

  /** Those of them that no property shows, as far as this bridge is the one that shows them. */
  get unassignedIncidents(): readonly Incident[] {
    return this.#incidents.unassigned.filter(({ id }) => this.#incidents.get(id) !== null);
  }

  /** Whether no other incident is open: all were read, and not too long ago. */
  get areIncidentsKnown(): boolean {
    return this.#incidents.areKnown;
  }

  /** When the reading was begun that last brought a sonic, in ms of the monotonic clock; null before the first. */
  sonicReadAt(id: string): number | null {
    return this.#sonics.readAt(id) ?? null;
  }

  /** The device that announces an incident: its sonic if known, else its signal if known. */
  announcerOf(incident: Incident): AnnouncingDevice | null {
    const { sonic_id: sonicId, signal_id: signalId } = incident;
    if (sonicId !== null && this.#sonics.has(sonicId)) return { kind: 'sonic', id: sonicId };
    if (signalId !== null && this.#signals.has(signalId)) return { kind: 'signal', id: signalId };
    return null;
  }

  /** Ids of all devices of a kind, or of all open incidents. */
  ids(kind: PlannedKind): string[] {
    return this.#lists[kind].ids;
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

  /** Signals that are known, listed or not, in the selected properties. */
  ownedSignalIds(): string[] {
    const { signals } = this.#whereabouts;
    return signals.signalIds().filter((id) => this.neighbourhood.isHere(signals.of(id)));
  }

  /** Properties of which it is known that they have no signal, and that need none for what is in them. */
  propertiesWithoutSignals(): Property[] {
    const ids = this.#whereabouts.withoutSignals(this.#properties.ids);
    return ids.flatMap((id) => this.#properties.get(id) ?? []);
  }

  /** Whether each list was once read completely, so that what is not in the store is not in the cloud. */
  get isWhole(): boolean {
    return areWhole(this.#lists);
  }

  /** Whether it was also known where everything is that the lists have, so that what is not in the store is not wanted. */
  get isCertain(): boolean {
    return areCertain(this.#lists);
  }

  /** Whether only some properties are selected by name or id. */
  get isFiltered(): boolean {
    return this.#territory.isFiltered;
  }

  /** Whether any property is selected so. */
  get isFilterMatched(): boolean {
    return this.#territory.isFilterMatched;
  }

  /** Names and ids in the selection that no property has; empty while not all properties are known. */
  unmatchedSelection(): string[] {
    const renamed = this.outdatedSelection().map(([name]) => name);
    return this.#properties.isWhole
      ? this.#territory.unmatched.filter((word) => !renamed.includes(word))
      : [];
  }

  /** Names in the selection by which properties are shown that are called otherwise by now. */
  outdatedSelection(): [name: string, property: Property][] {
    return this.#territory.outdated.flatMap(([name, id]) => {
      const property = this.#properties.get(id);
      return property ? [[name, property]] : [];
    });
  }

  // ---- what is to be published --------------------------------------------------------------------------------

  /** What changed since the last time this was asked. */
  takeDirty(): Dirty {
    this.#markOnlyProperty();
    this.#incidents.markDeviceless();
    return this.#ripples.take();
  }

  /** Marks something as changed, so that it is planned anew; a device that is not known may only not be read yet. */
  touch(kind: PlannedKind, id: string): void {
    this.#ripples.touch(kind, id);
  }

  /** Marks everything as changed. */
  touchAll(): void {
    this.#ripples.touchAll();
  }

  // ---- inside -------------------------------------------------------------------------------------------------

  /** An incident in no property that is known belongs to the only one: all is marked once that is another. */
  #markOnlyProperty(): void {
    const onlyProperty = this.#onlyProperty;
    if (onlyProperty === this.#markedOnlyProperty) return;
    this.#markedOnlyProperty = onlyProperty;
    this.#incidents.surroundingsChanged();
    this.#ripples.touchAll();
  }

  get #onlyProperty(): string | null {
    const { isWhole, size, ids, unwanted } = this.#properties;
    if (!isWhole || size + unwanted.size !== 1) return null;
    return [...ids, ...unwanted.keys()][0] ?? null;
  }

  #allowedMs(slice: Slice): number {
    return this.#options.allowedMs?.(slice) ?? this.#options.staleAfterMs;
  }

  #devices<T extends Property | Signal | Sonic>(
    kind: CloudDeviceKind,
    homeOf: (record: T) => string | null,
    isSelected: (record: T) => boolean = (record) =>
      this.#territory.isWholeAccount || this.neighbourhood.isHere(homeOf(record)),
  ): Devices<T> {
    return new Devices(kind, this.#precedence, () => this.#allowedMs(listOf[kind]), {
      isAllSelected: () => this.#territory.isWholeAccount,
      isSelected,
      homeOf,
      arePlacesKnown: () => kind === 'property' || this.neighbourhood.arePlacesKnown,
      isElsewhere: (home) => this.neighbourhood.isHomeElsewhere(home),
      linkOf,
      crossed: (home) => {
        if (this.isWhole) this.#options.crossed?.(this.#territory.bridgeOf(home));
      },
      touched: (id) => this.#ripples.touch(kind, id),
      changed: (id) => this.#ripples.changed(kind, id),
      added: (id) => {
        this.#ripples.changed(kind, id);
        this.#incidents.touchNaming(id);
      },
      passed: (id) => this.#incidents.touchNaming(id),
      removed: (id) => {
        this.#ripples.mark(kind, id);
        this.#ripples.changed(kind, id);
        this.#forget(kind, id);
        this.#incidents.touchNaming(id);
      },
    });
  }

  #forget(kind: CloudDeviceKind, id: string): void {
    switch (kind) {
      case 'property':
        this.#details.forget(id);
        for (const signalId of this.#whereabouts.signals.forget(id))
          this.#ripples.changed('signal', signalId);
        break;
      case 'signal':
        this.#hubs.forget(id);
        break;
      case 'sonic':
        this.#figures.forget(id);
        this.#valves.forget(id);
        this.#whereabouts.wifi.forget(id);
    }
  }

  #joined(hub: Reading<Sonic>, wifi: Omit<Reading<Sonic>, 'startedAt'>): Reading<Sonic> {
    return this.#whereabouts.wifi.join(
      hub,
      wifi,
      (id) => this.#sonics.has(id),
      (id) => {
        this.#figures.forgetMeasurements(id);
        this.#ripples.changed('sonic', id);
      },
    );
  }

  #noteValves(listed: readonly Sonic[]): void {
    for (const { id } of listed) this.#noteValve(id);
  }

  /** Notes what the record that stands now says of the valve. */
  #noteValve(id: string): void {
    const sonic = this.#sonics.get(id);
    const readAt = this.#sonics.readAt(id);
    if (sonic && readAt !== undefined) this.#valves.note(sonic, readAt);
  }

  /** Null where it has none that the cloud lists, undefined as long as not all could be read. */
  #signalOf({ signal_id: id }: Sonic): Signal | null | undefined {
    return this.#signals.get(id) ?? (id === null || this.#areSignalsAsked ? null : undefined);
  }

  #measurementsOf(sonicId: string) {
    return this.#figures.measurements(this.isWifi(sonicId));
  }
}

/** What the cloud says of a device's own link; a property has none. */
function linkOf(record: Property | Signal | Sonic): string | null {
  if ('radio_connection' in record) return record.radio_connection;
  return 'cloud_connection' in record ? record.cloud_connection : null;
}
