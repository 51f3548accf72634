import { describe, expect, it } from 'vitest';
import type { Poller } from '../../../src/polling/poller.ts';
import { earlyPolls } from '../../../src/webhook/earlyPoll.ts';
import { FakeClock } from '../../support/fakeClock.ts';

/** Early polls, at most one in five seconds, and when they were made. */
function start() {
  const clock = new FakeClock();
  const polledAt: number[] = [];
  const poller = {
    runNow: (poll: string) => void (poll === 'incidents' && polledAt.push(clock.monotonic())),
  };
  return { clock, ask: earlyPolls(poller as unknown as Poller, clock), polledAt };
}

describe('an early poll', () => {
  it('is made at once, and one more for all that asked too soon after it', () => {
    const { clock, ask, polledAt } = start();
    ask();
    clock.advance(1);
    expect(polledAt).toEqual([0]);
    for (let each = 0; each < 50; each++) ask();
    clock.advance(4_998);
    expect(polledAt).toEqual([0]);
    clock.advance(60_000);
    expect(polledAt).toEqual([0, 5_000]);
    const askedAt = clock.monotonic();
    ask();
    clock.advance(1);
    expect(polledAt).toEqual([0, 5_000, askedAt]);
  });

  it('is not lost if it is asked for in the moment of another', () => {
    const { clock, ask, polledAt } = start();
    ask();
    clock.advance(3_000);
    ask();
    clock.advance(2_000);
    ask();
    clock.advance(60_000);
    expect(polledAt).toEqual([0, 5_000, 10_000]);
  });
});
