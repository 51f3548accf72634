import { EventEmitter } from 'node:events';
import { backoffMs, type Random } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import { OutageLog } from '../base/outageLog.ts';
import { describeUrl } from './brokerUrl.ts';
import { type BrokerOptions, clientOptions } from './clientOptions.ts';
import { type Connect, connectLimited } from './connect.ts';
import { describeError, describeTooLarge, describeUnanswered, takenOverMessage } from './errorMessages.ts';
import { type BrokerMessage, overheadBytes, type PublishOptions } from './message.ts';
import { MessageLimit } from './messageLimit.ts';
import { MqttSession, type SessionEnd } from './mqttSession.ts';
import { NotConnectedError } from './notConnectedError.ts';

/*
 * How the bridge is connected to the broker. `Connection` goes from address to address and makes a new `MqttSession` for each
 * attempt, so nothing is queued or replayed. A session counts as connected once the broker has answered its subscriptions. It
 * limits the age of each message by pings (`pings.ts`), and finds out whether the broker marks stored messages
 * (`storedMessages.ts`). Messages are sent in order, and never more than the broker accepts (`publishQueue.ts`). `retained.ts`
 * knows what is retained on the broker, and publishes only the difference. `embedded.ts` is a broker for trials.
 */

/** The events of a connection. */
export interface ConnectionEvents {
  /** The broker has accepted the connection and the subscriptions. */
  connected: [];
  /** The connection has ended; `trouble` says why. */
  lost: [];
  /** Connecting to an address failed, and why. The next attempt follows by itself. */
  failed: [reason: string, url: string];
  message: [message: BrokerMessage];
  /** The broker has published the last will of an earlier connection although the bridge is there. */
  willPublished: [];
}

const reconnect = { firstMs: 1_000, longestMs: 30_000 };

/** A refused event counts for so long. The next event may come much later. */
const refusedEventMs = 3_600_000;

/** Two clients with one ID that wait longer and longer before they reconnect meet within this time. */
const takeoverShownMs = 300_000;

/** If a broker has used MQTT 5 and closes more connections in a row than during a restart, it may be another broker. */
const maxUnanswered = 20;

/** After a connection that lasts this long, the next wait is short again and the log reports the reconnection. */
const lastingMs = reconnect.longestMs;

/**
 * One lasting connection, made again after each loss. Each attempt is a fresh client with a clean session: nothing is
 * queued while the broker is unreachable. mqtt.js by itself would replay old states and old commands then.
 */
