import { expect, it } from 'vitest';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const quarterMs = 15 * 60_000;

/** A sonic at that moment, in that time zone. */
function sonicAt(time: string | number, timezone = 'Europe/London') {
  const clock = new FakeClock(new Date(time).getTime());
  const simulator = new Simulator({ clock, quiet: true });
  const [id = ''] = simulator.world.sonics.ids;
  simulator.world.settings.change(simulator.world.propertyOf(id) ?? '', { timezone });
  const daily = (month = {}) => simulator.world.usage(id, month).daily;
  return { clock, simulator, id, daily };
}

it('the days of a month are all of one that is over, and of the present one those up to today at the property', () => {
  const { clock, simulator, id, daily } = sonicAt('2024-12-31T14:59:59Z', 'Asia/Tokyo');
  const dates = (month = {}) => daily(month).map(({ date }) => date);
  expect(dates().at(-1)).toBe('2024-12-31');
  clock.advance(1_000);
  expect(dates()).toEqual(['2025-01-01']);
  for (const month of [{ month: 2 }, { month: 12 }, { year: 2026 }]) expect(dates(month)).toEqual([]);
  const november = dates({ year: 2024, month: 11 });
  expect([november.length, november[0], november.at(-1)]).toEqual([30, '2024-11-01', '2024-11-30']);
  expect(dates({ year: 2024, month: 2 })).toHaveLength(29);
  simulator.world.correctUsage(id, '2024-02-02', 3.5);
  expect(daily({ year: 2024, month: 2 })[1]).toEqual({ date: '2024-02-02', liters: 3.5 });
});

it.each([
  ['Europe/London', '2025-03-30T00:00:00Z', 23],
  ['Europe/London', '2025-10-25T23:00:00Z', 25],
  // Midnight is skipped, or comes twice.
  ['America/Havana', '2025-03-09T05:00:00Z', 23],
  ['America/Havana', '2025-11-02T04:00:00Z', 25],
  ['Australia/Lord_Howe', '2025-10-04T13:30:00Z', 23.5],
  ['Asia/Kathmandu', '2025-01-14T18:15:00Z', 24],
])('the present day in %s from %s starts at nothing and grows for %d hours', (zone, start, hours) => {
  const { clock, daily } = sonicAt(Date.parse(start) - 1, zone);
  const yesterday = daily().at(-1)?.date;
  clock.advance(1);
  const today = daily().at(-1);
  expect(today).toEqual({ date: expect.not.stringMatching(String(yesterday)), liters: 0 });
  const liters = () => daily().find(({ date }) => date === today?.date)?.liters ?? Number.NaN;
  const seen = [0];
  for (let quarter = 1; quarter < 4 * hours; quarter++) {
    clock.advance(quarterMs);
    expect(daily().at(-1)?.date).toBe(today?.date);
    expect(liters()).toBeGreaterThanOrEqual(seen.at(-1) ?? 0);
    seen.push(liters());
  }
  clock.advance(quarterMs - 1);
  expect(daily().at(-1)?.date).toBe(today?.date);
  const last = liters();
  clock.advance(1);
  expect(daily().at(-1)).toEqual({ date: expect.not.stringMatching(String(today?.date)), liters: 0 });
  const whole = liters();
  expect(last).toBeCloseTo(whole, 0);
  expect(seen[2 * hours]).toBeGreaterThan(whole * 0.4);
  expect(seen[2 * hours]).toBeLessThan(whole * 0.6);
  // Who asks in the middle of the day for the first time finds its start all the same.
  const noon = sonicAt(Date.parse(start) + 49 * quarterMs, zone);
  expect(noon.daily().at(-1)).toEqual({ date: today?.date, liters: seen[49] });
});
