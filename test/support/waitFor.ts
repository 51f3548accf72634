import { setTimeout as pause } from 'node:timers/promises';

/** Longer than even a busy machine needs. A test that succeeds does not wait this long. */
export const defaultTimeoutMs = 60_000;

/** How long to wait, in ms. `what` names the awaited event in the error. */
export interface WaitOptions {
  what: string | (() => string);
  timeoutMs?: number;
  intervalMs?: number;
}

/**
 * Calls the condition repeatedly until its result is truthy, and returns it. Throws with `what` when time is
 * up.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { what, timeoutMs = defaultTimeoutMs, intervalMs = 15 }: WaitOptions,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await condition();
    if (answer) return answer;
    if (performance.now() > deadline) {
      const words = typeof what === 'string' ? what : what();
      throw new Error(`waited ${timeoutMs} ms in vain for ${words}`);
    }
    await pause(intervalMs);
  }
}
