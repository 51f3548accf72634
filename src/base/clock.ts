/** Time as the bridge sees it; a test or a simulation passes its own. */
export interface Clock {
  /** Wall-clock time, in ms since 1970; may jump. */
  now(): number;
  /** Ms of a clock that never jumps; only differences mean anything. */
  monotonic(): number;
  /** Calls back once after so many ms; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

// Longer delays overflow the runtime's 32-bit timer and would fire at once.
const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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
