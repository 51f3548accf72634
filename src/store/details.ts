import type { Telemetry } from '../model/records.ts';
import { measuringIntervalMs, withoutValues } from '../model/telemetry.ts';
import { Table } from './table.ts';

/** What the cloud tells of each device by a request of its own, where it offers that at all. */
export class DetailTable<T extends object> {
  /** Null: the cloud has none of that device. */
  readonly #table = new Table<T | null>();
  /** What is still known by a record that is stale. */
  readonly #whenStale: (record: T) => T | undefined;
  #isOffered = true;

  constructor(whenStale: (record: T) => T | undefined = (record) => record) {
    this.#whenStale = whenStale;
  }

  /** Takes in what was requested at that time; says whether it shows anything new. */
  set(id: string, record: T | null, sentAt: number): boolean {
    return this.#isOffered && this.#table.upsert(id, record, sentAt) !== null;
  }

  /** The same, but what the cloud has told before it must refuse twice in a row. */
  setUnlessRefusedOnce(id: string, record: T | null, sentAt: number): boolean {
    const isRefused = record === null && this.#table.get(id);
    if (isRefused && (this.#table.isOlder(id, sentAt) || this.#table.miss(id).length === 0)) return false;
    return this.set(id, record, sentAt);
  }

  /** Takes in the answer to a change, heard at that time; says whether it shows anything new. */
  change(id: string, answer: T, heardAt: number): boolean {
    return this.#table.change(id, answer, heardAt) !== null;
  }

  /** Null where the cloud has none, undefined as long as that is not known. */
  of(id: string): T | null | undefined {
    const record = this.#isOffered ? this.#table.get(id) : null;
    return record && this.#table.isStale(id) ? this.#whenStale(record) : record;
  }

  /** When it was requested last. */
  readAt(id: string): number | undefined {
    return this.#table.readAt(id);
  }

  /** Notes that what was read before that time is too old; the ids of those that are stale from now on. */
  markStale(readBefore: number): string[] {
    return this.#table.markStale(readBefore);
  }

  /** The cloud does not offer any; says whether that is news. */
  drop(): boolean {
    const isNews = this.#isOffered;
    this.#isOffered = false;
    return isNews;
  }

  /** Forgets a device that is gone; says whether anything was known of it. */
  forget(id: string): boolean {
    return this.#table.remove(id).length > 0;
  }
}

/** What each sonic measured last, until that is too old to be the present. Times are ms of the monotonic clock. */
export class TelemetryTable extends DetailTable<Telemetry> {
  /** When the values that are shown will be too old. */
  readonly #expiresAt = new Map<string, number>();

  /**
   * Takes in what was requested at that time and measured so long before, in ms; null, the cloud has none of this sonic,
   * which one that has ever measured does not show. The values are shown if neither is too long ago.
   */
  setMeasured(id: string, telemetry: Telemetry | null, sentAt: number, ageMs: number, maxAgeMs: number) {
    if (telemetry === null) return { isPresent: false, isNews: !this.of(id) && this.set(id, null, sentAt) };
    // Measured once a minute and read once a minute, none is younger than two for long.
    const maxMeasuredMs = Math.max(maxAgeMs, 3 * measuringIntervalMs);
    const isPresent = ageMs <= maxMeasuredMs;
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
    this.#expiresAt.clear();
    return super.drop();
  }

  override forget(id: string): boolean {
    this.#expiresAt.delete(id);
    return super.forget(id);
  }
}
