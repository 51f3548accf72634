import { isConnected } from '../model/devices.ts';

interface Flap {
  /** When the link was last read as up. */
  readonly upAt: number;
  /** When it was first read as down. */
  readonly downAt: number;
}

/**
 * Links that a single reading has found down: that may be a flap, and only the next reading decides. While none comes,
 * the link counts as up no longer than any other reading counts. Times are ms of the monotonic clock, of requests.
 */
export class LinkFlaps {
  readonly #flaps = new Map<string, Flap>();
  #staleBefore = -Number.MAX_VALUE;

  /** Records a device's link before and after a reading. */
  record(id: string, before: string | null, after: string | null, flap: Flap): void {
    if (isConnected(after) !== false) this.#flaps.delete(id);
    else if (isConnected(before)) this.#flaps.set(id, flap);
  }

  /** Records when a device was read last. Returns whether its link is now down by two readings. */
  settle(id: string, readAt: number): boolean {
    const flap = this.#flaps.get(id);
    return flap !== undefined && readAt > flap.downAt && this.#flaps.delete(id);
  }

  /** Notes that what was read before that time is too old; the ids of the flaps that have ended by that. */
  markStale(readBefore: number): string[] {
    this.#staleBefore = Math.max(this.#staleBefore, readBefore);
    return this.ids.filter((id) => !this.has(id) && this.#flaps.delete(id));
  }

  has(id: string): boolean {
    const flap = this.#flaps.get(id);
    return flap !== undefined && flap.upAt >= this.#staleBefore;
  }

  get ids(): string[] {
    return [...this.#flaps.keys()];
  }

  forget(id: string): void {
    this.#flaps.delete(id);
  }
}
