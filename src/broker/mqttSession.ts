import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { IConnackPacket, IPublishPacket, MqttClient, Packet } from 'mqtt';
import { backoffMs, type Random } from '../base/backoff.ts';
import { type Clock, endsWithin, sleep } from '../base/clock.ts';
import { closedMessage } from '../base/systemErrors.ts';
import { type BrokerOptions, greetingTimeoutMs } from './clientOptions.ts';
import {
  describeClientError,
  describeDisconnect,
  describeError,
  describeRefusedFilters,
  isTakenOver,
  lostMessage,
  type RefusedFilters,
  refusedFilters,
  silentMessage,
} from './errorMessages.ts';
import { type BrokerMessage, messageOf, overheadBytes, type PublishOptions } from './message.ts';
import { NotConnectedError } from './notConnectedError.ts';
import { type Pings, pingsOn } from './pings.ts';
import { PublishQueue } from './publishQueue.ts';
import { type ReadTest, readTest } from './readTest.ts';
import { StoredMessages } from './storedMessages.ts';
import { matchesAny } from './topicFilter.ts';

export interface SessionEnd {
  /** How long it was connected, from the answer to the subscriptions to its end, in ms; null if it never was. */
  readonly livedMs: number | null;
  readonly reason: string;
  readonly hasAnswered: boolean;
  readonly isVersionRefused?: boolean;
  /**
   * If the broker gave no reason: it closed before its first answer, never answered, or closed later. `taken over`: it
   * has given the client ID to another connection.
   */
  readonly ending?: 'unanswered' | 'silent' | 'closed' | 'taken over' | undefined;
  /** The size of the messages that were not acknowledged. One of them may have been too large for the broker. */
  readonly unansweredBytes: number;
}

interface SessionListener {
  readonly connected: () => void;
  readonly message: (message: BrokerMessage) => void;
}

/**
 * Options of MQTT 5 subscriptions. `rap` keeps the retain flag of live messages. `nl` keeps the broker from sending a
 * client its own messages.
 */
interface SubscriptionFlags {
  readonly rap?: boolean;
  readonly nl?: boolean;
}

const answerTimeoutMs = 10_000;
const goodbyeMs = 500;
const refusedVersionCodes = new Set([1, 132]);

const closedCodes = new Set(['EPIPE', 'ECONNRESET']);

/** If no retained message came before the answer to the ping, some may still come within this time, in ms. */
const quietMs = 300;

/** Reading goes on until no message came for this long, in ms. aedes needs up to 1.3 s. */
const lateMs = 1_500;

/**
 * The waits before refused subscriptions are tried again. The first is short, because a cluster that has lost a node
 * refuses some subscriptions for seconds. The last is long, because an access list refuses them permanently.
 */
const retry = { firstMs: 1_000, longestMs: 600_000 };

/** The filters in one packet. */
const maxFilters = 8;

const noneRefused: RefusedFilters = { filters: [], reason: '' };

/** The number of packet ids. It is the limit for a broker that names none. */
const maxInFlight = 65_535;

/** One client's connection to one address. It never reconnects, and knows nothing of earlier ones. */
export class MqttSession {
  readonly ended: Promise<SessionEnd>;
  readonly version: 4 | 5;
  readonly stored: StoredMessages;
  readonly readTest: ReadTest;
  readonly #options: BrokerOptions;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #stopping: AbortSignal;
  readonly #listener: SessionListener;
  readonly #pings: Pings;
  #hasAnswered = false;
  #isVersionRefused = false;
  #ending: SessionEnd['ending'];
  #unansweredBytes = 0;
  #reason: string | null = null;
  #isSayingGoodbye = false;
  #connectedAt: number | null = null;
  #queue: PublishQueue | null = null;
  #largestPacket = Number.POSITIVE_INFINITY;
  /** Messages that came before the answer to the subscriptions. They are passed on after `connected`. */
  readonly #early: BrokerMessage[] = [];
  readonly #lasting: readonly string[];
  readonly #isSubscribed: (topic: string) => boolean;
  readonly #isOverheard: (topic: string) => boolean;
  /** Receives retained messages while they are read, unless their topic is among the needed subscriptions. */
  #reader: ((message: BrokerMessage) => void) | null = null;
  /** Settles with the last reading. The next reading waits for it. */
  #reading: Promise<unknown> = Promise.resolve();
  readonly #takenIds = new Set<number>();
  #refused = noneRefused;
  #cancelRetry: () => void = () => {};
  readonly #cancelGreeting: () => void;
  /** An established connection is closed by `end`, which disconnects in order. */
  readonly #onStop = () => {
    if (this.#connectedAt === null) this.#client.stream.destroy();
  };

