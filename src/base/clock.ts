import { uptime } from 'node:os';

/** Time as the bridge sees it; a test or a simulation passes its own. */
export interface Clock {
  /** Wall-clock time, in ms since 1970; may jump. */
  now(): number;
  /** Ms of a clock that nobody sets and that counts while the machine sleeps; only differences mean anything. */
  monotonic(): number;
  /** Calls back once after so many ms; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

/** To ask for the uptime takes its time: at most so often, in ms, unless the wall clock shows a sleep. */
const lookEveryMs = 100;

/** A shorter sleep, in ms, is none: two clocks are never read at the same moment. */
const shortestSleepMs = 1_000;

/**
 * A clock that goes on while the machine sleeps, made of one that does not, as that of Linux, and of its uptime, all in ms:
 * else what was read, sent or asked for before a night's sleep would pass for a second old after it. The wall clock costs
 * next to nothing, and jumps at each sleep: so no moment after one is taken for a moment before it.
 */
export function countingSleep(
  awakeMs: () => number,
  uptimeMs: () => number,
  wallMs: () => number,
): () => number {
  let sleptMs = 0;
  let lookedAt = awakeMs();
  let aheadMs = uptimeMs() - lookedAt;
  let wallAheadMs = wallMs() - lookedAt;
  return () => {
    const now = awakeMs();
    const hasWallJumped = Math.abs(wallMs() - now - wallAheadMs) >= shortestSleepMs / 2;
    if (now - lookedAt < lookEveryMs && !hasWallJumped) return now + sleptMs;
    const ahead = uptimeMs() - now;
    // Held up between the two readings, nobody has slept: it is looked at again the next time.
    if (awakeMs() - now >= lookEveryMs) return now + sleptMs;
    lookedAt = now;
    wallAheadMs = wallMs() - now;
    if (ahead - aheadMs >= shortestSleepMs) sleptMs += ahead - aheadMs;
    aheadMs = ahead;
    return now + sleptMs;
  };
}

// Longer delays overflow the runtime's 32-bit timer and would fire at once.
const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: countingSleep(
    () => performance.now(),
    () => uptime() * 1_000,
    () => Date.now(),
  ),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, longestTimerMs));
    return () => clearTimeout(timer);
  },
};

/** Waits so many ms; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
