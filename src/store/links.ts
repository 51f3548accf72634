import { isConnected } from '../model/devices.ts';

/**
 * Links that a single reading has found down: that may be a flap, and only the next reading decides. Times are ms of the
 * monotonic clock.
 */
export class LinkFlaps {
  readonly #flaps = new Map<string, number>();

  /** Records a device's link before and after a reading that was sent at that time. */
  record(id: string, before: string | null, after: string | null, readAt: number): void {
    if (isConnected(after) !== false) this.#flaps.delete(id);
    else if (isConnected(before)) this.#flaps.set(id, readAt);
  }

  /** Records when a device was read last. Returns whether its link is now down by two readings. */
  settle(id: string, readAt: number): boolean {
    const flapAt = this.#flaps.get(id);
    return flapAt !== undefined && readAt > flapAt && this.#flaps.delete(id);
  }

  has(id: string): boolean {
    return this.#flaps.has(id);
  }

  get ids(): string[] {
    return [...this.#flaps.keys()];
  }

  forget(id: string): void {
    this.#flaps.delete(id);
  }
}
