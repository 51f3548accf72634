import type { Telemetry } from '../model/records.ts';
import { withoutValues } from '../model/telemetry.ts';
import { PerDevice } from './perDevice.ts';

/** What each sonic last measured, without the values once they are too old; times are ms of the monotonic clock. */
export class Measurements {
  readonly #latest = new PerDevice<Telemetry>();
  /** When the values that are shown will be too old. */
  readonly #expiresAt = new Map<string, number>();

  /** Null where the cloud has none, undefined as long as that is not known. */
  of(sonicId: string): Telemetry | null | undefined {
    return this.#latest.of(sonicId);
  }

  /** Takes in what counts as the present until that time; says whether it shows anything new. */
  set(sonicId: string, telemetry: Telemetry, expiresAt: number): boolean {
    this.#expiresAt.set(sonicId, expiresAt);
    return this.#latest.set(sonicId, telemetry);
  }

  /** Takes in what was measured too long ago to be shown but for its time; says whether that is new. */
  setOld(sonicId: string, telemetry: Telemetry): boolean {
    this.#expiresAt.delete(sonicId);
    return this.#latest.set(sonicId, withoutValues(telemetry));
  }

  /** The cloud has none of this sonic; one that has ever measured anything goes on doing so. Says whether that is new. */
  setNone(sonicId: string): boolean {
    return !this.of(sonicId) && this.#latest.set(sonicId, null);
  }

  /** Drops the values that are too old by now; says of which sonics. */
  expire(now: number): string[] {
    const old = [...this.#expiresAt].filter(([, expiresAt]) => expiresAt < now).map(([id]) => id);
    for (const id of old) {
      const telemetry = this.of(id);
      if (telemetry) this.setOld(id, telemetry);
    }
    return old;
  }

  /** When the next values will be too old; infinity: none are shown. */
  get nextExpiryAt(): number {
    let nextAt = Number.POSITIVE_INFINITY;
    for (const expiresAt of this.#expiresAt.values()) nextAt = Math.min(nextAt, expiresAt);
    return nextAt;
  }

  /** The cloud does not offer any; says whether that is new. */
  drop(): boolean {
    this.#expiresAt.clear();
    return this.#latest.drop();
  }

  /** Forgets a sonic that is gone. */
  forget(sonicId: string): void {
    this.#expiresAt.delete(sonicId);
    this.#latest.forget(sonicId);
  }
}
