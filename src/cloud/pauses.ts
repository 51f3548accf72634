import type { Clock } from '../base/clock.ts';
import { isVitalList, type OperationName } from './operations.ts';

/** A vital list is asked for again after so many ms, whatever the cloud asked. */
const maxVitalPauseMs = 600_000;

/** How long the cloud asked to wait with an operation. It says nothing about any other operation. */
export class Pauses {
  readonly #clock: Clock;
  /** In ms of the monotonic clock. */
  readonly #until = new Map<OperationName, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The cloud asked to wait so many ms. */
  record(name: OperationName, ms: number): void {
    const waitMs = isVitalList(name) ? Math.min(ms, maxVitalPauseMs) : ms;
    this.#until.set(name, Math.max(this.#until.get(name) ?? 0, this.#clock.monotonic() + waitMs));
  }

  /** Ms until the operation may be asked for; 0 if it may be now. */
  leftMs(name: OperationName): number {
    return Math.max(0, (this.#until.get(name) ?? 0) - this.#clock.monotonic());
  }

  /** The operations that wait, with the ms that are left. */
  get all(): ReadonlyMap<OperationName, number> {
    const left = [...this.#until.keys()].map((name) => [name, this.leftMs(name)] as const);
    return new Map(left.filter(([, ms]) => ms > 0));
  }

  /** Somebody asks for everything now. */
  clear(): void {
    this.#until.clear();
  }
}
