import { describe, expect, it } from 'vitest';
import { todayOf } from '../../../src/entities/headlineFacts.ts';
import { usageOf } from '../../../src/http/usage.ts';
import type { Usage } from '../../../src/model/usage.ts';
import { sonicView } from '../../support/views.ts';

/** Water until the fourth of March, by day of March, or by date. */
function water(days: Record<string, number>, changes: Partial<Usage> = {}): Usage {
  const dated = Object.entries(days).map(([day, litres]) => [
    day.length > 2 ? day : `2026-03-0${day}`,
    litres,
  ]);
  return {
    todayL: 0,
    yesterdayL: 0,
    monthL: 0,
    totalL: 0,
    lastReset: '2026-03-04T00:00:00+01:00',
    days: Object.fromEntries(dated),
    updatedAt: '2026-03-04T01:00:00Z',
    ...changes,
  };
}

const of = (...all: (Usage | null | undefined)[]) =>
  usageOf(
    null,
    all.map((usage) => sonicView({ usage })),
  );

/** The figures of March only. */
const march = (usage: ReturnType<typeof of>) => usage?.days.slice(-4);

describe('the water of a month', () => {
  it('has a figure a day until today, and none of a day that nobody knows', () => {
    const usage = of(water({ '2026-02-02': 8, 1: 0, 3: 2.5 }));
    expect(usage).toMatchObject({ sonic: null, today: '2026-03-04', incompleteDays: [], isFresh: true });
    expect(usage?.days).toHaveLength(31);
    expect(usage?.days[0]).toBe(8);
    expect(march(usage)).toEqual([0, null, 2.5, 0]);
    expect(usage).toMatchObject({ monthL: 2.5, isMonthWhole: false });
    expect(of(water({ 1: 0, 2: 1, 3: 2.5 }))).toMatchObject({ monthL: 3.5, isMonthWhole: true });
  });

  it('is summed up over the sonics, and says on which days one is missing', () => {
    const usage = of(water({ 1: 0.1, 2: 5 }), water({ 1: 0.2, 3: 7, 4: 1 }));
    expect(march(usage)).toEqual([0.3, 5, 7, 1]);
    expect(usage).toMatchObject({
      incompleteDays: [28, 29],
      monthL: 13.3,
      isMonthWhole: false,
      isFresh: true,
    });
  });

  it('does not take a day for dry whose readings have failed for too long', () => {
    const usage = of(water({ 1: 3 }, { todayL: null }));
    expect(march(usage)).toEqual([3, null, null, null]);
    expect(usage).toMatchObject({ isFresh: false });
  });

  it('leaves out sonics that have none, and says that those which were not asked yet are missing', () => {
    expect(of(null)).toBeNull();
    expect(of(undefined)).toBeNull();
    const without = of(water({ 1: 3 }), null);
    expect(march(without)).toEqual([3, null, null, 0]);
    expect(without).toMatchObject({ incompleteDays: [], isFresh: true });
    expect(of(water({ 1: 3 }), undefined)).toMatchObject({ incompleteDays: [27, 30], isFresh: false });
  });

  it('is not known where no day is', () => {
    const usage = of(water({}, { todayL: null }));
    expect(new Set(usage?.days)).toEqual(new Set([null]));
    expect(usage).toMatchObject({ monthL: null, averageL: null, averageDays: 0 });
  });
});

describe('the average', () => {
  const february = {
    '2026-02-24': 1_000,
    '2026-02-25': 10,
    '2026-02-26': 20,
    '2026-02-27': 30,
    '2026-02-28': 40,
  };

  it('is that of the seven days before today', () => {
    const usage = of(water({ ...february, 1: 50, 2: 60, 3: 70, 4: 5_000 }));
    expect(usage).toMatchObject({ averageL: 40, averageDays: 7 });
  });

  it('leaves out days that are not known wholly, and says how many it has', () => {
    expect(of(water({ ...february, 1: 50, 3: 60 }))).toMatchObject({ averageL: 35, averageDays: 6 });
    expect(of(water({ 1: 50, 3: 60 }), water({ 1: 10 }))).toMatchObject({ averageL: 60, averageDays: 1 });
  });
});

it('Today of all valves is known only if that of each is', () => {
  const today = (...all: (Usage | null | undefined)[]) => todayOf(all.map((usage) => sonicView({ usage })));
  expect(today(water({}, { todayL: 1.5 }), water({}, { todayL: 0.25 }))).toBe(1.75);
  expect(today(water({}, { todayL: 1.5 }), null)).toBe(1.5);
  for (const unknown of [undefined, water({}, { todayL: null })]) {
    expect(today(water({}, { todayL: 1.5 }), unknown)).toBeNull();
  }
  expect([today(), today(null)]).toEqual([null, null]);
});
