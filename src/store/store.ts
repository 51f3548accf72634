import { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { isTimezone } from '../model/calendar.ts';
import type { CloudDeviceKind, PropertyView, SignalView, SonicView } from '../model/devices.ts';
import { idKey } from '../model/ids.ts';
import { noPause, type ShownPause } from '../model/pause.ts';
import type { PollName } from '../model/polls.ts';
import type { PressureTestDays } from '../model/pressureTests.ts';
import type {
  ApplianceCategories,
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
import { restedAt } from '../model/telemetry.ts';
import type { Usage } from '../model/usage.ts';
import type { ValveAction } from '../model/valve.ts';
import type { AskedCommand, CommandStatus, ValveRecord } from '../model/valveCommand.ts';
import { type Kept, newKept } from '../state/sections.ts';
import { Account } from './account.ts';
import { Changes, type Dirty, type PlannedKind, plannedKinds } from './changes.ts';
import type { ReadonlyDetails, TelemetryTable } from './details.ts';
import type { IncidentEvent, ReadonlyIncidents } from './incidents.ts';
import type { ReadonlyFilter } from './propertyFilter.ts';
import { type DeviceEvent, ShownDevices } from './shownDevices.ts';
import type { Change, Reading } from './table.ts';
import type { ReadonlyDevices, ReadonlyTopology } from './topology.ts';
import type { CommandFailure } from './valveRecords.ts';
import { propertyViewOf, signalViewOf, sonicViewOf } from './views.ts';

/** Which part of the account this bridge shows, and where it is kept over a restart. */
interface StoreOptions {
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
  /** Nothing is kept over a restart unless given. */
  readonly kept?: Kept;
  readonly clock: Clock;
}

type CommandEnding = [status: CommandStatus, reason: string | null, failure?: CommandFailure];

interface StoreEvents {
  /** Devices or incidents must be planned again. */
  readonly change: [];
  readonly device: [DeviceEvent];
  readonly incident: [IncidentEvent];
  /** A sonic has another signal. Only the lists of signals show in which property that signal is. */
  readonly relocated: [];
  /** A valve has moved back after a command had moved it. A command of an earlier run has arrived late. */
  readonly undone: [sonicId: string];
  /** A pause of the automatic shut-off has changed, also in a property that is not shown. */
  readonly pause: [];
  /** The settings of a property were read, by a request that was sent at that time. An answer to a change is no reading. */
  readonly settingsRead: [propertyId: string, settings: PropertySettings, sentAt: number];
}

/** A timer may go off a little before its time, in ms. */
const timerToleranceMs = 2;

/**
 * All that is known of the account. The polls put whole lists into tables (`Account`), one for each kind of record. The
 * topology knows where each device is, and whether this bridge shows it. A change marks the devices that show it in one dirty
 * set. After a whole list is stored, events are emitted, and the publisher takes the dirty set. A record is stale once polls
 * have missed it for too long. Measured values also expire by themselves, by one timer. All times are ms of the monotonic
 * clock.
 */
export class Store extends EventEmitter<StoreEvents> {
  readonly devices: ReadonlyDevices;
  readonly filter: ReadonlyFilter;
  readonly topology: ReadonlyTopology;
  readonly incidents: ReadonlyIncidents;
  readonly settings: ReadonlyDetails<PropertySettings>;
  readonly notifications: ReadonlyDetails<NotificationSettings>;
  readonly telemetry: Readonly<Record<'hub' | 'wifi', Pick<TelemetryTable, 'silentIds'>>>;
  readonly usage: ReadonlyDetails<Usage>;
  readonly pressureTests: ReadonlyDetails<PressureTestDays>;
  readonly #account: Account;
  readonly #changes = new Changes();
  readonly #shown: ShownDevices;
  #applianceCategories: ApplianceCategories['categories'] | null | undefined;
  readonly #pauses = new Map<string, ShownPause>();
  readonly #clock: Clock;
  #isAging = false;
  #cancelExpiry: () => void = () => {};

  constructor({ selection, kept = newKept(), clock }: StoreOptions) {
    super();
    this.#clock = clock;
    const account = new Account(selection, this.#changes, kept, clock);
    this.#account = account;
    this.#shown = new ShownDevices(account.devices, account.topology, this.#changes);
    ({
      devices: this.devices,
      filter: this.filter,
      topology: this.topology,
      incidents: this.incidents,
      settings: this.settings,
      notifications: this.notifications,
      telemetry: this.telemetry,
      usage: this.usage,
      pressureTests: this.pressureTests,
    } = account);
  }

  // ---- lists --------------------------------------------------------------------------------------------------

  /** Stores the properties. */
  replaceProperties(reading: Reading<Property>): void {
    const changes = this.#account.devices.property.replaceAll(reading);
    this.#recordProperties(changes);
    this.#settle();
  }

  /** Stores which signals these properties have, and which lists the cloud refuses. Returns whether any signal has moved. */
  setOwnedSignals(
    lists: ReadonlyMap<string, Reading<Pick<Signal, 'id'>>>,
    refused: readonly string[] = [],
  ): boolean {
    const unknown = [...lists.keys()].filter((id) => !this.topology.areSignalsKnown(id));
    const haveMoved = this.#account.topology.setSignals(lists, refused);
    const known = unknown.filter((id) => this.topology.areSignalsKnown(id));
    for (const id of known) this.touch('property', id);
    if (haveMoved || known.length > 0) this.#shown.markMoved();
    this.#settle();
    return haveMoved;
  }

  /** Stores the signals. */
  replaceSignals(reading: Reading<Signal>): void {
    this.#record('signal', this.#account.devices.signal.replaceAll(reading));
    // A reading without a change ends what an incident has said before it.
    for (const { id } of reading.records) if (this.incidents.cloudLostAt(id) !== null) this.#touchLinks(id);
    this.#settle();
  }

  /** Stores the sonics with a hub, and those on Wi-Fi, unless these are still to be read. */
  replaceSonics(
    hub: Reading<Sonic>,
    wifi: Omit<Reading<Sonic>, 'startedAt'> = { records: [], isComplete: true },
  ): void {
    this.#recordSonics(hub, wifi);
    this.#settle();
  }

  /** Stores the open incidents. An incident that is missing from a complete list is closed. */
  replaceIncidents(reading: Reading<Incident>): void {
    this.#account.incidents.replaceAll(reading);
    this.#settle();
  }

  /** Notes that records which the poll read before that time are too old to be shown as the present. */
  markStale(poll: PollName, readBefore: number): void {
    const wereListed = this.devices.sonic.isListFresh;
    for (const [kind, tables] of this.#account.readBy[poll]) {
      for (const id of tables.flatMap((table) => table.markStale(readBefore))) {
        this.touch(kind, id);
        if (poll === 'signals') this.#touchLinks(id);
      }
    }
    this.#touchIfListed(wereListed);
    this.#settle();
  }

  // ---- one by one ---------------------------------------------------------------------------------------------

  /** Stores one sonic that was requested by itself at that time, unless a newer reading is known. */
  setSonic(sonic: Sonic, sentAt: number): void {
    const id = this.devices.sonic.idOf(sonic.id);
    if (!this.#shown.has('sonic', id)) return;
    const change = this.#account.devices.sonic.upsert(sonic.id, sonic, sentAt);
    this.#record('sonic', change ? [change] : []);
    this.#recordValve(id);
    this.#settle();
  }

  /**
   * Stores a property's settings and notification settings, requested at that time. Null means that the cloud shows none,
   * which counts after two refusals that are so many ms apart. Undefined means that they could not be read.
   */
  setPropertyDetails(
    id: string,
    settings: PropertySettings | null | undefined,
    notifications: NotificationSettings | null | undefined,
    sentAt: number,
    apartMs = 0,
  ): void {
    const { settings: known, notifications: knownNotifications } = this.#account;
    const isNews = [
      settings !== undefined && known.setUnlessRefusedOnce(id, settings, sentAt, apartMs),
      notifications !== undefined &&
        knownNotifications.setUnlessRefusedOnce(id, notifications, sentAt, apartMs),
    ];
    if (settings) this.emit('settingsRead', id, settings, sentAt);
    this.#shows('property', id, isNews.includes(true));
  }

  /** Stores the status of a hub, requested at that time. Null means that the cloud has none. */
  setHub(signalId: string, hub: HubDetail | null, sentAt: number): void {
    this.#shows('signal', signalId, this.#account.hubs.set(signalId, hub, sentAt));
  }

  /**
   * Stores a sonic's telemetry that was read now and measured `ageMs` ago. Null means that the cloud has none. The values
   * are shown for `maxAgeMs`, unless they were measured too long ago. Returns whether they are shown.
   */
  setTelemetry(sonicId: string, telemetry: Telemetry | null, ageMs = 0, maxAgeMs = 0): void {
    if (!this.#shown.has('sonic', sonicId)) return;
    const table = this.#telemetry(this.topology.isWifi(sonicId));
    const now = this.#clock.monotonic();
    const { isNews } = table.setMeasured(sonicId, telemetry, now, ageMs, maxAgeMs);
    const at = telemetry && restedAt(telemetry, ageMs, this.#clock.now());
    const { rested } = this.#account.kept;
    const isRest = at !== null && at > (rested.get(sonicId) ?? 0);
    if (isRest) rested.set(sonicId, at);
    this.#shows('sonic', sonicId, isNews || isRest);
  }

  /** Forgets all telemetry of sonics with a hub, or of those without: the cloud does not offer it. */
  dropTelemetry(isWifi = false): void {
    this.#showAll('sonic', this.#telemetry(isWifi).drop());
  }

  /**
   * Starts or stops the expiry of measured values. They expire only while the cloud answers: an unreachable cloud makes
   * everything unavailable, and changes no value.
   */
  setAging(isAging: boolean): void {
    this.#isAging = isAging;
    this.#cancelExpiry();
    if (isAging) this.#expireTelemetry();
  }

  /** Shows a sonic's water usage as it was requested at that time; null, the cloud has none. */
  setUsage(sonicId: string, usage: Usage | null, sentAt: number): void {
    if (!this.#shown.has('sonic', sonicId)) return;
    this.#shows('sonic', sonicId, this.#account.usage.set(sonicId, usage, sentAt));
  }

  /** Shows the sum of a sonic's water that an earlier run has read. The values of today stay unknown. */
  recallUsage(sonicId: string, usage: Usage): void {
    this.#shows('sonic', sonicId, this.#account.usage.set(sonicId, usage, Number.NEGATIVE_INFINITY));
  }

  /** Shows a sonic's pressure tests as they were requested at that time; null, the cloud has none. */
  setPressureTests(sonicId: string, tests: PressureTestDays | null, sentAt: number): void {
    if (!this.#shown.has('sonic', sonicId)) return;
    this.#shows('sonic', sonicId, this.#account.pressureTests.set(sonicId, tests, sentAt));
  }

  /** Shows no details of this kind, because the cloud does not offer them. */
  drop(details: 'hubs' | 'usage' | 'pressureTests'): void {
    this.#showAll(details === 'hubs' ? 'signal' : 'sonic', this.#account[details].drop());
  }

  /** Stores the categories of appliances. Null means that the cloud has none. */
  setApplianceCategories(categories: ApplianceCategories['categories'] | null): void {
    if (isDeepStrictEqual(categories, this.#applianceCategories)) return;
    this.#applianceCategories = categories;
    this.emit('change');
  }

  /** Notes the pressure test that this bridge has started last. */
  recordPressureTestJob(sonicId: string, jobId: string): void {
    if (!this.#shown.has('sonic', sonicId)) return;
    this.#account.pressureTestJobs.set(sonicId, jobId);
    this.#shows('sonic', sonicId);
  }

  // ---- changes ------------------------------------------------------------------------------------------------
  // Store the cloud's answer to a change, received at that time in ms of the monotonic clock.

  setProperty(id: string, answer: Property, at: number): void {
    const change = this.#account.devices.property.change(id, answer, at);
    if (change) this.#recordProperties([change]);
    this.#settle();
  }

  setSignal(id: string, answer: Signal, at: number): void {
    const change = this.#account.devices.signal.change(id, answer, at);
    if (change) this.#record('signal', [change]);
    this.#settle();
  }

  /** Stores only the name of an answer. The rest, such as the state of a moving valve, may be old. */
  setChangedSonic(id: string, { name }: Sonic, at: number): void {
    const change = this.#account.devices.sonic.change(id, { name }, at);
    if (change) this.#record('sonic', [change]);
    this.#settle();
  }

  setSettings(propertyId: string, answer: PropertySettings, at: number): void {
    this.#shows('property', propertyId, this.#account.settings.change(propertyId, answer, at));
  }

  setNotifications(propertyId: string, answer: NotificationSettings, at: number): void {
    this.#shows('property', propertyId, this.#account.notifications.change(propertyId, answer, at));
  }

  setIncident(id: string, answer: Incident, at: number): void {
    this.#account.incidents.change(id, answer, at);
    this.#settle();
  }

  /** Notes settings that the cloud accepted and does not show. */
  recordAcceptedSettings(propertyId: string, settings: AcceptedSettings): void {
    if (!this.#shown.has('property', propertyId)) return;
    const { accepted } = this.#account.kept;
    accepted.set(propertyId, { ...accepted.get(propertyId), ...settings });
    this.#shows('property', propertyId);
  }

  /** Shows a property's pause of the shut-off, or the chosen length of the next one, also before the property is read. */
  showPause(propertyId: string, pause = this.pauseOf(propertyId)): void {
    if (pause) this.#pauses.set(propertyId, pause);
    this.#shows('property', propertyId);
    this.emit('pause');
  }

  // ---- valve commands -----------------------------------------------------------------------------------------

  /**
   * Notes that the cloud accepted a command at that time. The valve is shown as moving until a reading that was sent later
   * shows something new.
   */
  commandAccepted(sonicId: string, action: ValveAction, at: number): void {
    const sonic = this.#shown.has('sonic', sonicId) ? this.devices.sonic.get(sonicId) : undefined;
    if (!sonic) return;
    this.#account.valves.accept(sonic, action, at);
    this.#shows('sonic', sonicId);
  }

  /** Records that a command has ended: from now on the state in the cloud is shown. */
  commandSettled(sonicId: string): void {
    this.#shows('sonic', sonicId, this.#account.valves.forgetAccepted(sonicId));
  }

  /** Records how far a valve command is, or how it ended. */
  recordCommand(sonicId: string, asked: AskedCommand, ...ending: CommandEnding): void {
    const id = this.devices.sonic.idOf(sonicId);
    if (!this.#shown.has('sonic', id)) return;
    this.#account.valveRecords.recordCommand(id, asked, ...ending);
    this.#shows('sonic', id);
  }

  /** Records that the cloud may carry out a command from now on. */
  recordInFlight(sonicId: string, asked: AskedCommand): void {
    if (this.#shown.has('sonic', sonicId)) this.#account.valveRecords.recordInFlight(sonicId, asked);
  }

  /** Records until when a sent command may move the valve; null, the cloud has not received it. */
  recordMovesUntil(sonicId: string, asked: AskedCommand, until: number | null): void {
    if (this.#shown.has('sonic', sonicId)) this.#account.valveRecords.recordMovesUntil(sonicId, asked, until);
  }

  /** The last command and movement of a valve, also of an earlier run. */
  valveRecord(sonicId: string): ValveRecord {
    return this.#account.valveRecords.of(sonicId);
  }

  /** Notes how long a valve took from command to confirmation, in s. */
  recordTravelTime(sonicId: string, seconds: number): void {
    this.#account.valves.recordTravelTime(sonicId, seconds);
    this.#shows('sonic', sonicId);
  }

  // ---- what is known ------------------------------------------------------------------------------------------

  /** Null for a property that is not shown. */
  propertyView(id: string): PropertyView | null {
    let contents: ReturnType<PropertyView['contents']> | undefined;
    const look = () => {
      contents ??= {
        signals: this.#shown.idsIn('signal', id).flatMap((each) => this.signalView(each) ?? []),
        sonics: this.#sonicsIn(id),
        mayHaveMore: this.#shown.hasStraySonics,
      };
      return contents;
    };
    return propertyViewOf(this.#account, id, this.pauseOf(id), look, (found) => this.#isReporting(found));
  }

  /** The pause of a property's automatic shut-off, also if the property is not shown; undefined while it is not known. */
  pauseOf(propertyId: string): ShownPause | undefined {
    const { kept, settings } = this.#account;
    const isNone = kept.pauses.isKnown || settings.of(propertyId)?.auto_shut_off === true;
    return this.#pauses.get(propertyId) ?? (isNone ? noPause : undefined);
  }

  /** The pauses that this run has shown, by property. */
  get pauses(): ReadonlyMap<string, ShownPause> {
    return this.#pauses;
  }

  /** Null for a signal that is not shown. */
  signalView(id: string): SignalView | null {
    return signalViewOf(this.#account, id);
  }

  /** Null for a sonic that is not shown. */
  sonicView(id: string): SonicView | null {
    return sonicViewOf(this.#account, id);
  }

  /** The view of a device, by its id in any spelling; null for a device that is not shown. */
  view(kind: CloudDeviceKind, spelledId: string): PropertyView | SignalView | SonicView | null {
    const id = this.devices[kind].idOf(spelledId);
    if (kind === 'property') return this.propertyView(id);
    return kind === 'signal' ? this.signalView(id) : this.sonicView(id);
  }

  /** A device in a log line: its name, or its id if it has none. */
  label(kind: CloudDeviceKind, id: string): string {
    return `"${this.devices[kind].get(id)?.name?.slice(0, 60) || id}"`;
  }

  /** The categories of appliances: null if the cloud has none, undefined until they are read. */
  get applianceCategories(): ApplianceCategories['categories'] | null | undefined {
    return this.#applianceCategories;
  }

  /** The time zone of a property as last read, however long ago; null if it was never read. */
  timezoneOf(propertyId: string | null): string | null {
    const timezone = propertyId === null ? null : (this.settings.record(propertyId)?.timezone ?? null);
    return timezone !== null && isTimezone(timezone) ? timezone : null;
  }

  /** The ids of the shown devices of a kind, or of the shown open incidents. */
  ids(kind: PlannedKind): string[] {
    return kind === 'incident' ? this.incidents.ids : this.#shown.ids(kind);
  }

  /** How many there are of each. */
  counts(): { properties: number; signals: number; sonics: number; open_incidents: number } {
    return {
      properties: this.ids('property').length,
      signals: this.ids('signal').length,
      sonics: this.ids('sonic').length,
      open_incidents: this.ids('incident').length,
    };
  }

  /** Whether each list was once read completely. From then on, a record that is not in the store is not in the cloud. */
  get isComplete(): boolean {
    const { property, signal, sonic } = this.devices;
    return [property, signal, sonic, this.incidents].every(({ isComplete }) => isComplete);
  }

  /** Whether the account has the device or the open incident, also if it is not shown. */
  has(kind: PlannedKind, id: string): boolean {
    return kind === 'incident' ? this.incidents.isOpen(id) : this.devices[kind].has(id);
  }

  /** Whether the list of that kind was read completely by requests that were sent since then. */
  isReadSince(kind: PlannedKind, at: number): boolean {
    return (kind === 'incident' ? this.incidents : this.devices[kind]).isReadSince(at);
  }

  /** Whether it was also once known where each device is, so that only those are hidden that must be. */
  get isResolved(): boolean {
    return this.isComplete && this.topology.arePlacesKnown;
  }

  // ---- what is to be published --------------------------------------------------------------------------------

  /**
   * What was marked since the last call, and the properties of these devices, because a property sums up its devices. A sonic
   * whose property is not known may be in any.
   */
  takeDirty(): Dirty {
    const dirty = this.#changes.take();
    const propertiesOf = (kind: 'signal' | 'sonic', id: string) => {
      const isStray =
        kind === 'sonic' && this.#shown.has(kind, id) && this.#shown.propertyOf(kind, id) === null;
      return isStray ? this.ids('property') : (this.#shown.propertyOf(kind, id) ?? []);
    };
    const properties = (['signal', 'sonic'] as const).flatMap((kind) =>
      [...dirty[kind]].flatMap((id) => propertiesOf(kind, id)),
    );
    return { ...dirty, property: new Set([...dirty.property, ...properties]) };
  }

  /** Marks a shown device or incident, so that it is planned again. */
  touch(kind: PlannedKind, id: string): void {
    if (kind === 'incident' ? this.incidents.get(id) : this.#shown.has(kind, id))
      this.#changes.mark(kind, id);
  }

  /** Marks all shown devices of these kinds. */
  touchAll(kinds: readonly PlannedKind[] = plannedKinds): void {
    for (const kind of kinds) {
      for (const id of this.ids(kind)) this.#changes.mark(kind, id);
    }
  }

  // ---- inside -------------------------------------------------------------------------------------------------

  #telemetry(isWifi: boolean): TelemetryTable {
    return this.#account.telemetry[isWifi ? 'wifi' : 'hub'];
  }

  /** Emits the events, once everything that was read together is stored. */
  #settle(): void {
    const { incidents } = this.#account;
    const { events: deviceEvents, haveMoved } = this.#shown.place();
    if (haveMoved) {
      incidents.markMoved();
      // The former property of a device no longer sums it up.
      this.touchAll(['property']);
    }
    for (const { event, kind, record } of deviceEvents) {
      if (event === 'device_removed') this.#account.forgetDetails(kind, record.id);
    }
    const { events: incidentEvents, isAllAffected } = incidents.place();
    if (isAllAffected) this.touchAll();
    for (const { event, record } of incidentEvents) {
      const device = incidents.announcerOf(record);
      if (device?.kind !== 'sonic') continue;
      if (event === 'incident_opened') this.#account.valveRecords.incidentOpened(device.id, record);
    }
    this.#explainMovements();
    for (const event of deviceEvents) this.emit('device', event);
    for (const event of incidentEvents) this.emit('incident', event);
    if (this.#changes.wasMarked()) this.emit('change');
  }

  /** Marks the valves whose movement an incident explains now. */
  #explainMovements(): void {
    const { valveRecords, settings } = this.#account;
    const isShutOffOn = (id: string) => {
      const propertyId = this.topology.propertyOf('sonic', id);
      return (propertyId === null ? null : settings.of(propertyId)?.auto_shut_off) ?? null;
    };
    for (const id of valveRecords.explain(isShutOffOn)) this.touch('sonic', id);
  }

  #sonicsIn(propertyId: string | null): SonicView[] {
    return this.#shown.idsIn('sonic', propertyId).flatMap((id) => this.sonicView(id) ?? []);
  }

  /** Marks all properties if it is no longer, or only now, known that every sonic was listed. */
  #touchIfListed(wereListed: boolean): void {
    if (this.devices.sonic.isListFresh !== wereListed) this.touchAll(['property']);
  }

  /**
   * Whether no device of the property is unreachable, so that the absence of incidents means that none is open. A sonic whose
   * property is not known may be in any, and so may one that no complete list has had yet.
   */
  #isReporting({ signals, sonics }: ReturnType<PropertyView['contents']>): boolean {
    const strays = this.#shown.hasStraySonics ? this.#sonicsIn(null) : [];
    const views = [...signals, ...sonics, ...strays];
    return this.devices.sonic.isListFresh && views.every(({ isReporting }) => isReporting);
  }

  /** Marks a device whose values have changed. */
  #shows(kind: CloudDeviceKind, id: string, isNews = true): void {
    if (!isNews) return;
    this.touch(kind, id);
    this.#settle();
  }

  #showAll(kind: CloudDeviceKind, isNews: boolean): void {
    if (!isNews) return;
    for (const id of this.ids(kind)) this.touch(kind, id);
    this.#settle();
  }

  #expireTelemetry(): void {
    const now = this.#clock.monotonic();
    const tables = Object.values(this.#account.telemetry);
    for (const id of tables.flatMap((table) => table.expire(now))) this.touch('sonic', id);
    this.#settle();
    const nextAt = Math.min(...tables.map(({ nextExpiryAt }) => nextExpiryAt));
    this.#cancelExpiry();
    if (!this.#isAging || nextAt === Number.POSITIVE_INFINITY) return;
    const leftMs = nextAt - now + timerToleranceMs;
    this.#cancelExpiry = this.#clock.after(leftMs, () => this.#expireTelemetry());
  }

  #recordProperties(changes: readonly Change<Property>[]): void {
    this.#account.topology.propertiesChanged();
    this.#shown.markMoved();
    this.#record('property', changes);
  }

  /** Stores both lists of sonics as one. An id in both lists is one device with a hub. */
  #recordSonics(hub: Reading<Sonic>, wifi: Omit<Reading<Sonic>, 'startedAt'>): void {
    const ofHub = new Set(hub.records.map(({ id }) => idKey(id)));
    // Where the hub's list is incomplete, one that was in it is taken to be there still.
    const isOfHub = (id: string) =>
      ofHub.has(idKey(id)) || (!hub.isComplete && this.devices.sonic.has(id) && !this.topology.isWifi(id));
    const own = wifi.records.filter(({ id }) => !isOfHub(id));
    const moved = [
      ...[...ofHub].filter((id) => this.#account.topology.setWifi(id, false)),
      ...own.filter(({ id }) => this.#account.topology.setWifi(id, true)).map(({ id }) => id),
    ];
    const isComplete = hub.isComplete && wifi.isComplete;
    const wereListed = this.devices.sonic.isListFresh;
    const records = [...hub.records, ...own];
    this.#record('sonic', this.#account.devices.sonic.replaceAll({ ...hub, records, isComplete }));
    this.#touchIfListed(wereListed);
    for (const id of moved.map((each) => this.devices.sonic.idOf(each))) {
      // Another operation reads its telemetry from now on.
      for (const isWifi of [false, true]) this.#telemetry(isWifi).forget(id);
      this.#shown.markMoved();
      this.touch('sonic', id);
    }
    // A reading without a change matters to a valve with an open command.
    const { valves, valveRecords } = this.#account;
    for (const id of new Set([...valves.awaited, ...valveRecords.awaited])) this.#recordValve(id);
  }

  /** Passes the present record of a sonic to `valves`. */
  #recordValve(id: string): void {
    const table = this.devices.sonic;
    const sonic = table.get(id);
    const readAt = table.readAt(id);
    if (!sonic || readAt === undefined) return;
    const { valves, valveRecords } = this.#account;
    const hasEnded = valves.record(sonic, readAt, table.formerReadAt(id));
    const hasMoved = valveRecords.record(sonic, readAt, table.formerReadAt(id));
    if (hasEnded || hasMoved) this.touch('sonic', id);
    if (hasMoved === 'undone') this.emit('undone', id);
  }

  /** Marks all devices that show records which have changed, come or gone. */
  #record<T extends Property | Signal | Sonic>(kind: CloudDeviceKind, changes: readonly Change<T>[]): void {
    if (kind !== 'property') {
      // A link is down by two readings in a row, and up by one.
      for (const id of this.#account.flaps[kind].record(changes, this.devices[kind])) {
        if (kind === 'signal') this.#touchLinks(id);
        else this.touch(kind, id);
      }
    }
    for (const { id, before, after } of changes) {
      if (kind === 'sonic') {
        const isSought = this.#account.topology.moveSonic(id, signalIdOf(before), signalIdOf(after));
        if (isSought) this.emit('relocated');
      }
      if (kind === 'sonic') this.#recordValve(id);
      this.#shown.markMoved();
      this.touch(kind, id);
      if (before && !after) this.#forget(kind, id, before);
      if (kind === 'signal') this.#touchLinks(id);
      if (!before || !after) this.#account.incidents.markMoved();
    }
  }

  /** Marks a signal and its sonics, which show its link too. */
  #touchLinks(signalId: string): void {
    this.touch('signal', signalId);
    for (const sonicId of this.topology.sonicsOn(signalId)) this.touch('sonic', sonicId);
  }

  /** Forgets the place of a device that has left the account. */
  #forget(kind: CloudDeviceKind, id: string, record: Property | Signal | Sonic): void {
    this.#shown.markGone(kind, id, record);
    if (kind === 'property') this.#account.topology.forgetProperty(id);
    else this.#account.flaps[kind].forget(id);
    if (kind === 'sonic') this.#account.topology.forgetSonic(id);
    if (kind === 'sonic') this.#account.valveRecords.forget(id);
  }
}

function signalIdOf(record: Property | Signal | Sonic | undefined): string | null {
  return record && 'signal_id' in record ? record.signal_id : null;
}
