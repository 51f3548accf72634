import { EventEmitter } from 'node:events';
import type { IClientOptions } from 'mqtt';
import type { Random } from '../../src/base/backoff.ts';
import type { Connect } from '../../src/broker/connect.ts';
import type { ProcessClock, VirtualTime } from './virtualTime.ts';

/** What a broker, or the way to it, can suffer from for a while. */
export type BrokerFault =
  | 'away'
  /** Takes packets and answers none, as a link does that is silently dead. */
  | 'frozen'
  | 'subscriptions-refused'
  | 'slow'
  /** Refuses one message in ten, as a broker over its quota does. */
  | 'quota';

/** What happened at the broker, as seen from outside. */
export interface BrokerTap {
  /** The bridge handed a message to its connection. */
  readonly handedOver: (topic: string, payload: string, retain: boolean) => void;
  /** The broker took a message, from whomever. */
  readonly taken: (topic: string, payload: string, retain: boolean) => void;
  /** A message reached the bridge; `publishedAt` is when it was published, null for one of the broker's memory. */
  readonly delivered: (
    topic: string,
    payload: string,
    isRetained: boolean,
    publishedAt: number | null,
  ) => void;
  /** The same with another bridge. */
  readonly deliveredToOther?: BrokerTap['delivered'];
  /** The broker refused a message of the bridge. */
  readonly refused?: (topic: string, retain: boolean, payload: string) => void;
  /** The bridge's connection began or ended; `epoch` counts them. */
  readonly linked: (isLinked: boolean) => void;
}

/** A bridge's connection, as the broker has it. */
export interface Peer {
  readonly clientId: string;
  /** Ends it in mid-flight. */
  cut(reason: string): void;
  /** A message that somebody has published just now. */
  deliverLive(topic: string, payload: string, isRetained: boolean): void;
}

/** A broker in memory, which speaks with clients like those of mqtt.js. */
export class VirtualBroker {
  readonly retained = new Map<string, string>();
  fault: BrokerFault | null = null;
  /** Shows at the next reading of what is retained only so much of it, as while it restarts; 1 is all. */
  shownShare = 1;
  /** Whether it shows retained messages to subscriptions with wildcards too, which RabbitMQ does not. */
  listsRetained = true;
  /** Whether what a client does is told of; what it publishes is told of in any case. */
  isWatched: (clientId: string) => boolean = () => true;
  /** Refuses messages at these topics, as for want of rights. */
  refuses: (topic: string) => boolean = () => false;
  /** Refuses subscriptions with these filters to a client on a wire. */
  refusesFilter: (filter: string) => boolean = () => false;
  /** Delivers what it remembers as if it were new. */
  isFlagLost = false;
  /** Remembers whatever anybody has ever published, as if it were retained, and delivers it again after each subscription. */
  remembersAll = false;
  readonly #published = new Map<string, string>();
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly tap: BrokerTap;
  /** By client id, each of which a broker has once. */
  readonly #peers = new Map<string, Peer>();

  constructor(time: VirtualTime, random: Random, tap: BrokerTap) {
    this.#time = time;
    this.#random = random;
    this.tap = tap;
  }

