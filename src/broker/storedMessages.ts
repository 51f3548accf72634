import type { Clock } from '../base/clock.ts';
import type { BrokerMessage, MayBeStored } from './message.ts';

/** After a subscription, a broker has sent all that it has stored within this time. The MQTT adapter of ioBroker begins after 0.2 s. */
const sendingMs = 10_000;

/**
 * Finds out whether the broker marks the messages that it has stored with the retain flag. Mosca and the MQTT adapter of
 * ioBroker do not: after each subscription, the last command of each valve comes again and looks like a new one. The proof is
 * the bridge's own state, which is always stored.
 *
 * - It comes with the flag, on most connections from the run before: a message without the flag is new.
 * - It does not come: the bridge subscribes to it again once the broker has it. If it comes without the flag then, no command
 *   on this connection is certain to be new.
 * - It may not be read: a command is new once the time has passed in which stored messages come.
 */
export class StoredMessages {
  readonly #topic: string | undefined;
  readonly #subscribe: (topic: string) => Promise<unknown>;
  readonly #clock: Clock;
  #subscribedAt: number;
  #areMarked = false;
  /** When the bridge's own state came without the flag; of the monotonic clock. */
  #unmarkedAt: number | null = null;
  /** Whether the second subscription to the state was sent, and answered. */
  #again: 'no' | 'sent' | 'answered' = 'no';
  #hasOwnState = false;

  /** `topic` is that of the bridge's own state, to which `subscribe` subscribes again. */
  constructor(topic: string | undefined, subscribe: (topic: string) => Promise<unknown>, clock: Clock) {
    this.#topic = topic;
    this.#subscribe = subscribe;
    this.#clock = clock;
    this.#subscribedAt = clock.monotonic();
  }

  /** Whether a message that comes now without the retain flag may be a stored one; null if it is new. */
  get mayBeStored(): MayBeStored | null {
    if (this.#areMarked) return null;
    if (this.#unmarkedAt !== null) return 'unmarked';
    return this.#isOver(this.#subscribedAt) ? null : 'unproven';
  }

  /** Whether it is certain that the broker does not mark what it has stored. */
  get areUnmarked(): boolean {
    return !this.#areMarked && this.#unmarkedAt !== null && this.#isOver(this.#unmarkedAt);
  }

  /** Whether the broker has taken the bridge's own state. */
  get hasOwnState(): boolean {
    return this.#hasOwnState;
  }

  /** Whether the time in which stored messages come is over. */
  #isOver(since: number): boolean {
    return this.#clock.monotonic() - since >= sendingMs;
  }

  /** A subscription is sent to the broker. Call the result with its answer: a refused one brings no messages. */
  subscribing(): (isTaken: boolean) => void {
    const before = this.#subscribedAt;
    const sentAt = this.#clock.monotonic();
    this.#subscribedAt = sentAt;
    return (isTaken) => {
      if (isTaken) this.#subscribedAt = this.#clock.monotonic();
      else if (this.#subscribedAt === sentAt) this.#subscribedAt = before;
    };
  }

  /** A message has come, at whatever topic. */
  received({ topic, isRetained }: Pick<BrokerMessage, 'topic' | 'isRetained'>): void {
    if (topic !== this.#topic) return;
    if (isRetained) this.#areMarked = true;
    // Before, it may be an echo, or the last will of an earlier connection.
    else if (this.#again === 'answered') this.#unmarkedAt ??= this.#clock.monotonic();
  }

  /** The broker has taken a retained message. */
  stored(topic: string): void {
    if (topic !== this.#topic) return;
    this.#hasOwnState = true;
    if (this.#areMarked || this.#again !== 'no') return;
    this.#again = 'sent';
    this.#subscribe(topic).then(
      () => {
        this.#again = 'answered';
      },
      () => undefined,
    );
  }
}
