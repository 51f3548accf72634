import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import { NotConnectedError } from '../broker/notConnectedError.ts';
import { incidentName } from '../entities/incidents.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { eventTypeOf } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { AnnouncingDevice } from '../store/incidents.ts';
import type { Store } from '../store/store.ts';
import type { Publisher } from './publisher.ts';

export interface IncidentEventsOptions {
  readonly store: Store;
  readonly state: StateFile;
  readonly publisher: Publisher;
  readonly connection: Connection;
  readonly topics: Topics;
  readonly isHomeAssistantOn: boolean;
  /** By the cloud's clock, in ms since 1970: where something may be forgotten, what was detected before is taken for announced. */
  readonly startedAt: () => number;
  /** Reads the list of sonics, resolving after that, well or not; never rejects. */
  readonly readSonics: () => Promise<void>;
  readonly tell: (event: string, record: object) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Home Assistant loses an event that comes before it has set up the entity: two seconds, and the way there. */
const setUpMs = 2_250;

/**
 * Announces each incident that opens, once. It is noted on disk first, so that a restart never repeats it. The bridge's
 * event is published at once, and the device's event as soon as the device is known, also after a restart.
 */
export class IncidentEvents {
  readonly #options: IncidentEventsOptions;
  readonly #store: Store;
  readonly #state: StateFile;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #queue = new Set<string>();
  /** Announced ones that the last complete list misses. */
  #missed: ReadonlySet<string> = new Set();
  /** Those whose signal would announce them, since their sonic is not known: whether the list of sonics is being read for that. */
  readonly #sought = new Map<string, boolean>();
  /** Announced by other bridges, as far as the broker shows. */
  #announcedByOthers = new Set<string>();
  #birthAt = Number.NEGATIVE_INFINITY;
  #cancelTimer: () => void = () => {};
  #isWanted = false;
  #isBusy = false;

