import type { FakeClock } from './fakeClock.ts';

/** Lets time pass in steps. All work that a timer starts is done before the next step. */
export async function passTime(clock: FakeClock, ms: number, stepMs = ms): Promise<void> {
  await settle();
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left));
    await settle();
  }
}

/** Lets all settled promises run their callbacks. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
