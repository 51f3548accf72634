import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import { NotConnectedError } from '../broker/notConnectedError.ts';
import type { CloudClient } from '../cloud/client.ts';
import { incidentName } from '../entities/incidents.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { eventTypeOf } from '../model/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { Poller } from '../polling/poller.ts';
import { knownIncidents } from '../state/sections.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { AnnouncingDevice } from '../store/incidentPlaces.ts';
import type { IncidentEvent } from '../store/incidents.ts';
import type { Store } from '../store/store.ts';
import type { PublishEvent } from './bridgeEvents.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import type { Publisher } from './publisher.ts';

export interface IncidentEventsParts {
  readonly topics: Topics;
  readonly isHomeAssistantOn: boolean;
  /** The topic at which Home Assistant publishes `online` when it has started, and `offline` when it stops. */
  readonly statusTopic: string;
  readonly state: StateFile;
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly store: Store;
  readonly poller: Poller;
  readonly publishEvent: PublishEvent;
  readonly discovery: DiscoveryMessages;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly log: Log;
}

/** In ms, with the time on the way. Home Assistant loses events that come before it has set up the entity. */
const setUpMs = 2_250;

/**
 * How long a birth message is awaited after a reconnection, in ms. If the broker was down, Home Assistant has also lost
 * its connection. It connects again after ten seconds and then publishes its birth message. If none comes, Home
 * Assistant has kept its connection, or there is no Home Assistant.
 */
const reconnectionMs = 30_000;

/** How long the next start of Home Assistant is awaited after it has published that it stops, in ms. */
const maxRestartMs = 600_000;

/**
 * Announces each new incident once, in two steps. When the incident opens, the bridge's event is published. The event
 * of its device follows once Home Assistant has had time to set up the device, also after a restart. Each step is first
 * recorded on disk. So a crash can lose an event, but never repeats one.
 */
