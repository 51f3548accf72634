import { isDeepStrictEqual } from 'node:util';
import { idKey } from '../model/ids.ts';

/** What a reading of a list brought. */
export interface Reading<T> {
  readonly records: readonly T[];
  /** Whether every record that the cloud has was read; only such a reading removes anything. */
  readonly isComplete: boolean;
  /** When its first request was sent, in ms of the monotonic clock. */
  readonly startedAt: number;
}

/** A record before and after a reading. Undefined means absent. The same record twice means that it is no longer stale. */
export interface Change<T> {
  readonly id: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** Times are ms of the monotonic clock. */
interface Entry<T> {
  /** As it was spelled first. */
  readonly id: string;
  record: T;
  /** When the request was sent that read it last; minus infinity for what only an earlier run has read. */
  readAt: number;
  /** When the record was last read as it was before it became what it is now; minus infinity for one that is new. */
  formerReadAt: number;
  /** How many complete lists in a row were without it. */
  misses: number;
}

/**
 * The records of one kind. The reading that was sent later wins, even if the other one arrives after it. A reading without
 * a change keeps the same object, so that nothing is planned again. A record is stale if it was read before the time that
 * `markStale` was last given. That time stands still while the cloud is unreachable: an outage changes no value. Upper and
 * lower case in an id mean the same, and a record keeps its first spelling.
 */
export class Table<T extends object | null> {
  readonly #maxMisses: number;
  /** By the key of the id, as is all that follows. */
  readonly #entries = new Map<string, Entry<T>>();
  /** When the cloud last answered a change of a record, be the record here or not: what was read before knows less. */
  readonly #changedAt = new Map<string, number>();
  #completeAt: number | null = null;
  /** What was read before that time is stale; from the start on, what this run has not read at all. */
  #staleBefore = -Number.MAX_VALUE;

  /** A record that so many complete lists in a row are without is gone. */
  constructor(maxMisses = 2) {
    this.#maxMisses = maxMisses;
  }

  /** Stores a record that was requested at that time. Null if nothing has changed, or a newer reading is known. */
  upsert(id: string, record: T, readAt: number): Change<T> | null {
    const entry = this.#entries.get(idKey(id));
    if (this.isOlder(id, readAt)) return null;
    if (!entry) {
      this.#entries.set(idKey(id), { id, record, readAt, formerReadAt: Number.NEGATIVE_INFINITY, misses: 0 });
      return { id, before: undefined, after: record };
    }
    const { record: before, readAt: formerReadAt } = entry;
    const wasStale = this.isStale(id);
    entry.readAt = readAt;
    entry.misses = 0;
    const spelled = id !== entry.id && record && 'id' in record ? { ...record, id: entry.id } : record;
    if (!isSame(before, spelled)) Object.assign(entry, { record: spelled, formerReadAt });
    return entry.record === before && this.isStale(id) === wasStale
      ? null
      : { id: entry.id, before, after: entry.record };
  }

  /** Stores a list. A record that complete lists miss is removed. */
  replaceAll<Listed extends T & { readonly id: string }>(reading: Reading<Listed>): Change<T>[] {
    const { records, isComplete, startedAt } = reading;
    const changes: Change<T>[] = [];
    for (const record of records) {
      const change = this.upsert(record.id, record, startedAt);
      if (change) changes.push(change);
    }
    if (!isComplete) return changes;
    this.#completeAt = startedAt;
    const listed = new Set(records.map(({ id }) => idKey(id)));
    for (const [key, entry] of this.#entries) {
      const { id } = entry;
      if (listed.has(key)) entry.misses = 0;
      else if (!this.isOlder(id, startedAt)) changes.push(...this.miss(id));
    }
    for (const [key, at] of this.#changedAt) if (at <= startedAt) this.#changedAt.delete(key);
    return changes;
  }

  /** Notes that the cloud did not have the record; it is removed once that was so often enough. */
  miss(id: string): Change<T>[] {
    const entry = this.#entries.get(idKey(id));
    if (!entry) return [];
    entry.misses += 1;
    return entry.misses < this.#maxMisses ? [] : this.remove(id);
  }

  /** Stores the answer to a change, received at that time. Fields that the answer lacks stay. */
  change(id: string, answer: object, heardAt: number): Change<T> | null {
    this.#changedAt.set(idKey(id), heardAt);
    const entry = this.#entries.get(idKey(id));
    if (!entry?.record) return null;
    const { record: before } = entry;
    const sent = Object.entries(answer).filter(([field, value]) => field !== 'id' && value !== null);
    const after = { ...before, ...Object.fromEntries(sent) };
    if (isSame(before, after)) return null;
    Object.assign(entry, { record: after, formerReadAt: entry.readAt });
    return { id: entry.id, before, after };
  }

  /** Removes a record that is gone. */
  remove(id: string): Change<T>[] {
    const entry = this.#entries.get(idKey(id));
    this.#entries.delete(idKey(id));
    return entry ? [{ id: entry.id, before: entry.record, after: undefined }] : [];
  }

  /** Notes that what was read before that time is too old; the ids of those that are stale from now on. */
  markStale(readBefore: number): string[] {
    const before = this.#staleBefore;
    if (readBefore <= before) return [];
    this.#staleBefore = readBefore;
    return [...this.#entries.values()]
      .filter(({ readAt }) => readAt >= before && readAt < readBefore)
      .map(({ id }) => id);
  }

  get(id: string | null): T | undefined {
    return id === null ? undefined : this.#entries.get(idKey(id))?.record;
  }

  has(id: string | null): boolean {
    return id !== null && this.#entries.has(idKey(id));
  }

  /** The id as its record spells it; the given one where there is none. */
  idOf(id: string): string {
    return this.#entries.get(idKey(id))?.id ?? id;
  }

  /** When the request was sent that read the record last, in ms of the monotonic clock. */
  readAt(id: string): number | undefined {
    return this.#entries.get(idKey(id))?.readAt;
  }

  /** When the record was last read as it was before its last change, in ms of the monotonic clock. */
  formerReadAt(id: string): number {
    return this.#entries.get(idKey(id))?.formerReadAt ?? Number.NEGATIVE_INFINITY;
  }

  /** Whether a reading that was sent at that time knows less of the record than is known already. */
  isOlder(id: string, sentAt: number): boolean {
    const never = Number.NEGATIVE_INFINITY;
    return sentAt < Math.max(this.readAt(id) ?? never, this.#changedAt.get(idKey(id)) ?? never);
  }

  /** Whether the record was read so long ago that it is no present state. */
  isStale(id: string): boolean {
    const entry = this.#entries.get(idKey(id));
    return entry !== undefined && entry.readAt < this.#staleBefore;
  }

  get ids(): string[] {
    return [...this.#entries.values()].map(({ id }) => id);
  }

  get records(): T[] {
    return [...this.#entries.values()].map(({ record }) => record);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether the list was once read completely, so that what is not here is not in the cloud. */
  get isComplete(): boolean {
    return this.#completeAt !== null;
  }

  /** Whether it was read completely by requests that were sent since then. */
  isReadSince(at: number): boolean {
    return this.#completeAt !== null && this.#completeAt >= at;
  }

  /** Whether it was read completely, and not too long ago. */
  get isListFresh(): boolean {
    return this.isReadSince(this.#staleBefore);
  }
}

/** A table as all but the store see it. */
export type ReadonlyTable<T extends object> = Omit<
  Table<T>,
  'upsert' | 'replaceAll' | 'miss' | 'change' | 'remove' | 'markStale'
>;

function isSame(before: object | null, after: object | null): boolean {
  return before === after || isDeepStrictEqual(before, after);
}
