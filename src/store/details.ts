import type { Telemetry } from '../model/records.ts';
import { measuringIntervalMs, withoutValues } from '../model/telemetry.ts';
import { Table } from './table.ts';

/** Data that is read by one request for each device, if the cloud offers the operation. */
export class DetailTable<T extends object> {
  /** Null: the cloud has none of that device. */
  readonly #table = new Table<T | null>();
  /** What is still known by a record that is stale. */
  readonly #whenStale: (record: T) => T | undefined;
  /** Since when the cloud has refused each, in ms of the monotonic clock. */
  readonly #refusedSince = new Map<string, number>();
  #isOffered = true;

  constructor(whenStale: (record: T) => T | undefined = (record) => record) {
    this.#whenStale = whenStale;
  }

  /** Stores a record that was requested at that time. Returns whether that changes what is shown. */
  set(id: string, record: T | null, sentAt: number): boolean {
    return this.#isOffered && this.#table.upsert(id, record, sentAt) !== null;
  }

  /** The same, but that the cloud has none counts only after two refusals in a row, so many ms apart. */
  setUnlessRefusedOnce(id: string, record: T | null, sentAt: number, apartMs: number): boolean {
    if (record !== null) this.#refusedSince.delete(id);
    else if (this.#table.isOlder(id, sentAt)) return false;
    else {
      const since = this.#refusedSince.get(id);
      if (since === undefined) this.#refusedSince.set(id, sentAt);
      if (since === undefined || sentAt - since < apartMs) return false;
    }
    return this.set(id, record, sentAt);
  }

  /** Stores the answer to a change, received at that time. Returns whether that changes what is shown. */
  change(id: string, answer: T, heardAt: number): boolean {
    return this.#table.change(id, answer, heardAt) !== null;
  }

  /** What to show: null where the cloud has none, undefined as long as that is not known. */
  of(id: string): T | null | undefined {
    const record = this.record(id);
    return record && this.#table.isStale(id) ? this.#whenStale(record) : record;
  }

  /** What was read last, however long ago: to decide by, since a value that is too old to be shown may still be true. */
  record(id: string): T | null | undefined {
    return this.#isOffered ? this.#table.get(id) : null;
  }

  /** When it was requested last. */
  readAt(id: string): number | undefined {
    return this.#table.readAt(id);
  }

  /** Notes that what was read before that time is too old; the ids of those that are stale from now on. */
  markStale(readBefore: number): string[] {
    return this.#table.markStale(readBefore);
  }

  /** The cloud does not offer the operation. Returns whether that was unknown before. */
  drop(): boolean {
    const isNews = this.#isOffered;
    this.#isOffered = false;
    return isNews;
  }

  /** Forgets a removed device. Returns whether anything was known of it. */
  forget(id: string): boolean {
    this.#refusedSince.delete(id);
    return this.#table.remove(id).length > 0;
  }
}

/** Such data as the other rooms see it: only the store writes it. */
export type ReadonlyDetails<T extends object> = Pick<DetailTable<T>, 'of' | 'record' | 'readAt'>;

/** What each sonic measured last, until that is too old to be the present. Times are ms of the monotonic clock. */
export class TelemetryTable extends DetailTable<Telemetry> {
  /** When the values that are shown will be too old. */
  readonly #expiresAt = new Map<string, number>();
  /** Of these the cloud has only measurements that are too old. */
  readonly #silentIds = new Set<string>();

  /** The sonics of which the cloud has only measurements that are too old. */
  get silentIds(): ReadonlySet<string> {
    return this.#silentIds;
  }

  /**
   * Stores what was requested at that time and measured `ageMs` before. Null means that the cloud has none, which counts only
   * for a sonic that never measured. The values are shown if neither is too long ago.
   */
  setMeasured(id: string, telemetry: Telemetry | null, sentAt: number, ageMs: number, maxAgeMs: number) {
    if (telemetry === null) return { isPresent: false, isNews: !this.of(id) && this.set(id, null, sentAt) };
    // Measured once a minute and read once a minute, none is younger than two for long.
    const maxMeasuredMs = Math.max(maxAgeMs, 3 * measuringIntervalMs);
    const isPresent = ageMs <= maxMeasuredMs;
    if (isPresent) this.#silentIds.delete(id);
    else this.#silentIds.add(id);
    if (isPresent) this.#expiresAt.set(id, sentAt + Math.min(maxAgeMs, maxMeasuredMs - ageMs));
    else this.#expiresAt.delete(id);
    return { isPresent, isNews: this.set(id, isPresent ? telemetry : withoutValues(telemetry), sentAt) };
  }

  /** Drops the values that are too old by now; the ids of the sonics. */
  expire(now: number): string[] {
    const expired = [...this.#expiresAt].filter(([, expiresAt]) => expiresAt < now).map(([id]) => id);
    for (const id of expired) {
      const telemetry = this.of(id);
      if (telemetry) this.set(id, withoutValues(telemetry), now);
      this.#expiresAt.delete(id);
    }
    return expired;
  }

  /** When the next values will be too old; infinity: none are shown. */
  get nextExpiryAt(): number {
    let nextAt = Number.POSITIVE_INFINITY;
    for (const expiresAt of this.#expiresAt.values()) nextAt = Math.min(nextAt, expiresAt);
    return nextAt;
  }

  override drop(): boolean {
    this.#silentIds.clear();
    this.#expiresAt.clear();
    return super.drop();
  }

  override forget(id: string): boolean {
    this.#silentIds.delete(id);
    this.#expiresAt.delete(id);
    return super.forget(id);
  }
}
