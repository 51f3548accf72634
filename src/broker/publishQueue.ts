import type { IClientPublishOptions, MqttClient } from 'mqtt';
import type { Clock } from '../base/clock.ts';
import { NotConnectedError } from './notConnectedError.ts';

interface PublishQueueOptions {
  readonly maxInFlight: number;
  /** How long the oldest message may be unacknowledged, in ms. */
  readonly overdueMs: number;
}

interface Sender {
  readonly topic: string;
  readonly bytes: number;
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
  /** The oldest first. Messages are not in this set: one that changes so fast would keep them in memory. */
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

  get isEmpty(): boolean {
    return this.#sent.size + this.#waiting.length === 0;
  }

  /** Resolves when the broker has the message; rejects with the broker's refusal or a `NotConnectedError`. */
  publish(
    topic: string,
    payload: string | Buffer,
    bytes: number,
    options: IClientPublishOptions,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ payload, options, sender: { topic, bytes, resolve, reject } });
      this.#send();
    });
  }

  /** Nobody knows which unacknowledged messages have arrived. Returns their size in bytes. */
  close(): number {
    this.#cancelWatch();
    let unanswered = 0;
    for (const { reject, bytes } of this.#sent) {
      unanswered += bytes;
      reject(new NotConnectedError('the connection to the MQTT broker ended'));
    }
    for (const { sender } of this.#waiting) sender.reject(new NotConnectedError());
    this.#sent.clear();
    this.#waiting.length = 0;
    return unanswered;
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

  /** The time of a message starts when it becomes the oldest, so that many on a slow link are not overdue. */
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
