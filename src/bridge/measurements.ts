import type { Telemetry } from '../model/records.ts';
import { withoutValues } from '../model/telemetry.ts';
import { isSameRecord } from './sameRecord.ts';

/** What each sonic last measured; times are ms of the monotonic clock. */
export class Measurements {
  /** Null: the cloud has none of this sonic. */
  readonly #latest = new Map<string, Telemetry | null>();
  readonly #readAt = new Map<string, number>();
  readonly #staleAfterMs: number;
  #isOffered = true;

  constructor(staleAfterMs: number) {
    this.#staleAfterMs = staleAfterMs;
  }

  /** Null where the cloud has none, undefined as long as that is not known. */
  of(sonicId: string): Telemetry | null | undefined {
    return this.#isOffered ? this.#latest.get(sonicId) : null;
  }

  /** Takes in what was read at that time; says whether it shows anything new. */
  set(sonicId: string, telemetry: Telemetry | null, readAt: number): boolean {
    const before = this.#latest.get(sonicId);
    // A sonic that has ever measured anything goes on doing so.
    if (before && telemetry === null) return this.missed(sonicId, readAt);
    this.#readAt.set(sonicId, readAt);
    if (before === telemetry || (before && telemetry && isSameRecord(before, telemetry))) return false;
    this.#latest.set(sonicId, telemetry);
    return true;
  }

  /** Notes that nothing could be read at that time; what is too old does not pass for the present. */
  missed(sonicId: string, at: number): boolean {
    const telemetry = this.#latest.get(sonicId);
    const readAt = this.#readAt.get(sonicId);
    if (!telemetry || readAt === undefined || at - readAt <= this.#staleAfterMs) return false;
    this.#readAt.delete(sonicId);
    this.#latest.set(sonicId, withoutValues(telemetry));
    return true;
  }

  /** The cloud does not offer any; says whether that is new. */
  drop(): boolean {
    const isNew = this.#isOffered;
    this.#isOffered = false;
    this.#latest.clear();
    this.#readAt.clear();
    return isNew;
  }

  /** Forgets a sonic that is gone. */
  forget(sonicId: string): void {
    this.#latest.delete(sonicId);
    this.#readAt.delete(sonicId);
  }
}
