import { EventEmitter } from 'node:events';
import type { IClientOptions } from 'mqtt';
import type { Random } from '../../src/base/backoff.ts';
import type { Connect } from '../../src/broker/clientOptions.ts';
import type { ProcessClock, VirtualTime } from './virtualTime.ts';

/** Faults of a broker, or of the link to it, that last for a while. */
export type BrokerFault =
  | 'away'
  /** Accepts packets and answers none, like a link that is silently dead. */
  | 'frozen'
  | 'subscriptions-refused'
  | 'slow'
  /** Refuses one message in ten, like a broker over its quota. */
  | 'quota';

/** Callbacks for everything that happens at the broker. */
export interface BrokerTap {
  /** The bridge gave a message to its MQTT client. The broker may not have it yet. */
  readonly handedOver: (topic: string, payload: string, retain: boolean) => void;
  /** The broker accepted a message, from any client. */
  readonly taken: (topic: string, payload: string, retain: boolean) => void;
  /** A message reached the bridge. `publishedAt` is null for a message that the broker had stored. */
  readonly delivered: (
    topic: string,
    payload: string,
    isRetained: boolean,
    publishedAt: number | null,
  ) => void;
  /** A message reached another bridge. */
  readonly deliveredToOther?: BrokerTap['delivered'];
  /** The broker refused a message of the bridge. */
  readonly refused?: (topic: string, retain: boolean, payload: string) => void;
  /** The bridge's connection began or ended. */
  readonly linked: (isLinked: boolean) => void;
}

/** The connection of one client, as the broker sees it. */
export interface Peer {
  readonly clientId: string;
  /** Breaks the connection. Packets may be lost. */
  cut(reason: string): void;
  /** Delivers a message that a client has just published. */
  deliverLive(topic: string, payload: string, isRetained: boolean): void;
}

/** A broker in memory. Its clients behave like those of mqtt.js. */
export class VirtualBroker {
  readonly retained = new Map<string, string>();
  fault: BrokerFault | null = null;
  /**
   * The share of the retained messages that the next subscription receives, as while a broker restarts. 1
   * means all.
   */
  shownShare = 1;
  /** Whether subscriptions with wildcards receive retained messages. With RabbitMQ they do not. */
  listsRetained = true;
  /** Whether the tap reports the actions of this client. Accepted messages are always reported. */
  isWatched: (clientId: string) => boolean = () => true;
  /** Refuses messages on these topics, as for missing rights. */
  refuses: (topic: string) => boolean = () => false;
  /** Refuses these subscriptions to a client on a `Wire`. */
  refusesFilter: (filter: string) => boolean = () => false;
  /** Delivers retained messages without the retain flag, as if they were new. */
  isFlagLost = false;
  /** Stores every message as if it were retained, and delivers them again after each subscription. */
  remembersAll = false;
  readonly #published = new Map<string, string>();
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly tap: BrokerTap;
  /** By client ID, which can be connected only once. */
  readonly #peers = new Map<string, Peer>();

  constructor(time: VirtualTime, random: Random, tap: BrokerTap) {
    this.#time = time;
    this.#random = random;
    this.tap = tap;
  }

