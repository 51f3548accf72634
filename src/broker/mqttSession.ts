import { Socket } from 'node:net';
import type { IConnackPacket, IPublishPacket, ISubscriptionRequest, MqttClient, Packet } from 'mqtt';
import { type Clock, sleep } from '../base/clock.ts';
import type { Address, ConnectResult } from './addresses.ts';
import { greetingTimeoutMs } from './clientOptions.ts';
import {
  closedMessage,
  describeDisconnect,
  describeError,
  describeFailure,
  describeRefusedFilters,
  describeSilentEnd,
  refusedFilters,
  silentMessage,
  takenOverMessage,
} from './errorMessages.ts';
import { type BrokerMessage, messageOf, type PublishOptions } from './message.ts';
import { NotConnectedError } from './notConnectedError.ts';
import { Pings } from './pings.ts';
import { PublishQueue } from './publishQueue.ts';

/** How one connection went. */
export interface DisconnectReason {
  /** From the answered subscriptions to its end, in ms; null where it did not come so far. */
  readonly livedMs: number | null;
  readonly reception: ConnectResult;
  /** In words; empty of a trial. */
  readonly reason: string;
}

/** What a link is made from, and what is expected of it. */
export interface MqttSessionOptions {
  /** Dialled, and not connected yet. */
  readonly client: MqttClient;
  readonly address: Pick<Address, 'version' | 'isTrial' | 'hasWelcomed'>;
  readonly clientId: string;
  readonly keepaliveS: number;
  readonly pingEveryMs: number;
  /** Made before it counts as a connection. */
  readonly subscriptions: readonly ISubscriptionRequest[];
  /** Of these, those that the broker may refuse. */
  readonly optional: readonly string[];
  /** A connection that ends sooner is one of a series, in ms; null where the one before was not. */
  readonly relapseMs: number | null;
  /** Hangs up on what is not connected yet: who is has goodbyes to say. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** What it tells its owner. */
export interface MqttSessionEvents {
  /** It is connected and subscribed. */
  readonly live: () => void;
  readonly message: (message: BrokerMessage) => void;
}

const answerTimeoutMs = 10_000;
const goodbyeMs = 500;
const unacceptableProtocol = new Set([1, 132]);

/** How a socket says that the broker has hung up. */
const hungUpCodes = new Set(['EPIPE', 'ECONNRESET']);

/** The number of packet ids, for a broker that names no limit. */
const mostInFlight = 65_535;

/** One client's connection to one address of the broker, from its first packet to its end; it is never made anew. */
export class MqttSession {
  /** Resolves once it is over, or has come to nothing. */
  readonly ended: Promise<DisconnectReason>;
  readonly #options: MqttSessionOptions;
  readonly #events: MqttSessionEvents;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  readonly #pings: Pings;
  /** Of whoever says nothing. */
  #reception: ConnectResult = 'hungUp';
  /** Why it is over; null until it is. */
  #reason: string | null = null;
  #isSayingGoodbye = false;
  #connectedAt: number | null = null;
  #outbox: PublishQueue | null = null;
  #largestPacket = Number.POSITIVE_INFINITY;
  /** Retained messages may come with the answer to the subscription; they are told once it is taken in. */
  readonly #early: BrokerMessage[] = [];
  /** 1 at each packet id that a message has had. */
  readonly #takenIds = new Uint8Array(mostInFlight + 1);
  readonly #cancelGreeting: () => void;
  readonly #onStop = () => {
    if (this.#connectedAt === null) this.#client.stream.destroy();
  };

