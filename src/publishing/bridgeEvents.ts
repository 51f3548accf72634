import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Topics } from '../homeassistant/topics.ts';

/** Tells what happens at `bridge/event`, once and not retained: whoever is not there misses it. */
export class BridgeEvents {
  readonly #connection: Connection;
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(connection: Connection, topics: Topics, clock: Clock, log: Log) {
    this.#connection = connection;
    this.#topic = topics.bridge('event');
    this.#clock = clock;
    this.#log = log;
  }

  tell(event: string, fields: object): void {
    const header = { event, at: new Date(this.#clock.now()).toISOString() };
    // Twice: first for the eye, and last because a record's own fields of these names must not replace them.
    const payload = JSON.stringify({ ...header, ...fields, ...header });
    this.#connection.publish(this.#topic, payload, { retain: false }).catch((error) => {
      this.#log.debug(`The event ${event} was not told: ${String(error)}`);
    });
  }
}
