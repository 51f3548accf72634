import { EventEmitter } from 'node:events';
import { connect } from 'mqtt';
import { backoffMs, type Random } from '../base/backoff.ts';
import { type Clock, endsWithin, sleep } from '../base/clock.ts';
import { hourMs, minuteMs } from '../base/duration.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import { type OutageLog, outageLog } from '../base/outageLog.ts';
import { describeUrl } from './brokerUrl.ts';
import { type BrokerOptions, type Connect, clientOptions } from './clientOptions.ts';
import { describeError, describeUnanswered, takenOverMessage } from './errorMessages.ts';
import { type BrokerMessage, overheadBytes, type PublishOptions } from './message.ts';
import { MqttSession, type SessionEnd } from './mqttSession.ts';
import { NotConnectedError } from './notConnectedError.ts';
import type { ReadTestResult } from './readTest.ts';

/*
 * How the bridge is connected to the broker. `Connection` goes from address to address and makes a new `MqttSession` for each
 * attempt, so nothing is queued or replayed. A session counts as connected once the broker has answered its subscriptions. It
 * limits the age of each message by pings (`pings.ts`), and finds out whether the broker marks stored messages
 * (`storedMessages.ts`). Messages are sent in order, and never more than the broker accepts (`publishQueue.ts`). `mirror.ts`
 * knows what is retained on the broker, and publishes only the difference. `embedded.ts` is a broker for trials.
 */

export interface ConnectionEvents {
  /** The broker has accepted the connection and the subscriptions. */
  connected: [];
  lost: [];
  /** Connecting to an address failed, and why. The next attempt follows by itself. */
  failed: [reason: string, url: string, hasAnswered: boolean];
  message: [message: BrokerMessage];
  /** The broker has published the last will of an earlier connection although the bridge is connected. */
  willPublished: [];
}

const reconnect = { firstMs: 1_000, longestMs: 30_000 };

/** Waits while the broker is offline. If it was restored from an old save, it shows old values until they are over. */
const reconnectSoon = { firstMs: 500, longestMs: 5_000 };

/** How long a bridge stands still after another one has put it out: 1, 2, 4, 8 and then 10 minutes, in ms. */
const standStill = { firstMs: minuteMs, longestMs: 10 * minuteMs };

/** After a connection that lasts longer than any standing still, in ms, the next one is short again. */
const settledMs = 900_000;

/**
 * Most brokers do not say that another client has put this one out. They close a connection that is still young, again
 * and again. After so many, a bridge stands still: one that tries again, one that was connected for long before, and
 * one that is new. So the newer of two bridges goes on.
 */
const maxYoungEnds = { again: 2, older: 3, newer: 6 };

/** After a connection that lasts this long, in ms, the next wait is short again and the log reports the reconnection. */
const lastingMs = reconnect.longestMs;

/**
 * One lasting connection, made again after each loss. Each attempt is a fresh client with a clean session, so nothing
 * is queued while the broker is unreachable. With its own reconnection, mqtt.js would replay old states and old
 * commands.
 */
export class Connection extends EventEmitter<ConnectionEvents> {
  readonly #dial: Connect;
  readonly #options: BrokerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #outage: OutageLog;
  readonly #hasOneAddress: boolean;
  readonly #connectedTo = new Set<string>();
  readonly #usedV5 = new Set<string>();
  #latest: MqttSession | null = null;
  /** How many connections in a row did not last. */
  #relapses = 0;
  #refusedEvent: { topic: string; reason: string; at: number } | null = null;
  #published = 0;
  #storedState: string | null = null;
  #trouble: string | null = null;
  /** How many connections in a row the broker has closed while they were young, with no failed attempt in between. */
  #youngEnds = 0;
  #hasEverLasted = false;
  /** How often in a row another bridge has put this one out. */
  #putOuts = 0;
  #isStandingStill = false;
  #running: Promise<void> = Promise.resolve();
  #stopping = new AbortController();

  constructor(options: BrokerOptions, clock: Clock, random: Random, log: Log, dial: Connect = connect) {
    super();
    this.#dial = dial;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    const [url = ''] = options.urls;
    this.#hasOneAddress = options.urls.length === 1;
    const isKnown = this.#hasOneAddress && !options.find;
    this.#outage = outageLog(clock, log, isKnown ? `MQTT broker ${describeUrl(url)}` : 'MQTT broker');
  }

  start(): void {
    this.#running = this.#run();
  }

  get isConnected(): boolean {
    return this.#session !== null;
  }

  /** Why there is no connection; null if there is one, or if the reason is not known yet. */
  get trouble(): string | null {
    return this.isConnected ? null : this.#trouble;
  }

  /** Whether another bridge with this base topic has put this one out, and it waits before it tries again. */
  get isStandingStill(): boolean {
    return this.#isStandingStill;
  }

