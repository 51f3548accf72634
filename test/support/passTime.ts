import type { FakeClock } from './fakeClock.ts';

/** Lets time pass in steps, so that what a timer sets off has run before the next one is due. */
export async function passTime(clock: FakeClock, ms: number, stepMs = ms): Promise<void> {
  await settle();
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left));
    await settle();
  }
}

/** Lets all promises that are ready run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
