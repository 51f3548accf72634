import { idKey } from '../model/ids.ts';
import type { Signal } from '../model/records.ts';
import { type Reading, Table } from './table.ts';

/** A signal leaves its property after so many complete lists in a row without it. */
const maxMisses = 2;

/**
 * Which property each signal is in, by the lists of the properties' signals. If two properties list a signal, it is in the
 * one that began to list it later, so that it does not move with each poll.
 */
export class SignalLists {
  /** By property, the keys of its signals. The number counts the complete lists since that were without the signal. */
  readonly #lists = new Map<string, Map<string, number>>();
  /** The properties whose list was read completely, and when. */
  readonly #complete = new Table<object>();
  readonly #refused = new Set<string>();
  /** By the key of a signal, its property. */
  readonly #owners = new Map<string, string>();

  /** Stores the list of a property. Returns whether a signal has moved to another property, or to none. */
  set(propertyId: string, { records, isComplete, startedAt }: Reading<Pick<Signal, 'id'>>): boolean {
    const list = this.#listOf(propertyId);
    let hasMoved = false;
    const listed = new Set(records.map(({ id }) => idKey(id)));
    for (const id of listed) {
      const isNew = !list.has(id) || !this.#owners.has(id);
      list.set(id, 0);
      if (isNew && this.#setOwner(id, propertyId)) hasMoved = true;
    }
    if (!isComplete) return hasMoved;
    this.#complete.upsert(propertyId, {}, startedAt);
    for (const [id, misses] of list) {
      if (listed.has(id)) continue;
      list.set(id, misses + 1);
      const other = this.#lister(id);
      if (misses + 1 < maxMisses && other === null) continue;
      list.delete(id);
      if (this.#owners.get(id) === propertyId && this.#setOwner(id, other)) hasMoved = true;
    }
    return hasMoved;
  }

  /** Notes that the cloud does not show the list of a property. Returns whether that is new. */
  refuse(propertyId: string): boolean {
    const wasRefused = this.isRefused(propertyId);
    this.#refused.add(propertyId);
    return this.isRefused(propertyId) !== wasRefused;
  }

  /** Whether the cloud does not show the list of a property, and never has. */
  isRefused(propertyId: string): boolean {
    return this.#refused.has(propertyId) && !this.has(propertyId);
  }

  /** Puts the signals without a property into this one. They stay until its lists are without them. */
  adopt(propertyId: string, signalIds: readonly string[]): void {
    const list = this.#listOf(propertyId);
    for (const key of signalIds.map(idKey)) {
      if (this.#owners.has(key)) continue;
      this.#owners.set(key, propertyId);
      list.set(key, 0);
    }
  }

  /** Forgets a property. Returns the keys of the signals that were in it. */
  forget(propertyId: string): string[] {
    this.#lists.delete(propertyId);
    this.#complete.remove(propertyId);
    const left = [...this.#owners].flatMap(([id, owner]) => (owner === propertyId ? id : []));
    for (const id of left) this.#setOwner(id, this.#lister(id));
    return left;
  }

  /** The property that a signal is in; null while no list has it. */
  propertyOf(signalId: string): string | null {
    return this.#owners.get(idKey(signalId)) ?? null;
  }

  /** Whether the list of a property was once read completely. */
  has(propertyId: string): boolean {
    return this.#complete.has(propertyId);
  }

  /** Whether it was read completely, and not too long ago. */
  isFresh(propertyId: string): boolean {
    return this.has(propertyId) && !this.#complete.isStale(propertyId);
  }

  /** Whether it was read completely by requests that were sent since then, in ms of the monotonic clock. */
  isReadSince(propertyId: string, at: number): boolean {
    return (this.#complete.readAt(propertyId) ?? at) > at;
  }

  /** Whether it was read completely, and has no signal. */
  isEmpty(propertyId: string): boolean {
    return this.has(propertyId) && this.#lists.get(propertyId)?.size === 0;
  }

  /** Notes that lists which were read before that time are too old; the properties of which that is new. */
  markStale(readBefore: number): string[] {
    return this.#complete.markStale(readBefore);
  }

  #listOf(propertyId: string): Map<string, number> {
    const list = this.#lists.get(propertyId) ?? new Map<string, number>();
    this.#lists.set(propertyId, list);
    return list;
  }

  #setOwner(signalKey: string, propertyId: string | null): boolean {
    const before = this.#owners.get(signalKey) ?? null;
    if (propertyId === null) this.#owners.delete(signalKey);
    else this.#owners.set(signalKey, propertyId);
    return before !== propertyId;
  }

  /** A property whose last list had the signal; null without one. */
  #lister(signalKey: string): string | null {
    return [...this.#lists].find(([, list]) => list.get(signalKey) === 0)?.[0] ?? null;
  }
}
