import { beforeEach, describe, expect, it } from 'vitest';
import type { Schedule } from '../../../src/base/schedule.ts';
import { type PollSchedule, pollSchedule } from '../../../src/polling/pollSchedule.ts';
import { FakeClock } from '../../support/fakeClock.ts';

let clock: FakeClock;
let runs: number[];
let outcome: boolean | Promise<boolean>;

const run = () => {
  runs.push(clock.monotonic());
  return Promise.resolve(outcome);
};

function scheduled(schedule: Schedule): PollSchedule {
  return pollSchedule(schedule, 'UTC', clock, () => 0.5);
}

/** Lets time pass in small steps, and what it sets off run. */
async function pass(ms: number, stepMs = 250): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
}

beforeEach(() => {
  clock = new FakeClock();
  runs = [];
  outcome = true;
});

describe('a task that recurs', () => {
  it('runs at once and then every so often, counted from the start of each run', async () => {
    const task = scheduled({ kind: 'every', everyMs: 10_000 });
    await task.start(run);
    const start = clock.monotonic();
    await pass(30_000);
    expect(runs.map((at) => at - start)).toEqual([0, 10_000, 20_000, 30_000]);
    await task.stop();
    await pass(30_000);
    expect(runs).toHaveLength(4);
  });

  it('that became due while the machine slept runs within ten seconds of its waking', async () => {
    const task = scheduled({ kind: 'every', everyMs: 1_800_000 });
    await task.start(run);
    await pass(60_000);
    clock.sleep(3_600_000);
    await pass(10_000);
    expect(runs).toHaveLength(2);
    await task.stop();
  });

  it('never overlaps itself, and asked during a run it runs once more', async () => {
    let end: (good: boolean) => void = () => {};
    outcome = new Promise((resolve) => {
      end = resolve;
    });
    const task = scheduled({ kind: 'every', everyMs: 10_000 });
    void task.start(run);
    for (let times = 0; times < 5; times++) void task.runNow();
    await pass(60_000);
    expect(runs).toHaveLength(1);
    outcome = true;
    end(true);
    await pass(1_000);
    expect(runs).toHaveLength(2);
    await task.stop();
  });

  it('runs sooner than scheduled after a failure, with growing waits', async () => {
    outcome = false;
    const task = scheduled({ kind: 'every', everyMs: 3_600_000 });
    await task.start(run);
    await pass(60_000);
    const waits = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
    expect(waits).toEqual([3_750, 7_500, 15_000, 30_000].slice(0, waits.length));
    expect(waits.length).toBeGreaterThanOrEqual(3);
    await task.stop();
  });

  it('keeps to its schedule whatever is retried between, and says which run is a retry', async () => {
    outcome = false;
    const retries: boolean[] = [];
    const task = scheduled({ kind: 'every', everyMs: 20_000 });
    const start = clock.monotonic();
    await task.start((isRetry) => {
      retries.push(isRetry);
      return run();
    });
    await pass(40_000);
    const scheduledAt = runs.flatMap((at, index) => (retries[index] ? [] : [at - start]));
    expect(scheduledAt).toEqual([0, 20_000, 40_000]);
    expect(retries).toContain(true);
    await task.stop();
  });

  it('never waits longer than its schedule after a failure', async () => {
    outcome = false;
    const task = scheduled({ kind: 'every', everyMs: 2_000 });
    await task.start(run);
    await pass(20_000);
    expect(runs.length).toBeGreaterThanOrEqual(10);
    await task.stop();
  });

  it('is due again after its period', () => {
    expect(scheduled({ kind: 'every', everyMs: 7_000 }).dueAfter(1_000)).toBe(8_000);
  });
});
