import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { HealthMonitor } from '../health/healthMonitor.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { Store } from '../store/store.ts';

/** Publishes events at `bridge/event`, once and not retained. */
export class BridgeEvents {
  readonly #connection: Connection;
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(
    topics: Topics,
    connection: Connection,
    store: Store,
    health: HealthMonitor,
    clock: Clock,
    log: Log,
  ) {
    this.#connection = connection;
    this.#topic = topics.bridge('event');
    this.#clock = clock;
    this.#log = log;
    store.on('device', ({ event, kind, record }) => this.publish(event, { kind, ...record }));
    store.on('incident', ({ event, record }) => {
      // `IncidentEvents` publishes `incident_opened`, after the incident is recorded on disk.
      if (event === 'incident_changed' || event === 'incident_closed') this.publish(event, record);
    });
    health.on('event', (event, fields) => this.publish(event, fields));
  }

  publish(event: string, fields: object): void {
    const header = { event, at: new Date(this.#clock.now()).toISOString() };
    // The first header puts its keys first. The second one keeps fields of the record from replacing them.
    const payload = JSON.stringify({ ...header, ...fields, ...header });
    this.#connection.publishEvent(this.#topic, payload).catch((error) => {
      this.#log.debug(`The event ${event} was not published: ${String(error)}`);
    });
  }
}
