import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';
import { kindLabels } from '../model/devices.ts';
import type { DeviceKey } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import { maxTopicsAtOnce, readRetained } from './retainedScan.ts';

/** What `LeftDevices` works with. */
interface LeftDevicesParts {
  readonly topics: Topics;
  readonly staleAfterMs: number;
  readonly connection: Connection;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Sets devices offline that belong to another bridge but that no bridge publishes. If several bridges share the
 * account, each owns the devices of its properties. A new owner replaces the messages of the old one. So if a device's
 * discovery message still names this bridge after `stale_after`, no bridge publishes the device.
 */
export class LeftDevices {
  readonly #parts: LeftDevicesParts;
  /** Devices of other bridges whose discovery message names this bridge, by the topic of that message. */
  readonly #devices = new Map<string, DeviceKey>();
  #isStopped = false;
  #cancelCheck: () => void = () => {};

  constructor(parts: LeftDevicesParts) {
    this.#parts = parts;
  }

  /** Checks this device, and all others that are waiting, after `stale_after`. */
  checkLater(device: DeviceKey): void {
    this.#devices.set(this.#parts.topics.discovery(device.kind, device.id), device);
    this.#checkLater();
  }

  /** Stops checking. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelCheck();
  }

  #checkLater(): void {
    if (this.#isStopped) return;
    const { clock, staleAfterMs } = this.#parts;
    this.#cancelCheck();
    this.#cancelCheck = clock.after(staleAfterMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const due = [...this.#devices];
    try {
      for (let start = 0; start < due.length; start += maxTopicsAtOnce) {
        await this.#setOffline(new Map(due.slice(start, start + maxTopicsAtOnce)));
      }
    } catch (error) {
      this.#parts.log.debug(`Looking for devices of other bridges: ${String(error)}`);
      this.#checkLater();
    }
  }

  async #setOffline(left: ReadonlyMap<string, DeviceKey>): Promise<void> {
    const { connection, topics, store, log } = this.#parts;
    const naming = new Set<string>();
    await readRetained(connection, [...left.keys()], (topic, payload) => {
      if (readDiscovery(payload)?.stateTopic === topics.bridge('state')) naming.add(topic);
    });
    for (const [topic, { kind, id }] of left) {
      this.#devices.delete(topic);
      if (kind === 'property' || !naming.has(topic) || store.view(kind, id)) continue;
      await connection.publish(topics.below(kind, id, 'availability'), 'offline', { retain: true });
      log.warn(
        `${kindLabels[kind]} ${id} belongs to another bridge that does not publish it. The device is now unavailable`,
      );
    }
  }
}
