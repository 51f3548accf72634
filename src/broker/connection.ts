import { EventEmitter } from 'node:events';
import type { ISubscriptionRequest } from 'mqtt';
import { backoffMs, type Random } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { OutageLog } from '../base/outageLog.ts';
import { type Address, Addresses, describeUrl } from './addresses.ts';
import { type BrokerFinder, type BrokerOptions, clientOptions } from './clientOptions.ts';
import { type Connect, connectLimited } from './connect.ts';
import { describeError, takenOverMessage } from './errorMessages.ts';
import { type BrokerMessage, overheadBytes, type PublishOptions } from './message.ts';
import { type DisconnectReason, MqttSession, type MqttSessionOptions } from './mqttSession.ts';
import { NotConnectedError } from './notConnectedError.ts';
import { matchesAny } from './topicFilter.ts';

/** The events of a connection. */
export interface ConnectionEvents {
  /** The broker has accepted the connection and the subscriptions. */
  connected: [];
  /** The connection has ended; `trouble` says why. */
  lost: [];
  /** An attempt at an address failed, with the reason in words. The next attempt follows by itself. */
  failed: [reason: string, url: string];
  message: [message: BrokerMessage];
  /** The broker has published the last will of an earlier connection although the bridge is there. */
  presumedDead: [];
}

const reconnect = { firstMs: 1_000, longestMs: 30_000 };

/** A connection that lasts as long is no part of a series: the next wait is short again, and the log says it is back. */
const lastingMs = reconnect.longestMs;

/** So many retained messages a broker sends of one subscription even to a slow reader: Mosquitto as it comes. */
const mostSurelySent = 1_000;

/** How long reading what the broker keeps may take. */
export interface ReadingTime {
  /** It is over once nothing came for so long. */
  readonly quietMs: number;
  /** For one subscription. */
  readonly longestMs: number;
}

/** How an attempt went. */
type Attempted = Pick<DisconnectReason, 'livedMs' | 'reason'> & { readonly retryAtOnce: boolean };

/**
 * One lasting connection, made anew after each loss. Each attempt is a fresh client with a clean session: nothing is
 * queued while the broker is away, so no old state and no old command is replayed (toolchain: mqtt.js resends).
 */
export class Connection extends EventEmitter<ConnectionEvents> {
  readonly #dial: Connect;
  readonly #options: BrokerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #outage: OutageLog;
  /** The one that is there, or was last. */
  #latest: MqttSession | null = null;
  /** How many connections in a row did not last. */
  #relapses = 0;
  /** Whether a topic is among the subscriptions that last as long as a connection. */
  readonly #isSubscribed: (topic: string) => boolean;
  #addresses: Addresses;
  #scan: ((message: BrokerMessage) => void) | null = null;
  #published = 0;
  #trouble: string | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopping = new AbortController();