  /** Whether another bridge has put this one out since it was last connected for long. */
  get wasPutOut(): boolean {
    return this.#putOuts > 0;
  }

  get areStoredUnmarked(): boolean {
    return this.#session?.stored.areUnmarked ?? false;
  }

  /** A topic of commands that the broker does not send to the bridge, although it accepts the subscription; or null. */
  get unreadTopic(): string | null {
    const { testTopic = null } = this.#options;
    return this.refusedSubscriptions === null && this.#session?.readTest.isDenied() ? testTopic : null;
  }

  /** The first result of this connection. */
  async readTest(): Promise<ReadTestResult> {
    return (await this.#session?.readTest.first) ?? 'unknown';
  }

  get refusedSubscriptions(): string | null {
    return this.#session?.refusedSubscriptions ?? null;
  }

  /** The bridge's state that the broker had stored before this connection: of an earlier run, or of another bridge. */
  get storedState(): string | null {
    return this.#storedState;
  }

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

  async publishEvent(topic: string, payload: string): Promise<void> {
    try {
      await this.publish(topic, payload, { retain: false });
      if (this.#refusedEvent?.topic === topic) this.#refusedEvent = null;
    } catch (error) {
      if (!(error instanceof NotConnectedError)) {
        this.#refusedEvent = { topic, reason: errorMessage(error), at: this.#clock.monotonic() };
      }
      throw error;
    }
  }

  /** Within the last hour. A later event that the broker accepts at the same topic removes it. */
  get refusedEvent(): { readonly topic: string; readonly reason: string } | null {
    const event = this.#refusedEvent;
    return event && this.#clock.monotonic() - event.at < hourMs ? event : null;
  }

  /** Refused events are not published again, so they would stay in `refusedEvent`. */
  forgetRefusedEvents(): void {
    this.#refusedEvent = null;
  }

  /** The longest payload in bytes that the broker accepts at this topic. */
  roomFor(topic: string, correlationData?: Buffer): number {
    const limit = this.#latest?.largestPacket ?? Number.POSITIVE_INFINITY;
    return limit - overheadBytes(topic, correlationData);
  }

  /**
   * Passes on the retained messages under the filters. Commands must not match them. If `isEnough` returns true once most
   * brokers have sent all of them, the promise resolves. If not, later messages are passed on for a while. Throws a
   * `NotConnectedError`, or the broker's refusal of a filter.
   */
  async readRetained(
    filters: readonly string[],
    found: (message: BrokerMessage) => void,
    isEnough: () => boolean = () => false,
  ): Promise<void> {
    if (!this.#session) throw new NotConnectedError();
    await this.#session.readRetained(filters, found, isEnough);
  }

  /** Publishes the last messages if there is a connection, and disconnects. Takes at most two seconds. */
  async stop(lastMessages: readonly { readonly topic: string; readonly payload: string }[]): Promise<void> {
    const session = this.#session;
    if (session) {
      const said = lastMessages.map(({ topic, payload }) => this.publish(topic, payload, { retain: true }));
      await endsWithin(this.#clock, 1_000, Promise.allSettled(said));
    }
    this.#stopping.abort(new NotConnectedError('sonic2mqtt is stopping'));
    await session?.end();
    await endsWithin(this.#clock, 500, this.#running);
  }

  /** Tries the next address at once, and waits after each full round, longer each time. */
  async #run(): Promise<void> {
    const { urls } = this.#options;
    const stopping = this.#stopping.signal;
    let waits = 0;
    let tried = 0;
    for (let index = 0; !stopping.aborted; index = (index + 1) % urls.length) {
      const url = urls[index] ?? '';
      const ended = await this.#attempt(url);
      if (stopping.aborted) return;
      const { livedMs } = ended;
      this.#isStandingStill = this.#isPutOut(ended);
      const reason = this.#isStandingStill ? this.#putOutReason(ended) : ended.reason;
      if (hasLasted(ended)) {
        waits = 0;
        tried = 0;
        this.#relapses = 0;
      } else if (livedMs !== null) this.#relapses += 1;
      const trouble = this.#hasOneAddress ? reason : `${describeUrl(url)}: ${reason}`;
      this.#trouble = trouble;
      this.#outage.failed(trouble);
      if (livedMs === null) this.emit('failed', reason, url, ended.hasAnswered);
      else this.emit('lost');
      if (this.#isStandingStill) {
        this.#putOuts += 1;
        const waitMs = Math.min(standStill.firstMs * 2 ** (this.#putOuts - 1), standStill.longestMs);
        await sleep(this.#clock, waitMs, stopping).catch(() => undefined);
        waits = 0;
        continue;
      }
      tried += 1;
      if (tried % urls.length !== 0) continue;
      waits += 1;
      const backoff = ended.hasAnswered ? reconnect : reconnectSoon;
      await sleep(this.#clock, backoffMs(backoff, waits, this.#random), stopping).catch(() => undefined);
    }
  }

  async #attempt(address: string): Promise<SessionEnd> {
    const { find, protocolVersion } = this.#options;
    try {
      const url = find ? await find(this.#stopping.signal) : address;
      const ended = await this.#connect(url, protocolVersion);
      const isOver = protocolVersion === 4 || this.#stopping.signal.aborted;
      return isOver || !this.#mayBeOlder(url, ended) ? ended : await this.#connect(url, 4);
    } catch (error) {
      return { livedMs: null, reason: describeError(error), hasAnswered: false, unansweredBytes: 0 };
    }
  }

  /**
   * Whether a broker that did not accept MQTT 5 may accept 3.1.1. An old broker closes the connection or does not
   * answer, but a new broker does the same while it restarts. So a broker that has used MQTT 5 is expected to use it
   * again.
   */
  #mayBeOlder(url: string, { isVersionRefused, ending }: SessionEnd): boolean {
    const isUnanswered = ending === 'unanswered' || ending === 'silent';
    return isVersionRefused === true || (isUnanswered && !this.#usedV5.has(url));
  }

  /** One connection from its first packet to its end; throws if a file that it needs cannot be read. */
  async #connect(url: string, version: 4 | 5): Promise<SessionEnd> {
    const options = await clientOptions(this.#options, url, version);
    this.#stopping.signal.throwIfAborted();
    const client = this.#dial(options);
    let cancelLogging = () => {};
    const connected = () => {
      this.#latest = session;
      this.#isStandingStill = false;
      this.forgetRefusedEvents();
      this.#connectedTo.add(url);
      if (version === 5) this.#usedV5.add(url);
      // In a series of short connections, the log reports only the first reconnection, and then the one that lasts.
      if (this.#relapses <= 1) this.#logConnected(url, version);
      else cancelLogging = this.#clock.after(lastingMs, () => this.#logConnected(url, version));
      this.emit('connected');
    };
    const session: MqttSession = new MqttSession(
      client,
      version,
      this.#options,
      this.#clock,
      this.#random,
      this.#stopping.signal,
      { connected, message: (message) => this.#handle(message, session) },
    );
    const ended = await session.ended;
    cancelLogging();
    return { ...ended, reason: this.#reasonOf(ended, url) };
  }

  #reasonOf(ended: SessionEnd, url: string): string {
    const { ending, reason } = ended;
    // A broker that has answered before uses the right port and protocol.
    return ending === 'unanswered' && !this.#connectedTo.has(url) ? describeUnanswered(reason, url) : reason;
  }

  /** Whether another bridge with the same client ID has taken the place of this one. */
  #isPutOut(ended: SessionEnd): boolean {
    const { ending, livedMs } = ended;
    if (livedMs !== null && livedMs >= settledMs) this.#putOuts = 0;
    this.#hasEverLasted ||= hasLasted(ended);
    // After a failed attempt, the broker has probably restarted.
    const isYoungEnd = ending === 'closed' && livedMs !== null && !hasLasted(ended);
    this.#youngEnds = isYoungEnd ? this.#youngEnds + 1 : 0;
    const kind = this.#putOuts > 0 ? 'again' : this.#hasEverLasted ? 'older' : 'newer';
    const isLikely = ending === 'taken over' || this.#youngEnds >= maxYoungEnds[kind];
    return isLikely && this.#options.baseTopic !== undefined;
  }

  #putOutReason({ ending, unansweredBytes }: SessionEnd): string {
    const takenOver = takenOverMessage(this.#options.baseTopic ?? '');
    if (ending === 'taken over') return takenOver;
    const unanswered = unansweredBytes > 0 ? ` while ${unansweredBytes} bytes are not acknowledged` : '';
    return `the broker closes the connection repeatedly${unanswered}. Perhaps ${takenOver}`;
  }

  get #session(): MqttSession | null {
    return this.#latest?.isLive ? this.#latest : null;
  }

  #logConnected(url: string, version: 4 | 5): void {
    this.#outage.recovered();
    const protocol = version === 5 ? 'MQTT 5' : 'MQTT 3.1.1';
    this.#log.info(`Connected to the MQTT broker ${describeUrl(url)} (${protocol})`);
  }

  /** A retained will is an old one, unless this connection has already replaced it by its own state. */
  #handle(message: BrokerMessage, { stored }: MqttSession): void {
    const { will } = this.#options;
    const { topic, payload, isRetained } = message;
    if (topic !== will?.topic) this.emit('message', message);
    else if (isRetained && !stored.hasOwnState) this.#storedState = payload;
    else if (payload === will.payload) this.emit('willPublished');
  }
}

function hasLasted({ livedMs }: SessionEnd): boolean {
  return livedMs !== null && livedMs >= lastingMs;
}
