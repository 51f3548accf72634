import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { HealthMonitor } from '../health/healthMonitor.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { Store } from '../store/store.ts';

export type PublishEvent = (event: string, fields: object) => void;

/** Publishes events at `bridge/event`, once and not retained. Returns a function for further events. */
export function bridgeEvents(
  topics: Topics,
  connection: Connection,
  store: Store,
  health: HealthMonitor,
  clock: Clock,
  log: Log,
): PublishEvent {
  const publish: PublishEvent = (event, fields) => {
    const header = { event, at: new Date(clock.now()).toISOString() };
    // The first header puts its keys first. The second one keeps fields of the record from replacing them.
    const payload = JSON.stringify({ ...header, ...fields, ...header });
    connection.publishEvent(topics.bridge('event'), payload).catch((error) => {
      log.debug(`The event ${event} was not published: ${String(error)}`);
    });
  };
  store.on('device', ({ event, kind, record }) => publish(event, { kind, ...record }));
  store.on('incident', ({ event, record }) => {
    // `IncidentEvents` publishes `incident_opened`, after the incident is recorded on disk.
    if (event === 'incident_changed' || event === 'incident_closed') publish(event, record);
  });
  health.on('event', publish);
  return publish;
}
