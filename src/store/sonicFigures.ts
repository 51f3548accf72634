import type { PressureTestDays } from '../model/pressureTests.ts';
import type { Usage } from '../model/usage.ts';
import { Measurements } from './measurements.ts';
import { PerDevice } from './perDevice.ts';

/** What is read sonic by sonic, beside its record. */
export class SonicFigures {
  readonly usage = new PerDevice<Usage>();
  readonly pressureTests = new PerDevice<PressureTestDays>();
  readonly #measurements = { hub: new Measurements(), wifi: new Measurements() };
  readonly #jobs = new Map<string, string>();

  /** The cloud may offer them of sonics with a hub, and of Wi-Fi sonics not, or the other way round. */
  measurements(isWifi: boolean): Measurements {
    return isWifi ? this.#measurements.wifi : this.#measurements.hub;
  }

  /** Drops the measured values that are too old by now; says of which sonics. */
  expire(now: number): string[] {
    return Object.values(this.#measurements).flatMap((each) => each.expire(now));
  }

  /** When the next measured values will be too old; infinity: none are shown. */
  get nextExpiryAt(): number {
    return Math.min(this.#measurements.hub.nextExpiryAt, this.#measurements.wifi.nextExpiryAt);
  }

  /** Notes the pressure test that this bridge has started last. */
  noteJob(id: string, jobId: string): void {
    this.#jobs.set(id, jobId);
  }

  /** All of a sonic, as its view has it. */
  of(id: string, isWifi: boolean) {
    return {
      telemetry: this.measurements(isWifi).of(id),
      usage: this.usage.of(id),
      pressureTests: this.pressureTests.of(id),
      pressureTestJobId: this.#jobs.get(id) ?? null,
    };
  }

  /** Forgets what a sonic has measured: it is asked for elsewhere from now on. */
  forgetMeasurements(id: string): void {
    for (const each of Object.values(this.#measurements)) each.forget(id);
  }

  /** Forgets a sonic that is gone. */
  forget(id: string): void {
    this.forgetMeasurements(id);
    this.usage.forget(id);
    this.pressureTests.forget(id);
    this.#jobs.delete(id);
  }
}
