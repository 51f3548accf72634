import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from './connection.ts';
import { NotConnectedError } from './notConnectedError.ts';

/** The number of unacknowledged messages: enough to keep a broker busy, few enough to limit what waits in memory. */
const maxInFlight = 64;

/** The number of refused topics that are logged one by one. A broker may refuse thousands. */
const maxRefusalsLogged = 10;

/** How long an accepted message may take back to this bridge, in ms. */
const echoMs = 5_000;

interface MirrorEvents {
  /** The broker has refused the message of this topic, or accepts it again. */
  readonly refusal: [topic: string];
}

interface Refusal {
  readonly topic: string;
  readonly reason: string;
  /** The digest of the message, if the broker has acknowledged but not stored it; null if it has said no. */
  readonly unstored: string | null;
}

/**
 * Compares the retained messages that the broker should have with those that it has, and publishes the difference. A topic
 * should have a message (`want`) or none (`drop`). All other topics are left alone. Only digests are kept, so that ten
 * thousand devices need a few megabytes.
 *
 * With MQTT 3.1.1, a broker acknowledges what it does not store: a message that is too long, or that the access list
 * forbids. There the bridge receives its own messages, and one that does not come back counts as refused.
 */
export class Mirror extends EventEmitter<MirrorEvents> {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #log: Log;
  /** The messages that the broker has. Null: it has, or may have, a message with unknown content. */
  readonly #has = new Map<string, string | null>();
  readonly #refused = new Map<string, Refusal>();
  /** Topics whose first message is on its way. If the broker refuses it, there is nothing to delete. */
  readonly #untaken = new Set<string>();
  /** Topics whose deletion is on its way. Home Assistant logs a warning about a second deletion. */
  readonly #dropping = new Set<string>();
  /** Topics whose message has not come back, with the time of its acknowledgement, in ms of the monotonic clock. */
  readonly #unheard = new Map<string, number>();
  #hasHeard = false;
  #cancelWatch: (() => void) | null = null;
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(connection: Connection, clock: Clock, log: Log) {
    super();
    this.#connection = connection;
    this.#clock = clock;
    this.#log = log;
    connection
      .on('connected', () => {
        this.#hasHeard = false;
        this.#unheard.clear();
      })
      .on('message', ({ topic, payload }) => this.#heard(topic, payload));
  }

  /**
   * Publishes the message if the broker does not have it. `answered` is called once the broker has accepted or refused
   * it, but not if the connection ends before that.
   */
  want(topic: string, payload: string, answered: (isTaken: boolean) => void = () => {}): void {
    const digest = digestOf(payload);
    if (this.#has.get(topic) !== digest) this.#publish(topic, payload, digest, answered);
  }

  /** Deletes the message of the topic, if the broker has or may have one. */
  drop(topic: string): void {
    if (!this.#has.has(topic)) this.#accept(topic);
    else if (!this.#dropping.has(topic)) this.#publish(topic, '', null);
  }

  found(topic: string): void {
    this.#untaken.delete(topic);
    if (!this.#has.has(topic)) this.#has.set(topic, null);
  }

  /** The broker may have lost the messages of these topics, or another client may have replaced them. */
  forget(topics: Iterable<string> = this.#has.keys()): void {
    for (const topic of topics) if (this.#has.has(topic)) this.#has.set(topic, null);
  }

  /** The message of the topic belongs to another bridge. */
  release(topic: string): void {
    this.#has.delete(topic);
    this.#accept(topic);
  }

  has(topic: string, payload: string): boolean {
    return this.isKnown(topic) && this.#has.get(topic) === digestOf(payload);
  }

  /** Whether the broker has a message of this run. */
  isKnown(topic: string): boolean {
    return typeof this.#has.get(topic) === 'string';
  }

  mayHave(topic: string): boolean {
    return this.#has.has(topic);
  }

  /** How many topics hold a retained message of this bridge, or may hold one. */
  get size(): number {
    return this.#has.size;
  }

  isRefused(topic: string): boolean {
    return this.#refused.has(topic);
  }

  get refusal(): Refusal | null {
    return this.#refused.values().next().value ?? null;
  }

  waitForRoom(): Promise<void> {
    return this.#untilInFlight(maxInFlight - 1);
  }

  waitForAnswers(): Promise<void> {
    return this.#untilInFlight(0);
  }

  stop(): void {
    this.#cancelWatch?.();
  }

  async #untilInFlight(max: number): Promise<void> {
    while (this.#inFlight > max) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #publish(
    topic: string,
    payload: string,
    digest: string | null,
    answered: (isTaken: boolean) => void = () => {},
  ): void {
    if (!this.#connection.isConnected) return;
    if (!this.#has.has(topic)) this.#untaken.add(topic);
    this.#has.set(topic, digest);
    this.#unheard.delete(topic);
    if (digest !== null && this.#connection.isEchoed(topic))
      this.#unheard.set(topic, Number.POSITIVE_INFINITY);
    if (digest === null) this.#dropping.add(topic);
    else this.#dropping.delete(topic);
    this.#inFlight += 1;
    this.#connection
      .publish(topic, payload, { retain: true })
      .then(
        () => this.#taken(topic, digest, answered),
        (error: unknown) => {
          this.#lost(topic, digest, error);
          if (!(error instanceof NotConnectedError)) answered(false);
        },
      )
      .finally(() => {
        this.#inFlight -= 1;
        if (digest === null) this.#dropping.delete(topic);
        for (const resolve of this.#waiting.splice(0)) resolve();
      });
  }

  #taken(topic: string, digest: string | null, answered: (isTaken: boolean) => void): void {
    this.#untaken.delete(topic);
    // If a later message is on its way, its answer decides, not the answer to this one.
    if (this.#has.get(topic) === digest) {
      const isUnheard = this.#unheard.has(topic);
      if (isUnheard) this.#unheard.set(topic, this.#clock.monotonic());
      if (isUnheard && this.#hasHeard) this.#watch();
      if (!isUnheard || this.#refused.get(topic)?.unstored === null) this.#accept(topic);
      if (digest === null) this.#has.delete(topic);
    }
    answered(true);
  }

  #lost(topic: string, digest: string | null, error: unknown): void {
    this.#unheard.delete(topic);
    const isLatest = this.#has.get(topic) === digest;
    if (isLatest) this.#has.set(topic, null);
    if (error instanceof NotConnectedError) {
      // The broker may have received the message.
      this.#untaken.delete(topic);
      return;
    }
    const isNowhere = isLatest && this.#untaken.delete(topic);
    if (isNowhere) this.#has.delete(topic);
    if (isNowhere && digest === null) this.#accept(topic);
    else this.#refuse({ topic, reason: errorMessage(error), unstored: null });
  }

  #refuse(refusal: Refusal): void {
    const { topic, reason } = refusal;
    const isSaid = this.#refused.has(topic);
    this.#refused.set(topic, refusal);
    if (isSaid) return;
    this.emit('refusal', topic);
    const line = `The MQTT broker rejected ${topic}: ${reason}`;
    if (this.#refused.size < maxRefusalsLogged) this.#log.warn({ topic }, line);
    else if (this.#refused.size === maxRefusalsLogged)
      this.#log.warn({ topic }, `${line}. Further ones are logged at level debug`);
    else this.#log.debug({ topic }, line);
  }

  #accept(topic: string): void {
    if (!this.#refused.delete(topic)) return;
    if (this.#refused.size === 0) this.#connection.forgetRefusedEvents();
    this.emit('refusal', topic);
  }

  #heard(topic: string, payload: string): void {
    if (!this.#has.has(topic) || !this.#connection.isEchoed(topic)) return;
    const digest = digestOf(payload);
    if (digest !== (this.#has.get(topic) ?? this.#refused.get(topic)?.unstored)) return;
    this.#has.set(topic, digest);
    this.#unheard.delete(topic);
    this.#accept(topic);
    if (!this.#hasHeard) this.#watch();
    this.#hasHeard = true;
  }

  /** If no message has ever come back, the bridge may not read there, so nothing is known. */
  #watch(): void {
    this.#cancelWatch ??= this.#clock.after(echoMs, () => {
      this.#cancelWatch = null;
      const now = this.#clock.monotonic();
      for (const [topic, at] of this.#unheard) {
        if (now < at + echoMs) continue;
        this.#unheard.delete(topic);
        const unstored = this.#has.get(topic) ?? null;
        this.#has.set(topic, null);
        this.#refuse({ topic, reason: 'acknowledged but not stored', unstored });
      }
      if ([...this.#unheard.values()].some((at) => at < Number.POSITIVE_INFINITY)) this.#watch();
    });
  }
}

/** 66 bits are enough to notice every change. */
function digestOf(text: string): string {
  return hash('sha1', text, 'base64').slice(0, 11);
}
