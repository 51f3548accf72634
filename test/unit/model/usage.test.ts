import { describe, expect, it } from 'vitest';
import { dayAt } from '../../../src/model/calendar.ts';
import {
  mergedRecords,
  monthsDue,
  recordFromShown,
  type UsageRecord,
  usageOn,
  withoutPresent,
  withReading,
} from '../../../src/model/usage.ts';

type Days = Readonly<Record<string, number>>;

const listed = (days: Days) => Object.entries(days).map(([date, liters]) => ({ date, liters }));

/** Reads months one after the other, all at that time in UTC. */
function read(record: UsageRecord | null, at: string, ...months: readonly (readonly [string, Days])[]) {
  const readAt = Date.parse(at);
  let after = record;
  for (const [month, days] of months) {
    after = withReading(after, { month, daily: listed(days), presentMonth: at.slice(0, 7), readAt });
  }
  if (!after) throw new Error('nothing was read');
  return after;
}

const shown = (record: UsageRecord, at: string) => usageOn(dayAt(Date.parse(at), 'UTC'), record);

const november = { '2026-11-19': 100.5, '2026-11-20': 7.25 };
const october = { '2026-10-01': 1, '2026-10-31': 30 };

/** This month and last were read at noon. */
const both = () => read(null, '2026-11-20T12:00:00Z', ['2026-11', november], ['2026-10', october]);

