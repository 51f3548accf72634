import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import { incidentName } from '../entities/incidents.ts';
import type { Incident } from '../model/records.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { IncidentEvent } from '../store/incidents.ts';
import type { Store } from '../store/store.ts';
import type { PublishEvent } from './bridgeEvents.ts';
import type { Publisher } from './publisher.ts';

export interface IncidentEventsParts {
  readonly state: StateFile;
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly store: Store;
  readonly poller: Poller;
  readonly publishEvent: PublishEvent;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Announces each new incident once, at `bridge/event`, as soon as devices are published. It is first recorded on disk.
 * So a crash can lose an event, but never repeats one. No other client of the broker can delay it.
 */
export class IncidentEvents {
  readonly #parts: IncidentEventsParts;
  readonly #createdAt: number;
  readonly #queue = new Set<string>();
  /** Incidents in the state file that are missing from the last complete list. */
  #missed: ReadonlySet<string> = new Set();
  readonly #announceDue = coalesce(() => this.#announce());

  constructor(parts: IncidentEventsParts) {
    this.#parts = parts;
    const { store, poller, publisher, clock } = parts;
    this.#createdAt = clock.monotonic();
    store.on('incident', (event) => {
      this.#handle(event);
      void this.#announceDue();
    });
    publisher.on('published', () => void this.#announceDue());
    poller.on('ended', (poll, isComplete) => {
      if (poll === 'incidents' && isComplete) this.#forgetMissed();
    });
  }

  stop(): void {
    this.#queue.clear();
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
    if (state.isIncomplete && isOlder) void this.#record([incident.id]);
    else this.#queue.add(incident.id);
  }

  #onClosed(incident: Incident): void {
    const { state, log } = this.#parts;
    const { id } = incident;
    if (state.kept.announced.has(id))
      log.info(this.#fieldsOf('incident_closed', incident), `Alert closed: ${this.#describe(incident)}`);
    this.#queue.delete(id);
    state.kept.announced.delete(id);
  }

  /** Forgets incidents that are missing from two complete lists in a row. One list without them may be a mistake. */
  #forgetMissed(): void {
    const { state, store } = this.#parts;
    const { announced } = state.kept;
    const missed = [...announced.keys()].filter((id) => !store.has('incident', id));
    for (const id of missed) if (this.#missed.has(id)) announced.delete(id);
    this.#missed = new Set(missed);
  }

  /** False before the first lists are read, because the device of an incident may not be known yet. */
  get #canPublish(): boolean {
    return this.#parts.publisher.isShowingDevices && this.#parts.connection.isConnected;
  }

  async #announce(): Promise<void> {
    const { state, store, publishEvent, log } = this.#parts;
    const { announced } = state.kept;
    if (!this.#canPublish) return;
    // An earlier run may have announced the incident, as the state file shows, which may have been read late.
    for (const id of this.#queue) if (!store.incidents.get(id) || announced.has(id)) this.#queue.delete(id);
    const opened = [...this.#queue];
    if (opened.length === 0) return;
    await this.#record(opened);
    for (const id of opened) {
      const incident = store.incidents.get(id);
      // In the meantime, the incident may have closed or the connection may have ended.
      if (!incident || !announced.has(id)) continue;
      if (!this.#canPublish) {
        announced.delete(id);
        continue;
      }
      this.#queue.delete(id);
      log.info(this.#fieldsOf('incident_opened', incident), `Alert opened: ${this.#describe(incident)}`);
      publishEvent('incident_opened', incident);
    }
  }

  /** Records that these incidents are announced. Resolves once it is on disk, or cannot be written. */
  #record(ids: readonly string[]): Promise<void> {
    const { announced } = this.#parts.state.kept;
    for (const id of ids) announced.set(id, true);
    return announced.saved();
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
