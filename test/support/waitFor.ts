import { setTimeout as pause } from 'node:timers/promises';

/** How long to wait, in ms (10 s by default, as a busy machine may need), and what for: the words of the error. */
export interface WaitOptions {
  what: string;
  timeoutMs?: number;
  intervalMs?: number;
}

/** Asks again and again until the answer is truthy, and returns it; throws naming `what` once the time is up. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { what, timeoutMs = 10_000, intervalMs = 15 }: WaitOptions,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await pause(intervalMs);
  }
}
