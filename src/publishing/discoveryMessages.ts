import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Mirror } from '../broker/mirror.ts';
import type { Announcers } from '../health/announcers.ts';
import { type DiscoveryPlan, viewId, withWithdrawn } from '../homeassistant/discovery.ts';
import type { DeviceKind, DeviceView } from '../model/devices.ts';

interface Announcing {
  readonly kind: DeviceKind;
  /** Empty for the bridge. */
  readonly id: string;
}

interface Announced {
  /** The device that this run has announced; null if it has not yet. It tells a hub from a valve with the same id. */
  device: Announcing | null;
  /** A removed one stays until the broker has accepted the message that removes it. */
  componentIds: readonly string[];
  /** The fingerprint of the last message; null if there was none, or if the last message removes entities. */
  fingerprint: string | null;
  /** When the broker answered the last message, in ms of the monotonic clock; null until then. */
  at: number | null;
  cancelDelay: (() => void) | null;
}

/** In ms. If two different messages of a device come sooner, Home Assistant loses a part of the second. */
const spacingMs = 2_500;

/**
 * Publishes the discovery messages of devices. If another device or another bridge uses the topic, the message waits
 * until the topic is free. Otherwise the two would replace each other's messages, and each would lose its entities in
 * turn. Two messages remove an entity that a device no longer has: the first removes the entity, the second no longer
 * contains it.
 */
export class DiscoveryMessages {
  readonly #mirror: Mirror;
  readonly #announcers: Announcers;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Is called when the message of a device that had to wait can be published. */
  readonly #onDue: (kind: DeviceKind, id: string) => void;
  readonly #announced = new Map<string, Announced>();
  /** By topic: devices whose topic is taken by another device or another bridge. */
  readonly #waiting = new Map<string, Announcing>();
  #homeAssistantStartedAt = Number.NEGATIVE_INFINITY;

  constructor(
    mirror: Mirror,
    announcers: Announcers,
    clock: Clock,
    log: Log,
    onDue: (kind: DeviceKind, id: string) => void,
  ) {
    this.#mirror = mirror;
    this.#announcers = announcers;
    announcers
      .on('changed', () => this.#yieldOrReturn())
      .on('own', (topic, componentIds) => this.#found(topic, componentIds));
    this.#clock = clock;
    this.#log = log;
    this.#onDue = onDue;
  }

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

  /** Later, if now would be too soon for Home Assistant. */
  publish({ topic, fingerprint, componentIds, write }: DiscoveryPlan, view: DeviceView): void {
    const isElsewhere = this.#announcers.isLeft(topic);
    const known = this.#announced.get(topic);
    const device = { kind: view.kind, id: viewId(view) };
    if (isElsewhere || (known?.device && known.device.kind !== view.kind)) {
      this.#waiting.set(topic, device);
      return;
    }
    if (known?.fingerprint === fingerprint && this.#mirror.isKnown(topic)) return;
    const before = known && known.componentIds !== componentIds ? known.componentIds : [];
    const gone = before.filter((id) => !componentIds.includes(id));
    const payload = withWithdrawn(write(), gone);
    if (this.#mirror.has(topic, payload)) return;
    const now = this.#clock.monotonic();
    const waitMs = (known?.at ?? now) + spacingMs - now;
    if (known && waitMs > 0 && this.#mirror.isKnown(topic)) {
      this.#publishLater(known, device, waitMs);
      return;
    }
    const announced = known ?? { device: null, componentIds, fingerprint: null, at: null, cancelDelay: null };
    announced.device = device;
    announced.componentIds = gone.length === 0 ? componentIds : [...componentIds, ...gone];
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

  stop(): void {
    for (const { cancelDelay } of this.#announced.values()) cancelDelay?.();
  }

  /** Leaves devices to another bridge that announces them, and takes them back once it no longer does. */
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
    if (this.#waiting.delete(topic) && device) this.#onDue(device.kind, device.id);
  }

  #drop(topic: string): void {
    this.#announced.get(topic)?.cancelDelay?.();
    this.#announced.delete(topic);
  }

  #publishLater(announced: Announced, device: Announcing, delayMs: number): void {
    announced.cancelDelay ??= this.#clock.after(delayMs, () => {
      announced.cancelDelay = null;
      this.#onDue(device.kind, device.id);
    });
  }
}
