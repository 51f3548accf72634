import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  automaticAttemptAt,
  earliestAttemptAt,
  type Rejections,
  withRejection,
} from '../../../src/cloud/signInLimits.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The times of all attempts within so many ms, each made as early as the rule allows. */
function attempts(rule: (rejections: Rejections) => number, withinMs: number): number[] {
  const times: number[] = [];
  let rejections: Rejections | null = null;
  for (let at = 0; at <= withinMs; at = rule(rejections)) {
    times.push(at);
    rejections = withRejection(rejections, at);
  }
  return times;
}

describe('after a rejected password', () => {
  it('somebody who insists gets three attempts in the first minute, six in the first hour, then one an hour', () => {
    expect(attempts(earliestAttemptAt, 4 * hourMs)).toEqual([
      ...[0, 0, 0],
      ...[minuteMs, minuteMs, minuteMs],
      ...[hourMs, 2 * hourMs, 3 * hourMs, 4 * hourMs],
    ]);
  });

  it('automatic attempts are fewer, and leave some to somebody who insists', () => {
    const times = attempts(automaticAttemptAt, 4 * hourMs);
    expect(times.filter((at) => at < minuteMs)).toHaveLength(2);
    expect(times.filter((at) => at < hourMs)).toHaveLength(4);
    expect(times.filter((at) => at >= 2 * hourMs)).toHaveLength(2);
  });

  it('no sequence of attempts breaks the limits', () => {
    const patience = fc.array(fc.integer({ min: 0, max: 2 * hourMs }), { maxLength: 30 });
    fc.assert(
      fc.property(patience, (waits) => {
        let rejections = withRejection(null, 0);
        const times = [0];
        for (const waitMs of waits) {
          const at = Math.max(earliestAttemptAt(rejections), rejections.lastAt + waitMs);
          times.push(at);
          rejections = withRejection(rejections, at);
        }
        expect(times.filter((at) => at < minuteMs).length).toBeLessThanOrEqual(3);
        expect(times.filter((at) => at < hourMs).length).toBeLessThanOrEqual(6);
        const late = times.filter((at) => at >= hourMs);
        for (const [index, at] of late.slice(1).entries()) {
          expect(at - (late[index] ?? 0)).toBeGreaterThanOrEqual(hourMs);
        }
      }),
    );
  });
});