describe('usage', () => {
  it('is today, yesterday, this month and the sum of all days', () => {
    expect(shown(both(), '2026-11-20T12:00:00Z')).toEqual({
      todayL: 7.25,
      yesterdayL: 100.5,
      monthL: 107.75,
      totalL: 138.75,
      lastReset: '2026-11-20T00:00:00+00:00',
      days: { ...october, ...november },
      updatedAt: '2026-11-20T12:00:00.000Z',
    });
  });

  it('lists its days sorted, whichever month was read first', () => {
    expect(Object.keys(shown(both(), '2026-11-20T12:00:00Z').days)).toEqual([
      '2026-10-01',
      '2026-10-31',
      '2026-11-19',
      '2026-11-20',
    ]);
  });

  const noon = '2026-11-20T12:00:00Z';
  const inDecember = '2026-12-01T00:10:00Z';
  const atMonthEnd = () =>
    read(read(null, '2026-11-30T23:59:00Z', ['2026-11', november]), inDecember, ['2026-12', {}]);
  const ofDecember = () =>
    read(null, '2026-12-31T23:59:00Z', ['2026-12', { '2026-12-31': 5 }], ['2026-11', november]);

  it.each<[string, UsageRecord, string, Partial<ReturnType<typeof usageOn>>]>([
    [
      'begins a new day at midnight by itself',
      both(),
      '2026-11-21T00:00:00Z',
      {
        ...{ todayL: 0, yesterdayL: 7.25, monthL: 107.75, totalL: 138.75 },
        ...{ lastReset: '2026-11-21T00:00:00+00:00', updatedAt: '2026-11-21T00:00:00.000Z' },
      },
    ],
    [
      'begins a new month and year at midnight by itself',
      ofDecember(),
      '2027-01-01T00:00:00Z',
      { todayL: 0, yesterdayL: 5, monthL: 0, totalL: 112.75, days: { '2026-12-31': 5 } },
    ],
    [
      'has no sum before last month was read once',
      read(null, noon, ['2026-11', november]),
      noon,
      { todayL: 7.25, totalL: null },
    ],
    [
      'has no sum before this month was read once',
      read(null, noon, ['2026-10', october]),
      noon,
      { totalL: null },
    ],
    [
      'keeps its total in the first moments of a new month',
      both(),
      '2026-12-01T00:00:00Z',
      { totalL: 138.75 },
    ],
    [
      'keeps its total once a new month is read',
      read(both(), inDecember, ['2026-12', {}]),
      inDecember,
      { todayL: 0, monthL: 0, totalL: 138.75 },
    ],
    [
      'has no sum while a month end came between the first readings',
      atMonthEnd(),
      inDecember,
      { totalL: null },
    ],
    [
      'has a sum then once all three months were read',
      read(atMonthEnd(), inDecember, ['2026-10', october]),
      inDecember,
      { totalL: 138.75 },
    ],
    [
      'does not know yesterday while its month was never read',
      read(null, '2026-12-01T12:00:00Z', ['2026-12', { '2026-12-01': 3 }]),
      '2026-12-01T12:00:00Z',
      { todayL: 3, yesterdayL: null },
    ],
    [
      'is zero on a day that the cloud leaves out of a month',
      read(null, noon, ['2026-11', {}]),
      noon,
      { todayL: 0, yesterdayL: 0, monthL: 0, days: {} },
    ],
    [
      'keeps the litres of a day that an answer leaves out',
      read(both(), noon, ['2026-11', { '2026-11-20': 8 }], ['2026-10', {}]),
      noon,
      { todayL: 8, yesterdayL: 100.5, totalL: 139.5 },
    ],
    [
      'is unknown, but for its sum, as long as neither this month nor last was read',
      both(),
      '2027-02-01T00:10:00Z',
      { todayL: null, monthL: null, totalL: 138.75, days: {} },
    ],
  ])('%s', (_, record, at, figures) => {
    expect(shown(record, at)).toMatchObject(figures);
  });

  it.each([
    ['up', 150],
    ['down', 50.25],
    ['to nothing', 0],
  ])('follows a day that is corrected %s', (_, liters) => {
    const corrected = read(both(), '2026-11-20T13:00:00Z', [
      '2026-11',
      { ...november, '2026-11-19': liters },
    ]);
    expect(shown(corrected, '2026-11-20T13:00:00Z')).toMatchObject({
      yesterdayL: liters,
      totalL: 138.75 - 100.5 + liters,
      updatedAt: '2026-11-20T13:00:00.000Z',
    });
  });

  it('counts a day once that comes twice, with the larger figure', () => {
    const twice = (...liters: number[]) =>
      withReading(null, {
        month: '2026-11',
        daily: liters.map((each) => ({ date: '2026-11-20', liters: each })),
        presentMonth: '2026-11',
        readAt: Date.parse('2026-11-20T12:00:00Z'),
      });
    for (const record of [twice(5, 8), twice(8, 5), twice(8, 8)]) {
      expect(shown(record, '2026-11-20T12:00:00Z')).toMatchObject({ todayL: 8, monthL: 8 });
    }
  });

  it('leaves out what is no water, and days of a month that was not asked for', () => {
    const odd = { '2026-11-19': 1e300, '2026-11-18': Number.NaN, '2026-10-20': 5, '2026-12-01': 5 };
    const record = read(both(), '2026-11-20T13:00:00Z', ['2026-11', odd]);
    expect(shown(record, '2026-11-20T13:00:00Z')).toMatchObject({
      totalL: 138.75,
      days: { ...october, ...november },
    });
  });

  it('sums a year of tenths and hundredths exactly', () => {
    let record: UsageRecord | null = null;
    for (let month = 1; month <= 12; month++) {
      const name = `2026-${String(month).padStart(2, '0')}`;
      const days = Array.from(
        { length: 28 },
        (_, day) => [`${name}-${String(day + 1).padStart(2, '0')}`, 0.1] as const,
      );
      const at = `${name}-28T12:00:00Z`;
      for (const due of monthsDue(record, name, false)) {
        record = read(record, at, [due, due === name ? Object.fromEntries(days) : {}]);
      }
    }
    expect(record && shown(record, '2026-12-28T12:00:00Z').totalL).toBe(33.6);
    expect(record?.months.toSorted()).toEqual(['2026-11', '2026-12']);
    expect(Object.keys(record?.days ?? {})).toHaveLength(56);
  });

  it('that is too old is not shown as the present, but its sum and its days stand', () => {
    expect(withoutPresent(shown(both(), '2026-11-20T14:00:00Z'))).toMatchObject({
      todayL: null,
      yesterdayL: null,
      monthL: null,
      totalL: 138.75,
      days: { ...october, ...november },
    });
  });

  it('changes nothing by a reading that brings nothing new, but knows that it was read', () => {
    const before = both();
    const after = read(before, '2026-11-20T13:00:00Z', ['2026-11', november]);
    expect(after).toEqual({ ...before, readAt: Date.parse('2026-11-20T13:00:00Z') });
    expect(shown(after, '2026-11-20T13:00:00Z')).toEqual(shown(before, '2026-11-20T12:00:00Z'));
  });
});

