import { beforeEach, describe, expect, it } from 'vitest';
import type { Schedule } from '../../../src/base/schedule.ts';
import { type DueAt, Recurring } from '../../../src/bridge/recurring.ts';
import { FakeClock } from '../../support/fakeClock.ts';

let clock: FakeClock;
let runs: number[];
let outcome: boolean | Promise<boolean>;

function recurring(schedule: Schedule, dueAt?: DueAt): Recurring {
  const task = () => {
    runs.push(clock.monotonic());
    return Promise.resolve(outcome);
  };
  return new Recurring(task, schedule, 'UTC', clock, () => 0.5, dueAt);
}

/** Lets time pass in small steps, and what it sets off run. */
async function pass(ms: number, stepMs = 250): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  }
}

beforeEach(() => {
  clock = new FakeClock();
  runs = [];
  outcome = true;
});

describe('a task that recurs', () => {
  it('runs at once and then every so often, counted from the start of each run', async () => {
    const task = recurring({ kind: 'every', everyMs: 10_000 });
    await task.start();
    const start = clock.monotonic();
    await pass(30_000);
    expect(runs.map((at) => at - start)).toEqual([0, 10_000, 20_000, 30_000]);
    await task.stop();
    await pass(30_000);
    expect(runs).toHaveLength(4);
  });

  it('never overlaps itself, and asked during a run it runs once more', async () => {
    let end: (good: boolean) => void = () => {};
    outcome = new Promise((resolve) => {
      end = resolve;
    });
    const task = recurring({ kind: 'every', everyMs: 10_000 });
    void task.start();
    for (let times = 0; times < 5; times++) task.request();
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
    const task = recurring({ kind: 'every', everyMs: 3_600_000 });
    await task.start();
    await pass(60_000);
    const waits = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
    expect(waits).toEqual([3_750, 7_500, 15_000, 30_000].slice(0, waits.length));
    expect(waits.length).toBeGreaterThanOrEqual(3);
    await task.stop();
  });

  it('never waits longer than its schedule after a failure', async () => {
    outcome = false;
    const task = recurring({ kind: 'every', everyMs: 2_000 });
    await task.start();
    await pass(20_000);
    expect(runs.length).toBeGreaterThanOrEqual(10);
    await task.stop();
  });

  it('is due again after its period', () => {
    expect(recurring({ kind: 'every', everyMs: 7_000 }).dueAfter(1_000)).toBe(8_000);
  });

  describe('whose period changes', () => {
    let periodMs: number;
    const dueAt: DueAt = (startedAt) => startedAt + periodMs;
    const every = { kind: 'every', everyMs: 10_000 } as const;

    beforeEach(() => {
      periodMs = 10_000;
    });

    it('runs sooner when it is hastened, counted from the start of its last run, and then by the new period', async () => {
      const task = recurring(every, dueAt);
      await task.start();
      await pass(6_000);
      periodMs = 5_000;
      task.hasten();
      await pass(6_000);
      expect(runs).toEqual([0, 6_000, 11_000]);
      await task.stop();
    });

    it('goes back to its old one as soon as the reason is over', async () => {
      const task = recurring(every, dueAt);
      periodMs = 5_000;
      await task.start();
      await pass(4_000);
      periodMs = 10_000;
      await pass(16_000);
      expect(runs).toEqual([0, 10_000, 20_000]);
      await task.stop();
    });

    it('is not put off by being hastened while it retries', async () => {
      outcome = false;
      const task = recurring(every, dueAt);
      await task.start();
      for (let second = 0; second < 4; second++) {
        await pass(1_000);
        task.hasten();
      }
      expect(runs).toEqual([0, 3_750]);
      periodMs = 60_000;
      await pass(8_000);
      expect(runs).toEqual([0, 3_750, 11_250]);
      await task.stop();
    });

    it('stays still when it is hastened after it was stopped, or before it was started', async () => {
      const task = recurring(every, dueAt);
      task.hasten();
      await pass(1_000);
      expect(runs).toEqual([]);
      await task.start();
      await task.stop();
      periodMs = 0;
      task.hasten();
      await pass(20_000);
      expect(runs).toHaveLength(1);
    });
  });
});
