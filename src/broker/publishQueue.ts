import type { IClientPublishOptions, MqttClient } from 'mqtt';
import type { Clock } from '../base/clock.ts';
import { largeBytes, type Unanswered } from './messageLimit.ts';
import { NotConnectedError } from './notConnectedError.ts';

/** A broker closes the connection sooner than this at a message that is too large for it. */
const promptMs = 4_000;

/** The limits of the broker. */
interface PublishQueueOptions {
  /** Unacknowledged messages that the broker accepts at a time. */
  readonly maxInFlight: number;
  /** Whether only one of them may be large. */
  readonly isOneLargeAtATime: boolean;
  /** How long the oldest of them may stay so, in ms. */
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
  /** The callers of unacknowledged messages, the oldest first. A set that changes so fast would keep the messages in memory. */
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

  /** The first large message that is sent and not acknowledged. */
  get large(): Unanswered | undefined {
    for (const sender of this.#sent) if (sender.bytes >= largeBytes) return sender;
    return undefined;
  }

  /**
   * The large message that may be why the broker has just closed the connection. If the broker has not answered for seconds
   * before, the reason is another one: NATS does so while it has no leader.
   */
  get closedAt(): Unanswered | undefined {
    return this.#clock.monotonic() - this.#watchedSince < promptMs ? this.large : undefined;
  }

  /** Resolves when the broker has the message; rejects with its refusal, or a `NotConnectedError`. */
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

  /** The connection has ended: nothing more is sent, and it is unknown which messages have arrived. */
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
      if (!message || (message.sender.bytes >= largeBytes && this.#options.isOneLargeAtATime && this.large))
        break;
      this.#waiting.shift();
      const { payload, options, sender } = message;
      this.#sent.add(sender);
      // The client rejects open messages just before it emits the end of the connection. That is no refusal.
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

  /** Each message has its time from when it is the oldest, so that many on a slow link are not overdue together. */
  #watch(): void {
    const [oldest] = this.#sent;
    if (oldest === this.#watched) return;
    this.#watched = oldest;
    this.#watchedSince = this.#clock.monotonic();
    if (!this.#isWatching) this.#checkIn(this.#options.overdueMs);
  }

  /** One timer for all of them: a timer for each would cost more than sending it. */
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