describe('the months to be read', () => {
  it('are this one and last at first, and then this one until last is due again', () => {
    expect(monthsDue(null, '2026-01', false)).toEqual(['2026-01', '2025-12']);
    expect(monthsDue(both(), '2026-11', true)).toEqual(['2026-11']);
    expect(monthsDue(both(), '2026-11', false)).toEqual(['2026-11', '2026-10']);
  });

  it('are those that went by unread one by one, oldest first, each read once and frozen', () => {
    let record = both();
    const asked: (readonly string[])[] = [];
    for (let round = 0; round < 5; round++) {
      const due = monthsDue(record, '2027-02', round > 0);
      asked.push(due);
      for (const month of due) record = read(record, '2027-02-10T12:00:00Z', [month, { [`${month}-05`]: 1 }]);
    }
    expect(asked).toEqual([
      ['2027-02', '2026-10', '2027-01'],
      ['2027-02', '2026-11'],
      ['2027-02', '2026-12'],
      ['2027-02'],
      ['2027-02'],
    ]);
    expect(record).toMatchObject({ frozenThrough: '2026-12', frozenMl: (138.75 + 3) * 1_000 });
    expect(shown(record, '2027-02-10T12:00:00Z').totalL).toBe(138.75 + 5);
  });

  it('include a month once more when it is over, so that its late corrections count', () => {
    const december = read(both(), '2026-12-02T12:00:00Z', ['2026-12', {}]);
    expect(monthsDue(december, '2026-12', false)).toEqual(['2026-12', '2026-10', '2026-11']);
    const after = read(december, '2026-12-02T12:00:00Z', ['2026-10', { '2026-10-31': 31 }]);
    expect(after.frozenMl).toBe(32_000);
    expect(monthsDue(after, '2026-12', true)).toEqual(['2026-12']);
  });

  it('count once only, though the time zone changes over a month end and back', () => {
    let record = both();
    for (const [at, ...months] of [
      ['2026-12-01T00:10:00Z', '2026-12', '2026-10', '2026-11'],
      ['2026-11-30T23:50:00Z', '2026-11', '2026-10'],
      ['2026-12-01T00:20:00Z', '2026-12', '2026-11'],
    ] as const) {
      const told: Record<string, Days> = {
        '2026-10': october,
        '2026-11': november,
        '2026-12': { '2026-12-01': 2 },
      };
      for (const month of months) record = read(record, at, [month, told[month] ?? {}]);
    }
    expect(shown(record, '2026-12-01T00:20:00Z').totalL).toBe(140.75);
  });
});

describe('a clock that is months behind', () => {
  it('reads no month again whose litres are already in the sum', () => {
    const record = read(
      both(),
      '2026-12-02T12:00:00Z',
      ['2026-12', { '2026-12-01': 4 }],
      ['2026-10', october],
    );
    const behind = read(
      record,
      '2026-10-15T12:00:00Z',
      ['2026-10', october],
      ['2026-09', { '2026-09-01': 9 }],
    );
    expect(behind).toBe(record);
    expect(shown(behind, '2026-10-15T12:00:00Z').totalL).toBe(142.75);
  });
});

