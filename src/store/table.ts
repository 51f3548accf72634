import { isDeepStrictEqual } from 'node:util';
import { IdMap } from '../model/ids.ts';

export interface Reading<T> {
  readonly records: readonly T[];
  /** Whether every record that the cloud has was read. Only a complete reading can remove a record. */
  readonly isComplete: boolean;
  /** When the first request of the reading was sent, in ms of the monotonic clock. */
  readonly startedAt: number;
}

/** Undefined means that the record is absent. If both are the same, it was stale before. */
export interface Change<T> {
  readonly id: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** A record and its times, in ms of the monotonic clock. */
interface Entry<T> {
  /** The id with the upper and lower case in which it was first read. */
  readonly id: string;
  record: T;
  /** The record before the last change; undefined if it has not changed yet. */
  former: T | undefined;
  /** When the request was sent that first read the record as it is. */
  changedAt: number;
  /** When the last request that read it was sent; minus infinity if only an earlier run has read it. */
  readAt: number;
  /** When the record before the last change was last read; minus infinity if the record has not changed yet. */
  formerReadAt: number;
  /** How many complete lists in a row did not have it. */
  misses: number;
}

/**
 * The records of one kind. Of two readings, the one that was sent later wins, even if the other one arrives after it.
 * If a reading changes nothing, the table keeps the same object, so that nothing is planned again. A record is stale if
 * it was read before the time that was last passed to `markStale`. That time stands still while the cloud is
 * unreachable, because an outage changes no value. Ids are compared without regard to case, and a record keeps its
 * first spelling.
 */
export class Table<T extends object | null> {
  readonly #maxMisses: number;
  readonly #entries = new IdMap<Entry<T>>();
  /** When the cloud last answered a change, also of an absent record. A reading from before does not know the change. */
  readonly #changedAt = new IdMap<number>();
  #completeAt: number | null = null;
  /** Records read before that time are stale. At the start, only records that this run has not read at all. */
  #staleBefore = -Number.MAX_VALUE;

  /** A record is gone if this many complete lists in a row do not have it. */
  constructor(maxMisses = 2) {
    this.#maxMisses = maxMisses;
  }

  /** Stores a record that was requested at `readAt`. Returns null if nothing has changed, or a newer reading is known. */
  upsert(id: string, record: T, readAt: number): Change<T> | null {
    const entry = this.#entries.get(id);
    if (this.isOlder(id, readAt)) return null;
    if (!entry) {
      const nothing = { former: undefined, formerReadAt: Number.NEGATIVE_INFINITY, misses: 0 };
      this.#entries.set(id, { id, record, readAt, changedAt: readAt, ...nothing });
      return { id, before: undefined, after: record };
    }
    const { record: before, readAt: formerReadAt } = entry;
    const wasStale = this.isStale(id);
    entry.readAt = readAt;
    entry.misses = 0;
    const spelled = id !== entry.id && record && 'id' in record ? { ...record, id: entry.id } : record;
    if (!isSame(before, spelled))
      Object.assign(entry, { record: spelled, former: before, changedAt: readAt, formerReadAt });
    return entry.record === before && this.isStale(id) === wasStale
      ? null
      : { id: entry.id, before, after: entry.record };
  }

