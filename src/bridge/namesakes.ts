import type { Clock } from '../base/clock.ts';
import type { BrokerMessage } from '../broker/message.ts';

/** A bridge says something new at its `info` every quarter of an hour: one that is silent for so long has gone. */
const silentMs = 3_600_000;

/** More are not remembered, so that nobody fills the memory with them. */
const mostKnown = 20;

/** What a namesake is heard and missed by. */
export interface NamesakesEvents {
  /** One that was not known: it may not know of this one either. */
  readonly came: () => void;
  /** All have gone. */
  readonly gone: () => void;
}

/**
 * Other bridges that publish below this one's topics, by mistake: each would take the devices of the others for stale,
 * and delete them.
 */
export class Namesakes {
  readonly #isOwn: (instanceId: string) => boolean;
  readonly #events: NamesakesEvents;
  readonly #clock: Clock;
  /** By its id: whether it was heard live, so that there is no doubt. */
  readonly #known = new Map<string, boolean>();
  #cancelTimer: () => void = () => {};

  /** `isOwn` says whether that id is this one's. */
  constructor(isOwn: (instanceId: string) => boolean, events: NamesakesEvents, clock: Clock) {
    this.#isOwn = isOwn;
    this.#events = events;
    this.#clock = clock;
  }

  /** Whether there is one, or may be. */
  get isAny(): boolean {
    return this.#known.size > 0;
  }

  /** Whether there is one without a doubt. */
  get isSure(): boolean {
    return [...this.#known.values()].includes(true);
  }

  /**
   * Takes in what is said at this bridge's `info`. What the broker has kept at the first connection may be an earlier
   * run's; at a later one, another has been there meanwhile, or the broker has got it back from an old disk.
   */
  take({ payload, isRetained }: BrokerMessage, isFirstConnection: boolean): void {
    const id = idIn(payload);
    if (id === null || this.#isOwn(id) || (isRetained && isFirstConnection)) return;
    const wasLive = this.#known.get(id);
    if (wasLive === undefined && this.#known.size >= mostKnown) return;
    this.#known.set(id, wasLive === true || !isRetained);
    this.#waitForSilence();
    if (!isRetained && wasLive !== true) this.#events.came();
  }

  /** Tells nothing more. */
  stop(): void {
    this.#cancelTimer();
  }

  #waitForSilence(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(silentMs, () => {
      this.#known.clear();
      this.#events.gone();
    });
  }
}

/** A bridge of 0.1.0 has no id, and is known by its start. */
function idIn(payload: string): string | null {
  try {
    const { instance_id: id, started_at: startedAt } = JSON.parse(payload);
    return [id, startedAt].find((each) => typeof each === 'string') ?? null;
  } catch {
    return null;
  }
}
