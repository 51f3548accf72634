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