export class IncidentEvents {
  readonly #parts: IncidentEventsParts;
  readonly #createdAt: number;
  readonly #queue = new Set<string>();
  /** Until when a birth message of Home Assistant is awaited, in ms of the monotonic clock. */
  #awaitedUntil = Number.NEGATIVE_INFINITY;
  /** Incidents in the state file that are missing from the last complete list. */
  #missed: ReadonlySet<string> = new Set();
  #cancelTimer: () => void = () => {};
  readonly #announceDue = coalesce(async () => {
    await this.#publishOpened();
    await this.#announceReady();
  });

  constructor(parts: IncidentEventsParts) {
    this.#parts = parts;
    const { store, poller, connection, publisher, statusTopic, clock } = parts;
    this.#createdAt = clock.monotonic();
    store.on('incident', (event) => {
      this.#handle(event);
      this.#wake();
    });
    const awaitBirth = (ms: number) => {
      this.#awaitedUntil = Math.max(this.#awaitedUntil, clock.monotonic() + ms);
    };
    connection
      .once('connected', () => connection.on('connected', () => awaitBirth(reconnectionMs)))
      .on('message', ({ topic, payload, isRetained, mayBeStored }) => {
        if (topic !== statusTopic || isRetained) return;
        if (payload === 'offline') awaitBirth(maxRestartMs);
        // If the broker may have stored the birth message, it may be from an earlier start.
        if (payload === 'online' && mayBeStored === null) this.#awaitedUntil = Number.NEGATIVE_INFINITY;
        this.#wake();
      });
    publisher.on('published', () => this.#wake());
    poller.on('ended', (poll, isComplete) => {
      if (poll === 'incidents' && isComplete) this.#forgetMissed();
    });
  }

  takeOver(incidentIds: readonly string[]): void {
    if (incidentIds.length === 0) return;
    for (const id of incidentIds) this.#queue.delete(id);
    void this.#record(incidentIds, 'announced');
  }

  stop(): void {
    this.#cancelTimer();
    this.#queue.clear();
  }

  #wake(): void {
    void this.#announceDue();
  }

  #handle({ event, record }: IncidentEvent): void {
    if (event === 'incident_opened') this.#onOpened(record);
    else if (event === 'incident_closed') this.#onClosed(record);
  }

  #onOpened(incident: Incident): void {
    const { state, client, clock } = this.#parts;
    // The time of the start by the cloud's clock, because this machine's clock may always be wrong.
    const startedAt = clock.now() - (clock.monotonic() - this.#createdAt) - client.clockAheadMs;
    const isOlder = Date.parse(incident.detected_at ?? '') < startedAt;
    // If the state file is incomplete, an earlier run may have announced an incident from before the start.
    if (state.isIncomplete && isOlder && !this.#isWaiting(incident.id)) {
      void this.#record([incident.id], 'announced');
      return;
    }
    this.#queue.add(incident.id);
  }

  #onClosed(incident: Incident): void {
    const { id } = incident;
    if (knownIncidents(this.#parts.state.kept).includes(id)) {
      this.#parts.log.info(
        this.#fieldsOf('incident_closed', incident),
        `Alert closed: ${this.#describe(incident)}`,
      );
    }
    this.#queue.delete(id);
    this.#forget(id);
  }

  /** Forgets incidents that are missing from two complete lists in a row. One list without them may be a mistake. */
  #forgetMissed(): void {
    const { state, store } = this.#parts;
    const missed = knownIncidents(state.kept).filter((id) => !store.has('incident', id));
    for (const id of missed) if (this.#missed.has(id)) this.#forget(id);
    this.#missed = new Set(missed);
  }

  /** False before the first lists are read, because the device of an incident may not be known yet. */
  get #canPublish(): boolean {
    return this.#parts.publisher.isShowingDevices && this.#parts.connection.isConnected;
  }

  async #publishOpened(): Promise<void> {
    const { state, store, publishEvent, log } = this.#parts;
    if (!this.#canPublish) return;
    // An earlier run may have announced the incident, as the state file shows, which may have been read late.
    for (const id of this.#queue)
      if (!store.incidents.get(id) || state.kept.announced.has(id)) this.#queue.delete(id);
    const opened = [...this.#queue].filter((id) => !this.#isWaiting(id));
    if (opened.length === 0) return;
    await this.#record(opened, 'waiting');
    for (const id of opened) {
      const incident = store.incidents.get(id);
      // In the meantime, the incident may have closed or the connection may have ended.
      if (!incident || !this.#isWaiting(id)) continue;
      if (!this.#canPublish) this.#forget(id);
      else {
        log.info(this.#fieldsOf('incident_opened', incident), `Alert opened: ${this.#describe(incident)}`);
        publishEvent('incident_opened', incident);
      }
    }
  }

  /** The second step, and a timer for the next ones. */
  async #announceReady(): Promise<void> {
    const { clock } = this.#parts;
    if (!this.#canPublish) return;
    const now = clock.monotonic();
    const waiting = [...this.#queue].filter((id) => this.#isWaiting(id));
    const times = waiting.map((id) => ({ id, readyAt: this.#readyAt(this.#deviceOf(id)) }));
    const nextAt = Math.min(...times.map(({ readyAt }) => readyAt).filter((readyAt) => readyAt > now));
    this.#cancelTimer();
    if (nextAt < Number.POSITIVE_INFINITY) {
      this.#cancelTimer = clock.after(nextAt - now + 1, () => this.#wake());
    }
    const ready = times.filter(({ readyAt }) => readyAt <= now).map(({ id }) => id);
    if (ready.length === 0) return;
    await this.#record(ready, 'announced');
    for (const id of ready) await this.#announceAtDevice(id);
  }

  async #announceAtDevice(id: string): Promise<void> {
    const { topics, state, store, connection, clock, log } = this.#parts;
    const incident = store.incidents.get(id);
    // The incident may have closed in the meantime.
    if (!incident || !state.kept.announced.has(id)) return;
    const device = this.#deviceOf(id);
    // In the meantime, Home Assistant may have restarted, or the device may be gone.
    if (!device || !connection.isConnected || this.#readyAt(device) > clock.monotonic()) {
      this.#takeBack(id);
      this.#wake();
      return;
    }
    this.#queue.delete(id);
    const topic = topics.below(device.kind, device.id, 'incident');
    const eventType = { event_type: eventTypeOf(incident) };
    const payload = JSON.stringify({ ...eventType, ...incident, ...eventType });
    try {
      await connection.publishEvent(topic, payload);
    } catch (error) {
      if (error instanceof NotConnectedError && !error.wasSent) this.#takeBack(id);
      else {
        const words = `Alert may be missing on the broker: ${this.#describe(incident)}: ${String(error)}`;
        log.warn({ incident: id, device: device.id, topic }, words);
      }
    }
  }

  /** The event was recorded as published but was not sent. The incident waits again. */
  #takeBack(id: string): void {
    this.#queue.add(id);
    void this.#record([id], 'waiting');
  }

  #isWaiting(id: string): boolean {
    const { announced, waiting } = this.#parts.state.kept;
    return waiting.has(id) && !announced.has(id);
  }

  /** Records a step of these incidents. Resolves once it is on disk, or cannot be written. */
  #record(ids: readonly string[], step: 'waiting' | 'announced'): Promise<void> {
    const { kept } = this.#parts.state;
    for (const id of ids) {
      kept[step === 'waiting' ? 'announced' : 'waiting'].delete(id);
      kept[step].set(id, true);
    }
    return kept[step].saved();
  }

  /** Forgets an incident that is no longer open. If it opens again, it is announced again. */
  #forget(id: string): void {
    const { announced, waiting } = this.#parts.state.kept;
    for (const step of [announced, waiting]) step.delete(id);
  }

  /** When Home Assistant has set up the device, in ms of the monotonic clock; infinity if there is no device. */
  #readyAt(device: AnnouncingDevice | null): number {
    if (!device) return Number.POSITIVE_INFINITY;
    const { topics, isHomeAssistantOn, discovery } = this.#parts;
    if (!isHomeAssistantOn) return Number.NEGATIVE_INFINITY;
    const announcedAt = discovery.announcedAt(topics.discovery(device.kind, device.id));
    if (announcedAt === null) return Number.POSITIVE_INFINITY;
    return Math.max(announcedAt + setUpMs, this.#awaitedUntil);
  }

  /** Its sonic, or else its hub. Null if it names a sonic and the sonics were not read yet. */
  #deviceOf(id: string): AnnouncingDevice | null {
    const { store } = this.#parts;
    const incident = store.incidents.get(id);
    const device = incident && store.incidents.announcerOf(incident);
    const isSonicUnread = incident?.sonic_id && !store.devices.sonic.isComplete;
    return device?.kind === 'signal' && isSonicUnread ? null : device;
  }

  #fieldsOf(event: string, incident: Incident) {
    return { event, incident: incident.id, device: this.#parts.store.incidents.announcerOf(incident)?.id };
  }

  #describe(incident: Incident): string {
    const { store } = this.#parts;
    const name = incidentName(incident) ?? incident.type ?? 'unknown';
    const device = store.incidents.announcerOf(incident);
    const home = store.ids('property').length > 1 ? store.incidents.propertyOf(incident) : null;
    const places = [device, home && { kind: 'property' as const, id: home }].flatMap((each) =>
      each ? [store.label(each.kind, each.id)] : [],
    );
    const where = places.length > 0 ? ` at ${places.join(', ')}` : '';
    return `${name}${where}, severity ${incident.severity ?? 'unknown'}`;
  }
}
