import { expect, it } from 'vitest';
import { RequestCounter } from '../../../src/cloud/requestCounter.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const minuteMs = 60_000;

it('counts what happened in the last hour and forgets what is older', () => {
  const clock = new FakeClock();
  const count = new RequestCounter(clock);
  count.recordSent();
  clock.advance(30 * minuteMs);
  count.recordSent();
  count.recordSent();
  expect(count.lastHour).toBe(3);
  clock.advance(30 * minuteMs);
  expect(count.lastHour).toBe(2);
  clock.advance(30 * minuteMs);
  expect(count.lastHour).toBe(0);
});

it('forgets everything after a long silence', () => {
  const clock = new FakeClock();
  const count = new RequestCounter(clock);
  for (let minute = 0; minute < 90; minute++) {
    count.recordSent();
    clock.advance(minuteMs);
  }
  expect(count.lastHour).toBe(59);
  clock.advance(1_000 * minuteMs);
  expect(count.lastHour).toBe(0);
});
