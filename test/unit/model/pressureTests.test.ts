import { describe, expect, it } from 'vitest';
import { lastPressureTestResult, pressureTestsOn, withoutToday } from '../../../src/model/pressureTests.ts';
import type { Incident } from '../../../src/model/records.ts';
import { anIncident, sonicView } from '../../support/views.ts';

/** Dates begin at eleven in the evening in UTC. */
const startOf = (date: string) => Date.parse(`${date}T00:00:00+01:00`);

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
    const { days } = pressureTestsOn('2026-11-20', { by_day }, startOf);
    expect(Object.entries(days)).toEqual([
      ['2026-09-22', ['a']],
      ['2026-11-19', ['b']],
      ['2026-11-20', ['c', 'd']],
    ]);
  });

  it('have a last day, and a count of today that is zero after midnight', () => {
    expect(pressureTestsOn('2026-11-20', { by_day }, startOf)).toMatchObject({
      lastDay: '2026-11-20',
      todayCount: 2,
    });
    expect(pressureTestsOn('2026-11-22', { by_day }, startOf)).toMatchObject({
      lastDay: '2026-11-20',
      todayCount: 0,
    });
  });

  it('have a last day that may be long ago, and none where there was none', () => {
    expect(pressureTestsOn('2028-01-01', { by_day }, startOf)).toEqual({
      lastDay: '2026-11-20',
      lastDayStart: Date.parse('2026-11-19T23:00:00Z'),
      todayCount: 0,
      days: {},
    });
    expect(pressureTestsOn('2028-01-01', { by_day: {} }, startOf)).toEqual({
      lastDay: null,
      lastDayStart: null,
      todayCount: 0,
      days: {},
    });
  });

  it('do not tell of today what is too old', () => {
    expect(withoutToday(pressureTestsOn('2026-11-20', { by_day }, startOf))).toMatchObject({
      lastDay: '2026-11-20',
      todayCount: null,
    });
  });
});

describe('the result of the last pressure test', () => {
  const today = pressureTestsOn('2026-11-20', { by_day: { '2026-11-20': tests('a') } }, startOf);
  const about = (type: string | null, detected_at: string | null) =>
    anIncident({ id: `${type}`, type, detected_at });
  const before = '2026-11-19T22:59:00Z';
  const since = '2026-11-19T23:01:00Z';
  const later = '2026-11-20T03:00:00Z';
  const result = (incidents: readonly Incident[], changes: Parameters<typeof sonicView>[0] = {}) => {
    const view = sonicView({ pressureTests: today, incidents, ...changes });
    return lastPressureTestResult(view.pressureTests, view);
  };

  it.each<[incidents: readonly Incident[], result: string]>([
    [[], 'no_problem'],
    [[about('pressure_test_failed', since)], 'failed'],
    [[about('PRESSURE_TEST_SKIPPED', since)], 'skipped'],
    [[about('pressure_test_aborted', null)], 'aborted'],
    [[about('pressure_test_failed', before)], 'no_problem'],
    [[about('water_presence_detected', since)], 'no_problem'],
    [[about('pressure_test_failed', since), about('pressure_test_skipped', later)], 'skipped'],
    [[about('pressure_test_failed', later), about('pressure_test_skipped', since)], 'failed'],
  ])('with %j is %s', (incidents, expected) => {
    expect(result(incidents)).toBe(expected);
  });

  it.each<[what: string, changes: Parameters<typeof sonicView>[0]]>([
    ['its alerts are not all known', { areIncidentsFresh: false }],
    ['the valve is offline', { isReporting: false }],
    ['an alert may be at it', { possibleIncidents: [about('pressure_test_failed', later)] }],
    ['an alert has no type', { incidents: [about(null, later)] }],
    ['there was no test', { pressureTests: pressureTestsOn('2026-11-20', { by_day: {} }, startOf) }],
    ['its tests could not be read', { pressureTests: undefined }],
    ['its tests were read too long ago', { pressureTests: withoutToday(today) }],
  ])('is unknown while %s', (_, changes) => {
    expect(result([], changes)).toBeNull();
  });

  it('is a problem that is open, whatever else is unknown', () => {
    const changes = { areIncidentsFresh: false, isReporting: false };
    expect(result([about('pressure_test_failed', later)], changes)).toBe('failed');
  });
});
