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

interface RetainedEvents {
  /** The broker has refused a message while no other was refused, or no message is refused any more. */
  readonly refusals: [];
  /** The broker has refused the message of this topic, or accepts it again. */
  readonly refusal: [topic: string];
}

/** A message that the broker refuses. */
interface RefusedMessage {
  readonly topic: string;
  /** The broker's reason. */
  readonly reason: string;
  /** Whether the message was to delete the retained one. */
  readonly isDeletion: boolean;
}

/**
 * Compares the messages that should be retained on the broker with those that are, and publishes the difference. Only
 * digests are kept, so that ten thousand devices need a few megabytes. If the digest of a topic is null, the broker
 * has, or may have, a message there with unknown content.
 */
export class Retained extends EventEmitter<RetainedEvents> {
  readonly #connection: Connection;
  readonly #log: Log;
  readonly #digests = new Map<string, string | null>();
  /** By topic: the message that the broker has refused. The broker keeps the old message there. */
  readonly #refused = new Map<string, RefusedMessage>();
  #hadRefusals = false;
  /** Topics whose first message is on its way. If the broker refuses it, there is nothing to delete. */
  readonly #untaken = new Set<string>();
  #inFlight = 0;
  /** Called at each acknowledgement. */
  readonly #waiting: (() => void)[] = [];
  /** Topics whose deletion is on its way. Home Assistant logs a warning about a second deletion. */
  readonly #clearing = new Set<string>();

  constructor(connection: Connection, log: Log) {
    super();
    this.#connection = connection;
    this.#log = log;
  }

  /**
   * Publishes the message if the broker does not have it. `answered` is called once the broker has accepted or refused
   * it, but not if the connection ends before that.
   */
  put(topic: string, payload: string, answered: (isTaken: boolean) => void = () => {}): void {
    const digest = shortDigestOf(payload);
    if (this.#digests.get(topic) !== digest) this.#publish(topic, payload, digest, answered);
  }

  /** Whether the broker has exactly this message. */
  has(topic: string, payload: string): boolean {
    return this.isKnown(topic) && this.#digests.get(topic) === shortDigestOf(payload);
  }

  /** Whether the broker has, or may have, a message at the topic. */
  mayHave(topic: string): boolean {
    return this.#digests.has(topic);
  }

  /** Whether the content of the broker's message at the topic is known. */
  isKnown(topic: string): boolean {
    return typeof this.#digests.get(topic) === 'string';
  }

  /** Deletes the retained message of the topic, if the broker has or may have one. */
  clear(topic: string): void {
    if (!this.#digests.has(topic)) this.#refused.delete(topic);
    else if (!this.#clearing.has(topic)) this.#publish(topic, '', null);
  }

  /** Records a topic that was found on the broker. It is stale unless its message is published again. */
  found(topic: string): void {
    this.#untaken.delete(topic);
    if (!this.#digests.has(topic)) this.#digests.set(topic, null);
  }

  /** Forgets what was published at the topic. The next message there is published even if it is the same. */
  markUnknown(topic: string): void {
    if (this.#digests.has(topic)) this.#digests.set(topic, null);
  }

  /** Records that nothing should be published at the topic. If the broker has a message there, it is stale. */
  markStale(topic: string): void {
    this.#refused.delete(topic);
    this.markUnknown(topic);
  }

  /** Forgets the topic, because its message belongs to another bridge. */
  release(topic: string): void {
    this.#digests.delete(topic);
    this.#refused.delete(topic);
  }

  /** Forgets what was published at all topics, because the broker may have lost it. */
  markAllUnknown(): void {
    for (const topic of this.#digests.keys()) this.#digests.set(topic, null);
  }

  /**
   * Topics whose content is unknown: found on the broker but not published, or with a deletion that may have failed.
   */
  unknownTopics(): string[] {
    return [...this.#digests]
      .filter(([topic, digest]) => digest === null && this.#refused.get(topic)?.isDeletion !== false)
      .map(([topic]) => topic);
  }

  /** How many topics hold a retained message of this bridge, or may hold one. */
  get size(): number {
    return this.#digests.size;
  }

  /** Whether the broker refuses the message of this topic, so that it has an old one there, or none. */
  isRefused(topic: string): boolean {
    return this.#refused.has(topic);
  }

  /** The first of the messages that the broker refuses; null if it refuses none. */
  get refusal(): RefusedMessage | null {
    return this.#refused.values().next().value ?? null;
  }

  /** Waits while too many messages are unacknowledged. */
  waitForRoom(): Promise<void> {
    return this.#untilInFlight(maxInFlight - 1);
  }

  /** Waits until everything published so far is acknowledged or lost. */
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
    if (!this.#digests.has(topic)) this.#untaken.add(topic);
    this.#digests.set(topic, digest);
    if (payload === '') this.#clearing.add(topic);
    else this.#clearing.delete(topic);
    this.#inFlight += 1;
    const over = () => {
      this.#inFlight -= 1;
      if (payload === '') this.#clearing.delete(topic);
      for (const resolve of this.#waiting.splice(0)) resolve();
      if ((this.refusal !== null) === this.#hadRefusals) return;
      this.#hadRefusals = !this.#hadRefusals;
      if (!this.#hadRefusals) this.#connection.forgetRefusedEvents();
      this.emit('refusals');
    };
    this.#connection.publish(topic, payload, { retain: true }).then(
      () => {
        // If a later message is on its way, its answer decides, not the answer to this one.
        if (this.#digests.get(topic) === digest && this.#refused.delete(topic)) this.emit('refusal', topic);
        if (payload === '' && this.#digests.get(topic) === null) this.#digests.delete(topic);
        this.#untaken.delete(topic);
        answered(true);
        over();
      },
      (error) => {
        this.#lost(topic, digest, error);
        if (!(error instanceof NotConnectedError)) answered(false);
        over();
      },
    );
  }

  #lost(topic: string, digest: string | null, error: unknown): void {
    const isLatest = this.#digests.get(topic) === digest;
    if (isLatest) this.#digests.set(topic, null);
    if (error instanceof NotConnectedError) {
      // The broker may have received the message.
      this.#untaken.delete(topic);
      return;
    }
    const isSaid = this.#refused.has(topic);
    const reason = errorMessage(error);
    this.#refused.set(topic, { topic, reason, isDeletion: digest === null });
    if (isLatest && this.#untaken.delete(topic)) {
      this.#digests.delete(topic);
      if (digest === null) this.#refused.delete(topic);
    }
    if (isSaid) return;
    this.emit('refusal', topic);
    const line = `The MQTT broker rejected ${topic}: ${reason}`;
    if (this.#refused.size < maxRefusalsLogged) this.#log.warn({ topic }, line);
    else if (this.#refused.size === maxRefusalsLogged)
      this.#log.warn({ topic }, `${line}. Further ones are logged at level debug`);
    else this.#log.debug({ topic }, line);
  }
}

/** 66 bits are enough to notice every change. */
function shortDigestOf(text: string): string {
  return hash('sha1', text, 'base64').slice(0, 11);
}
