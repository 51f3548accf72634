import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Mirror } from '../broker/mirror.ts';
import type { Announcers } from '../health/announcers.ts';
import { type DiscoveryPlan, viewId, withWithdrawn } from '../homeassistant/discovery.ts';
import type { DeviceKind, DeviceView } from '../model/devices.ts';

interface DiscoveryEvents {
  /** The message of this device can be published now. */
  readonly due: [device: Announcing];
}

/** A device that has a discovery message. */
interface Announcing {
  readonly kind: DeviceKind;
  /** Empty for the bridge. */
  readonly id: string;
}

/** What Home Assistant knows of a device. */
interface Announced {
  /** The device that this run has announced; null if it has not yet. It tells a hub from a valve with the same id. */
  device: Announcing | null;
  /**
   * The ids of all components that Home Assistant may have. A removed component stays here until the broker has
   * accepted the message that removes it.
   */
  componentIds: readonly string[];
  /** The fingerprint of the last message; null if there was none, or if the last message removes entities. */
  fingerprint: string | null;
  /** When the broker answered the last message, in ms of the monotonic clock; null until then. */
  at: number | null;
  /** Cancels the delayed message. */
  cancelDelay: (() => void) | null;
}

/**
 * The shortest time between two different discovery messages of a device, in ms. If the second one comes sooner, Home
 * Assistant loses a part of it.
 */
const spacingMs = 2_500;

/**
 * Publishes the discovery messages of devices. If another device or another bridge uses the topic, the message waits
 * until the topic is free. Otherwise the two would replace each other's messages, and each would lose its entities in
 * turn. Two messages remove an entity that a device no longer has: the first removes the entity, the second no longer
 * contains it.
 */
export class DiscoveryMessages extends EventEmitter<DiscoveryEvents> {
  readonly #mirror: Mirror;
  readonly #announcers: Announcers;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By the topic of the discovery message. */
  readonly #announced = new Map<string, Announced>();
  /** By topic: devices whose topic is taken by another device or another bridge. */
  readonly #waiting = new Map<string, Announcing>();
  #homeAssistantStartedAt = Number.NEGATIVE_INFINITY;

  constructor(mirror: Mirror, announcers: Announcers, clock: Clock, log: Log) {
    super();
    this.#mirror = mirror;
    this.#announcers = announcers;
    announcers
      .on('changed', () => this.#yieldOrReturn())
      .on('own', (topic, componentIds) => this.#found(topic, componentIds));
    this.#clock = clock;
    this.#log = log;
  }

  /** Home Assistant has started, and receives all devices again. */
  homeAssistantStarted(): void {
    this.#homeAssistantStartedAt = this.#clock.monotonic();
  }

  /** Whether Home Assistant may have entities of the device. */
  hasEntities(topic: string): boolean {
    return (this.#announced.get(topic)?.componentIds.length ?? 0) > 0;
  }

  /**
   * When Home Assistant last received the message, in ms of the monotonic clock: when it was published, or when Home
   * Assistant started. Null until the broker has the message; minus infinity if another bridge publishes it.
   */
  announcedAt(topic: string): number | null {
    if (this.#announcers.isLeft(topic)) return Number.NEGATIVE_INFINITY;
    const { at = null } = this.#announced.get(topic) ?? {};
    return at === null ? null : Math.max(at, this.#homeAssistantStartedAt);
  }

  /**
   * Publishes the message if it differs from the last one. If that would be too soon for Home Assistant, publishes it
   * later.
   */
  publish({ topic, fingerprint, write }: DiscoveryPlan, view: DeviceView): void {
    const isElsewhere = this.#announcers.isLeft(topic);
    const known = this.#announced.get(topic);
    const device = { kind: view.kind, id: viewId(view) };
    if (isElsewhere || (known?.device && known.device.kind !== view.kind)) {
      this.#waiting.set(topic, device);
      return;
    }
    if (known?.fingerprint === fingerprint && this.#mirror.isKnown(topic)) return;
    const { componentIds, text } = write();
    const gone = known?.componentIds.filter((id) => !componentIds.includes(id)) ?? [];
    const payload = withWithdrawn(text, gone);
    if (this.#mirror.has(topic, payload)) return;
    const now = this.#clock.monotonic();
    const waitMs = (known?.at ?? now) + spacingMs - now;
    if (known && waitMs > 0 && this.#mirror.isKnown(topic)) {
      this.#publishLater(known, device, waitMs);
      return;
    }
    const announced = known ?? { device: null, componentIds, fingerprint: null, at: null, cancelDelay: null };
    announced.device = device;
    announced.componentIds = [...componentIds, ...gone];
    announced.fingerprint = gone.length === 0 ? fingerprint : null;
    announced.at = null;
    this.#announced.set(topic, announced);
    this.#announcers.taken(topic);
    this.#mirror.want(topic, payload, (isTaken) => {
      announced.at = this.#clock.monotonic();
      // The device may have been forgotten in the meantime.
      if (!isTaken || gone.length === 0 || this.#announced.get(topic) !== announced) return;
      this.#log.info({ device: device.id, topic }, `Home Assistant: removing entities: ${gone.join(', ')}`);
      announced.componentIds = componentIds;
      this.#publishLater(announced, device, spacingMs);
    });
  }

  /** Forgets a device of that kind. Returns whether the message at the topic belongs to this device. */
  forget(topic: string, kind: DeviceKind): boolean {
    if (this.#waiting.get(topic)?.kind === kind) this.#waiting.delete(topic);
    const known = this.#announced.get(topic);
    if (this.#announcers.isForeign(topic) || (known?.device?.kind ?? kind) !== kind) return false;
    this.#drop(topic);
    this.#retry(topic);
    return true;
  }

  /** Cancels all delayed messages. */
  stop(): void {
    for (const { cancelDelay } of this.#announced.values()) cancelDelay?.();
  }

  /**
   * Leaves devices that another bridge announces to it, and publishes devices that the other bridge no longer
   * announces.
   */
  #yieldOrReturn(): void {
    for (const [topic, { device }] of this.#announced) {
      if (!this.#announcers.isLeft(topic)) continue;
      this.#drop(topic);
      this.#mirror.release(topic);
      if (device === null) continue;
      this.#waiting.set(topic, device);
    }
    for (const topic of this.#waiting.keys()) {
      if (!this.#announcers.isLeft(topic) && !this.#announced.has(topic)) this.#retry(topic);
    }
  }

  /** Records the message of an earlier run, so that its outdated entities are removed. */
  #found(topic: string, componentIds: readonly string[]): void {
    if (this.#announced.has(topic)) return;
    this.#mirror.found(topic);
    this.#announced.set(topic, {
      device: null,
      componentIds,
      fingerprint: null,
      at: null,
      cancelDelay: null,
    });
  }

  #retry(topic: string): void {
    const device = this.#waiting.get(topic);
    if (this.#waiting.delete(topic) && device) this.emit('due', device);
  }

  #drop(topic: string): void {
    this.#announced.get(topic)?.cancelDelay?.();
    this.#announced.delete(topic);
  }

  #publishLater(announced: Announced, device: Announcing, delayMs: number): void {
    announced.cancelDelay ??= this.#clock.after(delayMs, () => {
      announced.cancelDelay = null;
      this.emit('due', device);
    });
  }
}
