import type { Clock } from '../base/clock.ts';
import type { Poller } from '../polling/poller.ts';

/** The contract of the webhook: at most one early poll in this time, in ms. */
const everyMs = 5_000;

/**
 * Reads incidents and valves early: at once, but at most every five seconds. All that ask within that time share one poll
 * after it.
 */
export function earlyPolls(poller: Poller, clock: Clock): () => void {
  let nextAt = Number.NEGATIVE_INFINITY;
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    clock.after(Math.max(0, nextAt - clock.monotonic()), () => {
      isWaiting = false;
      nextAt = clock.monotonic() + everyMs;
      void poller.runNow('incidents');
      void poller.runNow('sonics');
    });
  };
}
