import { isUtf8 } from 'node:buffer';
import { connect, type IClientOptions, type ISubscriptionRequest, type MqttClient, type Packet } from 'mqtt';
import { backoffMs, type Random } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { Outage } from '../base/outage.ts';
import { type Address, Addresses, describeUrl, destinationOf, type Reception } from './addresses.ts';
import { BrokerAway } from './brokerAway.ts';
import {
  asleepWords,
  closedWords,
  refusedFilters,
  silentWords,
  takenOverWords,
  wordsOf,
  wordsOfFailure,
  wordsOfGoodbye,
  wordsOfRefusedFilters,
  wordsOfSilentEnd,
} from './failureWords.ts';
import { Outbox } from './outbox.ts';
import { SleepWatch } from './sleepWatch.ts';
import { SlimStore } from './slimStore.ts';
import { matches } from './topicFilter.ts';

/** Says where the broker is, as a URL like those of the options; rejects in words. */
export type BrokerFinder = (signal: AbortSignal) => Promise<string>;

/** Where and how to connect. */
export interface BrokerOptions {
  /**
   * mqtt, mqtts, ws or wss, at least one; of several, the next where one is away. Each may carry a user name and a
   * password of its own, which go before those below.
   */
  readonly urls: readonly string[];
  /** Asked before each attempt, instead of these. */
  readonly find?: BrokerFinder | undefined;
  readonly clientId: string;
  readonly protocolVersion: 4 | 5;
  readonly keepaliveS: number;
  readonly username: string | undefined;
  /** Read again at each attempt, since it may live in a file; not sent without a user name. Throws in words. */
  readonly password: () => string | undefined;
  /** Read again likewise: certificates are renewed while the bridge runs. */
  readonly tls: () => {
    readonly ca: string | undefined;
    readonly cert: string | undefined;
    readonly key: string | undefined;
    readonly rejectUnauthorized: boolean;
  };
  /** Published by the broker, retained, when the bridge vanishes. */
  readonly will: { readonly topic: string; readonly payload: string } | null;
  /** Where others that publish in this one's place are heard; if the broker refuses that, it goes without. */
  readonly overheard?: string;
  /** Subscribed to before a connection counts as one. */
  readonly subscriptions: readonly string[];
}

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: string;
  /** Whether the broker kept it, or its sender asked for that (seen live only with MQTT 5). */
  readonly isRetained: boolean;
  /** Whether it is UTF-8; `payload` has replacement characters where it is not. */
  readonly isText: boolean;
  /** Where its sender wants an answer, and what is to go with that (MQTT 5). */
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
}

export interface PublishOptions {
  readonly retain: boolean;
  /** Of the request that this answers; seen with MQTT 5 only. */
  readonly correlationData?: Buffer | undefined;
}

/** Opens a connection, as mqtt.js does. */
export type Dial = (options: IClientOptions) => MqttClient;

/** What a connection tells its owner. */
export interface BrokerEvents {
  readonly connected: () => void;
  readonly message: (message: BrokerMessage) => void;
  /** An attempt at an address failed, with the reason in words; the next one follows by itself. */
  readonly failed?: (reason: string, url: string) => void;
  /** The broker has published the last will of this one though it lives: late, of a connection before. */
  readonly presumedDead?: () => void;
}

const reconnect = { firstMs: 1_000, longestMs: 30_000 };
const answerTimeoutMs = 10_000;

/** A node of a cluster may need ten seconds to take a client over from one that has died. */
const greetingTimeoutMs = 15_000;
const unacceptableProtocol = new Set([1, 132]);

/** How a socket says that the broker has hung up. */
const hungUpCodes = new Set(['EPIPE', 'ECONNRESET']);

/** A connection that lasts as long is no part of a series: the next wait is short again, and the log says it is back. */
const lastingMs = reconnect.longestMs;

/** The number of packet ids, for a broker that names no limit. */
const mostInFlight = 65_535;

/** How one connection went. */
interface Life {
  /** From the answered subscriptions to its end; null where it did not come so far. */
  readonly livedMs: number | null;
  readonly reason: string;
  readonly retryAtOnce: boolean;
}

/** A client that is connected and subscribed. */
interface Link {
  readonly client: MqttClient;
  readonly outbox: Outbox;
}

