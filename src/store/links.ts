import { isConnected } from '../model/devices.ts';

/**
 * Links that a single reading has found down: that may be a flap, and only the next reading decides. Times are ms of the
 * monotonic clock.
 */
export class LinkFlaps {
  readonly #flaps = new Map<string, number>();

  /** Takes in what a reading that was sent at that time says of a device's link, and what was known of it before. */
  record(id: string, before: string | null, after: string | null, readAt: number): void {
    if (isConnected(after) !== false) this.#flaps.delete(id);
    else if (isConnected(before)) this.#flaps.set(id, readAt);
  }

  /** Takes in when a device was read last; says whether its link is down by two readings since then. */
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
