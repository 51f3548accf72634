import { describe, expect, it } from 'vitest';
import { pressureTestsOn, withoutToday } from '../../../src/model/pressureTests.ts';

const tests = (...ids: string[]) => ids.map((id) => ({ id }));

describe('pressure tests', () => {
  const by_day = {
    '2026-11-20': tests('c', 'd'),
    '2026-11-19': tests('b'),
    '2026-11-21': [],
    '2026-09-22': tests('a'),
    '2026-09-21': tests('old'),
  };

  it('are shown for the last 60 days, sorted, without the days that had none', () => {
    const { days } = pressureTestsOn('2026-11-20', { by_day });
    expect(Object.entries(days)).toEqual([
      ['2026-09-22', ['a']],
      ['2026-11-19', ['b']],
      ['2026-11-20', ['c', 'd']],
    ]);
  });

  it('have a last day, and a count of today that is zero after midnight', () => {
    expect(pressureTestsOn('2026-11-20', { by_day })).toMatchObject({
      lastDay: '2026-11-20',
      todayCount: 2,
    });
    expect(pressureTestsOn('2026-11-22', { by_day })).toMatchObject({
      lastDay: '2026-11-20',
      todayCount: 0,
    });
  });

  it('have a last day that may be long ago, and none where there was none', () => {
    expect(pressureTestsOn('2028-01-01', { by_day })).toEqual({
      lastDay: '2026-11-20',
      todayCount: 0,
      days: {},
    });
    expect(pressureTestsOn('2028-01-01', { by_day: {} })).toEqual({
      lastDay: null,
      todayCount: 0,
      days: {},
    });
  });

  it('do not tell of today what is too old', () => {
    expect(withoutToday(pressureTestsOn('2026-11-20', { by_day }))).toMatchObject({
      lastDay: '2026-11-20',
      todayCount: null,
    });
  });
});
