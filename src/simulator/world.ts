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
import { Agenda } from './agenda.ts';
import {
  newNotifications,
  newProperty,
  newSettings,
  newSignal,
  newSonic,
  newWifiSonic,
  type WifiSonic,
} from './generation.ts';
import {
  afterAction,
  type IncidentCause,
  type IncidentEvent,
  leakTypes,
  open,
  resolved,
  usualSeverity,
} from './incidents.ts';
import type { KeptInvitation, Role } from './membership.ts';
import { between, seededRandom, uuid } from './random.ts';
import { Records } from './records.ts';
import { lastProbe, reading } from './telemetry.ts';
import type { PressureTest } from './testLog.ts';
import { dailyUsage, type Month } from './usage.ts';
import { newUser, type User } from './user.ts';
import { Valve } from './valve.ts';
import { dayAt } from './zone.ts';

/** What a world starts from. */
export interface WorldOptions {
  readonly seed: number;
  /** The user's. */
  readonly email: string;
  /**
   * Exact numbers; each signal and each Wi-Fi sonic goes to the next property in turn, each sonic to the next signal.
   */
  readonly properties: number;
  readonly signals: number;
  readonly sonics: number;
  readonly wifiSonics: number;
  /** Ms since 1970. */
  readonly now: number;
  readonly valveTravelMs: number;
  readonly pressureTestMs: number;
  /** How often a sonic takes a reading of its water. */
  readonly probeMs: number;
  /** Nothing happens by itself: readings are taken only when a valve has moved. */
  readonly quiet: boolean;
}

/** What the cloud does not show of a sonic. */
interface Device {
  readonly valve: Valve;
  /** Decides its water; see telemetry and usage. */
  readonly seed: number;
  /** Newest last. */
  pressureTests: readonly PressureTest[];
  /** Litres by YYYY-MM-DD. */
  readonly corrections: Map<string, number>;
  /** When the cloud last lost contact, in ms since 1970; null while it has contact. */
  lostAt: number | null;
}

const mostIncidents = 1_000;
const mostTestsPerSonic = 100;
/** How long an incident takes to begin calling people. */
const contactAfterMs = 20_000;

/** The account's water installations: the records that the cloud shows, and the ways in which they change. */
export class World {
  readonly properties = new Records<Property>();
  readonly settings = new Records<PropertySettings>();
  readonly notifications = new Records<NotificationSettings>();
  readonly signals = new Records<Signal>();
  readonly sonics = new Records<Sonic>();
  readonly wifiSonics = new Records<WifiSonic>();
  /** Every sonic, whichever way it is connected. */
  readonly things = {
    get: (id: string): Sonic | undefined => this.sonics.get(id) ?? this.wifiSonics.get(id),
  };
  /** Oldest first. */
  readonly incidents = new Records<Incident>();
  /** The account's role in a property. */
  readonly roles = new Map<string, Role>();
  /** The account's own user. */
  readonly users = new Records<User>();
  /** Of a user of another account. */
  readonly strangerId: string;
  readonly invitations = new Records<KeptInvitation>();
  /** What was set for a property; no operation reads it. */
  readonly leakProtection = new Map<string, boolean>();
  readonly push = new Map<string, boolean>();
  readonly agenda: Agenda;
  readonly quiet: boolean;
  readonly pressureTestMs: number;
  readonly probeMs: number;
  /** Told of each incident that opens or closes. */
  onIncident: (event: IncidentEvent, incident: Incident) => void = () => {};
  readonly #random: Random;
  /** For what was invented later: the homes keep the ids that they have always had. */
  readonly #laterRandom: Random;
  readonly #valveTravelMs: number;
  readonly #devices = new Map<string, Device>();
  /** Ids of the signals of a property, of the sonics of a signal. */
  readonly #children = new Map<string, string[]>();
  /** Property of a signal or sonic. */
  readonly #propertyOf = new Map<string, string>();
  /** Ids that exist in other people's accounts. */
  readonly #foreign = new Set<string>();

  constructor({ seed, email, now, quiet, valveTravelMs, pressureTestMs, probeMs }: WorldOptions) {
    this.agenda = new Agenda(now);
    this.#random = seededRandom(seed);
    this.#laterRandom = seededRandom(seed + 4);
    this.quiet = quiet;
    this.#valveTravelMs = valveTravelMs;
    this.pressureTestMs = pressureTestMs;
    this.probeMs = probeMs;
    const user = newUser(email, seededRandom(seed + 1), now);
    this.users.set(user.id, user);
    this.strangerId = this.nextId();
    this.#foreign.add(this.strangerId);
  }

