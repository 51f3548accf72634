import { describe, expect, it } from 'vitest';
import { daysIn, hoursBefore, type Joint } from '../../../src/model/usageHistory.ts';

const hourMs = 3_600_000;
const at = (iso: string) => Date.parse(iso);
const joint = (iso: string, changes: Partial<Joint> = {}): Joint => ({
  ...{ atMs: at(iso), sumL: 0, sameDayL: null, isImported: false },
  ...changes,
});
const days = (entries: Readonly<Record<string, number>>) => new Map(Object.entries(entries));

/** The change of each hour, as Home Assistant shows it: against the sum before. */
function changes({ beforeL, hours }: ReturnType<typeof hoursBefore>): number[] {
  return hours.map(({ sumL }, index) => sumL - (hours[index - 1]?.sumL ?? beforeL));
}

describe('the days of the answers', () => {
  it('are in order, and of a date that comes twice the larger figure counts', () => {
    const answers = [
      { daily: [{ date: '2026-02-01', liters: 3 }] },
      {
        daily: [
          { date: '2026-01-31', liters: 4 },
          { date: '2026-01-31', liters: 2 },
          { date: '2026-01-30', liters: 0 },
          { date: '2026-01-29', liters: -1 },
          { date: '2026-01-28', liters: 1e12 },
          { date: '2026-01-27', liters: Number.NaN },
        ],
      },
    ];
    expect([...daysIn(answers)]).toEqual([
      ['2026-01-30', 0],
      ['2026-01-31', 4],
      ['2026-02-01', 3],
    ]);
  });
});

describe('the hours before the first hour that is there', () => {
  it.each([
    ['a day', '2026-02-10', 'Europe/London', 24, '2026-02-10T00:00:00Z'],
    ['the day when clocks go forward', '2026-03-29', 'Europe/London', 23, '2026-03-29T00:00:00Z'],
    ['the day when clocks go back', '2026-10-25', 'Europe/London', 25, '2026-10-24T23:00:00Z'],
    ['a day in Poland', '2026-07-01', 'Europe/Warsaw', 24, '2026-06-30T22:00:00Z'],
    ['a day that begins at half an hour', '2026-07-01', 'Asia/Kolkata', 24, '2026-06-30T19:00:00Z'],
    ['a day that begins at one o’clock', '2018-11-04', 'America/Sao_Paulo', 23, '2018-11-04T03:00:00Z'],
  ])('share %s evenly', (_, date, timezone, count, first) => {
    const past = hoursBefore(joint('2026-11-01T00:00:00Z'), days({ [date]: 100 }), timezone);
    expect(past.hours).toHaveLength(count);
    expect(past.hours[0]?.startMs).toBe(at(first));
    expect(past.hours.map(({ startMs }) => startMs)).toEqual(
      Array.from({ length: count }, (_, hour) => at(first) + hour * hourMs),
    );
    for (const change of changes(past)) expect(change).toBeCloseTo(100 / count, 2);
    expect([past.beforeL, past.hours.at(-1)?.sumL, past.dates]).toEqual([-100, 0, [date]]);
  });

  it('end at the sum that is there, over days without water and gaps', () => {
    const past = hoursBefore(
      joint('2026-02-04T00:00:00Z', { sumL: -7.5 }),
      days({ '2026-01-30': 0.001, '2026-01-31': 0, '2026-02-03': 33.333, '2026-02-04': 9 }),
      'UTC',
    );
    expect(past.dates).toEqual(['2026-01-30', '2026-01-31', '2026-02-03']);
    expect(past.hours).toHaveLength(72);
    expect(past.hours.at(-1)?.sumL).toBe(-7.5);
    expect(past.beforeL).toBeCloseTo(-7.5 - 33.334, 9);
    expect(changes(past).every((change) => change >= 0)).toBe(true);
    const ofLastDay = changes(past).slice(48);
    expect(ofLastDay.reduce((sum, change) => sum + change, 0)).toBeCloseTo(33.333, 9);
  });

  it('leave out a day of which a part is there, unless it is known what ran before', () => {
    const two = days({ '2026-02-01': 10, '2026-02-02': 100 });
    const middle = '2026-02-02T06:00:00Z';
    expect(hoursBefore(joint(middle), two, 'UTC').dates).toEqual(['2026-02-01']);
    const past = hoursBefore(joint(middle, { sameDayL: 12 }), two, 'UTC');
    expect(past.dates).toEqual(['2026-02-01', '2026-02-02']);
    expect(changes(past).slice(24)).toEqual([2, 2, 2, 2, 2, 2]);
    // It begins with the day itself.
    const start = joint('2026-02-02T00:00:00Z', { sameDayL: 12 });
    expect(hoursBefore(start, two, 'UTC').dates).toEqual(['2026-02-01']);
  });

  it('are none where everything is there already', () => {
    const all = days({ '2026-02-01': 10, '2026-02-02': 100 });
    const nothing = { beforeL: -110, hours: [], dates: [] };
    expect(hoursBefore(joint('2026-02-01T00:00:00Z', { sumL: -110 }), all, 'UTC')).toEqual(nothing);
    expect(hoursBefore(joint('2026-02-01T00:00:00Z', { sumL: -110 }), new Map(), 'UTC')).toEqual(nothing);
  });

  it.each([240, 246, 263])(
    'continue where an import was interrupted after hour %d, as if it had not been',
    (cut) => {
      const all = days(
        Object.fromEntries(
          Array.from({ length: 28 }, (_, day) => [`2026-02-${String(day + 1).padStart(2, '0')}`, day * 1.1]),
        ),
      );
      const whole = hoursBefore(joint('2026-03-01T00:00:00Z'), all, 'UTC');
      const hours = whole.hours.slice(cut);
      const first = new Date(hours[0]?.startMs ?? 0).toISOString();
      const sumL = whole.hours[cut - 1]?.sumL ?? 0;
      const earlier = hoursBefore(joint(first, { sumL, isImported: true }), all, 'UTC');
      const joined = [...earlier.hours, ...hours];
      expect(joined.map(({ startMs }) => startMs)).toEqual(whole.hours.map(({ startMs }) => startMs));
      for (const [index, { sumL: joinedL }] of joined.entries())
        expect(joinedL).toBeCloseTo(whole.hours[index]?.sumL ?? 0, 2);
      expect(earlier.beforeL).toBeCloseTo(whole.beforeL, 6);
    },
  );
});
