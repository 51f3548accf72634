import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import { deviceTopics } from '../homeassistant/plan.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';
import { isOurs, type Shard } from '../model/shard.ts';
import type { Store } from '../store/store.ts';
import { type DeviceKey, propertyNamedIn } from './inventory.ts';

export interface HandoverOptions {
  readonly store: Store;
  readonly connection: Connection;
  readonly topics: Topics;
  readonly shard: Shard;
  /** How long another bridge may take to show what it has got, in ms. */
  readonly patienceMs: number;
  /** Reads what the broker keeps; rejects while that cannot be read. */
  readonly read: (
    filters: readonly string[],
    found: (topic: string, payload: string) => void,
  ) => Promise<unknown>;
  /** These retained messages are of something that no bridge will show. */
  readonly stale: (topics: readonly string[]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** A reading of thousands at once would be a burden to the broker. */
const mostAtOnce = 20;

/** What could not be read is read a while later. */
const tryAgainMs = 10_000;

/**
 * What becomes of devices that this bridge has shown and that are another bridge's now. That one shows them as soon as
 * it knows; what nobody has taken over in time must not pass for the present, and is not deleted either.
 */
export class Handover {
  readonly #options: HandoverOptions;
  /** By topic, with when it is time to look, in ms of the monotonic clock. */
  readonly #left = new Map<string, DeviceKey & { readonly dueAt: number }>();
  #cancelTimer: (() => void) | null = null;
  #isStopped = false;

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** Notes a device that this bridge shows no more. */
  leave({ kind, id }: DeviceKey): void {
    const topic = this.#options.topics.device(kind, id);
    if (this.#left.has(topic)) return;
    const { patienceMs } = this.#options;
    this.#left.set(topic, { kind, id, dueAt: this.#options.clock.monotonic() + patienceMs });
    this.#lookIn(patienceMs);
  }

  /** Looks at nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }

  #lookIn(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelTimer ??= this.#options.clock.after(delayMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const due = [...this.#left.values()].filter(({ dueAt }) => dueAt <= now);
    // Only once all was read it is known whose it is.
    let isDone = this.#options.store.isWhole;
    try {
      for (let start = 0; isDone && start < due.length; start += mostAtOnce) {
        await this.#lookAt(due.slice(start, start + mostAtOnce));
      }
    } catch (error) {
      isDone = false;
      this.#options.log.debug(`Looking at what was left to other bridges: ${String(error)}`);
    }
    this.#cancelTimer = null;
    const [soonest] = [...this.#left.values()]
      .map(({ dueAt }) => dueAt)
      .toSorted((one, other) => one - other);
    if (soonest === undefined) return;
    this.#lookIn(isDone ? Math.max(1, soonest - this.#options.clock.monotonic()) : tryAgainMs);
  }

  async #lookAt(devices: readonly DeviceKey[]): Promise<void> {
    const kept = new Map<string, string>();
    await this.#options.read(
      devices.flatMap((device) => this.#topicsOf(device)),
      (topic, payload) => kept.set(topic, payload),
    );
    for (const device of devices) {
      const { kind, id } = device;
      this.#left.delete(this.#options.topics.device(kind, id));
      if (this.#options.store.view(kind, id) || this.#isTakenOver(device, kept)) continue;
      if (this.#options.store.isLeftToOthers(kind, id)) await this.#giveUp(device, kept);
      else if (this.#isOurs(device, kept)) {
        this.#options.stale(this.#topicsOf(device).filter((topic) => kept.has(topic)));
      }
    }
  }

  /** The discovery message first, as for every deletion. */
  #topicsOf({ kind, id }: DeviceKey): string[] {
    const { topics } = this.#options;
    return [topics.discovery(kind, id), ...deviceTopics(kind, id, topics)];
  }

  #isTakenOver(device: DeviceKey, kept: ReadonlyMap<string, string>): boolean {
    const { topics } = this.#options;
    const discovery = kept.get(topics.discovery(device.kind, device.id));
    const maker = discovery === undefined ? null : readDiscovery(topics, discovery)?.maker;
    return maker ? maker !== topics.bridgeName : !this.#isOurs(device, kept);
  }

  #isOurs({ kind, id }: DeviceKey, kept: ReadonlyMap<string, string>): boolean {
    const record = kept.get(this.#options.topics.device(kind, id));
    const home = kind === 'property' || record === undefined ? null : propertyNamedIn(record);
    return isOurs(home ?? id, this.#options.shard);
  }

  /**
   * Nobody shows it. Home Assistant is told to ask the bridge whose it is whether it is there; for everybody else it
   * is not reachable.
   */
  async #giveUp({ kind, id }: DeviceKey, kept: ReadonlyMap<string, string>): Promise<void> {
    const { topics } = this.#options;
    const owner = this.#options.store.topology.bridgeFor(kind, id);
    const discovery = kept.get(topics.discovery(kind, id));
    if (discovery !== undefined && owner !== topics.bridgeName) {
      const payload = discovery
        .replaceAll(`"${topics.bridge('')}`, `"${topics.ofBridge(owner, '')}`)
        .replaceAll(`"${topics.identifier('bridge', '')}"`, `"sonic2mqtt_${owner}"`);
      await this.#options.connection.publish(topics.discovery(kind, id), payload, { retain: true });
    }
    const availability = topics.below(kind, id, 'availability');
    if (kept.has(availability))
      await this.#options.connection.publish(availability, 'offline', { retain: true });
    this.#options.log.warn(
      owner === topics.bridgeName
        ? `${kind} ${id} is in no property that is known: it is shown as unavailable`
        : `${kind} ${id} belongs to ${owner} now, which does not show it: it is shown as unavailable`,
    );
  }
}