  /** Ms since 1970. */
  get now(): number {
    return this.agenda.now;
  }

  /** An id that nothing has yet. */
  nextId(): string {
    return uuid(this.#laterRandom);
  }

  /** Whose account it is. */
  get user(): User | undefined {
    return this.users.values().next().value;
  }

  /** One of the usual ones unless another is given. */
  addProperty(given?: Property): Property {
    const index = this.properties.size;
    const property = given ?? newProperty(index, this.#random, this.now);
    this.properties.set(property.id, property);
    this.settings.set(property.id, newSettings(index));
    this.notifications.set(property.id, newNotifications());
    this.roles.set(property.id, 'owner');
    this.#children.set(property.id, []);
    return property;
  }

  /** To the first property unless another is given. */
  addSignal(propertyId = this.properties.ids[0] ?? ''): Signal {
    const signal = newSignal(this.signals.size, this.#random, this.now);
    this.signals.set(signal.id, signal);
    this.#children.set(signal.id, []);
    this.#children.get(propertyId)?.push(signal.id);
    this.#propertyOf.set(signal.id, propertyId);
    return signal;
  }

  /** To the first signal unless another is given. */
  addSonic(signalId = this.signals.ids[0] ?? ''): Sonic {
    const sonic = newSonic(this.sonics.size, signalId, this.#random, this.now);
    this.sonics.set(sonic.id, sonic);
    this.#install(sonic.id, between(this.#random, 1, 2 ** 30), this.propertyOf(signalId));
    this.#children.get(signalId)?.push(sonic.id);
    return sonic;
  }

  /** To the first property unless another is given. */
  addWifiSonic(propertyId = this.properties.ids[0]): WifiSonic {
    const sonic = newWifiSonic(this.wifiSonics.size, this.#laterRandom, this.now);
    this.wifiSonics.set(sonic.id, sonic);
    this.#install(sonic.id, between(this.#laterRandom, 1, 2 ** 30), propertyId);
    return sonic;
  }

  #install(id: string, seed: number, propertyId: string | undefined): void {
    const valve = new Valve({
      agenda: this.agenda,
      travelMs: this.#valveTravelMs,
      show: (valve_state) => this.changeSonic(id, { valve_state }),
      onStuck: () => this.openIncident({ type: 'battery_too_low_to_move_handle', sonicId: id }),
    });
    this.#devices.set(id, { valve, seed, pressureTests: [], corrections: new Map(), lostAt: null });
    if (propertyId !== undefined) this.#propertyOf.set(id, propertyId);
  }

  /** Changes what the cloud shows of a sonic of either kind. */
  changeSonic(sonicId: string, fields: Omit<Partial<Sonic>, 'signal_id'>): void {
    this.sonics.change(sonicId, fields);
    this.wifiSonics.change(sonicId, fields);
  }

  /** A sonic of either kind. */
  removeSonic(sonicId: string): void {
    const siblings = this.#children.get(this.sonics.get(sonicId)?.signal_id ?? '');
    siblings?.splice(siblings.indexOf(sonicId), 1);
    this.sonics.delete(sonicId);
    this.wifiSonics.delete(sonicId);
    this.#devices.get(sonicId)?.valve.remove();
    this.#devices.delete(sonicId);
  }

  /** Ends the account's membership: the property and all in it leave the lists and are forbidden from now on. */
  leaveProperty(propertyId: string): void {
    for (const incident of this.incidents.values()) {
      if (this.propertyOfIncident(incident) !== propertyId) continue;
      this.incidents.delete(incident.id);
      this.#foreign.add(incident.id);
    }
    for (const sonicId of this.thingIdsOf(propertyId)) {
      this.removeSonic(sonicId);
      this.#foreign.add(sonicId);
    }
    for (const signalId of this.signalIdsOf(propertyId)) {
      this.signals.delete(signalId);
      this.#foreign.add(signalId);
    }
    this.properties.delete(propertyId);
    this.#foreign.add(propertyId);
  }

  setRole(propertyId: string, role: Role): void {
    this.roles.set(propertyId, role);
  }

  isForeign(id: string): boolean {
    return this.#foreign.has(id);
  }

  signalIdsOf(propertyId: string): readonly string[] {
    return this.#children.get(propertyId) ?? [];
  }

  sonicIdsOf(signalId: string): readonly string[] {
    return this.#children.get(signalId) ?? [];
  }

  /** All sonics, whichever way they are connected. */
  get thingIds(): readonly string[] {
    return [...this.sonics.ids, ...this.wifiSonics.ids];
  }

  /** The sonics of a property, whichever way they are connected. */
  thingIdsOf(propertyId: string): readonly string[] {
    const wifiSonicIds = this.wifiSonics.ids.filter((id) => this.propertyOf(id) === propertyId);
    return [...this.signalIdsOf(propertyId).flatMap((id) => this.sonicIdsOf(id)), ...wifiSonicIds];
  }

  /** The property to which a signal or sonic belongs. */
  propertyOf(deviceId: string | null): string | undefined {
    return deviceId === null ? undefined : this.#propertyOf.get(deviceId);
  }

  propertyOfIncident({ sonic_id, signal_id }: Incident): string | undefined {
    return this.propertyOf(sonic_id) ?? this.propertyOf(signal_id);
  }

  /** The time zone of a property. */
  timezoneOf(propertyId: string | undefined): string {
    return this.settings.get(propertyId ?? '')?.timezone ?? 'UTC';
  }

  valve(sonicId: string): Valve | undefined {
    return this.#devices.get(sonicId)?.valve;
  }

  /** As the cloud would do it on a user's word. */
  commandValve(sonicId: string, action: ValveAction): void {
    this.valve(sonicId)?.command(action);
  }

  /** Puts a valve into any state at once, as by hand. */
  setValve(sonicId: string, state: string): void {
    this.valve(sonicId)?.put(state);
  }

  telemetry(sonicId: string): Telemetry | undefined {
    const device = this.#devices.get(sonicId);
    if (!device) return undefined;
    const { valve, seed, lostAt } = device;
    const heardAt = lostAt ?? this.now;
    const probedAt = this.quiet
      ? valve.changedAt
      : Math.max(lastProbe(seed, heardAt, this.probeMs), Math.min(valve.changedAt, heardAt));
    const isLeaking = leakTypes.some((type) => this.openIncidentOf(type, sonicId));
    const valveIsOpen = valve.settled === 'open' && !valve.testing;
    return reading({ seed, probedAt, valveIsOpen, isLeaking, probeMs: this.probeMs });
  }

  /** What ran through a sonic on each day of a month; the present one unless given. */
  usage(sonicId: string, month: Month = {}): DailyUsage {
    const device = this.#devices.get(sonicId);
    if (!device) return { daily: [] };
    const { seed, corrections } = device;
    const timeZone = this.timezoneOf(this.propertyOf(sonicId));
    const createdAt = this.things.get(sonicId)?.created_at ?? null;
    return dailyUsage({ seed, createdAt, timeZone, corrections }, this.now, month);
  }

  /** Sets the litres of a day (YYYY-MM-DD) that is over, as the cloud does when readings come late. */
  correctUsage(sonicId: string, date: string, liters: number): void {
    const today = dayAt(this.now, this.timezoneOf(this.propertyOf(sonicId))).date;
    if (date >= today) throw new RangeError(`${date} is not over and cannot be corrected`);
    this.#devices.get(sonicId)?.corrections.set(date, liters);
  }

  /** The newest pressure tests of a sonic, oldest first. */
  pressureTestsOf(sonicId: string): readonly PressureTest[] {
    return this.#devices.get(sonicId)?.pressureTests ?? [];
  }

  /** Notes that a pressure test begins. */
  addPressureTest(sonicId: string, request: { readonly source: string }): PressureTest {
    const started_at = new Date(this.now).toISOString();
    const test = { ...request, id: this.nextId(), job_id: this.nextId(), started_at };
    const device = this.#devices.get(sonicId);
    if (device) device.pressureTests = [...device.pressureTests, test].slice(-mostTestsPerSonic);
    return test;
  }

  /** The open incident of a type at a device. */
  openIncidentOf(type: string, deviceId: string): Incident | undefined {
    for (const incident of this.incidents.values()) {
      if (incident.type !== type || !incident.open) continue;
      if (deviceId === (incident.sonic_id ?? incident.signal_id)) return incident;
    }
    return undefined;
  }

  /** Opens an incident, at the first sonic unless told otherwise. */
  openIncident({ type, sonicId, signalId, severity }: IncidentCause): Incident {
    const first = this.sonics.ids[0] ?? this.wifiSonics.ids[0] ?? null;
    const sonic_id = sonicId ?? (signalId === undefined ? first : null);
    const incident: Incident = {
      ...open,
      id: uuid(this.#random),
      detected_at: new Date(this.now).toISOString(),
      severity: severity ?? usualSeverity(type),
      signal_id: signalId ?? this.things.get(sonic_id ?? '')?.signal_id ?? null,
      sonic_id,
      state: this.quiet ? open.state : 'initialising',
      type,
    };
    this.incidents.set(incident.id, incident);
    this.agenda.after(contactAfterMs, () => this.#contact(incident.id));
    if (this.incidents.size > mostIncidents) this.#forgetOldestResolved();
    this.onIncident('incident.created', incident);
    return incident;
  }

  /** Closes an incident because its cause is gone. */
  closeIncident(id: string): void {
    this.#change(id, resolved);
  }

  /** Does what a user asks of an incident; false if it does not offer that. */
  actOnIncident(id: string, action: string): boolean {
    const incident = this.incidents.get(id);
    const changes = incident && afterAction(incident, action, this.now);
    if (!changes) return false;
    this.#change(id, changes);
    return true;
  }

  #change(id: string, changes: Partial<Incident>): void {
    const wasOpen = this.incidents.get(id)?.open;
    this.incidents.change(id, changes);
    const incident = this.incidents.get(id);
    if (!incident || incident.open === wasOpen) return;
    this.onIncident(incident.open ? 'incident.created' : 'incident.closed', incident);
  }

  /** Cuts a sonic's radio link, which is an incident. */
  dropRadio(sonicId: string): void {
    if (this.things.get(sonicId)?.radio_connection !== 'connected') return;
    this.changeSonic(sonicId, { radio_connection: 'disconnected' });
    this.#link(sonicId);
    this.openIncident({ type: 'radio_disconnection', sonicId });
  }

  connectRadio(sonicId: string): void {
    this.changeSonic(sonicId, { radio_connection: 'connected' });
    this.#link(sonicId);
    this.#resolve('radio_disconnection', sonicId);
  }

  /** Cuts a signal's link to the cloud, which is an incident; its sonics are out of reach. */
  dropCloud(signalId: string): void {
    if (this.signals.get(signalId)?.cloud_connection !== 'connected') return;
    this.signals.change(signalId, { cloud_connection: 'disconnected' });
    for (const sonicId of this.sonicIdsOf(signalId)) this.#link(sonicId);
    this.openIncident({ type: 'cloud_disconnection', signalId });
  }

  connectCloud(signalId: string): void {
    this.signals.change(signalId, { cloud_connection: 'connected' });
    for (const sonicId of this.sonicIdsOf(signalId)) this.#link(sonicId);
    this.#resolve('cloud_disconnection', signalId);
  }

  #resolve(type: string, deviceId: string): void {
    const incident = this.openIncidentOf(type, deviceId);
    if (incident) this.closeIncident(incident.id);
  }

  /** Lets a sonic know whether the cloud can reach it. */
  #link(sonicId: string): void {
    const device = this.#devices.get(sonicId);
    const sonic = this.things.get(sonicId);
    if (!device || !sonic) return;
    const { signal_id, radio_connection } = sonic;
    const hasCloud = signal_id === null || this.signals.get(signal_id)?.cloud_connection === 'connected';
    const isOnline = radio_connection === 'connected' && hasCloud;
    device.lostAt = isOnline ? null : (device.lostAt ?? this.now);
    device.valve.setOnline(isOnline);
  }

  #contact(id: string): void {
    if (this.incidents.get(id)?.state === 'initialising') this.incidents.change(id, { state: open.state });
  }

  #forgetOldestResolved(): void {
    for (const { id, open } of this.incidents.values()) {
      if (open) continue;
      this.incidents.delete(id);
      return;
    }
  }
}

/** A world with its inhabitants, and one incident that waits for a user. */
export function createWorld(options: WorldOptions): World {
  const world = new World(options);
  for (let index = 0; index < options.properties; index++) world.addProperty();
  for (let index = 0; index < options.signals; index++) {
    world.addSignal(world.properties.ids[index % options.properties]);
  }
  for (let index = 0; index < options.sonics; index++) {
    world.addSonic(world.signals.ids[index % options.signals]);
  }
  for (let index = 0; index < options.wifiSonics; index++) {
    world.addWifiSonic(world.properties.ids[index % options.properties]);
  }
  if (options.sonics + options.wifiSonics > 0) world.openIncident({ type: 'long_flow_alert' });
  return world;
}
