import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long the event loop takes to get round to something, in ms. */
export async function eventLoopLagMs(): Promise<number> {
  const askedAt = performance.now();
  await nextTurn();
  return performance.now() - askedAt;
}
