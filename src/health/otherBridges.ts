import { EventEmitter } from 'node:events';
import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Topics } from '../homeassistant/topics.ts';

/** A bridge counts as stopped if it has published nothing for this long, in ms. */
const stoppedAfterMs = 300_000;

/** While a bridge knows another one, it publishes its `info` this often, in ms, so that neither counts as stopped. */
const greetingEveryMs = 60_000;

/** The time, in ms, in which another bridge answers that does not know this one yet. */
const answerMs = 10_000;

/** The shortest time between two answers of this bridge, in ms, whatever other clients publish. */
const answerSpacingMs = 2_000;

/** How many bridges are remembered. So many never share a topic, and old messages must not fill the memory. */
const maxBridges = 20;

interface OtherBridgesEvents {
  /** This bridge should publish its `info` again. It names the bridges that this one has heard. */
  readonly greet: [];
  /** `problem`, `announcer` or `isAny` may have changed. */
  readonly changed: [];
}

interface OtherBridge {
  readonly info: string;
  /** When it was last heard, in ms of the monotonic clock. */
  readonly heardAt: number;
  /** Until when it counts as running if it is not heard again, in ms of the monotonic clock. */
  readonly runsUntil: number;
}

/**
 * Listens for bridges that run under the same base topic by mistake. Both bridges would carry out each command, and each
 * would delete the other's devices as stale.
 *
 * An `info` message may be from a run that ended long ago, because the broker has retained it or another client
 * publishes it again. So each `info` names the instances that its bridge has heard. The instance is new with each
 * connection, so only a running bridge can name the current one. If an `info` does not name this bridge, this bridge
 * answers it. After one answer, both bridges know each other.
 *
 * This class also records which devices of this bridge are announced to Home Assistant by a bridge with another base
 * topic.
 */
export class OtherBridges extends EventEmitter<OtherBridgesEvents> {
  readonly #topics: Topics;
  readonly #clock: Clock;
  readonly #run: string;
  readonly #startedAt: number;
  /** The other bridges by their instance. */
  readonly #known = new Map<string, OtherBridge>();
  #instance = 0;
  #greetedAt = Number.NEGATIVE_INFINITY;
  #cancelGreeting: (() => void) | null = null;
  #cancelTimer: () => void = () => {};
  #announcers: ReadonlyMap<string, string> = new Map();
  /** Topics of discovery messages that this bridge leaves to another bridge. */
  readonly #unannounced = new Set<string>();

