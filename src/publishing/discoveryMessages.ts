import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Retained } from '../broker/retained.ts';
import { type Discovery, viewId, withWithdrawn } from '../homeassistant/discovery.ts';
import type { DeviceView } from '../model/devices.ts';

interface DiscoveryEvents {
  /** The device's message may be published now. */
  readonly due: [view: DeviceView];
}

/** What Home Assistant knows of a device. */
interface Announced {
  /** The component ids that it may have. A removed one counts until the broker has the message that removes it. */
  componentIds: readonly string[];
  /** When the broker answered the last message, in ms of the monotonic clock; null until then. */
  at: number | null;
  /** Cancels the message that waits. */
  cancelDelay: (() => void) | null;
}

/** Home Assistant loses a part of a second, different discovery message that follows a first one too soon. */
const spacingMs = 2_500;

/**
 * Publishes the discovery messages of devices. An entity that a device no longer has is removed by a first message, and
 * left out in a second one.
 */
export class DiscoveryMessages extends EventEmitter<DiscoveryEvents> {
  readonly #retained: Retained;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By the topic of the message. */
  readonly #announced = new Map<string, Announced>();
  #homeAssistantStartedAt = Number.NEGATIVE_INFINITY;

  constructor(retained: Retained, clock: Clock, log: Log) {
    super();
    this.#retained = retained;
    this.#clock = clock;
    this.#log = log;
  }

  /** Records a message found on the broker, so that entities which no longer exist are removed. */
  found(topic: string, componentIds: readonly string[]): void {
    this.#retained.found(topic);
    if (!this.#announced.has(topic)) {
      this.#announced.set(topic, { componentIds, at: null, cancelDelay: null });
    }
  }

  /** Home Assistant has started, and gets all devices again. */
  homeAssistantStarted(): void {
    this.#homeAssistantStartedAt = this.#clock.monotonic();
  }

  /** Whether Home Assistant may have entities of the device. */
  hasEntities(topic: string): boolean {
    return (this.#announced.get(topic)?.componentIds.length ?? 0) > 0;
  }

  /**
   * When Home Assistant last received the message, in ms of the monotonic clock: when it was published or when Home
   * Assistant started. Null until the broker has the message.
   */
  announcedAt(topic: string): number | null {
    const { at = null } = this.#announced.get(topic) ?? {};
    return at === null ? null : Math.max(at, this.#homeAssistantStartedAt);
  }

  /** Publishes the message if it differs from the last one, now or once Home Assistant does not lose it. */
  publish(topic: string, message: Discovery, view: DeviceView): void {
    const known = this.#announced.get(topic);
    const componentIds = Object.keys(message.components);
    const gone = known?.componentIds.filter((id) => !(id in message.components)) ?? [];
    const payload = JSON.stringify(withWithdrawn(message, gone));
    if (this.#retained.has(topic, payload)) return;
    const now = this.#clock.monotonic();
    const waitMs = (known?.at ?? now) + spacingMs - now;
    if (known && waitMs > 0 && this.#retained.isKnown(topic)) {
      this.#publishLater(known, view, waitMs);
      return;
    }
    const announced = known ?? { componentIds, at: null, cancelDelay: null };
    announced.componentIds = [...componentIds, ...gone];
    announced.at = null;
    this.#announced.set(topic, announced);
    this.#retained.put(topic, payload, (isTaken) => {
      announced.at = this.#clock.monotonic();
      // The device may have gone meanwhile.
      if (!isTaken || gone.length === 0 || this.#announced.get(topic) !== announced) return;
      this.#log.info(
        { device: viewId(view), topic },
        `Home Assistant: removing entities: ${gone.join(', ')}`,
      );
      announced.componentIds = componentIds;
      this.#publishLater(announced, view, spacingMs);
    });
  }

  /** Forgets a device. */
  forget(topic: string): void {
    this.#announced.get(topic)?.cancelDelay?.();
    this.#announced.delete(topic);
  }

  /** Publishes nothing later any more. */
  stop(): void {
    for (const { cancelDelay } of this.#announced.values()) cancelDelay?.();
  }

  #publishLater(announced: Announced, view: DeviceView, delayMs: number): void {
    announced.cancelDelay ??= this.#clock.after(delayMs, () => {
      announced.cancelDelay = null;
      this.emit('due', view);
    });
  }
}
