import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Mirror } from '../broker/mirror.ts';
import { type DiscoveryPlan, viewId } from '../homeassistant/discovery.ts';
import type { DeviceKind, DeviceView } from '../model/devices.ts';

interface Announced {
  readonly kind: DeviceKind;
  /** Empty for the bridge. */
  readonly id: string;
  /** Of the last message. */
  fingerprint: string;
  /** When the broker answered the last message, in ms of the monotonic clock; null until then. */
  at: number | null;
  /** When the same message is to be published once more, in ms of the monotonic clock; infinity if it is not. */
  againAt: number;
  /** How often other clients have replaced or deleted the message, and it was to be published again. */
  losses: number;
  /** In ms of the monotonic clock. */
  lostAt: number;
  cancelTimer: () => void;
}

/** In ms. If two different messages of a device come sooner, Home Assistant loses a part of the second. */
const spacingMs = 2_500;

/** In ms after a message. Home Assistant may be busy, for example while it loads a platform. Then it loses entities. */
const againMs = 5_000;

/** So often a message that other clients replace is published again. Two bridges would go on without end. */
const maxRestorations = 3;

/** In ms. After a time without losses, the next loss is the first one. Somebody may delete a device now and then. */
const quietMs = 3_600_000;

interface DiscoveryParts {
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly log: Log;
  /** Is called when a message that had to wait can be published. */
  readonly onDue: (kind: DeviceKind, id: string) => void;
}

/**
 * Publishes the discovery messages of devices, not too soon after each other, and each once more after a while. If
 * another client replaces or deletes one, it is published again, a few times. No such message changes what this bridge
 * knows of the device.
 */
export class DiscoveryMessages {
  readonly #parts: DiscoveryParts;
  /** By topic. */
  readonly #announced = new Map<string, Announced>();
  /** When a loss was last logged, in ms of the monotonic clock. */
  #saidAt = Number.NEGATIVE_INFINITY;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
    parts.connection.on('message', (message) => this.#noteReplaced(message));
  }

  /** The topics at which other clients keep replacing the messages of this bridge. */
  get replacedTopics(): readonly string[] {
    return [...this.#announced].flatMap(([topic, { losses }]) => (losses > maxRestorations ? [topic] : []));
  }

  /** Later, if now would be too soon for Home Assistant. Returns whether the same message was published once more. */
  publish({ topic, fingerprint, write }: DiscoveryPlan, view: DeviceView): boolean {
    const { mirror, clock } = this.#parts;
    const { kind } = view;
    const now = clock.monotonic();
    const known = this.#announced.get(topic);
    // A hub and a valve with the same ID would replace each other's message without end.
    if (known && known.kind !== kind) return false;
    const isAgain = known?.fingerprint === fingerprint && mirror.isKnown(topic);
    if (isAgain && now < known.againAt) {
      // A change that was taken back at once has replaced its timer.
      if (known.againAt < Number.POSITIVE_INFINITY) this.#publishLater(known, known.againAt - now);
      return false;
    }
    const waitMs = (known?.at ?? now) + spacingMs - now;
    if (known && !isAgain && waitMs > 0 && mirror.isKnown(topic)) {
      this.#publishLater(known, waitMs);
      return false;
    }
    const announced: Announced = known ?? {
      ...{ kind, id: viewId(view), fingerprint, at: null, againAt: 0 },
      ...{ losses: 0, lostAt: Number.NEGATIVE_INFINITY, cancelTimer: () => {} },
    };
    announced.fingerprint = fingerprint;
    announced.at = null;
    announced.againAt = Number.POSITIVE_INFINITY;
    this.#announced.set(topic, announced);
    if (isAgain) mirror.forget([topic]);
    else announced.losses = 0;
    mirror.want(topic, write(), (isTaken) => {
      announced.at = clock.monotonic();
      // The device may have been forgotten in the meantime.
      if (isAgain || !isTaken || this.#announced.get(topic) !== announced) return;
      this.#repeat(announced, againMs);
    });
    return isAgain;
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

  #noteReplaced({ topic, payload, isRetained }: BrokerMessage): void {
    const { mirror, clock, log } = this.#parts;
    const announced = this.#announced.get(topic);
    // A stored message may be older than that of this run, which is published at each connection.
    if (!announced || isRetained || !mirror.isKnown(topic) || mirror.has(topic, payload)) return;
    // The next one is on its way.
    if (announced.againAt < Number.POSITIVE_INFINITY) return;
    const now = clock.monotonic();
    announced.losses = now < announced.lostAt + quietMs ? announced.losses + 1 : 1;
    announced.lostAt = now;
    if (now >= this.#saidAt + quietMs) {
      this.#saidAt = now;
      log.warn(
        { topic },
        'Another MQTT client has replaced or deleted discovery messages. Publishing them again',
      );
    }
    if (announced.losses <= maxRestorations) this.#repeat(announced, spacingMs);
  }

  #repeat(announced: Announced, delayMs: number): void {
    announced.againAt = this.#parts.clock.monotonic() + delayMs;
    this.#publishLater(announced, delayMs);
  }

  #publishLater(announced: Announced, delayMs: number): void {
    const { clock, onDue } = this.#parts;
    announced.cancelTimer();
    announced.cancelTimer = clock.after(delayMs, () => onDue(announced.kind, announced.id));
  }
}
