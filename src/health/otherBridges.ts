import { EventEmitter } from 'node:events';
import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Topics } from '../homeassistant/topics.ts';

/** While a bridge knows another one, it asks this often whether it still runs, in ms. */
const askEveryMs = 60_000;

/** A bridge that has not answered for this long counts as stopped, in ms: two questions may be lost. */
const stoppedAfterMs = 150_000;

/** After a new connection, a bridge that was known before must answer within this time, in ms. */
const answerMs = 10_000;

/** So many bridges never share a topic, and messages of other clients must not fill the memory. */
const maxBridges = 20;

/**
 * Notices bridges that run under the same base topic by mistake: both would carry out each command. Each bridge says
 * hello at `bridge/hello`, which is never retained, with an id that is new with each connection. A running bridge
 * answers to that id. A message that names no current id may be stored or old, so it is only answered.
 */
export class OtherBridges extends EventEmitter<{ changed: [] }> {
  readonly #topics: Topics;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #run: string;
  #connections = 0;
  /** By id: until when the bridge counts as running, in ms of the monotonic clock. */
  readonly #running = new Map<string, number>();
  #isStopped = false;
  #cancelTimer: () => void = () => {};

  constructor(topics: Topics, connection: Connection, clock: Clock, random: Random) {
    super();
    this.#topics = topics;
    this.#connection = connection;
    this.#clock = clock;
    this.#run = hex(Math.floor(random() * 2 ** 48), 12);
    connection
      .on('connected', () => this.#onConnected())
      .on('message', (message) => this.#onMessage(message))
      .on('willPublished', () => this.#onStopped());
  }

  /** Identifies this run of the bridge and its current connection. */
  get instanceId(): string {
    return this.#run + hex(this.#connections, 4);
  }

  /** A message if another bridge uses these topics; null if none does. */
  get problem(): string | null {
    const now = this.#clock.monotonic();
    if (![...this.#running.values()].some((until) => now < until)) return null;
    return `Another bridge uses the topic ${this.#topics.base}/bridge. Valve commands are rejected. Change mqtt.base_topic of one`;
  }

  /** Says nothing more. The broker sends this bridge its own `offline`. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
  }

  #onMessage({ topic, payload, isRetained }: BrokerMessage): void {
    if (this.#isStopped || isRetained || topic !== this.#topics.bridge('hello')) return;
    const { id, to } = readHello(payload);
    if (id === null || id.startsWith(this.#run)) return;
    if (to === null) this.#say(id);
    if (to !== this.instanceId) return;
    const isNew = !this.#running.has(id);
    if (isNew && this.#running.size >= maxBridges) return;
    this.#running.set(id, this.#clock.monotonic() + stoppedAfterMs);
    // Now the other bridge knows that this one runs, too.
    if (isNew) this.#say(id);
    this.#askLater();
    this.emit('changed');
  }

  #onConnected(): void {
    const until = this.#clock.monotonic() + answerMs;
    for (const [id, before] of this.#running) this.#running.set(id, Math.min(before, until));
    this.#askAnew();
  }

  /**
   * A bridge at these topics has stopped, or the broker has published the last will of this one. A running bridge
   * answers again at once. A successor of a stopped one must not wait.
   */
  #onStopped(): void {
    if (this.#isStopped) return;
    this.#running.clear();
    this.#askAnew();
    this.emit('changed');
  }

  #askAnew(): void {
    this.#connections += 1;
    this.#say(null);
    this.#askLater();
  }

  #say(to: string | null): void {
    const hello = JSON.stringify({ id: this.instanceId, ...(to !== null && { to }) });
    this.#connection.publish(this.#topics.bridge('hello'), hello, { retain: false }).catch(() => undefined);
  }

  /** Asks again while another bridge is known, and forgets bridges that do not answer. */
  #askLater(): void {
    this.#cancelTimer();
    if (this.#running.size === 0) return;
    const now = this.#clock.monotonic();
    const nextMs = Math.min(askEveryMs, ...[...this.#running.values()].map((until) => until - now));
    this.#cancelTimer = this.#clock.after(Math.max(0, nextMs), () => {
      for (const [id, until] of this.#running) if (this.#clock.monotonic() >= until) this.#running.delete(id);
      this.#say(null);
      this.#askLater();
      this.emit('changed');
    });
  }
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

function readHello(payload: string): { readonly id: string | null; readonly to: string | null } {
  try {
    const { id, to } = JSON.parse(payload);
    return { id: typeof id === 'string' ? id : null, to: typeof to === 'string' ? to : null };
  } catch {
    return { id: null, to: null };
  }
}
