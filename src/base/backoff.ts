/** Returns a number in [0, 1), like Math.random. */
export type Random = () => number;

/** The first and the longest wait between attempts, in ms. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * The wait in ms before the next attempt, after `failures` failures (1 is the first). It is doubled each time up to the
 * longest wait, and reduced by a random part of up to a half, so that many bridges do not return together.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: Random): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(fullMs * (0.5 + random() / 2));
}
