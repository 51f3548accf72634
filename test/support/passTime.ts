import type { FakeClock } from './fakeClock.ts';

/** Lets time pass in steps, so that what a timer sets off has run before the next one is due. */
export async function passTime(clock: FakeClock, ms: number, stepMs = ms): Promise<void> {
  await settle();
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(stepMs, left));
    await settle();
  }
}

/** Lets time pass until the work is done, where it takes any. */
export async function withTime(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  for (let looks = 0; !isDone; looks++) {
    await settle();
    // What is quick is done by then.
    if (looks > 20) clock.advance(100);
  }
  await work;
}

/** Lets all promises that are ready run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
