import { describe, expect, it } from 'vitest';
import { usageOf } from '../../../src/http/usage.ts';
import type { Usage } from '../../../src/model/usage.ts';
import { sonicView } from '../../support/views.ts';

/** Water until the fourth of March. */
function water(days: Record<string, number>, changes: Partial<Usage> = {}): Usage {
  return {
    todayL: 0,
    yesterdayL: 0,
    monthL: 0,
    totalL: 0,
    lastReset: '2026-03-04T00:00:00+01:00',
    days: Object.fromEntries(Object.entries(days).map(([day, litres]) => [`2026-03-0${day}`, litres])),
    updatedAt: '2026-03-04T01:00:00Z',
    ...changes,
  };
}

const of = (...all: (Usage | null | undefined)[]) =>
  usageOf(
    null,
    all.map((usage) => sonicView({ usage })),
  );

describe('the water of a month', () => {
  it('has a figure a day until today, and none of a day that nobody knows', () => {
    expect(of(water({ 1: 0, 3: 2.5 }))).toEqual({
      sonic: null,
      month: '2026-03',
      days: [0, null, 2.5, 0],
      incompleteDays: [],
      litres: 2.5,
      isFresh: true,
    });
  });

  it('is summed up over the sonics, and says on which days one is missing', () => {
    const usage = of(water({ 1: 0.1, 2: 5 }), water({ 1: 0.2, 3: 7, 4: 1 }));
    expect(usage).toMatchObject({
      days: [0.3, 5, 7, 1],
      incompleteDays: [2, 3],
      litres: 13.3,
      isFresh: true,
    });
  });

  it('does not take a day for dry whose readings have failed for too long', () => {
    const usage = of(water({ 1: 3 }, { todayL: null }));
    expect(usage).toMatchObject({ days: [3, null, null, null], isFresh: false });
  });

  it('leaves out sonics that have none, and says that those which were not asked yet are missing', () => {
    expect(of(null)).toBeNull();
    expect(of(undefined)).toBeNull();
    expect(of(water({ 1: 3 }), null)).toMatchObject({
      days: [3, null, null, 0],
      incompleteDays: [],
      isFresh: true,
    });
    expect(of(water({ 1: 3 }), undefined)).toMatchObject({ incompleteDays: [1, 4], isFresh: false });
  });

  it('is not known where no day is', () => {
    expect(of(water({}, { todayL: null }))).toMatchObject({ days: [null, null, null, null], litres: null });
  });
});
