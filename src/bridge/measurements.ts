import type { Telemetry } from '../model/records.ts';
import { withoutValues } from '../model/telemetry.ts';
import { Ages } from './ages.ts';
import { PerDevice } from './perDevice.ts';

/** What each sonic last measured; times are ms of the monotonic clock. */
export class Measurements {
  readonly #latest = new PerDevice<Telemetry>();
  readonly #ages = new Ages();
  readonly #staleAfterMs: number;

  constructor(staleAfterMs: number) {
    this.#staleAfterMs = staleAfterMs;
  }

  /** Null where the cloud has none, undefined as long as that is not known. */
  of(sonicId: string): Telemetry | null | undefined {
    return this.#latest.of(sonicId);
  }

  /** Takes in what was read at that time; says whether it shows anything new. */
  set(sonicId: string, telemetry: Telemetry | null, readAt: number): boolean {
    // A sonic that has ever measured anything goes on doing so.
    if (telemetry === null && this.of(sonicId)) return this.missed(sonicId, readAt);
    this.#ages.read(sonicId, readAt);
    return this.#latest.set(sonicId, telemetry);
  }

  /** Notes that nothing could be read at that time; what is too old does not pass for the present. */
  missed(sonicId: string, at: number): boolean {
    const telemetry = this.of(sonicId);
    if (!telemetry || !this.#ages.missed(sonicId, at, this.#staleAfterMs)) return false;
    return this.#latest.set(sonicId, withoutValues(telemetry));
  }

  /** The cloud does not offer any; says whether that is new. */
  drop(): boolean {
    return this.#latest.drop();
  }

  /** Forgets a sonic that is gone. */
  forget(sonicId: string): void {
    this.#latest.forget(sonicId);
    this.#ages.forget(sonicId);
  }
}