  /** Takes a client that is about to connect. If `stopping` aborts before it is connected, the connection is closed. */
  constructor(
    client: MqttClient,
    version: 4 | 5,
    options: BrokerOptions,
    clock: Clock,
    random: Random,
    stopping: AbortSignal,
    listener: SessionListener,
  ) {
    this.version = version;
    this.#options = options;
    this.#client = client;
    this.#clock = clock;
    this.#random = random;
    this.#stopping = stopping;
    this.#listener = listener;
    this.#pings = pingsOn(client, options.pingEveryMs, clock, () => this.#giveUp(lostMessage));
    const { subscriptions, statusTopics = [], will, overheard = [] } = options;
    const needed = [...subscriptions, ...statusTopics, ...(will ? [will.topic] : [])];
    this.#lasting = [...needed, ...overheard];
    this.stored = new StoredMessages(will, (topic) => this.#subscribe([topic]), clock);
    this.readTest = readTest(options, (topic) => this.publish(topic, '', { retain: false }), clock);
    this.#isSubscribed = matchesAny(needed);
    this.#isOverheard = matchesAny(overheard);
    // The library's own limit stops counting at the first bytes of an answer, even an incomplete one.
    this.#cancelGreeting = clock.after(greetingTimeoutMs, () => {
      if (client.stream instanceof Socket && client.stream.connecting) this.#giveUp('no answer');
      else this.#endBy('silent', silentMessage);
    });
    stopping.addEventListener('abort', this.#onStop, { once: true });
    // Without this, each message waits until TCP has acknowledged the one before, which a broker may delay by 40 ms.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true);
    client.on('connect', (connack) => this.#onConnack(connack));
    client.on('message', (topic, payload, packet) => {
      if (this.#isRedelivery(packet)) return;
      const message = messageOf(topic, payload, packet, this.#pings.sentAfter, this.stored.mayBeStored);
      this.stored.received(message);
      this.readTest.received(topic);
      this.#onMessage(message);
    });
    client.on('disconnect', (packet) => {
      this.#endBy(isTakenOver(packet) ? 'taken over' : undefined, describeDisconnect(packet));
    });
    client.on('error', (error) => this.#onError(error));
    // The library does not report an error without a code, such as a WebSocket that the server rejects.
    if (client.stream instanceof Duplex) client.stream.on('error', (error) => this.#onError(error));
    if (client.stream instanceof Duplex && !(client.stream instanceof Socket)) joinPieces(client.stream);
    this.ended = new Promise((ended) => {
      client.on('close', () => ended(this.#onClose()));
    });
  }

  get isLive(): boolean {
    return this.#connectedAt !== null && this.#reason === null && !this.#isSayingGoodbye;
  }

  /** The longest packet that the broker accepts, in bytes. Infinite if it names no limit. */
  get largestPacket(): number {
    return this.#largestPacket;
  }

  /** The needed subscriptions that the broker refuses, with the reason; null if it refuses none of them. */
  get refusedSubscriptions(): string | null {
    const needed = this.#needed(this.#refused);
    return needed.filters.length === 0 ? null : describeRefusedFilters(needed);
  }

  /** A broker may forbid the bridge's own topics. Commands work without them. */
  #needed({ filters, reason }: RefusedFilters): RefusedFilters {
    const { subscriptions, statusTopics = [] } = this.#options;
    const needed = [...subscriptions, ...statusTopics];
    return { filters: filters.filter((filter) => needed.includes(filter)), reason };
  }

  async publish(topic: string, payload: string | Buffer, options: PublishOptions): Promise<void> {
    if (!this.#queue) throw new NotConnectedError();
    const { retain, correlationData } = options;
    const limit = this.#largestPacket;
    const bytes = Buffer.byteLength(payload) + overheadBytes(topic, correlationData);
    if (bytes > limit) {
      throw new Error(`${topic} has ${bytes} bytes. The broker accepts at most ${limit}`);
    }
    const properties = correlationData && this.version === 5 ? { properties: { correlationData } } : {};
    await this.#queue.publish(topic, payload, bytes, { qos: 1, retain, ...properties });
    if (retain) this.stored.stored(topic);
  }

  /**
   * Resolves to the filters that the broker has refused. Throws a `NotConnectedError`, or an error if the broker does
   * not answer. All subscriptions have QoS 0. No message comes twice then, and a higher level would not help: with a
   * clean session a message that is missed is lost anyway. At a higher level a broker also keeps messages back until
   * earlier ones are acknowledged, but answers pings meanwhile. So a message could be older than it seems.
   */
  async #subscribe(
    filters: readonly string[],
    flagsOf: (filter: string) => SubscriptionFlags = () => ({}),
  ): Promise<RefusedFilters> {
    if (filters.length === 0) return noneRefused;
    const answered = this.stored.subscribing();
    const answers = await Promise.all(
      inPackets(filters).map((group) => this.#subscribeGroup(group, flagsOf)),
    );
    const refused = answers.flatMap((answer) => answer.filters);
    answered(refused.length < filters.length);
    return { filters: refused, reason: answers.find(({ reason }) => reason !== '')?.reason ?? '' };
  }

  #subscribeGroup(
    filters: readonly string[],
    flagsOf: (filter: string) => SubscriptionFlags,
  ): Promise<RefusedFilters> {
    const isV5 = this.version === 5;
    const map = Object.fromEntries(
      filters.map((filter) => [filter, { qos: 0 as const, ...(isV5 && flagsOf(filter)) }]),
    );
    return new Promise((resolve, reject) => {
      // The library's own promise never settles if the connection ends first, or if no answer comes.
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
      this.#client.once('close', onClose);
      this.#client.subscribe(map, (error, _subscriptions, packet) =>
        settle(error ? refusedFilters(filters, codesOf(packet), error) : noneRefused),
      );
    });
  }

  /**
   * Reads the retained messages under the filters, at QoS 0. At QoS 1, Mosquitto drops all but a thousand messages by
   * default. At QoS 0 it drops messages beyond a thousand only if it cannot write them at once, and it may drop answers
   * to pings too. So if there are more than a thousand, some may be missing. Most brokers send all messages before they
   * answer a ping. Later messages are passed on until the promise resolves, unless these are enough.
   */
  readRetained(
    filters: readonly string[],
    found: (message: BrokerMessage) => void,
    isEnough: () => boolean,
  ): Promise<void> {
    const reading = this.#reading.then(() => this.#read(filters, found, isEnough));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #read(
    filters: readonly string[],
    found: (message: BrokerMessage) => void,
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
      // The ping follows the answer to the subscription. Sent together, Mosquitto's system would delay this answer by
      // up to 40 ms.
      await this.#pingAnswered();
      if (count === 0) await untilQuiet(quietMs);
      if (isEnough()) return;
      await untilQuiet(lateMs);
    } finally {
      this.#reader = null;
      const passing = filters.filter((filter) => !this.#lasting.includes(filter));
      if (this.isLive) for (const group of inPackets(passing)) this.#client.unsubscribe([...group]);
    }
  }

  /** Resolves once the broker has answered everything that was sent so far; throws a `NotConnectedError`. */
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

  /** If everything is acknowledged, it disconnects in order first, which takes half a second at most. */
  async end(): Promise<void> {
    if (this.isLive && this.#queue?.isEmpty) {
      this.#isSayingGoodbye = true;
      // end() waits until everything is acknowledged, so it might never return otherwise.
      const ended = new Promise<void>((resolve) => this.#client.end(false, {}, () => resolve()));
      await endsWithin(this.#clock, goodbyeMs, ended);
    }
    this.#client.stream.destroy();
  }

  #onConnack({ properties = {} }: IConnackPacket): void {
    if (this.#reason !== null) return;
    this.#hasAnswered = true;
    this.#cancelGreeting();
    this.#pings.start();
    this.#largestPacket = properties.maximumPacketSize ?? Number.POSITIVE_INFINITY;
    const { subscriptions } = this.#options;
    this.#subscribe(this.#lasting, (filter) => this.#flagsOf(filter)).then(
      (refused) => {
        // If only some topics are forbidden, the rest still works. If all are refused, a new connection may help: a
        // cluster may refuse them only for a moment.
        if (subscriptions.length > 0 && subscriptions.every((filter) => refused.filters.includes(filter)))
          this.#giveUp(rejectsSubscription(this.#needed(refused)));
        else this.#onSubscribed(refused, properties.receiveMaximum);
      },
      (error) => this.#giveUp(describeError(error)),
    );
  }

  /** With MQTT 5, a live command keeps the retain flag that it was sent with. Such a command is refused. */
  #flagsOf(filter: string): SubscriptionFlags {
    const { subscriptions, overheard = [] } = this.#options;
    return { rap: subscriptions.includes(filter), nl: overheard.includes(filter) };
  }

  #onSubscribed(refused: RefusedFilters, receiveMaximum = maxInFlight): void {
    if (this.#reason !== null) return;
    this.#connectedAt = this.#clock.monotonic();
    const overdueMs = Math.max(answerTimeoutMs, 1_500 * this.#options.keepaliveS);
    const limits = { maxInFlight: receiveMaximum, overdueMs };
    this.#queue = new PublishQueue(this.#client, limits, this.#clock, () =>
      this.#giveUp('the broker does not acknowledge messages'),
    );
    this.#setRefused(refused);
    this.#listener.connected();
    for (const message of this.#early.splice(0)) this.#listener.message(message);
    this.readTest.start();
  }

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
   * Whether the broker sends a message a second time on this connection. The session is clean, so a message from an
   * earlier connection cannot come. The subscriptions have QoS 0, where no message has a packet id. This check is for a
   * broker that sends at a higher QoS than requested.
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
    // A live message may also belong to one of the lasting subscriptions, so it is emitted too.
    if (!isRead || !message.isRetained || this.#isOverheard(message.topic)) this.#listener.message(message);
  }

  #onError(error: Error & { code?: unknown }): void {
    const reason = describeClientError(error, this.#hasAnswered);
    // With these codes the socket was closed during a write, so a last packet with the broker's reason may be lost.
    // With this message the library reports Mosquitto's answer to a message that is too large.
    if (closedCodes.has(String(error.code)) || /^Invalid puback reason code/.test(error.message))
      this.#onClosed(reason);
    else {
      this.#isVersionRefused =
        this.version === 5 && !this.#hasAnswered && refusedVersionCodes.has(Number(error.code));
      // MQTT has numbers as reasons, and sockets have words.
      this.#hasAnswered ||= typeof error.code === 'number';
      this.#giveUp(reason);
    }
  }

  #onClose(): SessionEnd {
    this.#stopping.removeEventListener('abort', this.#onStop);
    this.#onClosed(closedMessage);
    return {
      livedMs: this.#connectedAt === null ? null : this.#clock.monotonic() - this.#connectedAt,
      reason: this.#reason ?? '',
      hasAnswered: this.#hasAnswered,
      isVersionRefused: this.#isVersionRefused,
      ending: this.#ending,
      unansweredBytes: this.#unansweredBytes,
    };
  }

  #onClosed(reason: string): void {
    this.#endBy(this.#hasAnswered ? 'closed' : 'unanswered', reason);
  }

  #endBy(ending: SessionEnd['ending'], reason: string): void {
    if (this.#reason === null) this.#ending = ending;
    this.#giveUp(reason);
  }

  /** Only the first reason counts, because the others follow from it. */
  #giveUp(reason: string): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#cancelGreeting();
    this.#cancelRetry();
    this.#pings.stop();
    this.readTest.stop();
    this.#unansweredBytes = this.#queue?.close() ?? 0;
    // The library's end() fails after invalid packets, so the socket is destroyed instead.
    this.#client.stream.destroy();
  }
}

/**
 * Writes the pieces of a packet as one WebSocket frame. With a frame for each piece, an empty payload would be an empty
 * frame, at which Mosquitto 2.1.2 ends the connection. This is no option of mqtt.js, which would hand it to the socket
 * below the WebSocket too.
 */
function joinPieces(stream: Duplex): void {
  stream._writev = (pieces, done) =>
    stream._write(Buffer.concat(pieces.map(({ chunk }) => chunk)), 'binary', done);
}

/** Some brokers end the connection at a packet with many filters. */
function inPackets(filters: readonly string[]): (readonly string[])[] {
  const count = Math.ceil(filters.length / maxFilters);
  return Array.from({ length: count }, (_, at) => filters.slice(at * maxFilters, (at + 1) * maxFilters));
}

function codesOf(packet: Packet | undefined): readonly unknown[] {
  return packet?.cmd === 'suback' ? packet.granted : [];
}

function rejectsSubscription(refused: RefusedFilters): string {
  return `the broker rejects a subscription: ${describeRefusedFilters(refused)}`;
}
