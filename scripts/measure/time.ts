import { setTimeout as pause } from 'node:timers/promises';

/** The clock of the machine in ms, which is the same for all its processes. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Calls `missing` again and again until it returns null; throws with its last words when the time is up. */
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
