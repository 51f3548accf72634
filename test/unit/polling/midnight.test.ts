import { describe, expect, it } from 'vitest';
import { LocalDays } from '../../../src/polling/localDays.ts';
import { Midnight } from '../../../src/polling/midnight.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const hourMs = 3_600_000;

/** Watches the midnights of time zones; says in UTC when another day began. */
function watch(from: string, timezones: string[]) {
  const clock = new FakeClock(Date.parse(from));
  const newDays: string[] = [];
  const told = () => newDays.push(new Date(clock.now()).toISOString());
  const days = new LocalDays(clock);
  const midnight = new Midnight(days, () => timezones, told, clock);
  midnight.start();
  return { clock, newDays, midnight, timezones, days };
}

describe('midnight', () => {
  it('is noticed at once in each of the time zones in use', () => {
    const { clock, newDays } = watch('2026-11-20T12:00:30Z', [
      'Europe/London',
      'America/New_York',
      'Asia/Kathmandu',
    ]);
    clock.advance(24 * hourMs);
    expect(newDays).toEqual([
      '2026-11-20T18:15:00.000Z',
      '2026-11-21T00:00:00.000Z',
      '2026-11-21T05:00:00.000Z',
    ]);
  });

  it.each([
    ['Europe/London', '2026-03-28T12:00:00Z', ['2026-03-29T00:00:00.000Z', '2026-03-29T23:00:00.000Z']],
    ['Europe/London', '2026-10-24T12:00:00Z', ['2026-10-24T23:00:00.000Z', '2026-10-26T00:00:00.000Z']],
    ['America/Santiago', '2026-09-05T12:00:00Z', ['2026-09-06T04:00:00.000Z', '2026-09-07T03:00:00.000Z']],
    ['Africa/Cairo', '2026-04-23T12:00:00Z', ['2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z']],
  ])('in %s is right when clocks are changed (from %s)', (timezone, from, expected) => {
    const { clock, newDays } = watch(from, [timezone]);
    clock.advance(2 * 24 * hourMs);
    expect(newDays).toEqual(expected);
  });

  it('is none when a time zone comes into use or goes', () => {
    const { clock, newDays, timezones } = watch('2026-11-20T12:00:00Z', []);
    timezones.push('Pacific/Auckland', 'UTC');
    clock.advance(hourMs);
    timezones.shift();
    clock.advance(hourMs);
    expect(newDays).toEqual([]);
  });

  it('is noticed within a minute when the wall clock jumps or the machine has slept', () => {
    const clock = new (class extends FakeClock {
      jumpMs = 0;
      override now() {
        return super.now() + this.jumpMs;
      }
    })(Date.parse('2026-11-20T12:00:00Z'));
    let newDays = 0;
    const midnight = new Midnight(
      new LocalDays(clock),
      () => ['UTC'],
      () => newDays++,
      clock,
    );
    midnight.start();
    clock.jumpMs = 30 * hourMs;
    clock.advance(60_000);
    expect(newDays).toBe(1);
    clock.jumpMs = 0;
    clock.advance(60_000);
    expect(newDays).toBe(2);
  });

  it('is noticed no more once it is stopped', () => {
    const { clock, midnight } = watch('2026-11-20T12:00:00Z', ['UTC']);
    midnight.stop();
    expect(clock.waiting).toBe(0);
  });
});

describe('the days of a place', () => {
  it('are the same objects until they end, so that ten thousand places cost one calculation', () => {
    const { clock, days } = watch('2026-11-20T12:00:00Z', []);
    const day = days.in('Europe/London');
    expect(day).toMatchObject({ date: '2026-11-20', startedAt: '2026-11-20T00:00:00+00:00' });
    clock.advance(12 * hourMs - 1);
    expect(days.in('Europe/London')).toBe(day);
    clock.advance(1);
    expect(days.in('Europe/London').date).toBe('2026-11-21');
  });
});
