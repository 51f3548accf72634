import type { Random } from '../base/backoff.ts';
import type {
  DailyUsage,
  Incident,
  NotificationSettings,
  Property,
  PropertySettings,
  Signal,
  Sonic,
  Telemetry,
} from '../model/records.ts';
import type { ValveAction } from '../model/valve.ts';
import {
  afterAction,
  type IncidentCause,
  leakTypes,
  open,
  resolved,
  usualSeverity,
  type WebhookEventName,
} from './incidents.ts';
import { localDayAt } from './localTime.ts';
import { between, seededRandom, uuid } from './random.ts';
import {
  newNotifications,
  newProperty,
  newSettings,
  newSignal,
  newSonic,
  newUser,
  newWifiSonic,
  type PressureTest,
  Records,
  type SimulatedUser,
  type WifiSonic,
} from './records.ts';
import { Timeline } from './timeline.ts';
import { SimulatedValve } from './valve.ts';
import { dailyUsage, lastProbe, type Month, probedReading } from './water.ts';

/** How often a quiet world measures, in ms: seldom, but often enough for a measurement to count as current. */
const quietProbeMs = 3 * 60_000;

interface WorldOptions {
  readonly seed: number;
  readonly email: string;
  /**
   * How many there are. Signals and Wi-Fi sonics are distributed over the properties in turn, and sonics over the
   * signals.
   */
  readonly properties: number;
  readonly signals: number;
  readonly sonics: number;
  readonly wifiSonics: number;
  /** In each property: owner, user or guest. */
  readonly role: string;
  /** Ms since 1970. */
  readonly now: number;
  readonly valveTravelMs: number;
  readonly pressureTestMs: number;
  /** The time between two readings of a sonic, in ms. */
  readonly probeMs: number;
  /** Nothing happens by itself. Readings are taken only when a valve has moved. */
  readonly quiet: boolean;
}

/** The state of a sonic that the cloud does not show. */
interface HiddenState {
  readonly valve: SimulatedValve;
  /** Decides about its water: readings and usage. */
  readonly seed: number;
  /** The oldest first. */
  readonly pressureTests: PressureTest[];
  /** Litres by YYYY-MM-DD. */
  readonly corrections: Map<string, number>;
  /** When the cloud last lost contact with it, in ms since 1970; null if there is contact. */
  lostAt: number | null;
  /** Whether water runs while its valve is open; null if the habits of the household decide that. */
  runs: boolean | null;
}

const maxIncidents = 1_000;

/** The water installations of the account: the records that the cloud shows, and everything that changes them. */
export class World {
  readonly properties = new Records<Property>(() => this.onChange());
  readonly settings = new Records<PropertySettings>(() => this.onChange());
  readonly notifications = new Records<NotificationSettings>(() => this.onChange());
  readonly signals = new Records<Signal>(() => this.onChange());
  readonly sonics = new Records<Sonic>(() => this.onChange());
  readonly wifiSonics = new Records<WifiSonic>(() => this.onChange());
  /** Every sonic, with a signal or on Wi-Fi. */
  readonly things = {
    get: (id: string): Sonic | undefined => this.sonics.get(id) ?? this.wifiSonics.get(id),
  };
  /** The oldest first. */
  readonly incidents = new Records<Incident>(() => this.onChange());
  /** By property: the role of the account: owner, user or guest. */
  readonly roles = new Map<string, string>();
  readonly users = new Records<SimulatedUser>();
  readonly strangerId: string;
  /** By property: the setting that was written. No operation reads it. */
  readonly leakProtection = new Records<boolean>(() => this.onChange());
  readonly push = new Records<boolean>(() => this.onChange());
  readonly timeline: Timeline;
  readonly pressureTestMs: number;
  /** Called after each change of data that the cloud shows. */
  onChange: () => void = () => {};
  onIncident: (event: WebhookEventName, incident: Incident) => void = () => {};
  readonly #options: WorldOptions;
  readonly #random: Random;
  /** For kinds of records that were added to this simulator later, so that the ids of the older kinds stay the same. */
  readonly #laterRandom: Random;
  readonly #devices = new Map<string, HiddenState>();
  /** By signal or Wi-Fi sonic: its property. */
  readonly #propertyOf = new Records<string | undefined>(() => this.onChange());
  /** Ids that exist in other accounts. */
  readonly #foreign = new Set<string>();