  /** How a process reaches it. */
  dialFrom(clock: ProcessClock): Connect {
    const dial = (options: IClientOptions) => new VirtualClient(this, clock, this.#random, options);
    // The connection uses just what the virtual client has.
    return dial as unknown as Connect;
  }

  /** Somebody else publishes; what is live reaches each bridge that is there so many times. */
  publish(topic: string, payload: string, retain: boolean, times = 1): void {
    if (this.fault === 'away') return;
    this.take(topic, payload, retain);
    for (let time = 0; time < times; time++) this.#deliver(topic, payload, retain, null);
  }

  /** Ends all connections in mid-flight; what was on its way may have come through. */
  cut(reason = 'ECONNRESET'): void {
    for (const peer of [...this.#peers.values()]) peer.cut(reason);
  }

  /** Comes back with only so much of what it had retained. */
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

  /** Retains a message of which nobody is told. */
  forge(topic: string, payload: string): void {
    if (payload === '') this.retained.delete(topic);
    else this.retained.set(topic, payload);
  }

  take(topic: string, payload: string, retain: boolean): void {
    if (retain && payload === '') this.retained.delete(topic);
    else if (retain) this.retained.set(topic, payload);
    if (this.remembersAll) this.#published.set(topic, payload);
    this.tap.taken(topic, payload, retain);
  }

  /** A bridge publishes, which the others hear. */
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

  /** What a new subscription is shown. */
  get remembered(): ReadonlyMap<string, string> {
    return this.remembersAll ? new Map([...this.#published, ...this.retained]) : this.retained;
  }

  get random(): Random {
    return this.#random;
  }
}

type Done = (error?: Error) => void;

/** What the connection uses of a client of mqtt.js, over a link without sockets. */
class VirtualClient extends EventEmitter implements Peer {
  readonly clientId: string;
  readonly #broker: VirtualBroker;
  readonly #clock: ProcessClock;
  readonly #options: IClientOptions;
  /** Each with whether it is told that a live message was sent with the retain flag. */
  readonly #filters = new Map<string, boolean>();
  readonly #owed = new Set<Done>();
  readonly #forgetDeath: () => void;
  #isOpen = true;
  /** Whether the broker has given it up, of which it does not know yet. */
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

  subscribe(map: Record<string, { readonly rap?: boolean }>, done: Done): void {
    this.#answer(done, () => {
      if (this.#broker.fault === 'subscriptions-refused') return new Error('Unspecified error');
      // A subscription that is there already is made anew, and what is retained comes again.
      const filters = Object.keys(map);
      for (const [filter, { rap }] of Object.entries(map)) this.#filters.set(filter, rap === true);
      // What is retained comes after the answer, in no order to rely on.
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
      return null;
    });
  }

  end(_isForced: boolean, _options?: object, done?: () => void): void {
    // A goodbye in order: the will is not published.
    this.#leave();
    done?.();
  }

  /** The link breaks; the broker speaks the last will. */
  cut(code: string): void {
    if (!this.#isOpen) return;
    if (this.#broker.isPeerOf(this)) this.#publishWill();
    if (this.#clock.machine.isAsleep && !this.#clock.isDead) {
      // The machine finds out when it wakes.
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

  /** Of a client that leaves on a dead link the broker hears nothing, and gives it up when its time is over. */
  #leave(): void {
    const broker = this.#broker;
    if (broker.fault === 'frozen' && broker.isPeerOf(this))
      broker.after(1_500 * (this.#options.keepalive ?? 60), () => {
        if (!broker.hasPeer(this.clientId)) this.#publishWill();
      });
    this.#close();
  }

  /** Only a client of MQTT 5 that asked for it is told that a live message was sent with the retain flag. */
  deliverLive(topic: string, payload: string, isRetained: boolean): void {
    const isTold = this.#matching(topic).some(([, isAskedFor]) => isAskedFor);
    this.deliver(
      topic,
      payload,
      isRetained && isTold && this.#options.protocolVersion === 5,
      this.#broker.now,
    );
  }

  deliver(topic: string, payload: string, isRetained: boolean, publishedAt: number | null): void {
    if (!this.#isOpen || this.#isCut || this.#broker.fault === 'frozen') return;
    if (this.#matching(topic).length === 0) return;
    this.#clock.deliverAfter(1, () => {
      if (!this.#isOpen) return;
      const { isWatched, tap } = this.#broker;
      const tell = isWatched(this.clientId) ? tap.delivered : tap.deliveredToOther;
      tell?.(topic, payload, isRetained, publishedAt);
      this.emit('message', topic, Buffer.from(payload), { retain: isRetained });
    });
  }

  #matching(topic: string): [filter: string, isToldOfRetain: boolean][] {
    return [...this.#filters].filter(([filter]) => matches(filter, topic));
  }

  #accept(): void {
    if (!this.#isOpen) return;
    this.#broker.attach(this);
    this.#keepAlive();
    this.emit('connect', { properties: {} });
  }

  /** Finds a link that is silently dead within one and a half times the keepalive, as mqtt.js does. */
  #keepAlive(): void {
    const periodMs = (this.#options.keepalive ?? 60) * 1_000;
    this.#cancelKeepalive = this.#clock.after(periodMs, () => {
      if (this.#broker.fault !== 'frozen') this.#keepAlive();
      else this.#cancelKeepalive = this.#clock.after(periodMs / 2, () => this.cut('Keepalive timeout'));
    });
  }

  /** The broker acts on a packet, then answers; either way may be cut off. */
  #answer(done: Done, act: () => Error | null): void {
    const { fault, random } = this.#broker;
    this.#owed.add(done);
    const now = this.#clock.monotonic();
    // What is sent later on one connection does not arrive sooner.
    this.#arrivesAt = Math.max(
      this.#arrivesAt,
      now + (fault === 'slow' ? 3_000 * random() : 1 + 4 * random()),
    );
    const there = this.#arrivesAt - now;
    this.#broker.after(there, () => {
      // A packet that had left may arrive although the link breaks behind it, but none once its client is back.
      const isLost = !this.#isOpen && (random() < 0.5 || this.#broker.hasPeer(this.clientId));
      if (this.#broker.fault === 'frozen' || isLost || this.#isCut) return;
      const error = act();
      if (!this.#isOpen) return;
      this.#clock.after(there, () => {
        if (this.#isOpen && this.#owed.delete(done)) done(...(error ? [error] : []));
      });
    });
  }

  /** None gets lost: while nothing passes, it waits in the way. */
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
      if (shownShare < 1 && random() >= shownShare) continue;
      if (shown.some((filter) => matches(filter, topic)))
        this.deliver(topic, payload, !this.#broker.isFlagLost, null);
    }
  }

  #fail(code: string): void {
    if (!this.#isOpen) return;
    this.emit('error', Object.assign(new Error(code), { code }));
    this.#close();
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cancelKeepalive();
    this.#forgetDeath();
    this.#broker.detach(this);
    const lost = [...this.#owed];
    this.#owed.clear();
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
