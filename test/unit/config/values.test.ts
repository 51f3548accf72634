import { describe, expect, it } from 'vitest';
import { parseSchedule } from '../../../src/config/values.ts';

describe('a schedule', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    [' 1h ', 3_600_000],
  ])('is an interval: %j', (text, everyMs) => {
    expect(parseSchedule(text)).toEqual({ kind: 'every', everyMs });
  });

  it.each([
    ['0 6 * * *', '0 6 * * *'],
    ['*/10 * * * * *', '*/10 * * * * *'],
    ['  0  6 * *\tMON-FRI ', '0 6 * * MON-FRI'],
  ])('is a cron expression: %j', (text, expression) => {
    expect(parseSchedule(text)).toEqual({ kind: 'cron', expression });
  });

  it.each([
    '',
    '30',
    '30 s',
    '-5s',
    '1d',
    'never',
    '@hourly',
    '* * * *',
    '* * * * * * *',
    '61 * * * *',
    '0 0 31 2 *',
  ])('is not %j', (text) => {
    expect(parseSchedule(text)).toBeNull();
  });
});