  constructor(topics: Topics, connection: Connection, clock: Clock, random: Random) {
    super();
    this.#run = hex(Math.floor(random() * 2 ** 48), 12);
    this.#topics = topics;
    this.#clock = clock;
    this.#startedAt = clock.now();
    connection
      .on('connected', () => this.#renewInstance())
      .on('message', (message) => this.#onMessage(message))
      .on('willPublished', () => this.#onStopped());
  }

  /** Identifies this run of the bridge and its current connection. */
  get instanceId(): string {
    return this.#run + hex(this.#instance, 4);
  }

  /** The instances that this bridge has heard and that use its topics by mistake. */
  get heard(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** A message if another bridge uses these topics; null if none does. */
  get problem(): string | null {
    const now = this.#clock.monotonic();
    const isAnyRunning = [...this.#known.values()].some(({ runsUntil }) => now < runsUntil);
    if (!isAnyRunning) return null;
    return `Another bridge uses the topic ${this.#topics.base}/bridge. Valve commands are rejected. Change mqtt.base_topic of one`;
  }

  /** Whether another bridge was heard lately. Its messages must stay, because it may only be restarting. */
  get isAny(): boolean {
    const now = this.#clock.monotonic();
    return [...this.#known.values()].some(({ heardAt }) => now < heardAt + stoppedAfterMs);
  }

  /** The `bridge` topic of another bridge that announces devices of this one; null if none does. */
  get announcer(): string | null {
    const [topic] = this.#unannounced;
    return this.#announcers.get(topic ?? '')?.replace(/\/state$/, '') ?? null;
  }

  /** How many devices of this bridge others announce. */
  get unannouncedCount(): number {
    return this.#unannounced.size;
  }

  /** Records which discovery topics other bridges use: by topic, the `state` topic of the other bridge. */
  recordAnnouncers(announcers: ReadonlyMap<string, string>): void {
    this.#announcers = announcers;
    for (const topic of this.#unannounced) if (!announcers.has(topic)) this.#unannounced.delete(topic);
    this.emit('changed');
  }

  /** Whether another bridge publishes the discovery message at the topic. */
  isAnnouncing(topic: string): boolean {
    return this.#announcers.has(topic);
  }

  /** Records that this bridge leaves a discovery message to another bridge. */
  recordUnannounced(topic: string): void {
    if (this.#unannounced.has(topic)) return;
    this.#unannounced.add(topic);
    this.emit('changed');
  }

  /**
   * Cancels the timers, and reports nothing more. The broker sends this bridge its own `offline`, and an answer to that
   * would make others believe that it runs again.
   */
  stop(): void {
    this.removeAllListeners();
    this.#cancelTimer();
    this.#cancelGreeting?.();
  }

  #onMessage(message: BrokerMessage): void {
    const { topic, payload, isRetained } = message;
    // A retained message does not show that its bridge is running.
    if (isRetained) return;
    if (topic === this.#topics.bridge('info')) this.#onInfo(payload);
    else if (topic === this.#topics.bridge('state') && payload === 'offline') this.#onStopped();
  }

  #onInfo(payload: string): void {
    const info = readInfo(payload);
    if (info === null) {
      if (payload === '') this.#onStopped();
      return;
    }
    const { instanceId, startedAt, heard } = info;
    if (instanceId.startsWith(this.#run)) return;
    const now = this.#clock.monotonic();
    const known = this.#known.get(instanceId);
    const isAware = heard.includes(this.instanceId);
    // Earlier versions do not name the instances that they have heard. If such a bridge publishes a new `info`, it is
    // running too.
    const isLive = isAware || (known !== undefined && known.info !== payload);
    const isPerhapsNew = startedAt === null || startedAt >= this.#startedAt;
    const runsUntil = isLive ? now + stoppedAfterMs : isPerhapsNew ? now + answerMs : 0;
    this.#known.set(instanceId, {
      info: payload,
      heardAt: now,
      runsUntil: Math.max(runsUntil, known?.runsUntil ?? 0),
    });
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxBridges && oldest !== undefined) this.#known.delete(oldest);
    if (!isAware || known === undefined) this.#greetSoon();
    this.#lookAgain();
    this.emit('changed');
  }

  /**
   * Takes a new instance for the new connection. Other bridges may have stopped in the meantime. A running bridge will
   * answer, and its answer names the new instance.
   */
  #renewInstance(): void {
    this.#instance += 1;
    const until = this.#clock.monotonic() + answerMs;
    for (const [instanceId, other] of this.#known) {
      this.#known.set(instanceId, { ...other, runsUntil: Math.min(other.runsUntil, until) });
    }
    this.#lookAgain();
  }

  /**
   * A bridge at these topics has stopped, or the broker has published its last will. If it still runs, it publishes
   * again. If it has stopped, it may come back soon, and this bridge must not delete its messages until then.
   */
  #onStopped(): void {
    this.#instance += 1;
    for (const [instanceId, other] of this.#known) this.#known.set(instanceId, { ...other, runsUntil: 0 });
    this.emit('changed');
  }

  #greetSoon(): void {
    const waitMs = Math.max(0, this.#greetedAt + answerSpacingMs - this.#clock.monotonic());
    this.#cancelGreeting ??= this.#clock.after(waitMs, () => {
      this.#cancelGreeting = null;
      this.#greetedAt = this.#clock.monotonic();
      this.emit('greet');
    });
  }

  /** Forgets bridges that were not heard for long, and greets the others. Repeats this while there are any. */
  #lookAgain(): void {
    this.#cancelTimer();
    if (this.#known.size === 0) return;
    const now = this.#clock.monotonic();
    const ends = [...this.#known.values()].map(({ runsUntil }) => runsUntil).filter((until) => until > now);
    this.#cancelTimer = this.#clock.after(
      Math.min(greetingEveryMs, ...ends.map((until) => until - now)),
      () => {
        const { isAny } = this;
        for (const [instanceId, { heardAt }] of this.#known) {
          if (this.#clock.monotonic() >= heardAt + stoppedAfterMs) this.#known.delete(instanceId);
        }
        if (isAny) this.#greetSoon();
        this.#lookAgain();
        this.emit('changed');
      },
    );
  }
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

interface BridgeInfo {
  readonly instanceId: string;
  /** Ms since 1970; null if the `info` does not say. */
  readonly startedAt: number | null;
  readonly heard: readonly unknown[];
}

/** Reads the bridge from its `info`. Version 0.1.0 has no instance id, so its start time identifies it. */
function readInfo(payload: string): BridgeInfo | null {
  try {
    const { instance_id: id, started_at: started, heard_instances: heard } = JSON.parse(payload);
    const instanceId: unknown = [id, started].find((each) => typeof each === 'string');
    if (typeof instanceId !== 'string') return null;
    const startedAt = Date.parse(String(started));
    return {
      instanceId,
      startedAt: Number.isNaN(startedAt) ? null : startedAt,
      heard: Array.isArray(heard) ? heard : [],
    };
  } catch {
    return null;
  }
}