  /** How a process connects to the broker. */
  dialFrom(clock: ProcessClock): Connect {
    const dial = (options: IClientOptions) => new VirtualClient(this, clock, this.#random, options);
    // `VirtualClient` has only those members of an mqtt.js client that the bridge uses.
    return dial as unknown as Connect;
  }

  /** Another client publishes. Each connected client receives a live message `times` times. */
  publish(topic: string, payload: string, retain: boolean, times = 1): void {
    if (this.fault === 'away') return;
    this.take(topic, payload, retain);
    for (let time = 0; time < times; time++) this.#deliver(topic, payload, retain, null);
  }

  /** Breaks all connections. Packets on their way may still arrive. */
  cut(reason = 'ECONNRESET'): void {
    for (const peer of [...this.#peers.values()]) peer.cut(reason);
  }

  /** Restarts the broker with only this share of its retained messages. */
  restart(keptShare: number): void {
    this.cut();
    for (const topic of [...this.retained.keys()])
      if (this.#random() >= keptShare) this.retained.delete(topic);
  }

  // ---- for its clients ---------------------------------------------------------------------------------------

  /** Ms of the simulation. */
  get now(): number {
    return this.#time.now;
  }

  after(delayMs: number, run: () => void): void {
    this.#time.after(delayMs, run);
  }

  take(topic: string, payload: string, retain: boolean): void {
    if (retain && payload === '') this.retained.delete(topic);
    else if (retain) this.retained.set(topic, payload);
    if (this.remembersAll) this.#published.set(topic, payload);
    this.tap.taken(topic, payload, retain);
  }

  /** A client publishes. The other clients receive the message. */
  takeFrom(peer: Peer, topic: string, payload: string, retain: boolean): void {
    this.take(topic, payload, retain);
    this.#deliver(topic, payload, retain, peer);
  }

  attach(peer: Peer): void {
    this.#peers.get(peer.clientId)?.cut('taken-over');
    this.#peers.set(peer.clientId, peer);
    if (this.isWatched(peer.clientId)) this.tap.linked(true);
  }

  detach(peer: Peer): void {
    if (!this.isPeerOf(peer)) return;
    this.#peers.delete(peer.clientId);
    if (this.isWatched(peer.clientId)) this.tap.linked(false);
  }

  isPeerOf(peer: Peer): boolean {
    return this.#peers.get(peer.clientId) === peer;
  }

  /** Whether a client of this id is connected. */
  hasPeer(clientId: string): boolean {
    return this.#peers.has(clientId);
  }

  #deliver(topic: string, payload: string, retain: boolean, except: Peer | null): void {
    for (const peer of [...this.#peers.values()]) {
      if (peer !== except) peer.deliverLive(topic, payload, retain);
    }
  }

  /** The stored messages that a new subscription receives. */
  get remembered(): ReadonlyMap<string, string> {
    return this.remembersAll ? new Map([...this.#published, ...this.retained]) : this.retained;
  }

  get random(): Random {
    return this.#random;
  }
}

type Done = (error?: Error) => void;

/** The part of an mqtt.js client that the bridge uses, over a link without sockets. */
class VirtualClient extends EventEmitter implements Peer {
  readonly clientId: string;
  readonly #broker: VirtualBroker;
  readonly #clock: ProcessClock;
  readonly #options: IClientOptions;
  /** By filter: whether live messages keep their retain flag, and whether the client wants its own ones. */
  readonly #filters = new Map<string, { readonly isFlagKept: boolean; readonly isEchoed: boolean }>();
  readonly #unanswered = new Set<Done>();
  readonly #forgetDeath: () => void;
  #isOpen = true;
  /** Whether the broker has closed the connection and the client does not know it yet. */
  #isCut = false;
  #arrivesAt = 0;
  #cancelKeepalive: () => void = () => {};
  readonly stream = { destroy: () => this.#leave() };

  constructor(broker: VirtualBroker, clock: ProcessClock, random: Random, options: IClientOptions) {
    super();
    this.#broker = broker;
    this.#clock = clock;
    this.#options = options;
    this.clientId = options.clientId ?? '';
    this.#forgetDeath = clock.onDeath(() => this.cut('killed'));
    if (broker.fault === 'away') {
      clock.after(1 + 20 * random(), () => this.#fail('ECONNREFUSED'));
    } else if (broker.fault === 'frozen') {
      clock.after(options.connectTimeout ?? 30_000, () => this.#fail('connack timeout'));
    } else {
      clock.after(1 + 20 * random(), () => this.#accept());
    }
  }

  subscribe(map: Record<string, { readonly rap?: boolean; readonly nl?: boolean }>, done: Done): void {
    this.#answer(done, () => {
      if (this.#broker.fault === 'subscriptions-refused') return new Error('Unspecified error');
      // A repeated subscription replaces the old one, and receives the retained messages again.
      const filters = Object.keys(map);
      for (const [filter, { rap = false, nl = false }] of Object.entries(map))
        this.#filters.set(filter, { isFlagKept: rap, isEchoed: !nl });
      // Retained messages come after the answer, in no guaranteed order.
      this.#broker.after(1, () => this.#showRetained(filters));
      return null;
    });
  }

  sendPing(): void {
    this.emit('packetsend', { cmd: 'pingreq' });
    this.#answerPing();
  }

  unsubscribe(filters: readonly string[]): void {
    for (const filter of filters) this.#filters.delete(filter);
  }

  publish(topic: string, bytes: string | Buffer, { retain }: { readonly retain: boolean }, done: Done): void {
    const payload = String(bytes);
    const isWatched = this.#broker.isWatched(this.clientId);
    if (isWatched) this.#broker.tap.handedOver(topic, payload, retain);
    this.#answer(done, () => {
      if (this.#broker.refuses(topic)) {
        if (isWatched) this.#broker.tap.refused?.(topic, retain, payload);
        return Object.assign(new Error('Publish error: Not authorized'), { code: 0x87 });
      }
      if (this.#broker.fault === 'quota' && this.#broker.random() < 0.1) {
        if (isWatched) this.#broker.tap.refused?.(topic, retain, payload);
        return new Error('Quota exceeded');
      }
      this.#broker.takeFrom(this, topic, payload, retain);
      this.#echo(topic, payload, retain);
      return null;
    });
  }

  /** A broker sends a message back to its publisher if a subscription matches. */
  #echo(topic: string, payload: string, isRetained: boolean): void {
    const matching = this.#matching(topic).filter(([, { isEchoed }]) => isEchoed);
    if (matching.length === 0) return;
    const retain = isRetained && matching.some(([, { isFlagKept }]) => isFlagKept);
    this.#clock.deliverAfter(1, () => {
      if (this.#isOpen) this.emit('message', topic, Buffer.from(payload), { retain });
    });
  }

  end(_isForced: boolean, _options?: object, done?: () => void): void {
    // After a normal disconnect the broker does not publish the will.
    this.#leave();
    done?.();
  }

  /** The link breaks, and the broker publishes the will. */
  cut(code: string): void {
    if (!this.#isOpen) return;
    if (this.#broker.isPeerOf(this)) this.#publishWill();
    if (this.#clock.machine.isAsleep && !this.#clock.isDead) {
      // A sleeping machine notices it only when it wakes.
      this.#isCut = true;
      this.#broker.detach(this);
      this.#clock.after(1, () => this.#fail(code));
    } else if (!this.#clock.isDead) this.#fail(code);
    else {
      this.#isOpen = false;
      this.#broker.detach(this);
    }
  }

  #publishWill(): void {
    const { will } = this.#options;
    if (will) this.#broker.takeFrom(this, will.topic, String(will.payload), will.retain === true);
  }

  /**
   * Over a dead link the broker does not notice that a client leaves. It publishes the will when the
   * keepalive is over.
   */
  #leave(): void {
    const broker = this.#broker;
    if (broker.fault === 'frozen' && broker.isPeerOf(this))
      broker.after(1_500 * (this.#options.keepalive ?? 60), () => {
        if (!broker.hasPeer(this.clientId)) this.#publishWill();
      });
    this.#close();
  }

  /** Only an MQTT 5 client that asked for it receives live messages with the retain flag. */
  deliverLive(topic: string, payload: string, isRetained: boolean): void {
    const keepsFlag = this.#matching(topic).some(([, { isFlagKept }]) => isFlagKept);
    this.deliver(
      topic,
      payload,
      isRetained && keepsFlag && this.#options.protocolVersion === 5,
      this.#broker.now,
    );
  }

  deliver(topic: string, payload: string, isRetained: boolean, publishedAt: number | null): void {
    if (!this.#isOpen || this.#isCut || this.#broker.fault === 'frozen') return;
    if (this.#matching(topic).length === 0) return;
    this.#clock.deliverAfter(1, () => {
      if (!this.#isOpen) return;
      const { isWatched, tap } = this.#broker;
      const report = isWatched(this.clientId) ? tap.delivered : tap.deliveredToOther;
      report?.(topic, payload, isRetained, publishedAt);
      this.emit('message', topic, Buffer.from(payload), { retain: isRetained });
    });
  }

  #matching(topic: string) {
    return [...this.#filters].filter(([filter]) => matches(filter, topic));
  }

  #accept(): void {
    if (!this.#isOpen) return;
    this.#broker.attach(this);
    this.#keepAlive();
    this.emit('connect', { properties: {} });
  }

  /** Detects a silently dead link within one and a half keepalives, as mqtt.js does. */
  #keepAlive(): void {
    const periodMs = (this.#options.keepalive ?? 60) * 1_000;
    this.#cancelKeepalive = this.#clock.after(periodMs, () => {
      if (this.#broker.fault !== 'frozen') this.#keepAlive();
      else this.#cancelKeepalive = this.#clock.after(periodMs / 2, () => this.cut('Keepalive timeout'));
    });
  }

  /** The broker processes a packet, then answers. The link may break before or after that. */
  #answer(done: Done, act: () => Error | null): void {
    const { fault, random } = this.#broker;
    this.#unanswered.add(done);
    const now = this.#clock.monotonic();
    // Packets on one connection arrive in order.
    this.#arrivesAt = Math.max(
      this.#arrivesAt,
      now + (fault === 'slow' ? 3_000 * random() : 1 + 4 * random()),
    );
    const there = this.#arrivesAt - now;
    this.#broker.after(there, () => {
      // A sent packet may still arrive after the link broke, but not once the client has connected again.
      const isLost = !this.#isOpen && (random() < 0.5 || this.#broker.hasPeer(this.clientId));
      if (this.#broker.fault === 'frozen' || isLost || this.#isCut) return;
      const error = act();
      if (!this.#isOpen) return;
      this.#clock.after(there, () => {
        if (this.#isOpen && this.#unanswered.delete(done)) done(...(error ? [error] : []));
      });
    });
  }

  /** A ping is never lost. While the link is frozen, its answer waits. */
  #answerPing(): void {
    const { fault } = this.#broker;
    this.#clock.after(fault === 'frozen' || fault === 'slow' ? 3_000 : 5, () => {
      if (!this.#isOpen) return;
      if (this.#broker.fault === 'frozen') this.#answerPing();
      else this.emit('packetreceive', { cmd: 'pingresp' });
    });
  }

  #showRetained(filters: readonly string[]): void {
    const { shownShare, listsRetained, random } = this.#broker;
    const shown = filters.filter((filter) => listsRetained || !/[+#]/.test(filter));
    for (const [topic, payload] of [...this.#broker.remembered]) {
      // Without the state of the bridge, it would look as if stored messages had no retain flag.
      if (shownShare < 1 && !topic.endsWith('/bridge/state') && random() >= shownShare) continue;
      if (shown.some((filter) => matches(filter, topic)))
        this.deliver(topic, payload, !this.#broker.isFlagLost, null);
    }
  }

  #fail(code: string): void {
    if (!this.#isOpen) return;
    if (code === 'taken-over') this.emit('disconnect', { reasonCode: 142 });
    else this.emit('error', Object.assign(new Error(code), { code }));
    this.#close();
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cancelKeepalive();
    this.#forgetDeath();
    this.#broker.detach(this);
    const lost = [...this.#unanswered];
    this.#unanswered.clear();
    this.#clock.after(0, () => {
      for (const done of lost) done(new Error('Connection closed'));
      this.emit('close');
    });
  }
}

const patterns = new Map<string, RegExp>();

/** Whether a topic matches a filter of MQTT. */
export function matches(filter: string, topic: string): boolean {
  const pattern = patterns.get(filter) ?? patternOf(filter);
  patterns.set(filter, pattern);
  return pattern.test(topic);
}

function patternOf(filter: string): RegExp {
  const parts = filter.split('/').map((part) => {
    if (part === '+') return '[^/]*';
    return part === '#' ? '.*' : part.replace(/[^\w-]/gu, '\\$&');
  });
  return new RegExp(`^${parts.join('/').replace(/\/\.\*$/, '(/.*)?')}$`, 's');
}
