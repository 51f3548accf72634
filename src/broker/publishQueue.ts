import type { IClientPublishOptions, MqttClient } from 'mqtt';
import type { Clock } from '../base/clock.ts';
import { NotConnectedError } from './notConnectedError.ts';

/** A message that the broker has not acknowledged. */
export interface Unanswered {
  readonly topic: string;
  /** Its size: without the topic if the broker names no limit. */
  readonly bytes: number;
}

/** Every broker accepts messages that are shorter than this, in bytes. */
const largeBytes = 1_024;

/** If a message is too large for a broker, the broker closes the connection within this time, in ms. */
const promptMs = 4_000;

/** The limits of the broker. */
interface PublishQueueOptions {
  /** How many unacknowledged messages the broker accepts. */
  readonly maxInFlight: number;
  /** How long the oldest message may be unacknowledged, in ms. */
  readonly overdueMs: number;
}

/** The caller that waits for the acknowledgement of a message. */
interface Sender extends Unanswered {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface QueuedMessage {
  readonly payload: string | Buffer;
  readonly options: IClientPublishOptions;
  readonly sender: Sender;
}

/** Sends the messages of one connection in order, and never more at a time than the broker accepts. */
export class PublishQueue {
  readonly #client: MqttClient;
  readonly #options: PublishQueueOptions;
  readonly #clock: Clock;
  readonly #onOverdue: () => void;
  readonly #waiting: QueuedMessage[] = [];
  /**
   * The callers of unacknowledged messages, the oldest first. The messages are not in this set: a set that changes so
   * fast would keep them in memory.
   */
  readonly #sent = new Set<Sender>();
  #watched: Sender | undefined;
  #watchedSince = 0;
  #isWatching = false;
  #cancelWatch: () => void = () => {};

  constructor(client: MqttClient, options: PublishQueueOptions, clock: Clock, onOverdue: () => void) {
    this.#client = client;
    this.#options = options;
    this.#clock = clock;
    this.#onOverdue = onOverdue;
  }

  /** Whether everything was acknowledged. */
  get isEmpty(): boolean {
    return this.#sent.size + this.#waiting.length === 0;
  }

  /** The first large message that is not acknowledged. */
  get large(): Unanswered | undefined {
    for (const sender of this.#sent) if (sender.bytes >= largeBytes) return sender;
    return undefined;
  }

  /**
   * The large message that may have made the broker close the connection. If the broker has acknowledged nothing for
   * seconds, the reason is another one: NATS does so while it has no leader.
   */
  get closedAt(): Unanswered | undefined {
    return this.#clock.monotonic() - this.#watchedSince < promptMs ? this.large : undefined;
  }

  /** Resolves when the broker has the message; rejects with the broker's refusal or a `NotConnectedError`. */
  publish(
    { topic, bytes }: Unanswered,
    payload: string | Buffer,
    options: IClientPublishOptions,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ payload, options, sender: { topic, bytes, resolve, reject } });
      this.#send();
    });
  }

  /** The connection has ended. Nothing more is sent, and nobody knows which unacknowledged messages have arrived. */
  close(): void {
    this.#cancelWatch();
    for (const { reject } of this.#sent)
      reject(new NotConnectedError('the connection to the MQTT broker ended', true));
    for (const { sender } of this.#waiting) sender.reject(new NotConnectedError());
    this.#sent.clear();
    this.#waiting.length = 0;
  }

  #send(): void {
    while (this.#sent.size < this.#options.maxInFlight) {
      const [message] = this.#waiting;
      if (!message) break;
      this.#waiting.shift();
      const { payload, options, sender } = message;
      this.#sent.add(sender);
      // When the connection ends, the library first fails the open messages and then emits `close`. That is no refusal
      // by the broker. The microtask lets `close` come first.
      this.#client.publish(sender.topic, payload, options, (error) =>
        queueMicrotask(() => this.#answered(sender, error)),
      );
    }
    this.#watch();
  }

  #answered(sender: Sender, error: Error | undefined): void {
    if (!this.#sent.delete(sender)) return;
    if (error) sender.reject(error);
    else sender.resolve();
    this.#send();
  }

  /**
   * The time of a message starts when it becomes the oldest, so that many messages on a slow link are not overdue
   * together.
   */
  #watch(): void {
    const [oldest] = this.#sent;
    if (oldest === this.#watched) return;
    this.#watched = oldest;
    this.#watchedSince = this.#clock.monotonic();
    if (!this.#isWatching) this.#checkIn(this.#options.overdueMs);
  }

  /** One timer for all messages: a timer for each would cost more than sending the message. */
  #checkIn(delayMs: number): void {
    this.#isWatching = true;
    this.#cancelWatch = this.#clock.after(delayMs, () => {
      this.#isWatching = false;
      if (!this.#watched) return;
      const leftMs = this.#watchedSince + this.#options.overdueMs - this.#clock.monotonic();
      if (leftMs <= 0) this.#onOverdue();
      else this.#checkIn(leftMs);
    });
  }
}
