import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dateAfter,
  dateAt,
  dayAt,
  isoFromUnixSeconds,
  isoWithOffset,
  isTimezone,
  monthAfter,
  monthOf,
  startOfDay,
} from '../../../src/model/calendar.ts';

const hourMs = 3_600_000;

describe('a day', () => {
  it.each([
    ['in winter', 'Europe/London', '2026-01-15T12:00:00Z', '2026-01-15', '2026-01-15T00:00:00+00:00'],
    ['in summer', 'Europe/London', '2026-07-15T23:30:00Z', '2026-07-16', '2026-07-16T00:00:00+01:00'],
    ['behind UTC', 'America/New_York', '2026-01-01T04:59:59Z', '2025-12-31', '2025-12-31T00:00:00-05:00'],
    ['at odd offsets', 'Asia/Kathmandu', '2026-01-15T18:15:00Z', '2026-01-16', '2026-01-16T00:00:00+05:45'],
    ['far ahead', 'Pacific/Kiritimati', '2026-01-15T10:00:00Z', '2026-01-16', '2026-01-16T00:00:00+14:00'],
    ['far behind', 'Etc/GMT+12', '2026-01-15T11:59:59Z', '2026-01-14', '2026-01-14T00:00:00-12:00'],
    [
      'without midnight',
      'America/Santiago',
      '2026-09-06T12:00:00Z',
      '2026-09-06',
      '2026-09-06T01:00:00-03:00',
    ],
    ['without midnight', 'Africa/Cairo', '2026-04-24T12:00:00Z', '2026-04-24', '2026-04-24T01:00:00+03:00'],
    ['without midnight', 'Asia/Beirut', '2022-03-27T12:00:00Z', '2022-03-27', '2022-03-27T01:00:00+03:00'],
    [
      'with two midnights',
      'America/Havana',
      '2026-11-01T12:00:00Z',
      '2026-11-01',
      '2026-11-01T00:00:00-04:00',
    ],
    ['in no time zone', 'Mars/Olympus', '2026-01-15T12:00:00Z', '2026-01-15', '2026-01-15T00:00:00+00:00'],
  ])('%s (%s) has its date and its beginning', (_, timezone, at, date, startedAt) => {
    expect(dayAt(Date.parse(at), timezone)).toEqual({ date, startedAt });
    expect(Date.parse(startedAt)).toBe(startOfDay(date, timezone));
  });

  it.each([
    ['Europe/London', '2026-03-29', 23],
    ['Europe/London', '2026-10-25', 25],
    ['America/Santiago', '2026-09-06', 23],
    ['America/Santiago', '2026-04-04', 25],
    ['Africa/Cairo', '2026-04-24', 23],
    ['Australia/Lord_Howe', '2026-10-04', 23.5],
    ['UTC', '2026-10-25', 24],
  ])('in %s on %s has %d hours', (timezone, date, hours) => {
    const next = dateAfter(date, 1);
    expect(startOfDay(next, timezone) - startOfDay(date, timezone)).toBe(hours * hourMs);
  });

  it('begins with the first moment of its date, whatever the clocks do', () => {
    for (const timezone of [
      'America/Santiago',
      'Africa/Cairo',
      'Asia/Beirut',
      'America/Havana',
      'Asia/Tehran',
    ]) {
      for (let date = '2026-01-01'; date < '2027-01-01'; date = dateAfter(date, 1)) {
        const start = startOfDay(date, timezone);
        expect([timezone, dateAt(start - 1, timezone)]).toEqual([timezone, dateAfter(date, -1)]);
        expect([timezone, dateAt(start, timezone)]).toEqual([timezone, date]);
      }
    }
  });

  it('that a country left out begins with the next that there was', () => {
    expect(dateAt(startOfDay('2011-12-30', 'Pacific/Apia'), 'Pacific/Apia')).toBe('2011-12-31');
  });
});

describe('dates and months', () => {
  it('are counted over the ends of months and years', () => {
    expect(dateAfter('2024-02-28', 1)).toBe('2024-02-29');
    expect(dateAfter('2026-03-01', -1)).toBe('2026-02-28');
    expect(dateAfter('2026-12-31', 1)).toBe('2027-01-01');
    expect(monthAfter('2026-12', 1)).toBe('2027-01');
    expect(monthAfter('2026-01', -2)).toBe('2025-11');
    expect(monthOf('2026-01-31')).toBe('2026-01');
  });

  it('have an offset at every moment', () => {
    expect(isoWithOffset(Date.parse('2026-01-15T12:34:56Z'), 'Asia/Kathmandu')).toBe(
      '2026-01-15T18:19:56+05:45',
    );
    expect(isoWithOffset(Date.parse('2026-01-15T12:34:56Z'), 'America/St_Johns')).toBe(
      '2026-01-15T09:04:56-03:30',
    );
  });

  it('know a time zone by its name', () => {
    expect(['UTC', 'Europe/London', 'nonsense', ''].map(isTimezone)).toEqual([true, true, false, false]);
  });
});

describe('a time in Unix seconds', () => {
  it.each([
    [1, '1970-01-01T00:00:01.000Z'],
    [1_622_972_033, '2021-06-06T09:33:53.000Z'],
    [253_402_300_799, '9999-12-31T23:59:59.000Z'],
    [253_402_300_800, null],
    [1_623_414_482_000, null],
    [0, null],
    [-1, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [null, null],
  ])('of %s reads %s', (seconds, text) => {
    expect(isoFromUnixSeconds(seconds)).toBe(text);
  });

  it('is for any number a time of four-digit years or nothing', () => {
    fc.assert(
      fc.property(fc.double(), (seconds) => {
        expect(isoFromUnixSeconds(seconds) ?? '2000-01-01T00:00:00.000Z').toMatch(
          /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
        );
      }),
    );
  });
});
