import { expect, it } from 'vitest';
import { HourCount } from '../../../src/cloud/hourCount.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const minuteMs = 60_000;

it('counts what happened in the last hour and forgets what is older', () => {
  const clock = new FakeClock();
  const count = new HourCount(clock);
  count.add();
  clock.advance(30 * minuteMs);
  count.add();
  count.add();
  expect(count.total()).toBe(3);
  clock.advance(30 * minuteMs);
  expect(count.total()).toBe(2);
  clock.advance(30 * minuteMs);
  expect(count.total()).toBe(0);
});

it('forgets everything after a long silence', () => {
  const clock = new FakeClock();
  const count = new HourCount(clock);
  for (let minute = 0; minute < 90; minute++) {
    count.add();
    clock.advance(minuteMs);
  }
  expect(count.total()).toBe(59);
  clock.advance(1_000 * minuteMs);
  expect(count.total()).toBe(0);
});