  constructor(options: MqttSessionOptions, events: MqttSessionEvents) {
    const { client, clock, signal, clientId } = options;
    this.#options = options;
    this.#events = events;
    this.#client = client;
    this.#clock = clock;
    this.#pings = new Pings(client, options.pingEveryMs, clock);
    // The client's own limit ends with any answer, even a torn one.
    this.#cancelGreeting = clock.after(greetingTimeoutMs, () => this.#giveUp(silentMessage));
    signal.addEventListener('abort', this.#onStop, { once: true });
    // Else a message waits until TCP has acknowledged the one before it, which a broker may delay by 40 ms, again and again.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true);
    client.on('connect', (connack) => this.#welcomed(connack));
    client.on('message', (topic, payload, packet) => {
      if (this.#isRedelivery(packet)) return;
      this.#heard(messageOf(topic, payload, packet, this.#pings.sentAfter));
    });
    client.on('disconnect', (packet) => this.#giveUp(describeDisconnect(packet, clientId)));
    client.on('error', (error) => this.#failed(error));
    this.ended = new Promise((ended) => {
      client.on('close', () => ended(this.#closed()));
    });
  }

  /** Whether it is connected and subscribed, and not over. */
  get isLive(): boolean {
    return this.#connectedAt !== null && this.#reason === null && !this.#isSayingGoodbye;
  }

  /** Of MQTT. */
  get version(): 4 | 5 {
    return this.#options.address.version;
  }

  /** What the broker takes at most, in bytes; infinite where it names no limit. */
  get largestPacket(): number {
    return this.#largestPacket;
  }

  /** Publishes at QoS 1; resolves when the broker has it. Throws BrokerAway, or the broker's refusal. */
  publish(topic: string, payload: string | Buffer, options: PublishOptions): Promise<void> {
    if (!this.#outbox) return Promise.reject(new NotConnectedError());
    const { retain, correlationData } = options;
    const properties = correlationData && this.version === 5 ? { properties: { correlationData } } : {};
    return this.#outbox.publish(topic, payload, { qos: 1, retain, ...properties });
  }

  /** Resolves once the broker has taken them all; throws BrokerAway, or its refusal in words. */
  async subscribe(
    requests: readonly ISubscriptionRequest[],
    optional: readonly string[] = [],
  ): Promise<void> {
    if (requests.length === 0) return;
    const map = Object.fromEntries(requests.map(({ topic, ...options }) => [topic, options]));
    const filters = requests.map(({ topic }) => topic);
    await new Promise<void>((resolve, reject) => {
      // The client's own promise never settles when the connection ends first, or when no answer comes.
      const onClose = () => settle(new NotConnectedError('the connection was closed'));
      const cancel = this.#clock.after(answerTimeoutMs, () =>
        settle(new Error('it does not answer a subscription')),
      );
      const settle = (error?: Error) => {
        cancel();
        this.#client.off('close', onClose);
        if (error) reject(error);
        else resolve();
      };
      this.#client.once('close', onClose);
      this.#client.subscribe(map, (error, _subscriptions, packet) => {
        const codes = codesOf(packet);
        const refused = refusedFilters(filters, codes);
        const isTaken =
          !error || (refused.length > 0 && refused.every((filter) => optional.includes(filter)));
        if (isTaken) settle();
        else {
          const words = describeRefusedFilters(filters, codes, error);
          settle(new Error(`the broker refused a subscription: ${words}`));
        }
      });
    });
  }

  /** Wants no more of what is below these filters. */
  unsubscribe(filters: readonly string[]): void {
    this.#client.unsubscribe([...filters]);
  }

  /** Says goodbye unless an acknowledgement is owed, within half a second, and hangs up. */
  async end(): Promise<void> {
    if (this.isLive && this.#outbox?.isEmpty) {
      this.#isSayingGoodbye = true;
      // Only now: end() waits for acknowledgements and never returns while one is owed (toolchain 2.4).
      await Promise.race([
        new Promise<void>((ended) => this.#client.end(false, {}, () => ended())),
        sleep(this.#clock, goodbyeMs),
      ]);
    }
    this.#client.stream.destroy();
  }

  #welcomed({ properties = {} }: IConnackPacket): void {
    if (this.#reason !== null) return;
    this.#reception = 'welcomed';
    if (this.#options.address.isTrial) {
      // It was only asked what it speaks.
      this.#giveUp('');
      return;
    }
    this.#cancelGreeting();
    this.#pings.start();
    this.#largestPacket = properties.maximumPacketSize ?? Number.POSITIVE_INFINITY;
    const { subscriptions, optional } = this.#options;
    this.subscribe(subscriptions, optional).then(
      () => this.#subscribed(properties.receiveMaximum),
      (error) => this.#giveUp(describeError(error)),
    );
  }

  #subscribed(receiveMaximum = mostInFlight): void {
    if (this.#reason !== null) return;
    this.#connectedAt = this.#clock.monotonic();
    const overdueMs = Math.max(answerTimeoutMs, 1_500 * this.#options.keepaliveS);
    const limits = { mostInFlight: receiveMaximum, overdueMs };
    this.#outbox = new PublishQueue(this.#client, limits, this.#clock, () =>
      this.#giveUp('it does not acknowledge what it is sent'),
    );
    this.#events.live();
    for (const message of this.#early.splice(0)) this.#events.message(message);
  }

  /** Whether the broker sends a message again that it has sent on this connection: with a clean session it is no other one. */
  #isRedelivery({ messageId, dup }: IPublishPacket): boolean {
    if (messageId === undefined) return false;
    const isTaken = this.#takenIds[messageId] === 1;
    this.#takenIds[messageId] = 1;
    return dup && isTaken;
  }

  #heard(message: BrokerMessage): void {
    if (this.#reason !== null) return;
    if (this.#connectedAt === null) this.#early.push(message);
    else this.#events.message(message);
  }

  #failed(error: Error & { code?: unknown }): void {
    // It has hung up while it was written to: what it may have said before is lost.
    const isHungUp = hungUpCodes.has(String(error.code));
    const words = describeFailure(error, this.#reception !== 'hungUp');
    const why = isHungUp ? this.#wordsOfHangUp(words) : words;
    if ('code' in error && this.#reception === 'hungUp') {
      const isUnspoken = unacceptableProtocol.has(Number(error.code)) && this.version === 5;
      this.#reception = isUnspoken ? 'unspoken' : 'failed';
    }
    this.#giveUp(why);
  }

  #closed(): DisconnectReason {
    this.#options.signal.removeEventListener('abort', this.#onStop);
    this.#giveUp(this.#wordsOfHangUp(closedMessage));
    return {
      livedMs: this.#livedMs,
      reception: this.#reception,
      reason: this.#reason ?? '',
    };
  }

  /** Only the first reason counts: what follows comes of it. */
  #giveUp(why: string): void {
    if (this.#reason !== null) return;
    this.#reason = why;
    this.#cancelGreeting();
    this.#pings.stop();
    this.#outbox?.close();
    // Not by its end(): it would stumble over the packets that came before what was wrong.
    this.#client.stream.destroy();
  }

  get #livedMs(): number | null {
    return this.#connectedAt === null ? null : this.#clock.monotonic() - this.#connectedAt;
  }

  #wordsOfHangUp(words: string): string {
    const { address, clientId, relapseMs } = this.#options;
    // Of one that has answered before it is no news what it speaks.
    if (this.#reception === 'hungUp' && !address.hasWelcomed) return describeSilentEnd(words);
    const livedMs = this.#livedMs;
    return relapseMs !== null && livedMs !== null && livedMs < relapseMs
      ? `the connection is closed again and again; maybe ${takenOverMessage(clientId)}`
      : words;
  }
}

/** What the broker answered each filter. */
function codesOf(packet: Packet | undefined): readonly unknown[] {
  return packet?.cmd === 'suback' ? packet.granted : [];
}
