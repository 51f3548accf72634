import { hash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from './connection.ts';
import { NotConnectedError } from './notConnectedError.ts';

/** The number of unacknowledged messages: enough to keep a broker busy, few enough to limit what waits in memory. */
const maxInFlight = 64;

/** The number of refused topics that are logged one by one. A broker may refuse thousands. */
const maxRefusalsLogged = 10;

interface MirrorEvents {
  /** The broker has refused the message of this topic, or accepts it again. */
  readonly refusal: [topic: string];
}

interface Refusal {
  readonly topic: string;
  readonly reason: string;
}

/**
 * Compares the retained messages that the broker should have with those that it has, and publishes the difference. A topic
 * should have a message (`want`) or none (`drop`). All other topics are left alone. Only digests are kept, so that ten
 * thousand devices need a few megabytes.
 */
export class Mirror extends EventEmitter<MirrorEvents> {
  readonly #connection: Connection;
  readonly #log: Log;
  /** The messages that the broker has. Null: it has, or may have, a message with unknown content. */
  readonly #has = new Map<string, string | null>();
  readonly #refused = new Map<string, Refusal>();
  /** Topics whose first message is on its way. If the broker refuses it, there is nothing to delete. */
  readonly #untaken = new Set<string>();
  /** Topics whose deletion is on its way. Home Assistant logs a warning about a second deletion. */
  readonly #dropping = new Set<string>();
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(connection: Connection, log: Log) {
    super();
    this.#connection = connection;
    this.#log = log;
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
      this.#accept(topic);
      if (digest === null) this.#has.delete(topic);
    }
    answered(true);
  }

  #lost(topic: string, digest: string | null, error: unknown): void {
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
    else this.#refuse({ topic, reason: errorMessage(error) });
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
}

/** 66 bits are enough to notice every change. */
function digestOf(text: string): string {
  return hash('sha1', text, 'base64').slice(0, 11);
}
