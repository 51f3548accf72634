import type { Clock } from '../base/clock.ts';
import type { Mirror } from '../broker/mirror.ts';
import { viewId } from '../homeassistant/discovery.ts';
import type { Message } from '../homeassistant/topics.ts';
import type { DeviceKind, DeviceView } from '../model/devices.ts';

interface Announced {
  readonly kind: DeviceKind;
  /** When the broker answered the last message, in ms of the monotonic clock; null until then. */
  at: number | null;
  /** When the same message is to be published once more, in ms of the monotonic clock; infinity if it is not. */
  againAt: number;
  cancelTimer: () => void;
}

/** In ms. If two different messages of a device come sooner, Home Assistant loses a part of the second. */
const spacingMs = 2_500;

/** In ms after a message. Home Assistant may be busy, for example while it loads a platform. Then it loses entities. */
const againMs = 5_000;

/** Publishes the discovery messages of devices, not too soon after each other, and each once more after a while. */
export class DiscoveryMessages {
  readonly #mirror: Mirror;
  readonly #clock: Clock;
  /** Is called when a message that had to wait can be published. */
  readonly #onDue: (kind: DeviceKind, id: string) => void;
  /** By topic. */
  readonly #announced = new Map<string, Announced>();
  #homeAssistantStartedAt = Number.NEGATIVE_INFINITY;

  constructor(mirror: Mirror, clock: Clock, onDue: (kind: DeviceKind, id: string) => void) {
    this.#mirror = mirror;
    this.#clock = clock;
    this.#onDue = onDue;
  }

  homeAssistantStarted(): void {
    this.#homeAssistantStartedAt = this.#clock.monotonic();
  }

  /**
   * When Home Assistant last received the message, in ms of the monotonic clock: when it was published, or when Home
   * Assistant started. Null until the broker has the message.
   */
  announcedAt(topic: string): number | null {
    const { at = null } = this.#announced.get(topic) ?? {};
    return at === null ? null : Math.max(at, this.#homeAssistantStartedAt);
  }

  /** Later, if now would be too soon for Home Assistant. */
  publish({ topic, payload }: Message, view: DeviceView): void {
    const { kind } = view;
    const now = this.#clock.monotonic();
    const known = this.#announced.get(topic);
    // A hub and a valve with the same ID would replace each other's message without end.
    if (known && known.kind !== kind) return;
    const isAgain = this.#mirror.has(topic, payload);
    if (isAgain && now < (known?.againAt ?? Number.POSITIVE_INFINITY)) return;
    const waitMs = (known?.at ?? now) + spacingMs - now;
    if (known && !isAgain && waitMs > 0 && this.#mirror.isKnown(topic)) {
      this.#publishLater(known, viewId(view), waitMs);
      return;
    }
    const announced = known ?? { kind, at: null, againAt: 0, cancelTimer: () => {} };
    announced.at = null;
    announced.againAt = Number.POSITIVE_INFINITY;
    this.#announced.set(topic, announced);
    if (isAgain) this.#mirror.forget([topic]);
    this.#mirror.want(topic, payload, (isTaken) => {
      announced.at = this.#clock.monotonic();
      // The device may have been forgotten in the meantime.
      if (isAgain || !isTaken || this.#announced.get(topic) !== announced) return;
      announced.againAt = announced.at + againMs;
      this.#publishLater(announced, viewId(view), againMs);
    });
  }

  /** Forgets a device of that kind. Returns whether the message at the topic belongs to this device. */
  forget(topic: string, kind: DeviceKind): boolean {
    const known = this.#announced.get(topic);
    if (known && known.kind !== kind) return false;
    known?.cancelTimer();
    this.#announced.delete(topic);
    return true;
  }

  stop(): void {
    for (const { cancelTimer } of this.#announced.values()) cancelTimer();
  }

  #publishLater(announced: Announced, id: string, delayMs: number): void {
    announced.cancelTimer();
    announced.cancelTimer = this.#clock.after(delayMs, () => this.#onDue(announced.kind, id));
  }
}
