import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  dailyUsage,
  type Household,
  litersOf,
  litersSoFar,
  type Month,
} from '../../../src/simulator/usage.ts';
import { startOfDay } from '../../../src/simulator/zone.ts';

const hourMs = 3_600_000;
const seed = fc.integer({ min: 1, max: 2 ** 30 });
const date = fc
  .integer({ min: Date.UTC(2020) / 86_400_000, max: Date.UTC(2034) / 86_400_000 })
  .map((day) => new Date(day * 86_400_000).toISOString().slice(0, 10));
const timeZone = fc.constantFrom(
  'UTC',
  'Europe/London',
  'America/Havana',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
);

const london: Household = {
  seed: 7,
  createdAt: '2023-03-18T09:42:33.297Z',
  timeZone: 'Europe/London',
  corrections: new Map(),
};

const days = (now: string, month?: Month, household = london) =>
  dailyUsage(household, Date.parse(now), month).daily;
const dates = (...asked: Parameters<typeof days>) => days(...asked).map((day) => day.date);
const today = (now: number, household: Household) => dailyUsage(household, now).daily.at(-1);

describe('the days of a month', () => {
  it('are all of one that is over, whatever its length, a leap day among them', () => {
    expect(dates('2025-01-15T12:00:00Z', { year: 2024, month: 2 })).toHaveLength(29);
    expect(dates('2026-01-15T12:00:00Z', { year: 2025, month: 2 })).toHaveLength(28);
    const november = dates('2025-01-15T12:00:00Z', { year: 2024, month: 11 });
    expect([november.length, november[0], november.at(-1)]).toEqual([30, '2024-11-01', '2024-11-30']);
  });

  it('end with today, and are none in a month that has not begun', () => {
    expect(dates('2025-03-03T12:00:00Z')).toEqual(['2025-03-01', '2025-03-02', '2025-03-03']);
    expect(dates('2025-03-03T12:00:00Z', { month: 4 })).toEqual([]);
    expect(dates('2025-03-03T12:00:00Z', { year: 9999, month: 12 })).toEqual([]);
  });

  it('begin with the day on which the sonic was created, in the time zone of the property', () => {
    expect(dates('2025-01-15T12:00:00Z', { year: 2023, month: 3 })[0]).toBe('2023-03-18');
    expect(dates('2025-01-15T12:00:00Z', { year: 2023, month: 2 })).toEqual([]);
    const late = { ...london, timeZone: 'Asia/Tokyo', createdAt: '2023-03-18T15:30:00.000Z' };
    expect(dates('2025-01-15T12:00:00Z', { year: 2023, month: 3 }, late)[0]).toBe('2023-03-19');
    const ageless = { ...london, createdAt: null };
    expect(dates('2025-01-15T12:00:00Z', { year: 1970, month: 1 }, ageless)).toHaveLength(31);
  });

  it('are of the present month and year unless given, as the calendar of the property shows them', () => {
    const tokyo = { ...london, timeZone: 'Asia/Tokyo' };
    expect(dates('2024-12-31T14:59:59Z', {}, tokyo).at(-1)).toBe('2024-12-31');
    expect(dates('2024-12-31T15:00:00Z', {}, tokyo)).toEqual(['2025-01-01']);
    expect(dates('2024-12-31T15:00:00Z', { month: 2 }, tokyo)).toEqual([]);
    expect(dates('2024-12-31T15:00:00Z', { month: 12 }, tokyo)).toEqual([]);
    expect(dates('2024-12-31T15:00:00Z', { year: 2024 }, tokyo)[0]).toBe('2024-01-01');
    const honolulu = { ...london, timeZone: 'Pacific/Honolulu' };
    expect(dates('2025-03-01T09:59:59Z', {}, honolulu)).toHaveLength(28);
    expect(dates('2025-03-01T10:00:00Z', {}, honolulu)).toEqual(['2025-03-01']);
  });
});