/**
 * One lasting connection, made anew after each loss. Each attempt is a fresh client with a clean session: nothing is
 * queued while the broker is away, so no old state and no old command is replayed (toolchain: mqtt.js resends).
 */
export class Connection {
  readonly #dial: Dial;
  readonly #options: BrokerOptions;
  readonly #events: BrokerEvents;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #outage: Outage;
  #link: Link | null = null;
  /** How many connections in a row did not last. */
  #relapses = 0;
  #addresses: Addresses;
  /** Of MQTT, as spoken now. */
  #version: 4 | 5;
  /**
   * Of the next subscriptions. A cluster that misses a node may be unable to take any but of QoS 0, for as long as it
   * does; with a clean session that is hardly less.
   */
  #qos: 0 | 1 = 1;
  #largestPacket = Number.POSITIVE_INFINITY;
  #scan: ((message: BrokerMessage) => void) | null = null;
  #published = 0;
  #trouble: string | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopping = new AbortController();

  constructor(
    options: BrokerOptions,
    events: BrokerEvents,
    clock: Clock,
    random: Random,
    log: Log,
    dial: Dial = connect,
  ) {
    this.#dial = dial;
    this.#options = options;
    this.#events = events;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#addresses = new Addresses(options.urls, options.protocolVersion);
    this.#version = options.protocolVersion;
    const { isSingle, current } = this.#addresses;
    this.#outage = new Outage(
      clock,
      log,
      isSingle && !options.find ? `MQTT broker ${describeUrl(current.url)}` : 'MQTT broker',
    );
  }

  /** Connects, and reconnects until `stop`; never throws. */
  start(): void {
    this.#running = this.#run();
  }

  get isConnected(): boolean {
    return this.#link !== null;
  }

  /** Why there is no connection, in words; null while that is not known, and while there is one. */
  get trouble(): string | null {
    return this.isConnected ? null : this.#trouble;
  }

  /** How many messages were published so far. */
  get published(): number {
    return this.#published;
  }

  /** Publishes at QoS 1; resolves when the broker has it. Throws BrokerAway, or the broker's refusal. */
  publish(topic: string, payload: string | Buffer, options: PublishOptions): Promise<void> {
    const link = this.#link;
    if (!link) return Promise.reject(new BrokerAway());
    const { retain, correlationData } = options;
    const limit = this.#largestPacket;
    // Few brokers have one, and to measure a long message takes almost as long as to send it.
    const isLimited = limit !== Number.POSITIVE_INFINITY;
    const bytes = isLimited ? Buffer.byteLength(payload) + overheadBytes(topic, correlationData) : 0;
    if (bytes > limit) {
      return Promise.reject(new Error(`${topic} has ${bytes} bytes; the broker takes ${limit}`));
    }
    this.#published += 1;
    const properties = correlationData && this.#version === 5 ? { properties: { correlationData } } : {};
    return link.outbox.publish(topic, payload, { qos: 1, retain, ...properties });
  }

  /** How many bytes of payload the broker takes at most with this topic. */
  roomFor(topic: string, correlationData?: Buffer): number {
    return this.#largestPacket - overheadBytes(topic, correlationData);
  }

  /**
   * What the broker keeps under the filters, as far as it shows within the time: read until no more of it comes,
   * whatever others publish meanwhile. At QoS 0, because a default Mosquitto drops all but a thousand messages of a
   * QoS 1 subscription.
   */
  async readRetained(
    filters: readonly string[],
    time: { readonly quietMs: number; readonly longestMs: number },
    found: (message: BrokerMessage) => void,
  ): Promise<void> {
    const link = this.#link;
    if (!link) throw new BrokerAway();
    const until = this.#clock.monotonic() + time.longestMs;
    let heardAt = this.#clock.monotonic();
    this.#scan = (message) => {
      if (message.isRetained) heardAt = this.#clock.monotonic();
      found(message);
    };
    try {
      const requests = filters.map((topic) => ({
        topic,
        qos: 0 as const,
        ...(this.#version === 5 && { nl: true }),
      }));
      await this.#subscribe(link.client, requests);
      while (this.#clock.monotonic() < Math.min(until, heardAt + time.quietMs)) {
        await sleep(this.#clock, Math.min(50, time.quietMs), this.#stopping.signal);
        if (this.#link !== link) throw new BrokerAway();
      }
    } finally {
      this.#scan = null;
      if (this.#link === link) link.client.unsubscribe([...filters]);
    }
  }

  /** Publishes the last words, if the broker is there to hear them, and disconnects; within two seconds at most. */
  async stop(lastWords: readonly { readonly topic: string; readonly payload: string }[]): Promise<void> {
    const link = this.#link;
    if (link) {
      const said = lastWords.map(({ topic, payload }) => this.publish(topic, payload, { retain: true }));
      await Promise.race([Promise.allSettled(said), sleep(this.#clock, 1_000)]);
    }
    this.#stopping.abort(new BrokerAway('the bridge stops'));
    if (link && this.#link === link && link.outbox.isEmpty) {
      this.#link = null;
      // Only now: end() waits for acknowledgements and never returns while one is owed (toolchain 2.4).
      await Promise.race([
        new Promise<void>((ended) => link.client.end(false, {}, () => ended())),
        sleep(this.#clock, 500),
      ]);
    }
    link?.client.stream.destroy();
    await Promise.race([this.#running, sleep(this.#clock, 500)]);
  }

  async #run(): Promise<void> {
    let waits = 0;
    while (!this.#stopping.signal.aborted) {
      const { find } = this.#options;
      const unfound = find ? await this.#ask(find) : null;
      if (this.#stopping.signal.aborted) return;
      const { url } = this.#addresses.current;
      const life = unfound ?? (await this.#live(this.#addresses.current));
      const { livedMs, reason, retryAtOnce } = life;
      if (this.#stopping.signal.aborted) return;
      if (livedMs !== null && livedMs >= lastingMs) {
        waits = 0;
        this.#relapses = 0;
        this.#addresses.hasLasted();
      } else if (livedMs !== null) this.#relapses += 1;
      if (retryAtOnce) continue;
      const told = this.#addresses.isSingle ? reason : `${describeUrl(url)}: ${reason}`;
      // Suspected or said outright, it is the same.
      const takenOver = takenOverWords(this.#options.clientId);
      this.#trouble = told;
      this.#outage.failed(told, reason.includes(takenOver) ? takenOver : told);
      if (livedMs === null) this.#events.failed?.(reason, url);
      if (this.#addresses.goOn()) continue;
      waits += 1;
      try {
        await sleep(this.#clock, backoffMs(reconnect, waits, this.#random), this.#stopping.signal);
      } catch {
        return;
      }
    }
  }

  /** Asks who knows where the broker is; resolves to how that failed, or null. */
  async #ask(find: BrokerFinder): Promise<Life | null> {
    const { protocolVersion } = this.#options;
    try {
      const url = await find(this.#stopping.signal);
      // What is known of one that has stayed where it was is kept.
      if (url !== this.#addresses.current.url) this.#addresses = new Addresses([url], protocolVersion);
      return null;
    } catch (error) {
      return { livedMs: null, reason: wordsOf(error), retryAtOnce: false };
    }
  }

  /** One connection from its first packet to its end. */
  #live(address: Address): Promise<Life> {
    return new Promise((ended) => {
      this.#version = address.version;
      let client: MqttClient;
      try {
        client = this.#dial(this.#clientOptions(address));
      } catch (error) {
        ended({ livedMs: null, reason: wordsOf(error), retryAtOnce: false });
        return;
      }
      let link: Link | null = null;
      let connectedAt: number | null = null;
      // Of whoever says nothing.
      let reception: Reception = 'hungUp';
      let reason: string | null = null;
      // Of one that has answered before it is no news what it speaks.
      const isMute = () => reception === 'hungUp' && !address.hasWelcomed;
      // Retained messages may come with the answer to the subscription; they are told once it is taken in.
      const early: BrokerMessage[] = [];
      // One that is connected says goodbye first, which stop() sees to.
      const onStop = () => {
        if (connectedAt === null) client.stream.destroy();
      };
      let cancelTimer = () => {};
      const giveUp = (why: string) => {
        if (reason !== null) return;
        reason = why;
        cancelTimer();
        sleepWatch.stop();
        if (this.#link === link) this.#link = null;
        link?.outbox.close();
        // Not by its end(): it would stumble over the packets that came before what was wrong.
        client.stream.destroy();
      };
      const sleepWatch = new SleepWatch(this.#clock, () => giveUp(asleepWords));
      this.#stopping.signal.addEventListener('abort', onStop, { once: true });
      // The client's own limit ends with any answer, even a torn one.
      cancelTimer = this.#clock.after(greetingTimeoutMs, () => giveUp(silentWords));

      client.on('connect', (connack) => {
        if (reason !== null) return;
        reception = 'welcomed';
        if (address.isTrial) {
          // It was only asked what it speaks.
          giveUp('');
          return;
        }
        cancelTimer();
        this.#largestPacket = connack.properties?.maximumPacketSize ?? Number.POSITIVE_INFINITY;
        this.#subscribe(client, this.#ownSubscriptions()).then(
          () => {
            if (reason !== null) return;
            connectedAt = this.#clock.monotonic();
            link = { client, outbox: this.#outboxOf(client, connack.properties?.receiveMaximum, giveUp) };
            this.#link = link;
            if (this.#relapses <= 1) this.#sayConnected(address);
            else cancelTimer = this.#clock.after(lastingMs, () => this.#sayConnected(address));
            this.#events.connected();
            for (const message of early.splice(0)) this.#tell(message);
          },
          (error) => {
            if (!(error instanceof BrokerAway)) this.#qos = this.#qos === 1 ? 0 : 1;
            giveUp(wordsOf(error));
          },
        );
      });
      client.on('message', (topic, payload, packet) => {
        sleepWatch.check();
        if (reason !== null) return;
        const { responseTopic, correlationData } = packet.properties ?? {};
        const message: BrokerMessage = {
          topic,
          payload: payload.toString('utf8'),
          isRetained: packet.retain === true,
          isText: isUtf8(payload),
          ...(responseTopic !== undefined && { responseTopic }),
          ...(correlationData !== undefined && { correlationData }),
        };
        if (this.#scan && !this.#isOwnSubscription(topic)) this.#scan(message);
        else if (link) this.#tell(message);
        else early.push(message);
      });
      client.on('disconnect', (packet) => giveUp(wordsOfGoodbye(packet, this.#options.clientId)));
      client.on('error', (error) => {
        // It has hung up while it was written to: what it may have said before is lost.
        const isHungUp = 'code' in error && hungUpCodes.has(String(error.code));
        const words = wordsOfFailure(error, reception !== 'hungUp');
        const why = isHungUp ? this.#wordsOfClose(isMute(), connectedAt, words) : words;
        if ('code' in error && reception === 'hungUp') {
          const isUnspoken = unacceptableProtocol.has(Number(error.code)) && address.version === 5;
          reception = isUnspoken ? 'unspoken' : 'failed';
          if (isUnspoken && !address.hasRefused)
            this.#log.info(`${this.#nameOf(address)} does not speak MQTT 5: going on with 3.1.1`);
        }
        giveUp(why);
      });
      client.on('close', () => {
        this.#stopping.signal.removeEventListener('abort', onStop);
        giveUp(this.#wordsOfClose(isMute(), connectedAt, closedWords));
        if (connectedAt !== null) this.#qos = 1;
        const livedMs = connectedAt === null ? null : this.#clock.monotonic() - connectedAt;
        ended({ livedMs, reason: reason ?? '', retryAtOnce: address.hasEnded(reception) });
      });
    });
  }

  /** In a series of short connections only the first return is told, and then the one that lasts. */
  #sayConnected({ url, version }: Address): void {
    this.#outage.recovered();
    const protocol = version === 5 ? 'MQTT 5' : 'MQTT 3.1.1';
    this.#log.info(`Connected to the MQTT broker ${describeUrl(url)} (${protocol})`);
  }

  #nameOf({ url }: Address): string {
    return this.#addresses.isSingle ? 'The MQTT broker' : `The MQTT broker ${describeUrl(url)}`;
  }

  /** The will that the broker still keeps is an old one; what comes live is said of this connection. */
  #tell(message: BrokerMessage): void {
    const { will } = this.#options;
    if (message.topic !== will?.topic) this.#events.message(message);
    else if (message.payload === will.payload && !message.isRetained) this.#events.presumedDead?.();
  }

  #wordsOfClose(isMute: boolean, connectedAt: number | null, words: string): string {
    if (isMute) return wordsOfSilentEnd(words);
    const isRelapse = connectedAt !== null && this.#clock.monotonic() - connectedAt < lastingMs;
    return isRelapse && this.#relapses > 0
      ? `the connection is closed again and again; maybe ${takenOverWords(this.#options.clientId)}`
      : words;
  }

  #outboxOf(client: MqttClient, receiveMaximum: number | undefined, giveUp: (why: string) => void): Outbox {
    const overdueMs = Math.max(answerTimeoutMs, 1_500 * this.#options.keepaliveS);
    const limits = { mostInFlight: receiveMaximum ?? mostInFlight, overdueMs };
    const onOverdue = () => giveUp('it does not acknowledge what it is sent');
    return new Outbox(client, limits, this.#clock, onOverdue);
  }

  #ownSubscriptions(): ISubscriptionRequest[] {
    // MQTT 5 can tell that a live command was sent with the retain flag; such a command is refused.
    const qos = this.#qos;
    const { subscriptions } = this.#options;
    return [
      ...subscriptions.map((topic) => ({ topic, qos, ...(this.#version === 5 && { rap: true }) })),
      ...this.#ownTopics.map((topic) => ({ topic, qos })),
    ];
  }

  /** Where it publishes itself, and listens to what others say. */
  get #ownTopics(): string[] {
    const { will, overheard } = this.#options;
    return [...(will ? [will.topic] : []), ...(overheard === undefined ? [] : [overheard])];
  }

  #isOwnSubscription(topic: string): boolean {
    const { subscriptions } = this.#options;
    return this.#ownTopics.includes(topic) || subscriptions.some((filter) => matches(filter, topic));
  }

  async #subscribe(client: MqttClient, requests: ISubscriptionRequest[]): Promise<void> {
    if (requests.length === 0) return;
    const map = Object.fromEntries(requests.map(({ topic, ...options }) => [topic, options]));
    const filters = requests.map(({ topic }) => topic);
    await new Promise<void>((resolve, reject) => {
      // The client's own promise never settles when the connection ends first, or when no answer comes.
      const onClose = () => settle(new BrokerAway('the connection was closed'));
      const cancel = this.#clock.after(answerTimeoutMs, () =>
        settle(new Error('it does not answer a subscription')),
      );
      const settle = (error?: Error) => {
        cancel();
        client.off('close', onClose);
        if (error) reject(error);
        else resolve();
      };
      client.once('close', onClose);
      client.subscribe(map, (error, _subscriptions, packet) => {
        if (!error || this.#canDoWithout(refusedFilters(filters, codesOf(packet)))) settle();
        else
          settle(
            new Error(
              `the broker refused a subscription: ${wordsOfRefusedFilters(filters, codesOf(packet), error)}`,
            ),
          );
      });
    });
  }

  /** Whoever may not read its own topics goes without: commands come all the same. */
  #canDoWithout(filters: readonly string[]): boolean {
    return filters.length > 0 && filters.every((filter) => this.#ownTopics.includes(filter));
  }

  #clientOptions({ url, version, isTrial }: Address): IClientOptions {
    const { clientId, keepaliveS, will } = this.#options;
    const tls = this.#options.tls();
    const { username, password, ...destination } = destinationOf(url);
    const user = username ?? this.#options.username;
    const secret = password ?? this.#options.password();
    return {
      ...destination,
      clientId,
      keepalive: keepaliveS,
      protocolVersion: version,
      clean: true,
      reconnectPeriod: 0,
      connectTimeout: greetingTimeoutMs,
      resubscribe: false,
      queueQoSZero: false,
      // It would keep a buffer for each of 65,536 numbers: seven megabytes, to save a few bytes a message.
      writeCache: false,
      outgoingStore: new SlimStore(),
      ...(user !== undefined && { username: user }),
      // The library would write nothing at all.
      ...(user !== undefined && secret !== undefined && { password: secret }),
      // A trial ends without a goodbye, and nobody has died of it.
      ...(will &&
        !isTrial && {
          will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1 as const, retain: true },
        }),
      ...(tls.ca !== undefined && { ca: tls.ca }),
      ...(tls.cert !== undefined && { cert: tls.cert }),
      ...(tls.key !== undefined && { key: tls.key }),
      rejectUnauthorized: tls.rejectUnauthorized,
    };
  }
}

/** What a message costs besides its payload, at most. */
function overheadBytes(topic: string, correlationData: Buffer | undefined): number {
  return Buffer.byteLength(topic) + 16 + (correlationData ? correlationData.length + 8 : 0);
}

/** What the broker answered each filter. */
function codesOf(packet: Packet | undefined): readonly unknown[] {
  return packet?.cmd === 'suback' ? packet.granted : [];
}
