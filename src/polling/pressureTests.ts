import { sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { pressureTestsOn } from '../model/pressureTests.ts';
import type { PressureTests } from '../model/records.ts';
import { Ages } from './ages.ts';
import type { DeviceQuery } from './perDevice.ts';
import { incomplete, type PollFailure } from './pollStatus.ts';
import { clockProblem, querySonics, type SonicPollParts, unknownFirst } from './sonicPoll.ts';

/** The pauses between the reads that look for a test that was just started: the cloud may list it only after a while. */
const newTestWaitsMs = [500, 2_000, 5_000, 10_000, 30_000];

/** Reads the pressure tests of each sonic, and stores what they are as of the present day. */
export class PressureTestPoll {
  readonly #parts: SonicPollParts;
  readonly #log: Log;
  readonly #ages = new Ages();
  readonly #tests = new Map<string, PressureTests>();

  constructor(parts: SonicPollParts, log: Log) {
    this.#parts = parts;
    this.#log = log;
  }

  /** Reads all sonics; null if all went well. Rejects if nothing could be read. */
  async poll(): Promise<PollFailure | null> {
    const { store, statuses } = this.#parts;
    const clock = clockProblem(this.#parts);
    if (clock) return { kind: 'unreadable', ...clock };
    const ids = unknownFirst(store, 'pressureTests');
    let read = 0;
    const onProgress = () => statuses.recordProgress('pressure_tests', ++read, ids.length);
    return incomplete(await querySonics(this.#parts, 'pressure_tests', ids, this.#query(), onProgress));
  }

  /** Stores everything as of now: after midnight, or when sonics or time zones have changed. */
  refresh(): void {
    const present = new Set(this.#parts.store.ids('sonic'));
    for (const id of this.#tests.keys()) {
      if (present.has(id)) this.#update(id);
      else {
        this.#tests.delete(id);
        this.#ages.forget(id);
      }
    }
  }

  /** Reads the tests of a sonic a few times, until one shows that was just started; never rejects. */
  async readNewTest(sonicId: string): Promise<void> {
    const { client, store, signal, clock } = this.#parts;
    const shown = () => Object.values(store.sonicView(sonicId)?.pressureTests?.days ?? {}).flat();
    const known = new Set(shown());
    for (const waitMs of newTestWaitsMs) {
      try {
        await sleep(clock, waitMs, signal);
        const isOffered = client.availability('read_pressure_tests') === 'available';
        if (!isOffered || clockProblem(this.#parts) || store.sonicView(sonicId) === null) return;
        await this.#read(sonicId);
      } catch (error) {
        if (signal.aborted) return;
        this.#log.debug({ device: sonicId }, `A new pressure test could not be read: ${String(error)}`);
      }
      if (shown().some((id) => !known.has(id))) return;
    }
  }

  #query(): DeviceQuery {
    const { store } = this.#parts;
    return {
      operation: 'read_pressure_tests',
      read: (id) => this.#read(id),
      // A sonic that has had tests keeps them.
      onNone: (id, at) => {
        if (this.#tests.has(id)) this.#failed(id, at);
        else store.setPressureTests(id, null);
      },
      onFailed: (id, at) => this.#failed(id, at),
      onUnavailable: () => store.dropPressureTests(),
    };
  }

  async #read(sonicId: string): Promise<void> {
    const { client, signal, clock } = this.#parts;
    const call = { operation: 'read_pressure_tests', params: { thing_id: sonicId } } as const;
    this.#tests.set(sonicId, await client.call(call, { signal }));
    this.#ages.read(sonicId, clock.monotonic());
    this.#update(sonicId);
  }

  #failed(sonicId: string, at: number): void {
    if (this.#ages.missed(sonicId, at, this.#parts.statuses.maxAgeMs('pressure_tests')))
      this.#update(sonicId);
  }

  #update(sonicId: string): void {
    const { store, days } = this.#parts;
    const tests = this.#tests.get(sonicId);
    if (!tests) return;
    store.setPressureTests(sonicId, pressureTestsOn(days.of(sonicId).date, tests, this.#ages.isOld(sonicId)));
  }
}
