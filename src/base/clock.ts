import { uptime } from 'node:os';

/*
 * The base of all rooms: code that knows nothing of water, MQTT or the cloud. Everything that waits or measures time is given a
 * `Clock`, so that tests pass a virtual one. Durations are numbers of ms, and their names end in `Ms`. Time spans are measured
 * by `monotonic()`, which goes on while the machine sleeps; `now()` is for people, the cloud, dates, and what has to end by the clock on the wall.
 */

/** The time for the bridge. A test or a simulation passes its own clock. */
export interface Clock {
  /** Wall-clock time, in ms since 1970. It may jump. */
  now(): number;
  /** Ms of a clock that is never set and goes on while the machine sleeps. Only differences have a meaning. */
  monotonic(): number;
  /** Calls `callback` once after this many ms, and not sooner unless they are more than 24 days. The returned function cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** In ms, because reading the uptime is slow. A sleep that the wall clock shows is an exception. */
const lookEveryMs = 100;

/** A shorter difference, in ms, does not count as a sleep, because two clocks are never read at the same moment. */
const shortestSleepMs = 1_000;

/**
 * A clock in ms that goes on while the machine sleeps. It combines a clock that stops during a sleep, like that of
 * Linux, with the uptime, which does not. Otherwise data from before a night's sleep would seem to be a second old. The
 * wall clock is fast to read and jumps at each sleep, so it shows at the next call that there was one. Only what both show
 * counts: somebody may set the wall clock, and a container whose `/proc` fails for a moment reads the uptime of its host.
 */
export function countingSleep(
  awakeMs: () => number,
  uptimeMs: () => number,
  wallMs: () => number,
): () => number {
  let sleptMs = 0;
  let lookedAt = awakeMs();
  let aheadMs = readOrNaN(uptimeMs) - lookedAt;
  let wallAheadMs = wallMs() - lookedAt;
  return () => {
    const now = awakeMs();
    const wallJumpMs = wallMs() - now - wallAheadMs;
    const hasWallJumped = Math.abs(wallJumpMs) >= shortestSleepMs / 2;
    if (now - lookedAt < lookEveryMs && !hasWallJumped) return now + sleptMs;
    const ahead = readOrNaN(uptimeMs) - now;
    // The process was held up between the two readings, which looks like a sleep. The next call reads them again.
    if (awakeMs() - now >= lookEveryMs) return now + sleptMs;
    lookedAt = now;
    if (Number.isNaN(ahead)) return now + sleptMs;
    const jumpMs = Math.min(ahead - aheadMs, wallJumpMs);
    if (jumpMs >= shortestSleepMs) sleptMs += jumpMs;
    aheadMs = ahead;
    wallAheadMs += wallJumpMs;
    return now + sleptMs;
  };
}

/** NaN if it throws, as the uptime does where it cannot be read. */
function readOrNaN(read: () => number): number {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}

/** A longer delay would overflow the runtime's 32-bit timer, and the timer would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: countingSleep(
    () => performance.now(),
    () => uptime() * 1_000,
    () => Date.now(),
  ),
  after(delayMs, callback) {
    // The timer of the runtime counts whole ms of a clock that is rounded down, so it may fire almost one too soon.
    const timer = setTimeout(callback, Math.min(Math.ceil(delayMs) + 1, longestTimerMs));
    return () => clearTimeout(timer);
  },
};

/** Waits this many ms; rejects with the signal's reason as soon as the signal aborts. */
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

/** Waits for the task, but no longer than this many ms. Returns whether it has ended; rejects if it does. */
export async function endsWithin(clock: Clock, longestMs: number, task: Promise<unknown>): Promise<boolean> {
  const ended = new AbortController();
  const late = sleep(clock, longestMs, ended.signal).then(
    () => false,
    () => true,
  );
  try {
    return await Promise.race([task.then(() => true), late]);
  } finally {
    ended.abort();
  }
}