  /** Stores a list. A record that enough complete lists in a row do not have is removed. */
  replaceAll<Listed extends T & { readonly id: string }>(reading: Reading<Listed>): Change<T>[] {
    const { records, isComplete, startedAt } = reading;
    const changes: Change<T>[] = [];
    for (const record of records) {
      const change = this.upsert(record.id, record, startedAt);
      if (change) changes.push(change);
    }
    if (!isComplete) return changes;
    this.#completeAt = startedAt;
    const listed = new IdMap(records.map(({ id }) => [id, true]));
    for (const [key, entry] of this.#entries) {
      const { id } = entry;
      if (listed.has(key)) entry.misses = 0;
      else if (!this.isOlder(id, startedAt)) changes.push(...this.miss(id));
    }
    for (const [key, at] of this.#changedAt) if (at <= startedAt) this.#changedAt.delete(key);
    return changes;
  }

  /**
   * Notes that the cloud did not have the record. The record is removed once this has happened often enough in a row.
   */
  miss(id: string): Change<T>[] {
    const entry = this.#entries.get(id);
    if (!entry) return [];
    entry.misses += 1;
    return entry.misses < this.#maxMisses ? [] : this.remove(id);
  }

  /** Stores the answer to a change, received at `heardAt`. Fields that the answer does not have stay as they were. */
  change(id: string, answer: object, heardAt: number): Change<T> | null {
    this.#changedAt.set(id, heardAt);
    const entry = this.#entries.get(id);
    if (!entry?.record) return null;
    const { record: before } = entry;
    const sent = Object.entries(answer).filter(([field, value]) => field !== 'id' && value !== null);
    const after = { ...before, ...Object.fromEntries(sent) };
    if (isSame(before, after)) return null;
    const { readAt } = entry;
    Object.assign(entry, { record: after, former: before, changedAt: readAt, formerReadAt: readAt });
    return { id: entry.id, before, after };
  }

  remove(id: string): Change<T>[] {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    return entry ? [{ id: entry.id, before: entry.record, after: undefined }] : [];
  }

  /** Records that were read before that time are too old. Returns whether this makes anything too old. */
  markStale(readBefore: number): boolean {
    const from = this.#staleBefore;
    this.#staleBefore = Math.max(from, readBefore);
    const isAged = (at: number) => at >= from && at < readBefore;
    return (
      isAged(this.#completeAt ?? Number.NEGATIVE_INFINITY) ||
      [...this.#entries.values()].some((entry) => isAged(entry.readAt) || isAged(entry.formerReadAt))
    );
  }

  get(id: string | null): T | undefined {
    return id === null ? undefined : this.#entries.get(id)?.record;
  }

  has(id: string | null): boolean {
    return id !== null && this.#entries.has(id);
  }

  /** The id in the spelling of its record; `id` itself if there is no record. */
  idOf(id: string): string {
    return this.#entries.get(id)?.id ?? id;
  }

  readAt(id: string): number | undefined {
    return this.#entries.get(id)?.readAt;
  }

  /** When the record before the last change was last read, in ms of the monotonic clock. */
  formerReadAt(id: string): number {
    return this.#entries.get(id)?.formerReadAt ?? Number.NEGATIVE_INFINITY;
  }

  /** The record before the last change, until the present one is read again or that one is stale; undefined after that. */
  formerOfNew(id: string): T | undefined {
    const entry = this.#entries.get(id);
    if (!entry || entry.readAt !== entry.changedAt) return undefined;
    return entry.formerReadAt >= this.#staleBefore ? entry.former : undefined;
  }

  /** Whether a newer reading of the record, or a change of it, is known than a reading that was sent at `sentAt`. */
  isOlder(id: string, sentAt: number): boolean {
    const never = Number.NEGATIVE_INFINITY;
    return sentAt < Math.max(this.readAt(id) ?? never, this.#changedAt.get(id) ?? never);
  }

  /** Whether the record was read too long ago to show the present. */
  isStale(id: string): boolean {
    const entry = this.#entries.get(id);
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

  /** Whether the list was read completely at least once. Then a record that is not here is not in the cloud. */
  get isComplete(): boolean {
    return this.#completeAt !== null;
  }

  /** Whether the list was read completely by requests that were sent at that time or later. */
  isReadSince(at: number): boolean {
    return this.#completeAt !== null && this.#completeAt >= at;
  }

  /** Whether the list was read completely, and not too long ago. */
  get isListFresh(): boolean {
    return this.isReadSince(this.#staleBefore);
  }
}

/** The table as the other rooms see it: only the store writes it. */
export type ReadonlyTable<T extends object> = Omit<
  Table<T>,
  'upsert' | 'replaceAll' | 'miss' | 'change' | 'remove' | 'markStale'
>;

function isSame(before: object | null, after: object | null): boolean {
  return before === after || isDeepStrictEqual(before, after);
}
