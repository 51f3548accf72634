import type { Clock } from '../base/clock.ts';
import type { BrokerOptions } from './clientOptions.ts';
import type { BrokerMessage, MayBeStored } from './message.ts';

/** In ms after a subscription. ioBroker's MQTT adapter starts after 0.2 s. */
const sendingMs = 10_000;

/**
 * Finds out whether the broker marks stored messages with the retain flag. Mosca and the MQTT adapter of ioBroker do
 * not: after each subscription, the last command of each valve comes again and looks like a new one. The proof is the
 * bridge's own state, which is always stored.
 *
 * - The state comes with the flag, on most connections from the run before: a message without the flag is new.
 * - The state does not come: the bridge publishes it, and subscribes to it again once it has come back as a live
 *   message. Its acknowledgement is not enough, because aedes acknowledges a message before it stores it. If the state
 *   comes without the flag then, no command on this connection is certain to be new.
 * - The state may not be read: a command counts as new once the time has passed in which stored messages come.
 */
export class StoredMessages {
  readonly #will: BrokerOptions['will'];
  readonly #subscribe: (topic: string) => Promise<unknown>;
  readonly #clock: Clock;
  #subscribedAt: number;
  #areMarked = false;
  /** When the bridge's own state came without the flag, in ms of the monotonic clock; null if it has not. */
  #unmarkedAt: number | null = null;
  #again: 'no' | 'sent' | 'answered' = 'no';
  #hasOwnState = false;
  #isBack = false;

  /** `will` has the topic of the bridge's own state. `subscribe` is called to subscribe to it again. */
  constructor(will: BrokerOptions['will'], subscribe: (topic: string) => Promise<unknown>, clock: Clock) {
    this.#will = will;
    this.#subscribe = subscribe;
    this.#clock = clock;
    this.#subscribedAt = clock.monotonic();
  }

  /** Why a message that comes now without the retain flag may be a stored one; null if it is certainly new. */
  get mayBeStored(): MayBeStored | null {
    if (this.#areMarked) return null;
    if (this.#unmarkedAt !== null) return 'unmarked';
    return this.#isOver(this.#subscribedAt) ? null : 'unproven';
  }

  /** Whether the broker sends stored messages without the retain flag, so that an old command looks like a new one. */
  get areUnmarked(): boolean {
    return !this.#areMarked && this.#unmarkedAt !== null && this.#isOver(this.#unmarkedAt);
  }

  /** Whether the broker has accepted this bridge's state, which replaces the state or will of an earlier connection. */
  get hasOwnState(): boolean {
    return this.#hasOwnState;
  }

  #isOver(since: number): boolean {
    return this.#clock.monotonic() - since >= sendingMs;
  }

  /** Call the result with whether the broker accepted it: a refused subscription brings no messages. */
  subscribing(): (isTaken: boolean) => void {
    const before = this.#subscribedAt;
    const sentAt = this.#clock.monotonic();
    this.#subscribedAt = sentAt;
    return (isTaken) => {
      if (isTaken) this.#subscribedAt = this.#clock.monotonic();
      else if (this.#subscribedAt === sentAt) this.#subscribedAt = before;
    };
  }

  received({ topic, payload, isRetained }: Pick<BrokerMessage, 'topic' | 'payload' | 'isRetained'>): void {
    if (topic !== this.#will?.topic) return;
    if (isRetained) this.#areMarked = true;
    // The last will of an earlier connection may come at any time.
    if (isRetained || payload === this.#will.payload) return;
    if (this.#again === 'answered') this.#unmarkedAt ??= this.#clock.monotonic();
    this.#isBack = true;
    this.#subscribeAgain();
  }

  stored(topic: string): void {
    if (topic !== this.#will?.topic) return;
    this.#hasOwnState = true;
    this.#subscribeAgain();
  }

  #subscribeAgain(): void {
    if (!this.#will || !this.#hasOwnState || !this.#isBack || this.#areMarked || this.#again !== 'no') return;
    this.#again = 'sent';
    this.#subscribe(this.#will.topic).then(
      () => {
        this.#again = 'answered';
      },
      () => undefined,
    );
  }
}
