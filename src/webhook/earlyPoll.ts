import type { Clock } from '../base/clock.ts';
import type { Poller } from '../polling/poller.ts';

/** The shortest time between two early polls, in ms, as the contract of the webhook promises. */
const everyMs = 5_000;

/**
 * Returns a function that reads incidents and valves early: at once, but at most every five seconds. All calls within
 * that time share one poll at its end.
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
