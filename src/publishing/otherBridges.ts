import type { Clock } from '../base/clock.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { Shard } from '../model/shard.ts';

/** A bridge says something new at its `info` every minute, one of an earlier version every quarter of an hour: silent for so long, it has gone. */
const silentMs = 3_600_000;

/** More are not remembered, so that nobody fills the memory with them. */
const mostKnown = 20;

/** What the appearance and the end of another bridge lead to. */
export interface OtherBridgesEvents {
  /** One was heard that is in this one's way: it may not know of this one either. */
  readonly met: () => void;
  /** One has stopped, or is not expected back any more. */
  readonly stopped: () => void;
}

interface OtherBridge {
  /** As it is called in topics. */
  readonly name: string;
  /** How many bridges there are by its word. */
  readonly count: number;
  /** Heard on this connection to the broker, and not said to have stopped since. */
  readonly isRunning: boolean;
}

/**
 * Bridges that run below the same base topic by mistake: one of this one's own name, and one that thinks that the
 * account is shared by another number of bridges. Both would carry out one command, and each would take devices of the
 * other for stale. Only what is heard live counts: what the broker keeps may be said by one that died long ago, or by
 * this one's own predecessor.
 */
export class OtherBridges {
  readonly #topics: Topics;
  readonly #shard: Shard;
  readonly #isOwn: (instanceId: string) => boolean;
  readonly #events: OtherBridgesEvents;
  readonly #clock: Clock;
  /** By the id of their run. */
  readonly #known = new Map<string, OtherBridge>();
  #cancelTimer: () => void = () => {};

  /** `isOwn` says whether that id is this one's. */
  constructor(
    topics: Topics,
    shard: Shard,
    isOwn: (instanceId: string) => boolean,
    events: OtherBridgesEvents,
    clock: Clock,
  ) {
    this.#topics = topics;
    this.#shard = shard;
    this.#isOwn = isOwn;
    this.#events = events;
    this.#clock = clock;
  }

  /** What is wrong while one runs, in words; null while none does. */
  get problem(): string | null {
    const running = [...this.#known.values()].find(({ isRunning }) => isRunning);
    if (!running) return null;
    const { base, bridgeName } = this.#topics;
    const { name, count } = running;
    return name === bridgeName
      ? `another bridge publishes below ${base}/${bridgeName} too. No valve is moved. Each needs its own mqtt.base_topic, or shard.index where they share an account`
      : `${name} runs with shard.count ${count}, this one with ${this.#shard.count}. No valve is moved. All need the same number`;
  }

  /** Whether one runs, or did so lately: one that is started again must find its messages. */
  get isAny(): boolean {
    return this.#known.size > 0;
  }

  /** Takes in what was said at the `info` of a bridge of that name; what the broker kept at the first connection may be an earlier run's. */
  take(name: string, { payload, isRetained }: BrokerMessage, isFirstConnection: boolean): void {
    const info = readInfo(payload);
    if (info === null) {
      if (payload === '' && !isRetained) this.stopped(name);
      return;
    }
    const { id, count } = info;
    const isNamesake = name === this.#topics.bridgeName;
    if (this.#isOwn(id) || !(isNamesake || count !== this.#shard.count)) return;
    if (isRetained && (isFirstConnection || !isNamesake)) return;
    const wasRunning = this.#known.get(id)?.isRunning ?? false;
    if (!this.#known.has(id) && !this.#hasRoom()) return;
    this.#known.set(id, { name, count, isRunning: wasRunning || !isRetained });
    this.#waitForSilence();
    if (!isRetained && !wasRunning) this.#events.met();
  }

  /** The bridges of that name have stopped, by the broker's word or by their own. One that has not says so again. */
  stopped(name: string): void {
    let isNews = false;
    for (const [id, other] of this.#known) {
      if (other.name !== name || !other.isRunning) continue;
      isNews = true;
      // One of the same name may come back in a moment, and nobody else keeps what is its own.
      if (name === this.#topics.bridgeName) this.#known.set(id, { ...other, isRunning: false });
      else this.#known.delete(id);
    }
    if (isNews) this.#events.stopped();
  }

  /** The connection to the broker is new: who has stopped meanwhile was not heard, and who runs says so again. */
  reconnected(): void {
    for (const name of new Set([...this.#known.values()].map((each) => each.name))) this.stopped(name);
  }

  /** Tells nothing more. */
  stop(): void {
    this.#cancelTimer();
  }

  /** Who has stopped makes room for who runs. */
  #hasRoom(): boolean {
    if (this.#known.size < mostKnown) return true;
    const over = [...this.#known].find(([, { isRunning }]) => !isRunning);
    return over !== undefined && this.#known.delete(over[0]);
  }

  #waitForSilence(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(silentMs, () => {
      this.#known.clear();
      this.#events.stopped();
    });
  }
}

/** What an `info` tells of its bridge. One of 0.1.0 has no id and is known by its start, and had the account to itself. */
function readInfo(payload: string): { readonly id: string; readonly count: number } | null {
  try {
    const { instance_id: id, started_at: startedAt, configuration } = JSON.parse(payload);
    const known: unknown = [id, startedAt].find((each) => typeof each === 'string');
    const count: unknown = configuration?.shard?.count;
    return typeof known === 'string' ? { id: known, count: typeof count === 'number' ? count : 1 } : null;
  } catch {
    return null;
  }
}
