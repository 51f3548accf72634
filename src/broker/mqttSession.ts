import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import type { IConnackPacket, IPublishPacket, MqttClient, Packet } from 'mqtt';
import { backoffMs, type Random } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { closedMessage } from '../base/systemErrors.ts';
import { type BrokerOptions, greetingTimeoutMs } from './clientOptions.ts';
import {
  describeClientError,
  describeDisconnect,
  describeError,
  describeRefusedFilters,
  type RefusedFilters,
  refusedFilters,
  silentMessage,
} from './errorMessages.ts';
import { type BrokerMessage, messageOf, overheadBytes, type PublishOptions } from './message.ts';
import type { MessageLimit, Unanswered } from './messageLimit.ts';
import { NotConnectedError } from './notConnectedError.ts';
import { Pings } from './pings.ts';
import { PublishQueue } from './publishQueue.ts';
import { StoredMessages } from './storedMessages.ts';
import { matchesAny } from './topicFilter.ts';

/** How a connection ended, or why there was none. */
export interface SessionEnd {
  /** From the answered subscriptions to its end, in ms; null where it did not come so far. */
  readonly livedMs: number | null;
  /** For people. */
  readonly reason: string;
  /** Whether the broker answered that it does not speak this version of MQTT. */
  readonly isVersionRefused?: boolean;
  /** How the broker ended it without a reason: closed it before its first answer, never answered, or closed it later. */
  readonly ending?: 'unanswered' | 'silent' | 'closed' | undefined;
  /** The first large message that was not acknowledged when the broker ended it. It may have been too large. */
  readonly large?: Unanswered | undefined;
}

/** The events of one connection. */
interface MqttSessionEvents {
  /** The broker has accepted the connection and the subscriptions. */
  connected: [];
  message: [message: BrokerMessage];
}

/** Options of MQTT 5 subscriptions: keep the retain flag of live messages, and do not send back one's own messages. */
interface SubscriptionFlags {
  readonly rap?: boolean;
  readonly nl?: boolean;
}

const answerTimeoutMs = 10_000;
const goodbyeMs = 500;
const refusedVersionCodes = new Set([1, 132]);
const packetTooLarge = 149;

/** The codes of a socket that the broker has closed. */
const closedCodes = new Set(['EPIPE', 'ECONNRESET']);

/** A broker that answers the ping before it has sent any retained message may send them a little later. */
const quietMs = 300;

/** Messages after the answer to the ping are read until a gap of this length: aedes needs up to 1.3 s. */
const lateMs = 1_500;

/**
 * Refused subscriptions are tried again, soon at first: a cluster that has lost a node refuses some for seconds. An access
 * list refuses them permanently.
 */
const retry = { firstMs: 1_000, longestMs: 600_000 };

const noneRefused: RefusedFilters = { filters: [], reason: '' };

/** The number of packet ids, for a broker that names no limit. */
const maxInFlight = 65_535;

/**
 * One client's connection to one address of the broker, from its first packet to its end; it never reconnects. It knows
 * nothing of earlier connections.
 */
export class MqttSession extends EventEmitter<MqttSessionEvents> {
  /** Resolves once it is over, or has come to nothing. */
  readonly ended: Promise<SessionEnd>;
  /** The version of MQTT. */
  readonly version: 4 | 5;
  readonly #options: BrokerOptions;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #stopping: AbortSignal;
  readonly #pings: Pings;
  readonly #stored: StoredMessages;
  #hasAnswered = false;
  #isVersionRefused = false;
  #ending: SessionEnd['ending'];
  #large: Unanswered | undefined;
  /** Why it is over; null until it is. */
  #reason: string | null = null;
  #isSayingGoodbye = false;
  #connectedAt: number | null = null;
  #queue: PublishQueue | null = null;
  readonly #limit: MessageLimit;
  #largestPacket = Number.POSITIVE_INFINITY;
  /** Messages that came before the answer to the subscriptions. They are emitted after it. */
  readonly #early: BrokerMessage[] = [];
  /** Whether a topic is among the subscriptions that last as long as the connection. */
  readonly #isSubscribed: (topic: string) => boolean;
  /** Receives the messages of other subscriptions while retained messages are read. */
  #reader: ((message: BrokerMessage) => void) | null = null;
  /** The last reading, which the next one waits for. */
  #reading: Promise<unknown> = Promise.resolve();
  /** The packet ids of messages that have come. */
  readonly #takenIds = new Set<number>();
  /** Of what is subscribed to as long as the connection lasts. */
  #refused = noneRefused;
  #cancelRetry: () => void = () => {};
  readonly #cancelGreeting: () => void;
  /** Ends the connection, unless it is established: then `end` disconnects in order. */
  readonly #onStop = () => {
    if (this.#connectedAt === null) this.#client.stream.destroy();
  };

