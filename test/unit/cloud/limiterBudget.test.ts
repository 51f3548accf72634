import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Deadline } from '../../../src/cloud/deadline.ts';
import { Limiter, type Priority } from '../../../src/cloud/requestQueue.ts';
import { FakeClock } from '../../support/fakeClock.ts';

/** A limiter with 60 requests a minute, and how to use some. */
function bench() {
  const clock = new FakeClock();
  const limiter = new Limiter({
    clock,
    maxConcurrency: 100,
    maxRequestsPerMinute: 60,
    requestTimeoutMs: 10_000,
  });
  const ending = new Deadline(systemClock);
  const use = async (count: number, priority: Priority) => {
    const turns = Array.from({ length: count }, () =>
      limiter.run({ priority, lane: 'a', isForList: true, ending }, async () => undefined),
    );
    await Promise.all(turns);
  };
  return { clock, limiter, use };
}

describe('the budget', () => {
  it('is not used up by polls alone: commands have a quarter of it beyond', async () => {
    const { limiter, use } = bench();
    await use(60, 'poll');
    expect(limiter.pollWaitMs()).toBe(1_000);
    expect(limiter.isUsedUp()).toBe(false);
    await use(14, 'command');
    expect(limiter.isUsedUp()).toBe(false);
    await use(1, 'command');
    expect(limiter.isUsedUp()).toBe(true);
  });

  it('comes back to commands a quarter as fast as to polls, so that neither can silence the other', async () => {
    const { clock, limiter, use } = bench();
    await use(75, 'command');
    expect(limiter.isUsedUp()).toBe(true);
    clock.advance(4_000);
    expect(limiter.isUsedUp()).toBe(false);
    await use(1, 'command');
    expect(limiter.isUsedUp()).toBe(true);
    // 15 beyond the budget, and one more: the sixteen that are owed are earned in as many seconds.
    expect(limiter.pollWaitMs()).toBe(13_000);
  });

  it('of one request a minute lets a command through beyond it too', async () => {
    const clock = new FakeClock();
    const limiter = new Limiter({
      clock,
      maxConcurrency: 1,
      maxRequestsPerMinute: 1,
      requestTimeoutMs: 10_000,
    });
    const ending = new Deadline(systemClock);
    await limiter.run({ priority: 'poll', lane: 'a', isForList: true, ending }, async () => undefined);
    expect(limiter.isUsedUp()).toBe(false);
  });

  it('keeps polls waiting no longer than the cloud asks, once there is room', () => {
    const { clock, limiter } = bench();
    expect(limiter.pollWaitMs()).toBe(0);
    limiter.pausePolls(5_000);
    expect(limiter.pollWaitMs()).toBe(5_000);
    clock.advance(5_000);
    expect(limiter.pollWaitMs()).toBe(0);
  });
});