  constructor(options: WorldOptions) {
    const { seed, email, now, properties, signals, sonics, wifiSonics } = options;
    this.#options = options;
    this.pressureTestMs = options.pressureTestMs;
    this.timeline = new Timeline(now);
    this.#random = seededRandom(seed);
    this.#laterRandom = seededRandom(seed + 4);
    const user = newUser(email, seededRandom(seed + 1), now);
    this.users.set(user.id, user);
    this.strangerId = this.nextId();
    this.#foreign.add(this.strangerId);
    for (let index = 0; index < properties; index++) this.addProperty();
    const { ids: propertyIds } = this.properties;
    for (let index = 0; index < signals; index++) this.addSignal(propertyIds[index % properties]);
    const { ids: signalIds } = this.signals;
    for (let index = 0; index < sonics; index++) this.addSonic(signalIds[index % signals]);
    for (let index = 0; index < wifiSonics; index++) this.addWifiSonic(propertyIds[index % properties]);
    // At the start, one incident is open.
    if (sonics + wifiSonics > 0) this.openIncident({ type: 'long_flow_alert' });
  }

  /** Ms since 1970. */
  get now(): number {
    return this.timeline.now;
  }

  nextId(): string {
    return uuid(this.#laterRandom);
  }

  get user(): SimulatedUser | undefined {
    return this.users.values().next().value;
  }

  /** Adds a property; one of the usual ones if none is given. */
  addProperty(
    property = newProperty(this.properties.size, this.#random, this.now),
    role = this.#options.role,
  ): Property {
    this.settings.set(property.id, newSettings(this.properties.size));
    this.notifications.set(property.id, newNotifications());
    this.roles.set(property.id, role);
    this.properties.set(property.id, property);
    return property;
  }

  /** Adds a signal to a property, by default to the first one. */
  addSignal(propertyId = this.properties.ids[0]): Signal {
    const signal = newSignal(this.signals.size, this.#random, this.now);
    this.signals.set(signal.id, signal);
    this.moveToProperty(signal.id, propertyId);
    return signal;
  }

  /** Adds a sonic to a signal, by default to the first one. */
  addSonic(signalId = this.signals.ids[0]): Sonic {
    const sonic = newSonic(this.sonics.size, signalId ?? null, this.#random, this.now);
    this.#install(sonic.id, between(this.#random, 1, 2 ** 30));
    this.sonics.set(sonic.id, sonic);
    return sonic;
  }

  /** Adds a Wi-Fi sonic to a property, by default to the first one. */
  addWifiSonic(propertyId = this.properties.ids[0]): WifiSonic {
    const sonic = newWifiSonic(this.wifiSonics.size, this.#laterRandom, this.now);
    this.#install(sonic.id, between(this.#laterRandom, 1, 2 ** 30));
    this.wifiSonics.set(sonic.id, sonic);
    this.moveToProperty(sonic.id, propertyId);
    return sonic;
  }

  #install(id: string, seed: number): void {
    const valve = new SimulatedValve({
      timeline: this.timeline,
      travelMs: this.#options.valveTravelMs,
      onState: (valve_state) => this.changeSonic(id, { valve_state }),
      onStuck: () => this.openIncident({ type: 'battery_too_low_to_move_handle', sonicId: id }),
    });
    this.#devices.set(id, {
      valve,
      seed,
      pressureTests: [],
      corrections: new Map(),
      lostAt: null,
      runs: null,
    });
  }

  /** Moves a signal with its sonics, or a Wi-Fi sonic, to another property, or out of all properties. */
  moveToProperty(deviceId: string, propertyId: string | undefined): void {
    this.#propertyOf.set(deviceId, propertyId);
  }

  changeSonic(sonicId: string, fields: Omit<Partial<Sonic>, 'signal_id'>): void {
    this.sonics.change(sonicId, fields);
    this.wifiSonics.change(sonicId, fields);
  }

  removeSonic(sonicId: string): void {
    this.sonics.delete(sonicId);
    this.wifiSonics.delete(sonicId);
    this.#propertyOf.delete(sonicId);
    this.valve(sonicId)?.stop();
    this.#devices.delete(sonicId);
  }

  /** Ends the account's membership: the property and everything in it leave the lists, and are forbidden from now on. */
  leaveProperty(propertyId: string): void {
    const incidents = [...this.incidents.values()].filter(
      (incident) => this.propertyOfIncident(incident) === propertyId,
    );
    const [sonicIds, signalIds] = [this.thingIdsOf(propertyId), this.signalIdsOf(propertyId)];
    for (const { id } of incidents) this.incidents.delete(id);
    for (const id of sonicIds) this.removeSonic(id);
    for (const id of signalIds) this.signals.delete(id);
    for (const records of [this.properties, this.settings, this.notifications]) records.delete(propertyId);
    for (const id of [...incidents.map(({ id }) => id), ...sonicIds, ...signalIds, propertyId]) {
      this.#foreign.add(id);
    }
  }

  isForeign(id: string): boolean {
    return this.#foreign.has(id);
  }

  signalIdsOf(propertyId: string): readonly string[] {
    return this.signals.ids.filter((id) => this.propertyOf(id) === propertyId);
  }

  sonicIdsOf(signalId: string): readonly string[] {
    return this.sonics.ids.filter((id) => this.sonics.get(id)?.signal_id === signalId);
  }

  get thingIds(): readonly string[] {
    return [...this.sonics.keys(), ...this.wifiSonics.keys()];
  }

  thingIdsOf(propertyId: string): readonly string[] {
    return this.thingIds.filter((id) => this.propertyOf(id) === propertyId);
  }

  /** The property of a signal or sonic. For the id of a property, it is the property itself. */
  propertyOf(id: string | null): string | undefined {
    if (id === null || this.properties.has(id)) return id ?? undefined;
    return this.#propertyOf.get(this.sonics.get(id)?.signal_id ?? id);
  }

  propertyOfIncident({ sonic_id, signal_id }: Incident): string | undefined {
    return this.propertyOf(sonic_id) ?? this.propertyOf(signal_id);
  }

  timezoneOf(propertyId: string | undefined): string {
    return this.settings.get(propertyId ?? '')?.timezone ?? 'UTC';
  }

  valve(sonicId: string): SimulatedValve | undefined {
    return this.#devices.get(sonicId)?.valve;
  }

  commandValve(sonicId: string, action: ValveAction): void {
    this.valve(sonicId)?.command(action);
  }

  /** Sets any state of a valve at once, as if by hand. */
  setValve(sonicId: string, state: string): void {
    this.valve(sonicId)?.put(state);
  }

  /** Turns the water on or off, independent of the habits of the household. */
  runWater(sonicId: string, runs: boolean): void {
    const device = this.#devices.get(sonicId);
    if (device) device.runs = runs;
  }

  telemetry(sonicId: string): Telemetry | undefined {
    const device = this.#devices.get(sonicId);
    if (!device) return undefined;
    const { valve, seed, lostAt, runs } = device;
    const { quiet, probeMs } = this.#options;
    const heardAt = lostAt ?? this.now;
    const measuredAt = (everyMs: number) =>
      Math.max(lastProbe(seed, heardAt, everyMs), Math.min(valve.changedAt, heardAt));
    const probedAt = quiet ? valve.changedAt : measuredAt(probeMs);
    const isLeaking = leakTypes.some((type) => this.openIncidentOf(type, sonicId));
    const valveIsOpen = valve.settled === 'open' && !valve.testing;
    const reading = probedReading({ seed, probedAt, valveIsOpen, isLeaking, runs, probeMs });
    // The values of a quiet world stay the same, but are measured again and again.
    return quiet ? { ...reading, probed_at: Math.floor(measuredAt(quietProbeMs) / 1_000) } : reading;
  }

  /** The litres of a sonic on each day of a month, by default the current one. */
  usage(sonicId: string, month: Month = {}): DailyUsage {
    const device = this.#devices.get(sonicId);
    if (!device) return { daily: [] };
    const { seed, corrections } = device;
    const timeZone = this.timezoneOf(this.propertyOf(sonicId));
    const createdAt = this.things.get(sonicId)?.created_at ?? null;
    return dailyUsage({ seed, createdAt, timeZone, corrections }, this.now, month);
  }

  /** Corrects the litres of a past day (YYYY-MM-DD), as the cloud does when readings come late. */
  correctUsage(sonicId: string, date: string, liters: number): void {
    const today = localDayAt(this.now, this.timezoneOf(this.propertyOf(sonicId))).date;
    if (date >= today) throw new RangeError(`${date} is not over and cannot be corrected`);
    this.#devices.get(sonicId)?.corrections.set(date, liters);
  }

  pressureTestsOf(sonicId: string): readonly PressureTest[] {
    return this.#devices.get(sonicId)?.pressureTests ?? [];
  }

  addPressureTest(sonicId: string, request: { readonly source?: string | undefined }): PressureTest {
    const started_at = new Date(this.now).toISOString();
    const test = { ...request, id: this.nextId(), job_id: this.nextId(), started_at };
    this.#devices.get(sonicId)?.pressureTests.push(test);
    this.onChange();
    return test;
  }

  openIncidentOf(type: string, deviceId: string): Incident | undefined {
    return [...this.incidents.values()].find(
      (incident) =>
        incident.type === type && incident.open && deviceId === (incident.sonic_id ?? incident.signal_id),
    );
  }

  /** Opens an incident, at the first sonic unless `cause` names another device. */
  openIncident({ type, sonicId, signalId, severity }: IncidentCause): Incident {
    const sonic_id = sonicId ?? (signalId === undefined ? (this.thingIds[0] ?? null) : null);
    const incident: Incident = {
      ...open,
      id: uuid(this.#random),
      detected_at: new Date(this.now).toISOString(),
      severity: severity ?? usualSeverity(type),
      signal_id: signalId ?? this.things.get(sonic_id ?? '')?.signal_id ?? null,
      sonic_id,
      type,
    };
    this.incidents.set(incident.id, incident);
    if (this.incidents.size > maxIncidents) {
      const oldest = [...this.incidents.values()].find((each) => !each.open);
      this.incidents.delete(oldest?.id ?? '');
    }
    this.onIncident('incident.created', incident);
    return incident;
  }

  closeIncident(id: string): void {
    this.#changeIncident(id, resolved);
  }

  closeIncidentOf(type: string, deviceId: string): void {
    this.closeIncident(this.openIncidentOf(type, deviceId)?.id ?? '');
  }

  /** Carries out a user's action on an incident. Returns false if the incident does not offer the action. */
  actOnIncident(id: string, action: string): boolean {
    const incident = this.incidents.get(id);
    const changes = incident && afterAction(incident, action, this.now);
    if (changes) this.#changeIncident(id, changes);
    return Boolean(changes);
  }

  #changeIncident(id: string, changes: Partial<Incident>): void {
    const before = this.incidents.get(id);
    this.incidents.change(id, changes);
    const after = this.incidents.get(id);
    if (!after || after.open === before?.open) return;
    this.onIncident(after.open ? 'incident.created' : 'incident.closed', after);
  }

  /** Cuts the radio link of a sonic, which opens an incident. */
  dropRadio(sonicId: string): void {
    if (this.things.get(sonicId)?.radio_connection !== 'connected') return;
    this.changeSonic(sonicId, { radio_connection: 'disconnected' });
    this.#updateLink(sonicId);
    this.openIncident({ type: 'radio_disconnection', sonicId });
  }

  connectRadio(sonicId: string): void {
    this.changeSonic(sonicId, { radio_connection: 'connected' });
    this.#updateLink(sonicId);
    this.closeIncidentOf('radio_disconnection', sonicId);
  }

  /** Cuts the cloud link of a signal, which opens an incident. Its sonics become unreachable. */
  dropCloud(signalId: string): void {
    if (this.signals.get(signalId)?.cloud_connection !== 'connected') return;
    this.signals.change(signalId, { cloud_connection: 'disconnected' });
    for (const sonicId of this.sonicIdsOf(signalId)) this.#updateLink(sonicId);
    this.openIncident({ type: 'cloud_disconnection', signalId });
  }

  connectCloud(signalId: string): void {
    this.signals.change(signalId, { cloud_connection: 'connected' });
    for (const sonicId of this.sonicIdsOf(signalId)) this.#updateLink(sonicId);
    this.closeIncidentOf('cloud_disconnection', signalId);
  }

  #updateLink(sonicId: string): void {
    const device = this.#devices.get(sonicId);
    const sonic = this.things.get(sonicId);
    if (!device || !sonic) return;
    const { signal_id, radio_connection } = sonic;
    const hasCloud = signal_id === null || this.signals.get(signal_id)?.cloud_connection === 'connected';
    const isOnline = radio_connection === 'connected' && hasCloud;
    device.lostAt = isOnline ? null : (device.lostAt ?? this.now);
    device.valve.setOnline(isOnline);
  }
}