  /** Takes a client that is about to connect; a stop ends what is not connected yet. */
  constructor(
    client: MqttClient,
    version: 4 | 5,
    options: BrokerOptions,
    limit: MessageLimit,
    clock: Clock,
    random: Random,
    stopping: AbortSignal,
  ) {
    super();
    this.#limit = limit;
    this.version = version;
    this.#options = options;
    this.#client = client;
    this.#clock = clock;
    this.#random = random;
    this.#stopping = stopping;
    this.#pings = new Pings(client, options.pingEveryMs, clock);
    const { subscriptions, statusTopics = [], will } = options;
    this.#stored = new StoredMessages(will?.topic, (topic) => this.#subscribe([topic]), clock);
    this.#isSubscribed = matchesAny([...subscriptions, ...statusTopics, ...(will ? [will.topic] : [])]);
    // The client's own limit ends with any answer, even a part of one.
    this.#cancelGreeting = clock.after(greetingTimeoutMs, () => {
      if (client.stream instanceof Socket && client.stream.connecting) this.#giveUp('no answer');
      else this.#endWithout('silent', silentMessage);
    });
    stopping.addEventListener('abort', this.#onStop, { once: true });
    // Otherwise each message waits until TCP has acknowledged the one before, which a broker may delay by 40 ms.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true);
    client.on('connect', (connack) => this.#onConnack(connack));
    client.on('message', (topic, payload, packet) => {
      if (this.#isRedelivery(packet)) return;
      const message = messageOf(topic, payload, packet, this.#pings.sentAfter, this.#stored.mayBeStored);
      this.#stored.received(message);
      this.#onMessage(message);
    });
    client.on('disconnect', (packet) => {
      if (packet.reasonCode === packetTooLarge) this.#large = this.#queue?.large;
      this.#giveUp(describeDisconnect(packet, options.clientId));
    });
    client.on('error', (error) => this.#onError(error));
    this.ended = new Promise((ended) => {
      client.on('close', () => ended(this.#onClose()));
    });
  }

  /** Whether it is connected and subscribed, and not over. */
  get isLive(): boolean {
    return this.#connectedAt !== null && this.#reason === null && !this.#isSayingGoodbye;
  }

  /** The longest packet that the broker accepts, in bytes. Infinite if it names no limit. */
  get largestPacket(): number {
    return this.#largestPacket;
  }

  /** Whether the broker sends what it has stored without the retain flag, so that an old command looks like a new one. */
  get areStoredUnmarked(): boolean {
    return this.#stored.areUnmarked;
  }

  /** Whether the broker has taken this bridge's state, in place of what an earlier connection has left there. */
  get hasOwnState(): boolean {
    return this.#stored.hasOwnState;
  }

  /** The subscriptions that the broker refuses, and why; null if it refuses none that are needed. */
  get refusedSubscriptions(): string | null {
    const needed = this.#needed(this.#refused);
    return needed.filters.length === 0 ? null : describeRefusedFilters(needed);
  }

  /** A broker may forbid reading one's own topics. Commands work without them. */
  #needed({ filters, reason }: RefusedFilters): RefusedFilters {
    const { subscriptions, statusTopics = [] } = this.#options;
    const needed = [...subscriptions, ...statusTopics];
    return { filters: filters.filter((filter) => needed.includes(filter)), reason };
  }

  /** Publishes at QoS 1; resolves when the broker has it. Throws a `NotConnectedError`, or the broker's refusal. */
  async publish(topic: string, payload: string | Buffer, options: PublishOptions): Promise<void> {
    if (!this.#queue) throw new NotConnectedError();
    const { retain, correlationData } = options;
    const limit = this.#largestPacket;
    // Few brokers have a limit, and measuring a long message takes almost as long as sending it.
    const isMeasured = limit !== Number.POSITIVE_INFINITY || this.#limit.isOneAtATime;
    const bytes = isMeasured
      ? Buffer.byteLength(payload) + overheadBytes(topic, correlationData)
      : payload.length;
    if (bytes > limit) {
      throw new Error(`${topic} has ${bytes} bytes. The broker accepts at most ${limit}`);
    }
    const properties = correlationData && this.version === 5 ? { properties: { correlationData } } : {};
    await this.#queue.publish({ topic, bytes }, payload, { qos: 1, retain, ...properties });
    if (retain) this.#stored.stored(topic);
  }

  /**
   * Resolves to the filters that the broker has refused; throws a `NotConnectedError`, or that it does not answer. All are at
   * QoS 0. There no message comes twice, and a clean session would lose it at any level. At a higher level, a broker keeps
   * messages until earlier ones are acknowledged, but answers pings meanwhile. So a message could be older than it seems.
   */
  #subscribe(
    filters: readonly string[],
    flagsOf: (filter: string) => SubscriptionFlags = () => ({}),
  ): Promise<RefusedFilters> {
    const isV5 = this.version === 5;
    const map = Object.fromEntries(
      filters.map((filter) => [filter, { qos: 0 as const, ...(isV5 && flagsOf(filter)) }]),
    );
    return new Promise((resolve, reject) => {
      // The client's own promise never settles when the connection ends first, or when no answer comes.
      const onClose = () => settle(new NotConnectedError(closedMessage));
      const cancel = this.#clock.after(answerTimeoutMs, () =>
        settle(new Error('the broker does not answer a subscription')),
      );
      const settle = (answer: RefusedFilters | Error) => {
        cancel();
        this.#client.off('close', onClose);
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      if (filters.length === 0) return settle(noneRefused);
      this.#client.once('close', onClose);
      const answered = this.#stored.subscribing();
      this.#client.subscribe(map, (error, _subscriptions, packet) => {
        const refused = error ? refusedFilters(filters, codesOf(packet), error) : noneRefused;
        answered(refused.filters.length < filters.length);
        settle(refused);
      });
    });
  }

  /**
   * Reads the retained messages under the filters. At QoS 1, Mosquitto drops all but a thousand messages by default. At
   * QoS 0 it drops only those beyond a thousand that it cannot write at once, and answers to pings with them. So more than
   * a thousand may be a part. Most brokers send all messages before they answer a ping, and then `onRead` is called. Later
   * messages are still passed on until the promise resolves.
   */
  readRetained(
    filters: readonly string[],
    found: (message: BrokerMessage) => void,
    onRead: () => void,
    isEnough: () => boolean,
  ): Promise<void> {
    const reading = this.#reading.then(() => this.#read(filters, found, onRead, isEnough));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #read(
    filters: readonly string[],
    found: (message: BrokerMessage) => void,
    onRead: () => void,
    isEnough: () => boolean,
  ): Promise<void> {
    let count = 0;
    let heardAt = Number.NEGATIVE_INFINITY;
    const untilQuiet = async (forMs: number) => {
      heardAt = this.#clock.monotonic();
      for (let leftMs = forMs; leftMs > 0; leftMs = heardAt + forMs - this.#clock.monotonic()) {
        await sleep(this.#clock, leftMs, this.#stopping);
        if (!this.isLive) throw new NotConnectedError();
      }
    };
    this.#reader = (message) => {
      if (message.isRetained) {
        heardAt = this.#clock.monotonic();
        count += 1;
      }
      found(message);
    };
    try {
      const refused = await this.#subscribe(filters, () => ({ nl: true }));
      if (refused.filters.length > 0) throw new Error(rejectsSubscription(refused));
      // Only after the subscription: otherwise Mosquitto's system would delay this answer by up to 40 ms.
      await this.#pingAnswered();
      if (count === 0) await untilQuiet(quietMs);
      onRead();
      if (isEnough()) return;
      await untilQuiet(lateMs).catch(() => undefined);
    } finally {
      this.#reader = null;
      if (this.isLive) this.#client.unsubscribe([...filters]);
    }
  }

  /** Resolves once the broker has answered all that was sent so far; throws a `NotConnectedError`. */
  #pingAnswered(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.isLive) throw new NotConnectedError();
      const onClose = () => reject(new NotConnectedError());
      this.#client.once('close', onClose);
      this.#pings.ask(() => {
        this.#client.off('close', onClose);
        resolve();
      });
    });
  }

  /** Disconnects in order within half a second if everything is acknowledged, and closes the connection. */
  async end(): Promise<void> {
    if (this.isLive && this.#queue?.isEmpty) {
      this.#isSayingGoodbye = true;
      // Only if everything is acknowledged, since end() never returns before.
      await Promise.race([
        new Promise<void>((ended) => this.#client.end(false, {}, () => ended())),
        sleep(this.#clock, goodbyeMs),
      ]);
    }
    this.#client.stream.destroy();
  }

  #onConnack({ properties = {} }: IConnackPacket): void {
    if (this.#reason !== null) return;
    this.#hasAnswered = true;
    this.#cancelGreeting();
    this.#pings.start();
    this.#largestPacket = Math.min(
      properties.maximumPacketSize ?? Number.POSITIVE_INFINITY,
      this.#limit.maxBytes,
    );
    const { subscriptions, statusTopics = [], will, overheard = [] } = this.#options;
    const filters = [...subscriptions, ...statusTopics, ...(will ? [will.topic] : []), ...overheard];
    this.#subscribe(filters, (filter) => this.#flagsOf(filter)).then(
      (refused) => {
        // Without a forbidden topic, the rest still works. If the broker refuses all, it may be for a moment.
        if (subscriptions.length > 0 && subscriptions.every((filter) => refused.filters.includes(filter)))
          this.#giveUp(rejectsSubscription(this.#needed(refused)));
        else this.#onSubscribed(refused, properties.receiveMaximum);
      },
      (error) => this.#giveUp(describeError(error)),
    );
  }

  /** MQTT 5 can tell that a live command was sent with the retain flag; such a command is refused. */
  #flagsOf(filter: string): SubscriptionFlags {
    return { rap: this.#options.subscriptions.includes(filter) };
  }

  #onSubscribed(refused: RefusedFilters, receiveMaximum = maxInFlight): void {
    if (this.#reason !== null) return;
    this.#connectedAt = this.#clock.monotonic();
    const overdueMs = Math.max(answerTimeoutMs, 1_500 * this.#options.keepaliveS);
    const isOneLargeAtATime = this.#limit.isOneAtATime;
    const limits = { maxInFlight: receiveMaximum, isOneLargeAtATime, overdueMs };
    this.#queue = new PublishQueue(this.#client, limits, this.#clock, () =>
      this.#giveUp('the broker does not acknowledge messages'),
    );
    this.#setRefused(refused);
    this.emit('connected');
    for (const message of this.#early.splice(0)) this.emit('message', message);
  }

  /** Subscribes to them again, until the broker accepts them. */
  #setRefused(refused: RefusedFilters, times = 1): void {
    this.#refused = refused;
    if (refused.filters.length === 0) return;
    this.#cancelRetry = this.#clock.after(backoffMs(retry, times, this.#random), () => {
      this.#subscribe(refused.filters, (filter) => this.#flagsOf(filter)).then(
        (still) => this.#setRefused(still, times + 1),
        (error) => this.#giveUp(describeError(error)),
      );
    });
  }

  /**
   * Whether the broker sends a message again that it has sent on this connection: with a clean session it is no other one.
   * At QoS 0 no message has a packet id. This is for a broker that sends at a higher QoS than it was asked to.
   */
  #isRedelivery({ messageId, dup }: IPublishPacket): boolean {
    if (messageId === undefined) return false;
    const isTaken = this.#takenIds.has(messageId);
    this.#takenIds.add(messageId);
    return dup && isTaken;
  }

  #onMessage(message: BrokerMessage): void {
    if (this.#reason !== null) return;
    if (this.#connectedAt === null) {
      this.#early.push(message);
      return;
    }
    const isRead = this.#reader !== null && !this.#isSubscribed(message.topic);
    if (isRead) this.#reader?.(message);
    // A live message may also be one for another subscription.
    if (!isRead || !message.isRetained) this.emit('message', message);
  }

  #onError(error: Error & { code?: unknown }): void {
    const reason = describeClientError(error, this.#hasAnswered);
    // With these codes it was closed during a write, and a last packet of the broker is lost.
    // The message is that of the library about Mosquitto's answer to a message that is too large.
    if (closedCodes.has(String(error.code)) || /^Invalid puback reason code/.test(error.message))
      this.#onClosed(reason);
    else {
      this.#isVersionRefused =
        this.version === 5 && !this.#hasAnswered && refusedVersionCodes.has(Number(error.code));
      this.#giveUp(reason);
    }
  }

  #onClose(): SessionEnd {
    this.#stopping.removeEventListener('abort', this.#onStop);
    this.#onClosed(closedMessage);
    return {
      livedMs: this.#connectedAt === null ? null : this.#clock.monotonic() - this.#connectedAt,
      reason: this.#reason ?? '',
      isVersionRefused: this.#isVersionRefused,
      ending: this.#ending,
      large: this.#large,
    };
  }

  #onClosed(reason: string): void {
    this.#endWithout(this.#hasAnswered ? 'closed' : 'unanswered', reason);
  }

  /** The broker gave no reason. */
  #endWithout(ending: SessionEnd['ending'], reason: string): void {
    if (this.#reason === null) {
      this.#ending = ending;
      this.#large = this.#queue?.closedAt;
    }
    this.#giveUp(reason);
  }

  /** Only the first reason counts. The others follow from it. */
  #giveUp(reason: string): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#cancelGreeting();
    this.#cancelRetry();
    this.#pings.stop();
    this.#queue?.close();
    // Not by its end(), which fails if wrong packets came.
    this.#client.stream.destroy();
  }
}

/** The broker's answer to each filter. */
function codesOf(packet: Packet | undefined): readonly unknown[] {
  return packet?.cmd === 'suback' ? packet.granted : [];
}

function rejectsSubscription(refused: RefusedFilters): string {
  return `the broker rejects a subscription: ${describeRefusedFilters(refused)}`;
}
