import type { Telemetry } from '../model/records.ts';
import { measuringIntervalMs, withoutValues } from '../model/telemetry.ts';
import { Table } from './table.ts';

/** Data that is read by one request for each device, if the cloud offers the operation. */
export class DetailTable<T extends object> {
  /** A record is null if the cloud has no such data for the device. */
  readonly #table = new Table<T | null>();
  /** Returns the part of a stale record that is still true. */
  readonly #whenStale: (record: T) => T | undefined;
  /** By device: since when the cloud has refused it, in ms of the monotonic clock. */
  readonly #refusedSince = new Map<string, number>();
  #isOffered = true;

  constructor(whenStale: (record: T) => T | undefined = (record) => record) {
    this.#whenStale = whenStale;
  }

  /**
   * Stores a record that was requested at `sentAt`. With `apartMs`, null means that the cloud refused it, and counts only after
   * two refusals in a row that are so many ms apart. Returns whether something else is shown now.
   */
  set(id: string, record: T | null, sentAt: number, apartMs?: number): boolean {
    if (record !== null) this.#refusedSince.delete(id);
    else if (apartMs !== undefined) {
      if (this.#table.isOlder(id, sentAt)) return false;
      const since = this.#refusedSince.get(id);
      if (since === undefined) this.#refusedSince.set(id, sentAt);
      if (since === undefined || sentAt - since < apartMs) return false;
    }
    return this.#isOffered && this.#table.upsert(id, record, sentAt) !== null;
  }

  /** Stores the answer to a change, received at `heardAt`. */
  change(id: string, answer: object, heardAt: number): void {
    this.#table.change(id, answer, heardAt);
  }

  /** The data to show: null if the cloud has none, undefined if that is not known yet. */
  of(id: string): T | null | undefined {
    const record = this.record(id);
    return record && this.#table.isStale(id) ? this.#whenStale(record) : record;
  }

  /** The data that was read last, however old: for decisions, it may still be true. */
  record(id: string): T | null | undefined {
    return this.#isOffered ? this.#table.get(id) : null;
  }

  /** When its last request was sent, in ms of the monotonic clock. */
  readAt(id: string): number | undefined {
    return this.#table.readAt(id);
  }

  /** Records that were read before that time are too old. Returns whether this makes anything too old. */
  markStale(readBefore: number): boolean {
    return this.#table.markStale(readBefore);
  }

  /** The cloud does not offer the operation. */
  drop(): void {
    this.#isOffered = false;
  }

  forget(id: string): void {
    this.#refusedSince.delete(id);
    this.#table.remove(id);
  }
}

export type ReadonlyDetails<T extends object> = Pick<DetailTable<T>, 'of' | 'record' | 'readAt'>;

/** The last measurements of each sonic, until they are too old to be shown. Times are ms of the monotonic clock. */
export class TelemetryTable extends DetailTable<Telemetry> {
  readonly #expiresAt = new Map<string, number>();
  readonly #silentIds = new Set<string>();
  /** When the last values were measured, in ms since 1970 by this machine's clock. */
  readonly #measuredAt = new Map<string, number>();

  /** The sonics for which the cloud has only measurements that are too old. */
  get silentIds(): ReadonlySet<string> {
    return this.#silentIds;
  }

  /**
   * Stores measurements that were requested at `sentAt`, and made `ageMs` before that. Null means that the cloud has
   * none, which counts only for a sonic that has never measured. The values are shown if neither the request nor the
   * measurement is too long ago.
   */
  setMeasured(
    id: string,
    telemetry: Telemetry | null,
    sentAt: number,
    ageMs: number,
    maxAgeMs: number,
  ): void {
    if (telemetry === null) {
      if (!this.of(id)) this.set(id, null, sentAt);
      return;
    }
    // A sonic measures once a minute, and its values are read once a minute. So even a normal value can be two minutes
    // old.
    const maxMeasuredMs = Math.max(maxAgeMs, 3 * measuringIntervalMs);
    const isPresent = ageMs <= maxMeasuredMs;
    if (isPresent) this.#silentIds.delete(id);
    else this.#silentIds.add(id);
    if (isPresent) this.#expiresAt.set(id, sentAt + Math.min(maxAgeMs, maxMeasuredMs - ageMs));
    else this.#expiresAt.delete(id);
    this.set(id, isPresent ? telemetry : withoutValues(telemetry), sentAt);
  }

  /** Notes that the last values were measured at that time, in ms since 1970 by this machine's clock. */
  setMeasuredAt(id: string, at: number): void {
    this.#measuredAt.set(id, at);
  }

  /** The measurement, without its flow if the valve has moved since, at that time in ms since 1970. */
  since(id: string, movedAt: number): Telemetry | null | undefined {
    const telemetry = this.of(id);
    const isBefore = (this.#measuredAt.get(id) ?? movedAt) < movedAt;
    return telemetry && isBefore ? { ...telemetry, water_flow: null } : telemetry;
  }

  /** Drops the values that are too old at `now`. Returns whether there were any. */
  expire(now: number): boolean {
    const expired = [...this.#expiresAt].filter(([, expiresAt]) => expiresAt < now).map(([id]) => id);
    for (const id of expired) {
      const telemetry = this.of(id);
      if (telemetry) this.set(id, withoutValues(telemetry), now);
      this.#expiresAt.delete(id);
    }
    return expired.length > 0;
  }

  /** When the next values will be too old; infinity if no values are shown. */
  get nextExpiryAt(): number {
    let nextAt = Number.POSITIVE_INFINITY;
    for (const expiresAt of this.#expiresAt.values()) nextAt = Math.min(nextAt, expiresAt);
    return nextAt;
  }

  override drop(): void {
    this.#silentIds.clear();
    this.#expiresAt.clear();
    super.drop();
  }

  override forget(id: string): void {
    for (const each of [this.#silentIds, this.#expiresAt, this.#measuredAt]) each.delete(id);
    super.forget(id);
  }
}
