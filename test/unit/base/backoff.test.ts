import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../src/base/backoff.ts';

const backoff = { firstMs: 1_000, longestMs: 30_000 };

describe('the wait after failures', () => {
  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [5, 16_000],
    [6, 30_000],
    [7, 30_000],
    [100_000, 30_000],
  ])('number %i is drawn from the upper half of %i ms', (failures, fullMs) => {
    expect(backoffMs(backoff, failures, () => 0)).toBe(fullMs / 2);
    expect(backoffMs(backoff, failures, () => 0.5)).toBe(fullMs * 0.75);
    expect(backoffMs(backoff, failures, () => 0.999999999)).toBe(fullMs);
  });

  it('before any failure is that of the first', () => {
    expect(backoffMs(backoff, 0, () => 0)).toBe(500);
    expect(backoffMs(backoff, -3, () => 0)).toBe(500);
  });

  it('is never longer than the longest, nor shorter than half the first', () => {
    const random = fc.double({ min: 0, max: 0.999999, noNaN: true });
    fc.assert(
      fc.property(fc.nat(), random, (failures, drawn) => {
        const waitMs = backoffMs(backoff, failures, () => drawn);
        expect(waitMs).toBeGreaterThanOrEqual(500);
        expect(waitMs).toBeLessThanOrEqual(30_000);
      }),
    );
  });
});