describe('a record that was kept', () => {
  it('is put together with what was read without it', () => {
    const kept = read(both(), '2026-12-02T12:00:00Z', ['2026-12', { '2026-12-01': 4 }], ['2026-10', october]);
    const alone = read(
      null,
      '2027-01-05T12:00:00Z',
      ['2027-01', { '2027-01-04': 6 }],
      ['2026-12', { '2026-12-02': 5 }],
    );
    const merged = mergedRecords(kept, alone);
    expect(shown(merged, '2027-01-05T12:00:00Z')).toMatchObject({
      todayL: 0,
      yesterdayL: 6,
      totalL: 138.75 + 4 + 5 + 6,
    });
    expect(merged.readAt).toBe(alone.readAt);
  });

  it('is not put together twice with months that it holds frozen', () => {
    const kept = read(both(), '2026-12-02T12:00:00Z', ['2026-10', october]);
    const alone = read(null, '2026-11-20T12:00:00Z', ['2026-10', october], ['2026-11', november]);
    expect(shown(mergedRecords(kept, alone), '2026-12-02T12:00:00Z').totalL).toBe(138.75);
  });
});

describe('a record of what another bridge has shown', () => {
  const day = { date: '2026-11-20', startedAt: '2026-11-20T00:00:00+00:00', timezone: 'UTC' };
  const payload = (record: UsageRecord) => {
    const { totalL, days, lastReset, updatedAt } = usageOn(day, record);
    return { total: totalL, days, last_reset: lastReset, updated_at: updatedAt };
  };

  it('comes to the same sum, which is not shown before the latest months were read', () => {
    const shown = payload({ ...both(), frozenMl: 5_000_000 });
    const adopted = recordFromShown(shown);
    expect(adopted).toMatchObject({ isWhole: false });
    const whole = usageOn(day, { ...(adopted as UsageRecord), isWhole: true });
    expect(whole).toMatchObject({ totalL: shown.total, days: shown.days });
  });

  it('is put together with what was read since: the longer memory counts', () => {
    const adopted = recordFromShown(payload({ ...both(), frozenMl: 5_000_000 })) as UsageRecord;
    const merged = mergedRecords(both(), adopted);
    expect(usageOn(day, merged).totalL).toBe(
      (usageOn(day, both()).totalL ?? 0) + 5_000 - both().frozenMl / 1_000,
    );
  });

  it('counts no month twice that a clock ahead of the cloud has closed', () => {
    const ahead = read(both(), '2026-12-01T00:10:00Z', ['2026-12', {}], ['2026-10', october]);
    const own = read(ahead, '2026-11-30T12:00:00Z', ['2026-11', november]);
    const total = shown(own, '2026-11-30T12:00:00Z').totalL;
    for (const before of [own, null]) {
      const adopted = recordFromShown(payload(own)) as UsageRecord;
      let record = before ? mergedRecords(adopted, before) : adopted;
      for (const month of monthsDue(record, '2026-11', false)) {
        const days: Record<string, Days> = { '2026-10': october, '2026-11': november };
        record = read(record, '2026-11-30T13:00:00Z', [month, days[month] ?? {}]);
      }
      expect(shown(record, '2026-11-30T13:00:00Z').totalL).toBe(total);
    }
  });

  it.each([
    ['null', null],
    ['no sum', { total: null }],
    ['no day', { total: 1, days: {}, updated_at: '2026-11-20T00:00:00Z' }],
    ['no time', { total: 1, days: {}, last_reset: '2026-11-20T00:00:00Z', updated_at: 'x' }],
    ['days that are none', { ...payload(both()), days: { '2026-11-99': 1 } }],
    ['litres that are none', { ...payload(both()), days: { '2026-11-19': 'x' } }],
    ['a sum below its days', { ...payload(both()), total: 1 }],
    ['a month that is too old', { ...payload(both()), days: { '2026-01-01': 1 } }],
  ])('is none of %s', (_, shown) => {
    expect(recordFromShown(shown)).toBeNull();
  });
});
