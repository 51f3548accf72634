import { uptime } from 'node:os';

/*
 * The base of all rooms: code that knows nothing of water, MQTT or the cloud. Everything that waits or measures time is given a
 * `Clock`, so that tests pass a virtual one. Durations are numbers of ms, and their names end in `Ms`. Time spans are measured
 * by `monotonic()`, which goes on while the machine sleeps; `now()` is only for people and for the cloud.
 */

/** Time as the bridge sees it; a test or a simulation passes its own. */
export interface Clock {
  /** Wall-clock time, in ms since 1970; may jump. */
  now(): number;
  /** Ms of a clock that is never set and goes on while the machine sleeps. Only differences have a meaning. */
  monotonic(): number;
  /** Calls back once after so many ms; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Reading the uptime is slow. It is read at most so often, in ms, unless the wall clock shows a sleep. */
const lookEveryMs = 100;

/** A shorter sleep, in ms, does not count: two clocks are never read at the same moment. */
const shortestSleepMs = 1_000;

/**
 * A clock that goes on while the machine sleeps, in ms. It is made of one that stops then, as that of Linux does, and of the
 * uptime. Otherwise data from before a night's sleep would seem to be a second old. The wall clock is fast to read and jumps
 * at each sleep. So a sleep is noticed at the next look.
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
    // If the process was held up between the two readings, that is no sleep. They are read again the next time.
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
