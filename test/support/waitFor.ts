import { setTimeout as pause } from 'node:timers/promises';

/** Longer than the busiest machine needs: what comes in time costs nothing. */
export const patienceMs = 30_000;

/** How long to wait, in ms, and what for: the words of the error. */
export interface WaitOptions {
  what: string;
  timeoutMs?: number;
  intervalMs?: number;
}

/** Asks again and again until the answer is truthy, and returns it; throws naming `what` once the time is up. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { what, timeoutMs = patienceMs, intervalMs = 15 }: WaitOptions,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await pause(intervalMs);
  }
}
