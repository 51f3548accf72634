import { sleep } from '../base/clock.ts';
import { pressureTestsOn } from '../model/pressureTests.ts';
import type { PressureTests } from '../model/records.ts';
import { clockProblem } from './localDays.ts';
import { type DeviceQuery, queryDevices, unknownFirst } from './perDevice.ts';
import type { PollParts, PollRun } from './pollParts.ts';
import { incomplete, type PollFailure } from './pollProblem.ts';

/** The pauses before each read that looks for a new test, in ms. The cloud may list the test only after a while. */
const newTestWaitsMs = [500, 2_000, 5_000, 10_000, 30_000];

/** Reads the pressure tests of each sonic, and stores their result for the current day. */
export class PressureTestPoll {
  readonly #parts: PollParts;
  readonly #tests = new Map<string, PressureTests>();

  constructor(parts: PollParts) {
    this.#parts = parts;
  }

  /** Reads all sonics. Resolves to null if all were read; rejects if none could be read. */
  async poll(run: PollRun): Promise<PollFailure | null> {
    const { client, store, clock } = this.#parts;
    const problem = clockProblem(client, clock);
    if (problem) return { kind: 'unreadable', ...problem };
    const ids = unknownFirst(store, store.pressureTests);
    return incomplete(await queryDevices(this.#parts, run, ids, this.#query()));
  }

  /** Stores all results for the current day again: after midnight, or when sonics or time zones have changed. */
  refresh(): void {
    for (const [id, tests] of this.#tests) {
      const readAt = this.#parts.store.pressureTests.readAt(id);
      if (readAt === undefined) this.#tests.delete(id);
      else this.#update(id, tests, readAt);
    }
  }

  /** Reads the tests of a sonic a few times, until a test that was just started shows; never rejects. */
  async readNewTest(sonicId: string): Promise<void> {
    const { client, store, stopping, clock } = this.#parts;
    const shown = () => Object.values(store.pressureTests.of(sonicId)?.days ?? {}).flat();
    const known = new Set(shown());
    for (const waitMs of newTestWaitsMs) {
      try {
        await sleep(clock, waitMs, stopping);
        const isOffered = client.isOffered('read_pressure_tests');
        if (!isOffered || clockProblem(client, clock) || !store.isShown('sonic', sonicId)) return;
        await this.#read(sonicId, clock.monotonic());
      } catch (error) {
        if (stopping.aborted) return;
        this.#parts.log.debug({ device: sonicId }, `A new pressure test could not be read: ${String(error)}`);
      }
      if (shown().some((id) => !known.has(id))) return;
    }
  }

  #query(): DeviceQuery {
    const { store } = this.#parts;
    return {
      operation: 'read_pressure_tests',
      poll: 'pressure_tests',
      read: (id, sentAt) => this.#read(id, sentAt),
      onNone: (id, sentAt) => {
        // If the sonic has had tests in this run, they stay.
        if (!this.#tests.has(id)) store.setDetail('pressureTests', id, null, sentAt);
      },
    };
  }

  async #read(sonicId: string, sentAt: number): Promise<void> {
    const { client, stopping } = this.#parts;
    const call = { operation: 'read_pressure_tests', params: { thing_id: sonicId } } as const;
    const tests = await client.call(call, { signal: stopping });
    this.#tests.set(sonicId, tests);
    this.#update(sonicId, tests, sentAt);
  }

  #update(sonicId: string, tests: PressureTests, sentAt: number): void {
    const { store, days } = this.#parts;
    const startOf = (date: string) => days.startOf(sonicId, date);
    const shown = pressureTestsOn(days.of(sonicId).date, tests, startOf);
    store.setDetail('pressureTests', sonicId, shown, sentAt);
  }
}
