import { describe, expect, it } from 'vitest';
import type { Poller } from '../../../src/polling/poller.ts';
import { EarlyPoll } from '../../../src/webhook/earlyPoll.ts';
import { FakeClock } from '../../support/fakeClock.ts';

/** Early polls, at most one in five seconds, and when they were made. */
function start() {
  const clock = new FakeClock();
  const polledAt: number[] = [];
  const poller = { runNow: () => void polledAt.push(clock.monotonic()), readValvesSoon: () => {} };
  const early = new EarlyPoll(poller as unknown as Poller, clock);
  return { clock, early, polledAt };
}

describe('an early poll', () => {
  it('is made at once, and one more for all that asked too soon after it', () => {
    const { clock, early, polledAt } = start();
    early.ask();
    expect(polledAt).toEqual([0]);
    clock.advance(1);
    for (let each = 0; each < 50; each++) early.ask();
    clock.advance(4_998);
    expect(polledAt).toEqual([0]);
    clock.advance(60_000);
    expect(polledAt).toEqual([0, 5_000]);
    early.ask();
    expect(polledAt).toEqual([0, 5_000, clock.monotonic()]);
  });

  it('is not lost where it is asked for in the moment of another', () => {
    const { clock, early, polledAt } = start();
    early.ask();
    clock.advance(3_000);
    early.ask();
    clock.advance(2_000);
    early.ask();
    clock.advance(60_000);
    expect(polledAt).toEqual([0, 5_000, 10_000]);
  });

  it('is not made any more once the bridge stops', () => {
    const { clock, early, polledAt } = start();
    early.ask();
    early.ask();
    early.stop();
    early.ask();
    clock.advance(60_000);
    expect(polledAt).toEqual([0]);
    expect(clock.waiting).toBe(0);
  });
});