describe('the litres of a day', () => {
  it('are the same for ever once it is over, whenever and for whichever month they are asked for', () => {
    fc.assert(
      fc.property(seed, date, timeZone, fc.nat({ max: 400 * 24 }), (house, day, zone, hours) => {
        const household = { seed: house, createdAt: null, timeZone: zone, corrections: new Map() };
        const over = startOfDay(day, zone) + 25 * hourMs;
        const month = { year: Number(day.slice(0, 4)), month: Number(day.slice(5, 7)) };
        const asked = dailyUsage(household, over + hours * hourMs, month).daily;
        expect(asked.find((each) => each.date === day)).toEqual({ date: day, liters: litersOf(house, day) });
      }),
    );
  });

  it('are what a home could use, to one decimal', () => {
    fc.assert(
      fc.property(seed, date, (house, day) => {
        const liters = litersOf(house, day);
        expect(liters).toBeGreaterThan(1);
        expect(liters).toBeLessThan(500);
        expect(liters).toBe(Number(liters.toFixed(1)));
      }),
    );
  });

  it('differ from day to day and from home to home', () => {
    const january = days('2025-02-15T12:00:00Z', { month: 1 }).map(({ liters }) => liters);
    const neighbours = days('2025-02-15T12:00:00Z', { month: 1 }, { ...london, seed: 8 });
    expect(new Set(january).size).toBeGreaterThan(25);
    expect(neighbours.map(({ liters }) => liters)).not.toEqual(january);
  });

  it('are what they were corrected to', () => {
    const corrections = new Map([['2025-01-02', 12.5]]);
    const before = days('2025-01-03T12:00:00Z');
    const after = days('2025-01-03T12:00:00Z', {}, { ...london, corrections });
    expect(after).toEqual(before.with(1, { date: '2025-01-02', liters: 12.5 }));
  });
});

describe('the present day', () => {
  it('starts at nothing, never shrinks, and ends with no more than what the whole day is then said to be', () => {
    fc.assert(
      fc.property(seed, date, timeZone, (house, day, zone) => {
        const household = { seed: house, createdAt: null, timeZone: zone, corrections: new Map() };
        const start = startOfDay(day, zone);
        expect(today(start, household)).toEqual({ date: day, liters: 0 });
        let before = 0;
        for (let now = start; now < start + 26 * hourMs; now += hourMs / 4) {
          const [shown] = dailyUsage(household, now, {
            year: Number(day.slice(0, 4)),
            month: Number(day.slice(5, 7)),
          }).daily.filter((each) => each.date === day);
          expect(shown?.liters).toBeGreaterThanOrEqual(before);
          before = shown?.liters ?? Number.NaN;
        }
        expect(before).toBe(litersOf(house, day));
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['is short when clocks go forward', 'Europe/London', '2025-03-30T00:00:00Z', '2025-03-30T23:00:00Z'],
    ['is long when they go back', 'Europe/London', '2025-10-25T23:00:00Z', '2025-10-27T00:00:00Z'],
    [
      'starts at one where midnight is skipped',
      'America/Havana',
      '2025-03-09T05:00:00Z',
      '2025-03-10T04:00:00Z',
    ],
    [
      'starts at the first of two midnights',
      'America/Havana',
      '2025-11-02T04:00:00Z',
      '2025-11-03T05:00:00Z',
    ],
    [
      'ends half an hour early on Lord Howe',
      'Australia/Lord_Howe',
      '2025-10-04T13:30:00Z',
      '2025-10-05T13:00:00Z',
    ],
  ])('%s', (_, zone, start, end) => {
    const household = { ...london, timeZone: zone };
    const [first, last] = [Date.parse(start), Date.parse(end) - 1];
    const day = today(first, household)?.date ?? '';
    expect(today(first, household)?.liters).toBe(0);
    expect(today(first - 1, household)?.date).not.toBe(day);
    expect(today(last + 1, household)).toMatchObject({ liters: 0 });
    expect(today(last + 1, household)?.date).not.toBe(day);
    const nearlyAll = today(last, household);
    expect(nearlyAll?.date).toBe(day);
    expect(nearlyAll?.liters).toBeCloseTo(litersOf(household.seed, day), 0);
    const half = today((first + last) / 2, household)?.liters ?? 0;
    expect(half).toBeGreaterThan(litersOf(household.seed, day) * 0.4);
    expect(half).toBeLessThan(litersOf(household.seed, day) * 0.6);
  });

  it('has used nothing at its beginning and everything at its end', () => {
    expect([0, 0.25, 0.5, 1].map((part) => litersSoFar(122, part))).toEqual([0, 8, 54, 122]);
    expect(litersSoFar(100, 0.25)).toBe(6.5);
  });
});