  constructor(
    options: BrokerOptions,
    clock: Clock,
    random: Random,
    log: Log,
    dial: Connect = connectLimited,
  ) {
    super();
    this.#dial = dial;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#isSubscribed = matchesAny([
      ...options.subscriptions,
      ...(options.will ? [options.will.topic] : []),
    ]);
    this.#addresses = new Addresses(options.urls, options.protocolVersion);
    const { isSingle, current } = this.#addresses;
    this.#outage = new OutageLog(
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
    if (!link) return Promise.reject(new NotConnectedError());
    const limit = link.largestPacket;
    // Few brokers have one, and to measure a long message takes almost as long as to send it.
    const isLimited = limit !== Number.POSITIVE_INFINITY;
    const bytes = isLimited ? Buffer.byteLength(payload) + overheadBytes(topic, options.correlationData) : 0;
    if (bytes > limit) {
      return Promise.reject(new Error(`${topic} has ${bytes} bytes; the broker takes ${limit}`));
    }
    this.#published += 1;
    return link.publish(topic, payload, options);
  }

  /** How many bytes of payload the broker takes at most with this topic. */
  roomFor(topic: string, correlationData?: Buffer): number {
    const limit = this.#latest?.largestPacket ?? Number.POSITIVE_INFINITY;
    return limit - overheadBytes(topic, correlationData);
  }

  /**
   * What the broker keeps under the filters, as far as it shows within the time: read until no more of it comes,
   * whatever others publish meanwhile. At QoS 0, because a default Mosquitto drops all but a thousand messages of a
   * QoS 1 subscription. At QoS 0 it drops what it cannot write at once beyond a thousand, so where as many came each
   * filter is read again by itself. Resolves to whether that may be all: false where one filter alone found as many.
   */
  async readRetained(
    filters: readonly string[],
    time: ReadingTime,
    found: (message: BrokerMessage) => void,
  ): Promise<boolean> {
    if ((await this.#readAtOnce(filters, time, found)) < mostSurelySent) return true;
    if (filters.length === 1) return false;
    let isAll = true;
    for (const filter of filters) {
      if ((await this.#readAtOnce([filter], time, found)) >= mostSurelySent) isAll = false;
    }
    return isAll;
  }

  /** Resolves to how many retained messages came. */
  async #readAtOnce(
    filters: readonly string[],
    time: ReadingTime,
    found: (message: BrokerMessage) => void,
  ): Promise<number> {
    const link = this.#link;
    if (!link) throw new NotConnectedError();
    const until = this.#clock.monotonic() + time.longestMs;
    let heardAt = this.#clock.monotonic();
    let count = 0;
    this.#scan = (message) => {
      if (message.isRetained) {
        heardAt = this.#clock.monotonic();
        count += 1;
      }
      found(message);
    };
    try {
      const requests = filters.map((topic) => ({
        topic,
        qos: 0 as const,
        ...(link.version === 5 && { nl: true }),
      }));
      await link.subscribe(requests);
      while (this.#clock.monotonic() < Math.min(until, heardAt + time.quietMs)) {
        await sleep(this.#clock, Math.min(50, time.quietMs), this.#stopping.signal);
        if (!link.isLive) throw new NotConnectedError();
      }
    } finally {
      this.#scan = null;
      if (link.isLive) link.unsubscribe(filters);
    }
    return count;
  }

  /** Publishes the last words, if the broker is there to hear them, and disconnects; within two seconds at most. */
  async stop(lastWords: readonly { readonly topic: string; readonly payload: string }[]): Promise<void> {
    const link = this.#link;
    if (link) {
      const said = lastWords.map(({ topic, payload }) => this.publish(topic, payload, { retain: true }));
      await Promise.race([Promise.allSettled(said), sleep(this.#clock, 1_000)]);
    }
    this.#stopping.abort(new NotConnectedError('the bridge stops'));
    await link?.end();
    await Promise.race([this.#running, sleep(this.#clock, 500)]);
  }

  async #run(): Promise<void> {
    let waits = 0;
    while (!this.#stopping.signal.aborted) {
      const { find } = this.#options;
      const unfound = find ? await this.#ask(find) : null;
      if (this.#stopping.signal.aborted) return;
      const { url } = this.#addresses.current;
      const attempted = unfound ?? (await this.#live(this.#addresses.current));
      const { livedMs, reason, retryAtOnce } = attempted;
      if (this.#stopping.signal.aborted) return;
      if (livedMs !== null && livedMs >= lastingMs) {
        waits = 0;
        this.#relapses = 0;
        this.#addresses.hasLasted();
      } else if (livedMs !== null) this.#relapses += 1;
      if (retryAtOnce) continue;
      const told = this.#addresses.isSingle ? reason : `${describeUrl(url)}: ${reason}`;
      // Suspected or said outright, it is the same.
      const takenOver = takenOverMessage(this.#options.clientId);
      this.#trouble = told;
      this.#outage.failed(told, reason.includes(takenOver) ? takenOver : told);
      if (livedMs === null) this.emit('failed', reason, url);
      else this.emit('lost');
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
  async #ask(find: BrokerFinder): Promise<Attempted | null> {
    const { protocolVersion } = this.#options;
    try {
      const url = await find(this.#stopping.signal);
      // What is known of one that has stayed where it was is kept.
      if (url !== this.#addresses.current.url) this.#addresses = new Addresses([url], protocolVersion);
      return null;
    } catch (error) {
      return { livedMs: null, reason: describeError(error), retryAtOnce: false };
    }
  }

  /** One connection from its first packet to its end. */
  async #live(address: Address): Promise<Attempted> {
    let cancelSaying = () => {};
    let link: MqttSession;
    try {
      link = new MqttSession(this.#linkOptions(address), {
        live: () => {
          this.#latest = link;
          if (this.#relapses <= 1) this.#sayConnected(address);
          else cancelSaying = this.#clock.after(lastingMs, () => this.#sayConnected(address));
          this.emit('connected');
        },
        message: (message) => this.#take(message),
      });
    } catch (error) {
      return { livedMs: null, reason: describeError(error), retryAtOnce: false };
    }
    const { livedMs, reason, reception } = await link.ended;
    cancelSaying();
    if (reception === 'unspoken' && !address.hasRefused)
      this.#log.info(`${this.#nameOf(address)} does not speak MQTT 5: going on with 3.1.1`);
    return { livedMs, reason, retryAtOnce: address.hasEnded(reception) };
  }

  #linkOptions(address: Address): MqttSessionOptions {
    const { clientId, keepaliveS, pingEveryMs } = this.#options;
    const { version, isTrial, hasWelcomed } = address;
    return {
      client: this.#dial(clientOptions(this.#options, address), this.#sayTooLong()),
      address: { version, isTrial, hasWelcomed },
      clientId,
      keepaliveS,
      pingEveryMs,
      subscriptions: this.#subscriptions(version),
      // Whoever may not read its own topics goes without: commands come all the same.
      optional: this.#ownTopics,
      relapseMs: this.#relapses > 0 ? lastingMs : null,
      signal: this.#stopping.signal,
      clock: this.#clock,
    };
  }

  get #link(): MqttSession | null {
    return this.#latest?.isLive ? this.#latest : null;
  }

  /** In a series of short connections only the first return is told, and then the one that lasts. */
  #sayConnected({ url, version }: Address): void {
    this.#outage.recovered();
    const protocol = version === 5 ? 'MQTT 5' : 'MQTT 3.1.1';
    this.#log.info(`Connected to the MQTT broker ${describeUrl(url)} (${protocol})`);
  }

  /** Of each connection once: whoever sends one such message may send many. */
  #sayTooLong(): (bytes: number) => void {
    let isSaid = false;
    return (bytes) => {
      if (isSaid) return;
      isSaid = true;
      const megabytes = Math.round(bytes / 1_000_000);
      this.#log.warn(
        `The MQTT broker sent a message of ${megabytes} MB. Only its beginning is read. Limit messages in the broker (Mosquitto: message_size_limit)`,
      );
    };
  }

  #nameOf({ url }: Address): string {
    return this.#addresses.isSingle ? 'The MQTT broker' : `The MQTT broker ${describeUrl(url)}`;
  }

  #take(message: BrokerMessage): void {
    const isScanned = this.#scan !== null && !this.#isSubscribed(message.topic);
    if (isScanned) this.#scan?.(message);
    // What comes live may be overheard at the same time.
    if (!isScanned || !message.isRetained) this.#tell(message);
  }

  /** The will that the broker still keeps is an old one; what comes live is said of this connection. */
  #tell(message: BrokerMessage): void {
    const { will } = this.#options;
    if (message.topic !== will?.topic) this.emit('message', message);
    else if (message.payload === will.payload && !message.isRetained) this.emit('presumedDead');
  }

  /**
   * At QoS 0, which with a clean session is hardly less: of more, a broker sends some, keeps the rest until these are
   * acknowledged, and answers pings meanwhile, so that a message could be older than it seems. It also sends none twice.
   */
  #subscriptions(version: 4 | 5): ISubscriptionRequest[] {
    const qos = 0 as const;
    // MQTT 5 can tell that a live command was sent with the retain flag; such a command is refused.
    const { subscriptions } = this.#options;
    return [
      ...subscriptions.map((topic) => ({ topic, qos, ...(version === 5 && { rap: true }) })),
      ...this.#ownTopics.map((topic) => ({ topic, qos })),
    ];
  }

  /** Where it publishes itself, and listens to what others say. */
  get #ownTopics(): string[] {
    const { will, overheard = [] } = this.#options;
    return [...(will ? [will.topic] : []), ...overheard];
  }
}