  constructor(options: IncidentEventsOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#state = options.state;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Takes an incident that opened, unless it was announced before. */
  opened(incident: Incident): void {
    if (this.#state.isAnnounced(incident.id)) return;
    if (this.#announcedByOthers.has(incident.id)) {
      this.takeOver([incident.id]);
      return;
    }
    const detectedAt = Date.parse(incident.detected_at ?? '');
    const isKnown = this.#state.isPending(incident.id) || !this.#state.isIncomplete;
    if (!isKnown && detectedAt < this.#options.startedAt()) {
      // Noted all the same, so that a later run with a better memory does not announce it either.
      void this.#state.recordAnnounced([incident.id]);
      return;
    }
    this.#queue.add(incident.id);
  }

  /** Notes incidents that another bridge has announced, should they be this one's now. */
  announcedByOthers(incidentIds: readonly string[]): void {
    this.#announcedByOthers = new Set(incidentIds);
    this.takeOver(incidentIds.filter((id) => this.#queue.has(id)));
  }

  /** Takes incidents for announced. */
  takeOver(incidentIds: readonly string[]): void {
    if (incidentIds.length === 0) return;
    for (const id of incidentIds) this.#forget(id);
    void this.#state.recordAnnounced(incidentIds);
  }

  /** Forgets an incident that closed. */
  closed(incident: Incident): void {
    const { id } = incident;
    if (this.#isNoted(id))
      this.#log.info(
        this.#subject('incident_closed', incident),
        `Incident closed: ${this.#inWords(incident)}`,
      );
    this.#forget(id);
    this.#announcedByOthers.delete(id);
    this.#state.forgetIncident(id);
  }

  /** A complete list was read. What was announced is forgotten once two in a row miss it: one alone may be wrong. */
  listed(): void {
    const missed = this.#state.incidentIds().filter((id) => !this.#store.isOpen(id));
    for (const id of missed) if (this.#missed.has(id)) this.#state.forgetIncident(id);
    this.#missed = new Set(missed);
  }

  /** Home Assistant has just started, and sets up its entities anew. */
  homeAssistantStarted(): void {
    this.#birthAt = this.#clock.monotonic();
  }

  /** Announces what is due; to be called when anything it waits for may have come. */
  wake(): void {
    this.#isWanted = true;
    if (!this.#isBusy) void this.#run();
  }

  /** Announces nothing more. */
  stop(): void {
    this.#cancelTimer();
    this.#queue.clear();
    this.#sought.clear();
  }

  get #canAnnounce(): boolean {
    return this.#queue.size > 0 && this.#options.connection.isConnected;
  }

  #isNoted(incidentId: string): boolean {
    return this.#state.isAnnounced(incidentId) || this.#state.isPending(incidentId);
  }

  #inWords(incident: Incident): string {
    const name = incidentName(incident) ?? incident.type ?? 'unknown';
    const device = this.#store.announcerOf(incident);
    const where = device ? ` at ${this.#store.label(device.kind, device.id)}` : '';
    return `${name}${where}, severity ${incident.severity ?? 'unknown'}`;
  }

  /** What a log line about an incident is about. */
  #subject(event: string, incident: Incident) {
    return { event, incident: incident.id, device: this.#store.announcerOf(incident)?.id };
  }

  #forget(incidentId: string): void {
    this.#queue.delete(incidentId);
    this.#sought.delete(incidentId);
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    try {
      while (this.#isWanted && this.#canAnnounce) {
        this.#isWanted = false;
        await this.#announceDue();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  async #announceDue(): Promise<void> {
    const due = this.#due();
    const untold = new Set(due.filter(({ id }) => !this.#state.isPending(id)).map(({ id }) => id));
    for (const { id } of due) this.#queue.delete(id);
    if (due.length > 0) await this.#note(due);
    for (const { id } of due) {
      const incident = this.#store.incident(id);
      const isUntold = untold.has(id);
      // To note one and to tell of those before it takes its time: it may have closed, or Home Assistant have started.
      if (!incident || !this.#isNoted(id)) continue;
      if (this.#state.isPending(id)) {
        if (isUntold) this.#tell(incident);
        this.#queue.add(id);
      } else if (this.#readyAt(incident) <= this.#clock.monotonic()) {
        if (isUntold) this.#tell(incident);
        await this.#announceAtDevice(incident, isUntold);
      } else this.#takeBack(id, isUntold);
    }
  }

  /** Notes what is to be published next; of one whose device is not known, that it waits. */
  async #note(due: readonly Incident[]): Promise<void> {
    for (const incident of due) this.#seekSonicOf(incident);
    const waiting = new Set(due.filter((incident) => this.#mustWait(incident)).map(({ id }) => id));
    const announced = due.map(({ id }) => id).filter((id) => !waiting.has(id));
    // Both come in one writing.
    await Promise.all([this.#state.recordPending([...waiting]), this.#state.recordAnnounced(announced)]);
  }

  /** The incidents that may be announced now; for the next one it sets the timer. */
  #due(): Incident[] {
    const now = this.#clock.monotonic();
    const due: Incident[] = [];
    let nextAt = Number.POSITIVE_INFINITY;
    for (const id of this.#queue) {
      const incident = this.#store.incident(id);
      if (!incident) {
        this.#forget(id);
        continue;
      }
      const readyAt = this.#readyAt(incident);
      if (readyAt <= now) due.push(incident);
      else nextAt = Math.min(nextAt, readyAt);
    }
    this.#cancelTimer();
    if (nextAt < Number.POSITIVE_INFINITY) {
      this.#cancelTimer = this.#clock.after(nextAt - now + 1, () => this.wake());
    }
    return due;
  }

  /** When the incident may be announced; never, as far as is known, while its device is not announced itself. */
  #readyAt(incident: Incident): number {
    // Before the first round of polls is over, its device may only not be known yet.
    if (!this.#options.publisher.isShowingDevices) return Number.POSITIVE_INFINITY;
    const device = this.#deviceOf(incident);
    if (!device) {
      return this.#state.isPending(incident.id) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    }
    if (!this.#options.isHomeAssistantOn) return Number.NEGATIVE_INFINITY;
    const announcedAt =
      this.#options.publisher.announcedAt(device.kind, device.id) ?? Number.POSITIVE_INFINITY;
    return Math.max(announcedAt, this.#birthAt) + setUpMs;
  }

  /** The device that announces it; null while none is known, or only its signal and its sonic may be in the next list. */
  #deviceOf(incident: Incident): AnnouncingDevice | null {
    const device = this.#store.announcerOf(incident);
    const isSought = device?.kind === 'signal' && this.#sought.get(incident.id) === true;
    return isSought ? null : device;
  }

  /** Lists are read at different times: a sonic that is not known may be new, and must not be missed for its signal. */
  #seekSonicOf(incident: Incident): void {
    const { id, sonic_id: sonicId } = incident;
    const isSignals = sonicId !== null && this.#store.announcerOf(incident)?.kind === 'signal';
    if (!isSignals || this.#sought.has(id)) return;
    this.#sought.set(id, true);
    void this.#options.readSonics().then(() => {
      if (this.#sought.has(id)) this.#sought.set(id, false);
      this.wake();
    });
  }

  #tell(incident: Incident): void {
    this.#log.info(this.#subject('incident_opened', incident), `Incident opened: ${this.#inWords(incident)}`);
    this.#options.tell('incident_opened', incident);
  }

  /** It was noted as announced, and is not yet after all. */
  #takeBack(incidentId: string, isUntold: boolean): void {
    if (isUntold) this.#state.forgetIncident(incidentId);
    else void this.#state.recordPending([incidentId]);
    this.#queue.add(incidentId);
  }

  /** Lists are read at different times: a device that is not known may be new. */
  #mustWait(incident: Incident): boolean {
    const namesDevice = incident.sonic_id !== null || incident.signal_id !== null;
    return namesDevice && this.#deviceOf(incident) === null;
  }

  /** Publishes the event of the device's entity, if it names one. */
  async #announceAtDevice(incident: Incident, isUntold: boolean): Promise<void> {
    const device = this.#deviceOf(incident);
    if (!device) {
      if (this.#mustWait(incident)) this.#takeBack(incident.id, false);
      return;
    }
    const topic = this.#options.topics.below(device.kind, device.id, 'incident');
    const eventType = { event_type: eventTypeOf(incident) };
    const payload = JSON.stringify({ ...eventType, ...incident, ...eventType });
    try {
      await this.#options.connection.publish(topic, payload, { retain: false });
    } catch (error) {
      if (error instanceof NotConnectedError && !error.wasSent) {
        this.#takeBack(incident.id, isUntold);
        return;
      }
      this.#log.warn(
        { incident: incident.id, device: device.id, topic },
        `Incident may not have reached the broker: ${this.#inWords(incident)}: ${String(error)}`,
      );
    }
  }
}
