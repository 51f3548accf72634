import { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { isTimezone } from '../model/calendar.ts';
import {
  type CloudDeviceKind,
  type FailedChange,
  namedProperty,
  type PropertyView,
  type SignalView,
  type SonicView,
} from '../model/devices.ts';
import { IdMap } from '../model/ids.ts';
import { type Pause, pauseShown, type ShownPause } from '../model/pause.ts';
import { type PollName, pollNames } from '../model/polls.ts';
import type { PressureTestDays } from '../model/pressureTests.ts';
import type {
  ApplianceCategories,
  Incident,
  NotificationSettings,
  Property,
  PropertySettings,
  Signal,
  Sonic,
  Telemetry,
} from '../model/records.ts';
import { restedAt } from '../model/telemetry.ts';
import type { Usage } from '../model/usage.ts';
import { mayArriveMs } from '../model/valveCommand.ts';
import { type Kept, newKept } from '../state/sections.ts';
import { Account, type DetailName, type DetailRecords, detailKinds, type PlannedKind } from './account.ts';
import type { ReadonlyDetails, TelemetryTable } from './details.ts';
import type { IncidentEvent, ReadonlyIncidents } from './incidents.ts';
import { movesBetween, type Places, placesOf, type ReadonlyDevices } from './places.ts';
import type { ReadonlyFilter } from './propertyFilter.ts';
import type { ReadonlySignalLists } from './signalLists.ts';
import type { Change, Reading } from './table.ts';
import type { ValveCommands } from './valveRecords.ts';
import { isSameView, propertyViewOf, signalViewOf, sonicViewOf } from './views.ts';

/** Which part of the account this bridge shows, and where it is kept over a restart. */
interface StoreOptions {
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
  /** Nothing is kept over a restart unless given. */
  readonly kept?: Kept;
  readonly clock: Clock;
}

/** The records that an answer to a change may show. */
export type AnsweredRecord = CloudDeviceKind | 'incident' | 'settings' | 'notifications';

export interface DeviceKey {
  readonly kind: CloudDeviceKind;
  readonly id: string;
}

/** A device was added or removed. The devices in the first complete list do not count as added. */
export interface DeviceEvent {
  readonly event: 'device_added' | 'device_removed';
  readonly kind: CloudDeviceKind;
  readonly record: Property | Signal | Sonic;
}

interface StoreEvents {
  /** Something was stored. Only this device shows it, and the property that sums it up; null stands for any. */
  readonly change: [device: DeviceKey | null];
  readonly device: [DeviceEvent];
  readonly incident: [IncidentEvent];
  /** A valve was read in another position than before. */
  readonly moved: [sonicId: string];
  /** A valve has moved back after a command had moved it. A command of an earlier run has arrived late. */
  readonly undone: [sonicId: string];
  /** A pause of the automatic shut-off has changed, also in a property that is not shown. */
  readonly pause: [];
  /** The settings of a property were read, by a request that was sent at that time. An answer to a change is no reading. */
  readonly settingsRead: [propertyId: string, settings: PropertySettings, sentAt: number];
}

interface MadeView {
  readonly view: PropertyView | SignalView | SonicView;
  /** How often something was stored before it was made. */
  readonly writes: number;
}

/** How long a change that was not made is shown. */
const failedChangeMs = 10 * 60_000;

/** A value expires a little after its time, in ms, so that the comparison sees it. */
const timerToleranceMs = 2;

/**
 * All that is known of the account. The polls put whole lists into tables (`Account`), one for each kind of record. After each
 * list it is found out where everything is (`placesOf`), and events are emitted. Nothing is marked: the publisher asks each
 * device for its view, and a view that says the same is the same object. A record is stale once polls have missed it for too long.
 * Measured values also expire by themselves, by one timer. Times are ms of the monotonic clock unless they are said to be others.
 */
export class Store extends EventEmitter<StoreEvents> {
  readonly devices: ReadonlyDevices;
  readonly filter: ReadonlyFilter;
  readonly signalLists: ReadonlySignalLists;
  readonly incidents: ReadonlyIncidents;
  readonly valves: ValveCommands;
  readonly settings: ReadonlyDetails<PropertySettings>;
  readonly notifications: ReadonlyDetails<NotificationSettings>;
  readonly telemetry: Readonly<Record<'hub' | 'wifi', Pick<TelemetryTable, 'silentIds'>>>;
  readonly usage: ReadonlyDetails<Usage>;
  readonly pressureTests: ReadonlyDetails<PressureTestDays>;
  readonly #account: Account;
  /** How often something was stored. */
  #writes = 0;
  readonly #views = { property: new Map(), signal: new Map(), sonic: new Map() } satisfies Record<
    CloudDeviceKind,
    Map<string, MadeView>
  >;
  /** By id, also of properties that have left the account, because a pause may have to be ended there. */
  readonly #propertyNames = new IdMap<Property['name']>();
  /** The last records of the devices that have left the account since they were last placed, by kind and id. */
  readonly #gone = new Map<string, Property | Signal | Sonic>();
  /** By property; `endsAt` is in ms of the monotonic clock. */
  readonly #failedChanges = new IdMap<FailedChange & { readonly endsAt: number }>();
  #applianceCategories: ApplianceCategories['categories'] | null | undefined;
  readonly #createdAt: number;
  readonly #clock: Clock;
  #isAging = false;
  #cancelExpiry: () => void = () => {};

  constructor({ selection, kept = newKept(), clock }: StoreOptions) {
    super();
    this.#clock = clock;
    this.#createdAt = clock.monotonic();
    const account = new Account(selection, kept, clock, (id) => this.#tell('sonic', id));
    this.#account = account;
    ({
      devices: this.devices,
      filter: this.filter,
      signalLists: this.signalLists,
      incidents: this.incidents,
      valveRecords: this.valves,
      telemetry: this.telemetry,
    } = account);
    ({
      settings: this.settings,
      notifications: this.notifications,
      usage: this.usage,
      pressureTests: this.pressureTests,
    } = account.details);
  }

  // ---- lists --------------------------------------------------------------------------------------------------

  replaceProperties(reading: Reading<Property>): void {
    for (const { id, name } of reading.records) this.#propertyNames.set(id, name);
    this.#record('property', this.#account.devices.property.replaceAll(reading));
    this.#settle();
  }

  /** Stores which signals these properties have, and which lists the cloud refuses. */
  setOwnedSignals(
    lists: ReadonlyMap<string, Reading<Pick<Signal, 'id'>>>,
    refused: readonly string[] = [],
  ): void {
    const { signalLists } = this.#account;
    for (const [id, reading] of lists) signalLists.set(id, reading);
    for (const id of refused) signalLists.refuse(id);
    this.#settle();
  }

  /** Every list was asked for, so a device that no property lists is shown without one from now on. */
  setListsAsked(): void {
    this.#account.areListsAsked = true;
    this.#settle();
  }

  replaceSignals(reading: Reading<Signal>): void {
    this.#record('signal', this.#account.devices.signal.replaceAll(reading));
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

  /** Notes, by poll, that what was read before that time is too old to be shown as the present. */
  markStale(readBefore: Partial<Record<PollName, number>>): void {
    const aged = pollNames.flatMap((poll) => {
      const at = readBefore[poll];
      return at === undefined ? [] : this.#account.readBy[poll].map((table) => table.markStale(at));
    });
    if (aged.includes(true)) this.#settle();
  }

  // ---- one by one ---------------------------------------------------------------------------------------------

  /** Stores one sonic that was requested by itself at that time, unless a newer reading is known. */
  setSonic(sonic: Sonic, sentAt: number): void {
    if (!this.isShown('sonic', sonic.id)) return;
    const change = this.#account.devices.sonic.upsert(sonic.id, sonic, sentAt);
    this.#record('sonic', change ? [change] : []);
    this.#recordValve(sonic.id);
    if (change && isElsewhere(change)) this.#settle();
    else this.#tell('sonic', sonic.id);
  }

  /** The same of a signal. */
  setSignal(signal: Signal, sentAt: number): void {
    if (!this.devices.signal.has(signal.id)) return;
    const change = this.#account.devices.signal.upsert(signal.id, signal, sentAt);
    this.#record('signal', change ? [change] : []);
    this.#settle();
  }

  /**
   * Stores what was read of one device by a request that was sent at that time; null if the cloud has none. With `apartMs`,
   * null counts only after two refusals that are so many ms apart.
   */
  setDetail<Name extends DetailName>(
    name: Name,
    id: string,
    record: DetailRecords[Name] | null,
    sentAt: number,
    apartMs?: number,
  ): void {
    if (this.#account.details[name].set(id, record, sentAt, apartMs)) this.#tell(detailKinds[name], id);
  }

  /** Like `setDetail`. A reading of the shut-off may end a pause. */
  setSettings(id: string, settings: PropertySettings | null, sentAt: number, apartMs = 0): void {
    this.setDetail('settings', id, settings, sentAt, apartMs);
    if (settings === null) return;
    this.emit('settingsRead', id, settings, sentAt);
    // A request of an earlier run may still turn the shut-off off for a while.
    const isProof = settings.auto_shut_off === true && sentAt >= this.#createdAt + mayArriveMs;
    if (isProof && this.#account.kept.lostPauses.delete(id)) this.showPause(id);
  }

  /**
   * Stores a sonic's telemetry that was read now and measured `ageMs` ago. Null means that the cloud has none. The values
   * are shown for `maxAgeMs`, unless they were measured too long ago.
   */
  setTelemetry(sonicId: string, telemetry: Telemetry | null, ageMs = 0, maxAgeMs = 0): void {
    if (!this.isShown('sonic', sonicId)) return;
    const table = this.#telemetry(this.isWifi(sonicId));
    const now = this.#clock.monotonic();
    if (telemetry && Number.isFinite(ageMs)) table.setMeasuredAt(sonicId, this.#clock.now() - ageMs);
    table.setMeasured(sonicId, telemetry, now, ageMs, maxAgeMs);
    const at = telemetry && restedAt(telemetry, ageMs, this.#clock.now());
    const { rested } = this.#account.kept;
    if (at !== null && at > (rested.get(sonicId) ?? 0)) rested.set(sonicId, at);
    this.#tell('sonic', sonicId);
  }

  /** Shows none of this, because the cloud does not offer it: telemetry by hubs or of Wi-Fi sonics, or other details. */
  drop(name: DetailName | 'hub' | 'wifi'): void {
    const { telemetry, details } = this.#account;
    (name === 'hub' || name === 'wifi' ? telemetry[name] : details[name]).drop();
    this.#tellAll();
  }

  /** Starts or stops the expiry of measured values: an unreachable cloud changes no value. */
  setAging(isAging: boolean): void {
    this.#isAging = isAging;
    this.#cancelExpiry();
    if (isAging) this.#expireTelemetry();
  }

  setApplianceCategories(categories: ApplianceCategories['categories'] | null): void {
    if (isDeepStrictEqual(categories, this.#applianceCategories)) return;
    this.#applianceCategories = categories;
    this.#tellAll();
  }

  recordPressureTestJob(sonicId: string, jobId: string): void {
    if (!this.isShown('sonic', sonicId)) return;
    this.#account.pressureTestJobs.set(sonicId, jobId);
    this.#tell('sonic', sonicId);
  }

  // ---- changes ------------------------------------------------------------------------------------------------

  /** Stores the cloud's answer to a change, received at that time in ms of the monotonic clock. */
  setAnswer(of: AnsweredRecord, id: string, answer: object, at: number): void {
    const { devices, incidents, details } = this.#account;
    if (of === 'incident') {
      incidents.change(id, answer, at);
    } else if (of === 'settings' || of === 'notifications') {
      details[of].change(id, answer, at);
    } else {
      const change = devices[of].change(id, answer, at);
      if (change) this.#record<Property | Signal | Sonic>(of, [change]);
    }
    this.#settle();
  }

  /**
   * Shows for some minutes, in the property of a device, why a change was not made: a person who has turned a switch sees it
   * turn back, and reads no log. A newer change ends it; `reason` is null for one that was made. Messages may name any ID.
   */
  recordChange(kind: CloudDeviceKind, id: string, reason: string | null): void {
    const propertyId = kind === 'property' ? id : this.propertyOf(kind, id);
    if (propertyId === null || !this.isShown('property', propertyId)) return;
    if (reason === null && !this.#failedChanges.delete(propertyId)) return;
    const endsAt = this.#clock.monotonic() + failedChangeMs;
    if (reason !== null) this.#failedChanges.set(propertyId, { at: this.#clock.now(), reason, endsAt });
    this.#tell('property', propertyId);
  }

  /** Shows a property's pause of the shut-off, or the chosen length of the next one, also before the property is read. */
  showPause(propertyId: string): void {
    this.#tell('property', propertyId);
    this.emit('pause');
  }

  /** What is kept over a restart has changed outside: the state file was read, or the broker knew more. */
  keptChanged(): void {
    this.#tellAll();
  }

  // ---- what is known ------------------------------------------------------------------------------------------

  propertyView(id: string): PropertyView | null {
    const failed = this.#failedChanges.get(id);
    // It ends with the first list after its time.
    const isShown = failed !== undefined && this.#clock.monotonic() < failed.endsAt;
    const own = { pause: this.pauseOf(id), failedChange: isShown ? failed : null };
    return this.#view('property', id, () => propertyViewOf(this.#account, id, own, this));
  }

  /** By property: the pauses that have not ended, or whose end is not confirmed. */
  get pauses(): ReadonlyMap<string, Pause> {
    return this.#account.kept.pauses;
  }

  /** The pause of a property's automatic shut-off, also if the property is not shown; undefined while it is not known. */
  pauseOf(propertyId: string): ShownPause | undefined {
    const { kept } = this.#account;
    const pause = kept.pauses.get(propertyId);
    const mayBeLost = kept.lostPauses.has('') || kept.lostPauses.has(propertyId);
    return pause || !mayBeLost ? pauseShown(pause) : undefined;
  }

  signalView(id: string): SignalView | null {
    return this.#view('signal', id, () => signalViewOf(this.#account, id));
  }

  sonicView(id: string): SonicView | null {
    return this.#view('sonic', id, () => sonicViewOf(this.#account, id));
  }

  /** The view of a device, by its id in any spelling; null for a device that is not shown. */
  view(kind: CloudDeviceKind, spelledId: string): PropertyView | SignalView | SonicView | null {
    const id = this.devices[kind].idOf(spelledId);
    if (kind === 'property') return this.propertyView(id);
    return kind === 'signal' ? this.signalView(id) : this.sonicView(id);
  }

  /** A device in a log line: its name, also by an earlier run, or its id if it has none. */
  label(kind: CloudDeviceKind, id: string): string {
    const name = kind === 'property' ? this.#propertyNames.get(id) : this.devices[kind].get(id)?.name;
    const kept = this.#account.kept.devices.get(`${kind}/${id}`);
    return `"${(name ?? kept)?.slice(0, 60) || id}"`;
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

  get places(): Places {
    return this.#account.places;
  }

  propertyOf(kind: CloudDeviceKind, id: string): string | null {
    return this.places[kind].get(id)?.propertyId ?? null;
  }

  isShown(kind: CloudDeviceKind, id: string): boolean {
    return this.places[kind].get(id)?.isShown === true;
  }

  isWifi(sonicId: string): boolean {
    return this.#account.wifi.has(sonicId);
  }

  /** The shown signals that the list of a property has. */
  signalsIn(propertyId: string): readonly string[] {
    const { signals = [] } = this.places.contents.get(propertyId) ?? {};
    return signals.filter((id) => this.places.owners.has(id));
  }

  /** Whether it is known that a property has no signals and no sonics on Wi-Fi. */
  isWithoutDevices(propertyId: string): boolean {
    const { sonics = [] } = this.places.contents.get(propertyId) ?? {};
    return this.signalLists.isEmpty(propertyId) && !sonics.some((id) => this.isWifi(id));
  }

  /**
   * Whether the device's property was not read yet. Then it is not known where, and whether, this bridge should show it. Before
   * that, nor is it known of any property what it sums up.
   */
  isPlacePending(kind: CloudDeviceKind, id: string): boolean {
    const { areHubListsRead, areListsAsked } = this.places;
    const mayBeListed = !areHubListsRead && !areListsAsked;
    if (!mayBeListed || !this.devices[kind].has(id)) return false;
    return kind === 'property' || this.propertyOf(kind, id) === null;
  }

  ids(kind: PlannedKind): readonly string[] {
    return kind === 'incident' ? this.incidents.ids : this.places.shown[kind];
  }

  counts(): { properties: number; signals: number; sonics: number; open_incidents: number } {
    return {
      properties: this.ids('property').length,
      signals: this.ids('signal').length,
      sonics: this.ids('sonic').length,
      open_incidents: this.ids('incident').length,
    };
  }

  /** Whether each list was once read completely. From then on, a record that is not in the store is not in the cloud. */
  get areListsComplete(): boolean {
    const { property, signal, sonic } = this.devices;
    return [property, signal, sonic, this.incidents.list].every(({ isComplete }) => isComplete);
  }

  /** The hubs and valves that an earlier run has shown, and no list of this run has, although one may still have them. */
  get unreadDevices(): readonly DeviceKey[] {
    if (this.areListsComplete) return [];
    return [...this.#account.kept.devices.keys()].flatMap((key) => {
      const [, kind, id = ''] = /^(signal|sonic)\/(.+)/.exec(key) ?? [];
      return kind === 'signal' || kind === 'sonic' ? (this.has(kind, id) ? [] : { kind, id }) : [];
    });
  }

  /** Whether the account has the device or the open incident, also if it is not shown. */
  has(kind: PlannedKind, id: string): boolean {
    return kind === 'incident' ? this.incidents.list.has(id) : this.devices[kind].has(id);
  }

  /** Whether it was also once known where each device is, so that only those are hidden that must be. */
  get isComplete(): boolean {
    return this.areListsComplete && (this.places.areHubListsRead || !this.filter.isOn);
  }

  // ---- inside -------------------------------------------------------------------------------------------------

  #telemetry(isWifi: boolean): TelemetryTable {
    return this.#account.telemetry[isWifi ? 'wifi' : 'hub'];
  }

  /** After lists were stored: finds out where everything is, and emits what has come, left or changed. */
  #settle(): void {
    const deviceEvents = this.#placeDevices();
    const incidentEvents = this.#placeIncidents();
    this.#explainMovements();
    for (const event of deviceEvents) this.emit('device', event);
    for (const event of incidentEvents) this.emit('incident', event);
    this.#tellAll();
  }

  /** After something was stored that only one device shows. */
  #tell(kind: CloudDeviceKind, spelledId: string): void {
    this.#writes += 1;
    // Settings that were read tell who has moved the valves of their property.
    const isExplained = this.#explainMovements();
    this.emit('change', isExplained ? null : { kind, id: this.devices[kind].idOf(spelledId) });
  }

  #tellAll(): void {
    this.#writes += 1;
    this.emit('change', null);
  }

  /** The view of a device: the same object as before, unless it says something else. */
  #view<View extends MadeView['view']>(
    kind: View['kind'],
    spelledId: string,
    make: () => View | null,
  ): View | null {
    const views: Map<string, { view: View; writes: number }> = this.#views[kind];
    const id = this.devices[kind].idOf(spelledId);
    const known = views.get(id);
    if (known?.writes === this.#writes) return known.view;
    const made = make();
    if (made === null) {
      views.delete(id);
      return null;
    }
    const view = known && isSameView(known.view, made) ? known.view : made;
    views.set(id, { view, writes: this.#writes });
    return view;
  }

  #placeDevices(): readonly DeviceEvent[] {
    const account = this.#account;
    const before = account.places;
    const after = placesOf(account, account.filter, before);
    account.places = after;
    const events: DeviceEvent[] = [];
    for (const { kind, id, was, is } of movesBetween(before, after)) {
      const record = this.devices[kind].get(id) ?? this.#gone.get(`${kind}/${id}`);
      if (was && is) continue;
      if (was) account.forgetDetails(kind, id);
      if (was && record) events.push({ event: 'device_removed', kind, record });
      if (is && record && before.areListsAsked && before.completeKinds.includes(kind))
        events.push({ event: 'device_added', kind, record });
    }
    this.#gone.clear();
    return events;
  }

  #placeIncidents(): readonly IncidentEvent[] {
    const { incidents, valveRecords } = this.#account;
    const events = incidents.place();
    for (const { event, record } of events) {
      const device = event === 'incident_opened' ? incidents.announcerOf(record) : null;
      if (device?.kind === 'sonic') valveRecords.incidentOpened(device.id, record);
    }
    return events;
  }

  #explainMovements(): boolean {
    const { valveRecords } = this.#account;
    const isShutOffOn = (id: string) => {
      const propertyId = this.propertyOf('sonic', id);
      return (propertyId === null ? null : this.settings.of(propertyId)?.auto_shut_off) ?? null;
    };
    return valveRecords.explain(isShutOffOn);
  }

  #expireTelemetry(): void {
    const now = this.#clock.monotonic();
    const tables = Object.values(this.#account.telemetry);
    if (tables.map((table) => table.expire(now)).includes(true)) this.#tellAll();
    const nextAt = Math.min(...tables.map(({ nextExpiryAt }) => nextExpiryAt));
    this.#cancelExpiry();
    if (!this.#isAging || nextAt === Number.POSITIVE_INFINITY) return;
    const leftMs = nextAt - now + timerToleranceMs;
    this.#cancelExpiry = this.#clock.after(leftMs, () => this.#expireTelemetry());
  }

  /** Stores both lists of sonics as one. An id in both lists is one device with a hub. */
  #recordSonics(hub: Reading<Sonic>, wifi: Omit<Reading<Sonic>, 'startedAt'>): void {
    const { wifi: known, valveRecords, telemetry, devices } = this.#account;
    const ofHub = new IdMap(hub.records.map(({ id }) => [id, true]));
    // Where the hub's list is incomplete, one that was in it is taken to be there still.
    const isOfHub = (id: string) =>
      ofHub.has(id) || (!hub.isComplete && devices.sonic.has(id) && !this.isWifi(id));
    const records = [...hub.records, ...wifi.records.filter(({ id }) => !isOfHub(id))];
    for (const { id } of records.filter((each) => known.has(each.id) === isOfHub(each.id))) {
      if (isOfHub(id)) known.delete(id);
      else known.set(id, true);
      // Another operation reads its telemetry from now on.
      for (const table of Object.values(telemetry)) table.forget(devices.sonic.idOf(id));
    }
    const isComplete = hub.isComplete && wifi.isComplete;
    this.#record('sonic', devices.sonic.replaceAll({ ...hub, records, isComplete }));
    // A reading without a change matters to a valve with an open command.
    for (const id of valveRecords.awaited) this.#recordValve(id);
  }

  #recordValve(id: string): void {
    const table = this.devices.sonic;
    const sonic = table.get(id);
    const readAt = table.readAt(id);
    if (!sonic || readAt === undefined) return;
    const hasMoved = this.#account.valveRecords.record(sonic, readAt, table.formerReadAt(id));
    if (hasMoved) this.emit('moved', id);
    if (hasMoved === 'undone') this.emit('undone', id);
  }

  #record<T extends Property | Signal | Sonic>(kind: CloudDeviceKind, changes: readonly Change<T>[]): void {
    if (kind === 'property') this.#account.filter.update(this.devices.property.records);
    for (const { id, before, after } of changes) {
      if (kind === 'sonic') this.#recordValve(id);
      if (before && !after) this.#forget(kind, id, before);
    }
  }

  #forget(kind: CloudDeviceKind, id: string, record: Property | Signal | Sonic): void {
    const { wifi, valveRecords } = this.#account;
    this.#gone.set(`${kind}/${id}`, record);
    if (kind === 'sonic') {
      wifi.delete(id);
      valveRecords.forget(id);
    }
  }
}

/** Whether a sonic that was read by itself names another signal or property than before. */
function isElsewhere({ before, after }: Change<Sonic>): boolean {
  return before?.signal_id !== after?.signal_id || namedProperty(before ?? {}) !== namedProperty(after ?? {});
}
