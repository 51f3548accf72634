import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { coalesce } from '../base/coalesce.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Mirror } from '../broker/mirror.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';

/** How often a bridge that announces devices of this one is looked at, in ms. */
const lookEveryMs = 120_000;

/** A bridge counts as stopped after this long, in ms. One that stops for an update must not lose its devices. */
const goneMs = 900_000;

/** So few bridges share devices. */
const maxBridges = 100;

interface AnnouncersEvents {
  /** The broker has this discovery message of this bridge, with components of these ids. */
  readonly own: [topic: string, componentIds: readonly string[]];
  /** Another bridge announces a device of this one, or no longer does. */
  readonly changed: [];
  /** Another client has deleted or replaced a discovery message of this bridge. */
  readonly overwritten: [];
}

/**
 * Hears the discovery messages of all bridges. A device that a running bridge with another base topic announces is left
 * to that bridge. Otherwise the two would replace each other's messages without end, and Home Assistant would lose
 * entities each time.
 */
export class Announcers extends EventEmitter<AnnouncersEvents> {
  readonly #topics: Topics;
  readonly #connection: Connection;
  readonly #mirror: Mirror;
  readonly #clock: Clock;
  /** By topic: the `state` topic of the other bridge whose discovery message is there. */
  readonly #foreign = new Map<string, string>();
  /** Foreign ones at topics that this bridge uses, too. */
  readonly #contested = new Set<string>();
  /** By `state` topic: when the bridge was last seen online, in ms of the monotonic clock. Not there until it was read. */
  readonly #onlineAt = new Map<string, number>();
  #cancelTimer: () => void = () => {};
  readonly #look = coalesce(() => this.#lookOnce());

  constructor(topics: Topics, connection: Connection, mirror: Mirror, clock: Clock) {
    super();
    this.#topics = topics;
    this.#connection = connection;
    this.#mirror = mirror;
    this.#clock = clock;
    connection
      .on('message', (message) => this.#onMessage(message))
      .on('connected', () => {
        if (this.#contested.size > 0) void this.#look();
      });
  }

  /** The `bridge` topic of another bridge that announces devices of this one; null if none does. */
  get announcer(): string | null {
    const [topic = ''] = this.#unannounced;
    return this.#foreign.get(topic)?.replace(/\/state$/, '') ?? null;
  }

  /** How many devices of this bridge others announce. */
  get unannouncedCount(): number {
    return this.#unannounced.length;
  }

  /** Whether another bridge has a discovery message there. */
  isForeign(topic: string): boolean {
    return this.#foreign.has(topic);
  }

  /** Whether a device of this bridge is left to another one, at least until it is known whether that one runs. */
  isLeft(topic: string): boolean {
    const state = this.#foreign.get(topic);
    if (state === undefined) return false;
    this.#contested.add(topic);
    const isKnown = this.#onlineAt.has(state);
    if (!isKnown) void this.#look();
    return !isKnown || this.#isRunning(state);
  }

  /** This bridge publishes there now. */
  taken(topic: string): void {
    this.#foreign.delete(topic);
    this.#contested.delete(topic);
  }

  stop(): void {
    this.#cancelTimer();
  }

  get #unannounced(): readonly string[] {
    return [...this.#contested].filter((topic) => this.#isRunning(this.#foreign.get(topic) ?? ''));
  }

  #isRunning(state: string): boolean {
    return this.#clock.monotonic() < (this.#onlineAt.get(state) ?? Number.NEGATIVE_INFINITY) + goneMs;
  }

  #onMessage({ topic, payload, isRetained }: BrokerMessage): void {
    if (this.#topics.discovered(topic) === null) return;
    const found = readDiscovery(payload);
    const isOurs = this.#mirror.isKnown(topic);
    if (found?.stateTopic === this.#topics.bridge('state')) {
      const wasForeign = this.#foreign.has(topic);
      this.taken(topic);
      this.emit('own', topic, found.componentIds);
      if (wasForeign) this.emit('changed');
      return;
    }
    // A stored message may be older than that of this run.
    if (isOurs && isRetained) return;
    if (!isOurs) this.#mirror.release(topic);
    if (found) {
      this.#foreign.set(topic, found.stateTopic);
      if (!this.#isRunning(found.stateTopic)) this.#onlineAt.delete(found.stateTopic);
      if (isOurs) this.#contested.add(topic);
      if (this.#contested.has(topic)) void this.#look();
    } else {
      const wasForeign = this.#foreign.has(topic);
      this.taken(topic);
      if (isOurs) this.emit('overwritten');
      if (wasForeign) this.emit('changed');
    }
  }

  /** Reads whether the bridges run that announce devices of this one. */
  async #lookOnce(): Promise<void> {
    this.#cancelTimer();
    const states = [...new Set([...this.#contested].flatMap((topic) => this.#foreign.get(topic) ?? []))];
    if (states.length === 0) return;
    const some = states.slice(0, maxBridges);
    const note = ({ topic, payload }: BrokerMessage) => {
      if (payload === 'online') this.#onlineAt.set(topic, this.#clock.monotonic());
    };
    // If the broker refuses to show it, the other bridge counts as stopped.
    await this.#connection.readRetained(some, note).catch(() => undefined);
    if (!this.#connection.isConnected) return;
    for (const state of states)
      if (!this.#onlineAt.has(state)) this.#onlineAt.set(state, Number.NEGATIVE_INFINITY);
    const isOverwritten = [...this.#contested].some(
      (topic) => !this.#isRunning(this.#foreign.get(topic) ?? '') && this.#mirror.isKnown(topic),
    );
    this.#cancelTimer = this.#clock.after(lookEveryMs, () => void this.#look());
    this.emit('changed');
    if (isOverwritten) this.emit('overwritten');
  }
}
