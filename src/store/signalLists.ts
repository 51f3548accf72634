import { IdMap } from '../model/ids.ts';
import type { Signal } from '../model/records.ts';
import type { Reading } from './table.ts';

/** A signal leaves its property after so many complete lists in a row without it. */
const maxMisses = 2;

interface SignalList {
  readonly propertyId: string;
  /** Since when the lists have had each signal, and how many complete lists since were without it. */
  readonly signals: ReadonlyMap<string, { readonly since: number; readonly misses: number }>;
  /** When the last complete list was requested, in ms of the monotonic clock; null if none was read. */
  readonly completeAt: number | null;
}

export class SignalLists {
  readonly #lists = new IdMap<SignalList>();
  readonly #refused = new IdMap<true>();
  #staleBefore = -Number.MAX_VALUE;

  set(propertyId: string, { records, isComplete, startedAt }: Reading<Pick<Signal, 'id'>>): void {
    const before = this.#lists.get(propertyId);
    const signals = new IdMap<{ since: number; misses: number }>();
    for (const { id } of records) {
      const known = before?.signals.get(id);
      signals.set(id, { since: known?.misses === 0 ? known.since : startedAt, misses: 0 });
    }
    for (const [id, { since, misses: formerly }] of before?.signals ?? []) {
      if (signals.has(id)) continue;
      const misses = formerly + (isComplete ? 1 : 0);
      if (misses < maxMisses) signals.set(id, { since, misses });
    }
    const completeAt = isComplete ? startedAt : (before?.completeAt ?? null);
    this.#lists.set(propertyId, { propertyId, signals, completeAt });
  }

  refuse(propertyId: string): void {
    this.#refused.set(propertyId, true);
  }

  /** By signal, the property that began to list it last, so that it does not move with each poll. */
  owners(): ReadonlyMap<string, string> {
    const found = new IdMap<{ propertyId: string; since: number; misses: number }>();
    for (const { propertyId, signals } of this.#lists.values()) {
      for (const [id, { since, misses }] of signals) {
        const other = found.get(id);
        const isBetter = !other || misses < other.misses || (misses === other.misses && since >= other.since);
        if (isBetter) found.set(id, { propertyId, since, misses });
      }
    }
    return new IdMap([...found].map(([id, { propertyId }]) => [id, propertyId]));
  }

  /** Whether the hubs of the property were read, or could not be read, in this run. */
  isAsked(propertyId: string): boolean {
    return this.#lists.has(propertyId) || this.#refused.has(propertyId);
  }

  /** When the list of a property was last read completely; null if it never was. */
  completeAt(propertyId: string): number | null {
    return this.#lists.get(propertyId)?.completeAt ?? null;
  }

  /** Whether the cloud does not show the list of a property, and never has. */
  isRefused(propertyId: string): boolean {
    return this.#refused.has(propertyId) && this.completeAt(propertyId) === null;
  }

  /** Whether it was read completely, and not too long ago. */
  isFresh(propertyId: string): boolean {
    const at = this.completeAt(propertyId);
    return at !== null && at >= this.#staleBefore;
  }

  isEmpty(propertyId: string): boolean {
    return this.completeAt(propertyId) !== null && this.#lists.get(propertyId)?.signals.size === 0;
  }

  /** Lists that were read before that time are too old. Returns whether this makes one too old. */
  markStale(readBefore: number): boolean {
    const from = this.#staleBefore;
    this.#staleBefore = Math.max(from, readBefore);
    const times = [...this.#lists.values()].map(({ completeAt }) => completeAt ?? Number.NEGATIVE_INFINITY);
    return times.some((at) => at >= from && at < readBefore);
  }
}

export type ReadonlySignalLists = Omit<SignalLists, 'set' | 'refuse' | 'markStale'>;
