import type { Random } from '../base/backoff.ts';
import type {
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
import { newNotifications, newProperty, newSettings, newSignal, newSonic } from './generation.ts';
import { afterAction, type IncidentCause, leakTypes, open, resolved, usualSeverity } from './incidents.ts';
import { between, seededRandom, uuid } from './random.ts';
import { Records } from './records.ts';
import { lastProbe, reading } from './telemetry.ts';
import { Valve } from './valve.ts';

/** What a world starts from. */
export interface WorldOptions {
  readonly seed: number;
  /** Exact numbers; each signal goes to the next property in turn, each sonic to the next signal. */
  readonly properties: number;
  readonly signals: number;
  readonly sonics: number;
  /** Ms since 1970. */
  readonly now: number;
  readonly valveTravelMs: number;
  /** Nothing happens by itself: readings are taken only when a valve has moved. */
  readonly quiet: boolean;
}

/** The account's role in a property: guests may look, not change. */
export type Role = 'owner' | 'user' | 'guest';

/** What the cloud does not show of a sonic. */
interface Device {
  readonly valve: Valve;
  /** Decides its water; see telemetry. */
  readonly seed: number;
  /** When the cloud last lost contact, in ms since 1970; null while it has contact. */
  lostAt: number | null;
}

const mostIncidents = 1_000;
/** How long an incident takes to begin calling people. */
const contactAfterMs = 20_000;

/** The account's water installations: the records that the cloud shows, and the ways in which they change. */
export class World {
  readonly properties = new Records<Property>();
  readonly settings = new Records<PropertySettings>();
  readonly notifications = new Records<NotificationSettings>();
  readonly signals = new Records<Signal>();
  readonly sonics = new Records<Sonic>();
  /** Oldest first. */
  readonly incidents = new Records<Incident>();
  readonly roles = new Map<string, Role>();
  readonly agenda: Agenda;
  readonly random: Random;
  readonly quiet: boolean;
  readonly #valveTravelMs: number;
  readonly #devices = new Map<string, Device>();
  /** Ids of the signals of a property, of the sonics of a signal. */
  readonly #children = new Map<string, string[]>();
  /** Property of a signal. */
  readonly #propertyOf = new Map<string, string>();
  /** Ids that exist in other people's accounts. */
  readonly #foreign = new Set<string>();

  constructor({ seed, now, quiet, valveTravelMs }: WorldOptions) {
    this.agenda = new Agenda(now);
    this.random = seededRandom(seed);
    this.quiet = quiet;
    this.#valveTravelMs = valveTravelMs;
  }

  /** Ms since 1970. */
  get now(): number {
    return this.agenda.now;
  }

  addProperty(): Property {
    const index = this.properties.size;
    const property = newProperty(index, this.random, this.now);
    this.properties.set(property.id, property);
    this.settings.set(property.id, newSettings(index));
    this.notifications.set(property.id, newNotifications());
    this.roles.set(property.id, 'owner');
    this.#children.set(property.id, []);
    return property;
  }

  /** To the first property unless another is given. */
  addSignal(propertyId = this.properties.ids[0] ?? ''): Signal {
    const signal = newSignal(this.signals.size, this.random, this.now);
    this.signals.set(signal.id, signal);
    this.#children.set(signal.id, []);
    this.#children.get(propertyId)?.push(signal.id);
    this.#propertyOf.set(signal.id, propertyId);
    return signal;
  }

  /** To the first signal unless another is given. */
  addSonic(signalId = this.signals.ids[0] ?? ''): Sonic {
    const sonic = newSonic(this.sonics.size, signalId, this.random, this.now);
    const { id } = sonic;
    const valve = new Valve({
      agenda: this.agenda,
      travelMs: this.#valveTravelMs,
      show: (valve_state) => this.sonics.change(id, { valve_state }),
      onStuck: () => this.openIncident({ type: 'battery_too_low_to_move_handle', sonicId: id }),
    });
    this.sonics.set(id, sonic);
    this.#devices.set(id, { valve, seed: between(this.random, 1, 2 ** 30), lostAt: null });
    this.#children.get(signalId)?.push(id);
    return sonic;
  }

  removeSonic(sonicId: string): void {
    const siblings = this.#children.get(this.sonics.get(sonicId)?.signal_id ?? '');
    siblings?.splice(siblings.indexOf(sonicId), 1);
    this.sonics.delete(sonicId);
    this.#devices.get(sonicId)?.valve.remove();
    this.#devices.delete(sonicId);
  }

  /** Ends the account's membership: the property and all in it leave the lists and are forbidden from now on. */
  leaveProperty(propertyId: string): void {
    for (const signalId of this.signalIdsOf(propertyId)) {
      for (const sonicId of [...this.sonicIdsOf(signalId)]) {
        this.removeSonic(sonicId);
        this.#foreign.add(sonicId);
      }
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

  /** The property to which a signal belongs. */
  propertyOf(signalId: string | null): string | undefined {
    return signalId === null ? undefined : this.#propertyOf.get(signalId);
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
      : Math.max(lastProbe(seed, heardAt), Math.min(valve.changedAt, heardAt));
    const isLeaking = leakTypes.some((type) => this.openIncidentOf(type, sonicId));
    const valveIsOpen = valve.settled === 'open' && !valve.testing;
    return reading({ seed, probedAt, valveIsOpen, isLeaking });
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
    const sonic_id = sonicId ?? (signalId === undefined ? (this.sonics.ids[0] ?? null) : null);
    const incident: Incident = {
      ...open,
      id: uuid(this.random),
      detected_at: new Date(this.now).toISOString(),
      severity: severity ?? usualSeverity(type),
      signal_id: signalId ?? this.sonics.get(sonic_id ?? '')?.signal_id ?? null,
      sonic_id,
      state: this.quiet ? open.state : 'initialising',
      type,
    };
    this.incidents.set(incident.id, incident);
    this.agenda.after(contactAfterMs, () => this.#contact(incident.id));
    if (this.incidents.size > mostIncidents) this.#forgetOldestResolved();
    return incident;
  }

  /** Closes an incident because its cause is gone. */
  closeIncident(id: string): void {
    this.incidents.change(id, resolved);
  }

  /** Does what a user asks of an incident; false if it does not offer that. */
  actOnIncident(id: string, action: string): boolean {
    const incident = this.incidents.get(id);
    const changes = incident && afterAction(incident, action, this.now);
    if (!changes) return false;
    this.incidents.change(id, changes);
    return true;
  }

  /** Cuts a sonic's radio link, which is an incident. */
  dropRadio(sonicId: string): void {
    if (this.sonics.get(sonicId)?.radio_connection !== 'connected') return;
    this.sonics.change(sonicId, { radio_connection: 'disconnected' });
    this.#link(sonicId);
    this.openIncident({ type: 'radio_disconnection', sonicId });
  }

  connectRadio(sonicId: string): void {
    this.sonics.change(sonicId, { radio_connection: 'connected' });
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
    const sonic = this.sonics.get(sonicId);
    if (!device || !sonic) return;
    const hub = this.signals.get(sonic.signal_id ?? '');
    const isOnline = sonic.radio_connection === 'connected' && hub?.cloud_connection === 'connected';
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
  if (options.sonics > 0) world.openIncident({ type: 'long_flow_alert' });
  return world;
}
