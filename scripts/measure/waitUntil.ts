import { setTimeout as pause } from 'node:timers/promises';

/** Asks again and again until nothing is missing any more: null; throws with what still is once the time is up. */
export async function waitUntil(
  what: string,
  missing: () => string | null | Promise<string | null>,
  timeoutMs = 120_000,
  intervalMs = 50,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const words = await missing();
    if (words === null) return;
    if (performance.now() > until) throw new Error(`waited ${timeoutMs} ms in vain for ${what}: ${words}`);
    await pause(intervalMs);
  }
}
