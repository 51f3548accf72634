import { describe, expect, it } from 'vitest';
import { coalesce } from '../../../src/base/coalesce.ts';

describe('coalesce', () => {
  it('runs once more for all calls during a run, which resolve when that has ended', async () => {
    const ends: (() => void)[] = [];
    const run = coalesce(() => new Promise((resolve) => ends.push(resolve)));
    const first = run();
    let isSecondOver = false;
    const second = Promise.all([run(), run()]).then(() => {
      isSecondOver = true;
    });
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await first;
    await Promise.resolve();
    expect([ends.length, isSecondOver]).toEqual([2, false]);
    ends[1]?.();
    await second;
    expect(ends).toHaveLength(2);
  });

  it('goes on after a run that failed', async () => {
    let runs = 0;
    const run = coalesce(async () => {
      runs += 1;
      if (runs === 1) throw new Error('no');
    });
    await Promise.all([expect(run()).rejects.toThrow('no'), run()]);
    expect(runs).toBe(2);
  });
});
