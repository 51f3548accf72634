import { EventEmitter } from 'node:events';
import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { Shard } from '../model/shard.ts';

/** Bridges publish a new `info` every minute, those of earlier versions every 15 minutes. After this time without one, a bridge counts as stopped. */
const silentMs = 3_600_000;

interface OtherBridgesEvents {
  /** Another bridge was found that conflicts with this one. It may not have found this one yet. */
  readonly met: [];
  /** It has stopped, or is not expected to return. */
  readonly stopped: [];
}

interface OtherBridge {
  /** Its `shard.count`. */
  readonly count: number;
  /** It has published on this connection to the broker, and has not stopped since. */
  readonly isRunning: boolean;
}

/**
 * Listens for a bridge that runs below the same base topic by mistake: one with the name of this one, or one with another
 * `shard.count`. Both would carry out one command, and each would delete devices of the other as stale. Only live
 * messages count: a retained one may come from a bridge that ended long ago, or from an earlier run of this one.
 */
export class OtherBridges extends EventEmitter<OtherBridgesEvents> {
  /** Identifies this run of the bridge: two may be started at the same moment. */
  readonly instanceId: string;
  readonly #topics: Topics;
  readonly #shard: Shard;
  readonly #clock: Clock;
  /** By their names in topics. */
  readonly #known = new Map<string, OtherBridge>();
  #connections = 0;
  #cancelTimer: () => void = () => {};

  constructor(topics: Topics, shard: Shard, connection: Connection, clock: Clock, random: Random) {
    super();
    this.instanceId = Math.floor(random() * 2 ** 48).toString(16);
    this.#topics = topics;
    this.#shard = shard;
    this.#clock = clock;
    connection
      .on('connected', () => this.#onConnected())
      .on('message', (message) => this.#onMessage(message))
      .on('willPublished', () => this.#onStopped(topics.bridgeName));
  }

  /** What is wrong while another bridge runs; null while none does. */
  get problem(): string | null {
    const running = [...this.#known].find(([, { isRunning }]) => isRunning);
    if (!running) return null;
    const [name, { count }] = running;
    const { base, bridgeName } = this.#topics;
    return name === bridgeName
      ? `Another bridge uses the topic ${base}/${bridgeName}. Valve commands are rejected. Change mqtt.base_topic or shard.index of one`
      : `${name} has shard.count ${count}, this bridge has ${this.#shard.count}. Valve commands are rejected. Give all the same number`;
  }

  /** Whether another bridge runs, or did within the last hour: after its restart it must find its messages. */
  get isAny(): boolean {
    return this.#known.size > 0;
  }

  /** Cancels the timer. */
  stop(): void {
    this.#cancelTimer();
  }

  /** A bridge can have stopped while there was no connection. One that runs publishes again. */
  #onConnected(): void {
    this.#connections += 1;
    for (const name of [...this.#known.keys()]) this.#onStopped(name);
  }

  #onMessage(message: BrokerMessage): void {
    const { topic, payload, isRetained } = message;
    const name = this.#topics.bridgeNamed(topic);
    if (name === null) return;
    if (topic === this.#topics.ofBridge(name, 'info')) this.#onInfo(name, message);
    else if (topic === this.#topics.ofBridge(name, 'state') && payload === 'offline' && !isRetained) {
      this.#onStopped(name);
    }
  }

  #onInfo(name: string, { payload, isRetained }: BrokerMessage): void {
    const info = readInfo(payload);
    if (info === null) {
      if (payload === '' && !isRetained) this.#onStopped(name);
      return;
    }
    const { instanceId, count } = info;
    const hasOurName = name === this.#topics.bridgeName;
    const isInTheWay = hasOurName || count !== this.#shard.count;
    if (instanceId === this.instanceId || !isInTheWay) return;
    // A message kept from before the first connection may come from an earlier run of this bridge.
    if (isRetained && (this.#connections === 1 || !hasOurName)) return;
    const wasRunning = this.#known.get(name)?.isRunning ?? false;
    this.#known.set(name, { count, isRunning: wasRunning || !isRetained });
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(silentMs, () => {
      this.#known.clear();
      this.emit('stopped');
    });
    if (!isRetained && !wasRunning) this.emit('met');
  }

  /** The bridge of that name has stopped, or the broker published its last will. One that still runs publishes again. */
  #onStopped(name: string): void {
    const other = this.#known.get(name);
    if (!other?.isRunning) return;
    // A bridge with our name may return in a moment, and only this one keeps its messages.
    if (name === this.#topics.bridgeName) this.#known.set(name, { ...other, isRunning: false });
    else this.#known.delete(name);
    this.emit('stopped');
  }
}

/** The bridge that published an `info`. Version 0.1.0 has no id, so its start identifies it, and no `shard`. */
function readInfo(payload: string): { readonly instanceId: string; readonly count: number } | null {
  try {
    const { instance_id: id, started_at: startedAt, configuration } = JSON.parse(payload);
    const instanceId: unknown = [id, startedAt].find((each) => typeof each === 'string');
    const count: unknown = configuration?.shard?.count;
    if (typeof instanceId !== 'string') return null;
    return { instanceId, count: typeof count === 'number' ? count : 1 };
  } catch {
    return null;
  }
}
