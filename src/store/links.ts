import { isConnected, isLinkUp } from '../model/devices.ts';
import type { Property, Signal, Sonic } from '../model/records.ts';
import type { Change, ReadonlyTable } from './table.ts';

interface Flap {
  readonly upAt: number;
  /** When the link was first read as down after that. */
  readonly downAt: number;
}

/**
 * Links that only one reading has found down. One such reading may be a short flap, so the next reading decides. Until
 * it comes, the link still counts as up, but not after its last reading as up has become stale. Times are ms of the
 * monotonic clock, at which the requests were sent.
 */
export class LinkFlaps {
  readonly #flaps = new Map<string, Flap>();
  #staleBefore = -Number.MAX_VALUE;

  /** Records what a reading has changed; returns the ids of links that two readings have found down. */
  record(
    changes: readonly Change<Property | Signal | Sonic>[],
    table: ReadonlyTable<Signal> | ReadonlyTable<Sonic>,
  ): string[] {
    for (const { id, before, after } of changes) {
      const flap = { upAt: table.formerReadAt(id), downAt: table.readAt(id) ?? 0 };
      if (isConnected(linkOf(after)) !== false) this.#flaps.delete(id);
      else if (isLinkUp(linkOf(before))) this.#flaps.set(id, flap);
    }
    const isDown = (id: string, { downAt }: Flap) => (table.readAt(id) ?? 0) > downAt;
    return this.#end(isDown);
  }

  /** Marks readings from before that time as too old; returns the ids of the flaps that have ended because of that. */
  markStale(readBefore: number): string[] {
    this.#staleBefore = Math.max(this.#staleBefore, readBefore);
    return this.#end((id) => !this.has(id));
  }

  has(id: string): boolean {
    const flap = this.#flaps.get(id);
    return flap !== undefined && flap.upAt >= this.#staleBefore;
  }

  forget(id: string): void {
    this.#flaps.delete(id);
  }

  #end(hasEnded: (id: string, flap: Flap) => boolean): string[] {
    const ended = [...this.#flaps].filter(([id, flap]) => hasEnded(id, flap)).map(([id]) => id);
    for (const id of ended) this.#flaps.delete(id);
    return ended;
  }
}

/** The state of a device's own link. A property has none. */
function linkOf(record: Property | Signal | Sonic | undefined): string | null {
  if (!record) return null;
  if ('radio_connection' in record) return record.radio_connection;
  return 'cloud_connection' in record ? record.cloud_connection : null;
}
