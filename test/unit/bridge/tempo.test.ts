import { describe, expect, it } from 'vitest';
import { listPeriodMs, moodOf, telemetryPeriodMs } from '../../../src/bridge/tempo.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe('the mood of a sonic', () => {
  it.each([
    ['steady where nothing is known', null, null, 'steady'],
    ['lively from the moment on that something happened', 0, null, 'lively'],
    ['lively until five minutes are over', 5 * minuteMs - 1, null, 'lively'],
    ['steady after that', 5 * minuteMs, null, 'steady'],
    ['steady when it has rested for less than an hour', null, hourMs - 1, 'steady'],
    ['calm when it has rested for an hour', null, hourMs, 'calm'],
    ['lively although it has rested for an hour', 0, 2 * hourMs, 'lively'],
    ['calm although something happened once', hourMs, hourMs, 'calm'],
  ] as const)('is %s', (_, stirredMsAgo, restingMs, mood) => {
    const now = 10 * hourMs;
    const trace = {
      stirredAt: stirredMsAgo === null ? null : now - stirredMsAgo,
      restingSince: restingMs === null ? null : now - restingMs,
    };
    expect(moodOf(trace, minuteMs, now)).toBe(mood);
  });

  it.each([
    [hourMs, 5 * minuteMs],
    [30_000, 5 * minuteMs],
    [1_000, 10_000],
  ])('is lively for no more than ten periods of %i ms', (periodMs, livelyMs) => {
    const trace = { stirredAt: 0, restingSince: null };
    expect(moodOf(trace, periodMs, livelyMs - 1)).toBe('lively');
    expect(moodOf(trace, periodMs, livelyMs)).toBe('steady');
  });
});

describe('the period', () => {
  it.each([
    [hourMs, 30 * minuteMs],
    [minuteMs, 30_000],
    [20_000, 10_000],
    [12_000, 10_000],
    [10_000, 10_000],
    [9_000, 4_500],
    [300, 150],
  ])(
    'of %i ms is %i ms when lively: half of it, but not below ten seconds unless that is wanted',
    (period, lively) => {
      expect(listPeriodMs('lively', period)).toBe(lively);
      expect(telemetryPeriodMs('lively', period, 5 * minuteMs)).toBe(lively);
    },
  );

  it('of the list is never longer than its schedule', () => {
    for (const mood of ['steady', 'calm'] as const) expect(listPeriodMs(mood, minuteMs)).toBe(minuteMs);
  });

  it.each([
    [60_000, 120_000],
    [75_000, 150_000],
    [75_001, 75_001],
    [hourMs, hourMs],
  ])('of telemetry is doubled when calm only where it stays fresh: %i ms is %i ms', (period, calm) => {
    expect(telemetryPeriodMs('calm', period, 5 * minuteMs)).toBe(calm);
    expect(telemetryPeriodMs('steady', period, 5 * minuteMs)).toBe(period);
  });
});