export class Connection extends EventEmitter<ConnectionEvents> {
  readonly #dial: Connect;
  readonly #options: BrokerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #outage: OutageLog;
  readonly #hasOneAddress: boolean;
  /** Addresses that there was a connection to. */
  readonly #known = new Set<string>();
  /** Addresses at which the log says that MQTT 3.1.1 is used instead of MQTT 5. */
  readonly #olderLogged = new Set<string>();
  /** How often an address has ended a connection without an answer since it last used MQTT 5. */
  readonly #unansweredSinceV5 = new Map<string, number>();
  /** Addresses that do not answer MQTT 5, and use 3.1.1. */
  readonly #silentAtV5 = new Set<string>();
  /** How long messages may be, by address. */
  readonly #limits = new Map<string, MessageLimit>();
  /** The present session, or the last one. */
  #latest: MqttSession | null = null;
  /** How many connections in a row did not last. */
  #relapses = 0;
  /** Whether the last attempt came to no connection. */
  #hasFailed = false;
  /** By topic. */
  readonly #refusedEvents = new Map<string, { topic: string; reason: string; at: number }>();
  #published = 0;
  #trouble: string | null = null;
  /** When the broker last said that another client uses the same client ID; of the monotonic clock. */
  #takenOverAt = Number.NEGATIVE_INFINITY;
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
    const [url = ''] = options.urls;
    this.#hasOneAddress = options.urls.length === 1;
    const isKnown = this.#hasOneAddress && !options.find;
    this.#outage = new OutageLog(clock, log, isKnown ? `MQTT broker ${describeUrl(url)}` : 'MQTT broker');
  }

  /** Connects, and reconnects until `stop`; never throws. */
  start(): void {
    this.#running = this.#run();
  }

  get isConnected(): boolean {
    return this.#session !== null;
  }

  /** Why there is no connection; null while that is not known, and while there is one. */
  get trouble(): string | null {
    return this.isConnected ? null : this.#trouble;
  }

  /** That another client takes the connection over; null if none has for five minutes. Only MQTT 5 tells it for certain. */
  get takeover(): string | null {
    const isRecent = this.#clock.monotonic() < this.#takenOverAt + takeoverShownMs;
    return isRecent ? takenOverMessage(this.#options.clientId) : null;
  }

  /** Whether the broker sends what it has stored without the retain flag, so that an old command looks like a new one. */
  get areStoredUnmarked(): boolean {
    return this.#session?.areStoredUnmarked ?? false;
  }

  /** The subscriptions that the broker refuses, and why; null if it refuses none. */
  get refusedSubscriptions(): string | null {
    return this.#session?.refusedSubscriptions ?? null;
  }

  /** How many messages were published so far. */
  get published(): number {
    return this.#published;
  }

  /** Publishes at QoS 1; resolves when the broker has it. Throws a `NotConnectedError`, or the broker's refusal. */
  publish(topic: string, payload: string | Buffer, options: PublishOptions): Promise<void> {
    const session = this.#session;
    if (!session) return Promise.reject(new NotConnectedError());
    this.#published += 1;
    return session.publish(topic, payload, options);
  }

  /** Publishes an event, without the retain flag. If the broker refuses it, `refusedEvent` shows it. */
  async publishEvent(topic: string, payload: string): Promise<void> {
    try {
      await this.publish(topic, payload, { retain: false });
      this.#refusedEvents.delete(topic);
    } catch (error) {
      if (!(error instanceof NotConnectedError)) {
        this.#refusedEvents.set(topic, { topic, reason: errorMessage(error), at: this.#clock.monotonic() });
      }
      throw error;
    }
  }

  /** An event that the broker has refused within the last hour, if it has taken none at the same topic since; else null. */
  get refusedEvent(): { readonly topic: string; readonly reason: string } | null {
    for (const event of this.#refusedEvents.values()) {
      if (this.#clock.monotonic() - event.at < refusedEventMs) return event;
    }
    return null;
  }

  /** The broker accepts messages again. An event is not published again, so nothing else would show that. */
  forgetRefusedEvents(): void {
    this.#refusedEvents.clear();
  }

  /** The longest payload in bytes that the broker accepts at this topic. */
  roomFor(topic: string, correlationData?: Buffer): number {
    const limit = this.#latest?.largestPacket ?? Number.POSITIVE_INFINITY;
    return limit - overheadBytes(topic, correlationData);
  }

  /**
   * Passes on the retained messages under the filters, none of which may have another subscription. `onRead` is called when
   * most brokers have sent all. If it `isEnough` then, it resolves. Otherwise, later messages are passed on for a
   * while. Throws a `NotConnectedError`, or the refusal of a filter, before that.
   */
  async readRetained(
    filters: readonly string[],
    found: (message: BrokerMessage) => void,
    onRead: () => void = () => undefined,
    isEnough: () => boolean = () => false,
  ): Promise<void> {
    if (!this.#session) throw new NotConnectedError();
    await this.#session.readRetained(filters, found, onRead, isEnough);
  }

  /** Publishes the last messages if there is a connection, and disconnects, within two seconds at most. */
  async stop(lastMessages: readonly { readonly topic: string; readonly payload: string }[]): Promise<void> {
    const session = this.#session;
    if (session) {
      const said = lastMessages.map(({ topic, payload }) => this.publish(topic, payload, { retain: true }));
      await Promise.race([Promise.allSettled(said), sleep(this.#clock, 1_000)]);
    }
    this.#stopping.abort(new NotConnectedError('sonic2mqtt is stopping'));
    await session?.end();
    await Promise.race([this.#running, sleep(this.#clock, 500)]);
  }

  /** Goes from address to address: the next one at once, and after a full round a wait that grows. */
  async #run(): Promise<void> {
    const { urls } = this.#options;
    const stopping = this.#stopping.signal;
    let waits = 0;
    let tried = 0;
    for (let index = 0; !stopping.aborted; index = (index + 1) % urls.length) {
      const url = urls[index] ?? '';
      const ended = await this.#attempt(url);
      if (stopping.aborted) return;
      const { livedMs, reason } = ended;
      if (hasLasted(ended)) {
        waits = 0;
        tried = 0;
        this.#relapses = 0;
      } else if (livedMs !== null) this.#relapses += 1;
      this.#hasFailed = livedMs === null;
      const trouble = this.#hasOneAddress ? reason : `${describeUrl(url)}: ${reason}`;
      // The log reports a takeover once, whether it is certain or only likely.
      const takenOver = takenOverMessage(this.#options.clientId);
      this.#trouble = trouble;
      if (reason === takenOver) this.#takenOverAt = this.#clock.monotonic();
      this.#outage.failed(trouble, reason.includes(takenOver) ? takenOver : trouble);
      if (livedMs === null) this.emit('failed', reason, url);
      else this.emit('lost');
      tried += 1;
      if (tried % urls.length !== 0) continue;
      waits += 1;
      await sleep(this.#clock, backoffMs(reconnect, waits, this.#random), stopping).catch(() => undefined);
    }
  }

  /** Connects to an address with the version of MQTT that is wanted, and with 3.1.1 if the broker may be too old for that. */
  async #attempt(address: string): Promise<SessionEnd> {
    const { find, protocolVersion } = this.#options;
    try {
      const url = find ? await find(this.#stopping.signal) : address;
      const isSilent = this.#silentAtV5.delete(url);
      const ended = await this.#connect(url, isSilent ? 4 : protocolVersion);
      // Otherwise each new connection would wait for an answer to MQTT 5 first.
      if (isSilent && ended.ending !== 'silent') this.#silentAtV5.add(url);
      const isOver = isSilent || protocolVersion === 4 || this.#stopping.signal.aborted;
      if (isOver || !this.#mayBeOlder(url, ended)) return ended;
      const older = await this.#connect(url, 4);
      if (ended.ending === 'silent' && older.livedMs !== null) this.#silentAtV5.add(url);
      return older;
    } catch (error) {
      return { livedMs: null, reason: describeError(error) };
    }
  }

  /**
   * Whether a broker that did not accept MQTT 5 may accept 3.1.1. Old brokers close the connection or do not answer. A new one
   * that restarts does the same. So a broker that has used MQTT 5 is expected to use it again.
   */
  #mayBeOlder(url: string, { isVersionRefused, ending }: SessionEnd): boolean {
    if (ending !== 'unanswered' && ending !== 'silent') return isVersionRefused === true;
    const count = (this.#unansweredSinceV5.get(url) ?? maxUnanswered) + 1;
    this.#unansweredSinceV5.set(url, count);
    return count > maxUnanswered;
  }

  /** One connection from its first packet to its end; throws if a file that it needs cannot be read. */
  async #connect(url: string, version: 4 | 5): Promise<SessionEnd> {
    const client = this.#dial(clientOptions(this.#options, url, version), this.#logTooLong());
    const limit = this.#limits.get(url) ?? new MessageLimit();
    this.#limits.set(url, limit);
    const session = new MqttSession(
      client,
      version,
      this.#options,
      limit,
      this.#clock,
      this.#random,
      this.#stopping.signal,
    );
    let cancelLogging = () => {};
    session.on('connected', () => {
      this.#latest = session;
      this.forgetRefusedEvents();
      this.#known.add(url);
      if (version === 5) this.#unansweredSinceV5.set(url, 0);
      else if (this.#options.protocolVersion === 5) this.#logOlder(url);
      // In a series of short connections the log has only the first return, and then the one that lasts.
      if (this.#relapses <= 1) this.#logConnected(url, version);
      else cancelLogging = this.#clock.after(lastingMs, () => this.#logConnected(url, version));
      this.emit('connected');
    });
    session.on('message', (message) => this.#handle(message, session));
    const ended = await session.ended;
    cancelLogging();
    limit.ended(ended.large, hasLasted(ended));
    return { ...ended, reason: this.#reasonOf(ended, url) };
  }

  /** Why a connection may have ended that was closed without a reason. */
  #reasonOf(ended: SessionEnd, url: string): string {
    const { ending, livedMs, reason, large } = ended;
    // If it has answered before, its protocol is known.
    if (ending === 'unanswered' && !this.#known.has(url)) return describeUnanswered(reason);
    // A broker that was unreachable in between has restarted.
    const isRelapse = this.#relapses > 0 && livedMs !== null && !hasLasted(ended) && !this.#hasFailed;
    if (ending !== 'closed' || !isRelapse) return reason;
    if (large) return describeTooLarge(large);
    return `the broker closes the connection repeatedly. Perhaps ${takenOverMessage(this.#options.clientId)}`;
  }

  get #session(): MqttSession | null {
    return this.#latest?.isLive ? this.#latest : null;
  }

  /** Logs once for each address that the broker is an old one. */
  #logOlder(url: string): void {
    if (this.#olderLogged.has(url)) return;
    this.#olderLogged.add(url);
    const name = this.#hasOneAddress ? 'The MQTT broker' : `The MQTT broker ${describeUrl(url)}`;
    this.#log.info(`${name} does not support MQTT 5. Using MQTT 3.1.1`);
  }

  #logConnected(url: string, version: 4 | 5): void {
    this.#outage.recovered();
    const protocol = version === 5 ? 'MQTT 5' : 'MQTT 3.1.1';
    this.#log.info(`Connected to the MQTT broker ${describeUrl(url)} (${protocol})`);
  }

  /** Logs once for each connection, because such messages may come in numbers. */
  #logTooLong(): (bytes: number) => void {
    let isLogged = false;
    return (bytes) => {
      if (isLogged) return;
      isLogged = true;
      const megabytes = Math.round(bytes / 1_000_000);
      this.#log.warn(
        `The MQTT broker sent a message of ${megabytes} MB. Only its beginning is read. Limit messages in the broker (Mosquitto: message_size_limit)`,
      );
    };
  }

  /**
   * A retained will is an old one, unless this connection has replaced it. Any other means that the broker takes this bridge
   * for dead.
   */
  #handle(message: BrokerMessage, { hasOwnState }: MqttSession): void {
    const { will } = this.#options;
    if (message.topic !== will?.topic) this.emit('message', message);
    else if (message.payload === will.payload && (!message.isRetained || hasOwnState))
      this.emit('willPublished');
  }
}

function hasLasted({ livedMs }: SessionEnd): boolean {
  return livedMs !== null && livedMs >= lastingMs;
}
