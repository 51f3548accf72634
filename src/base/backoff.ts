/** A number in [0, 1), as Math.random gives. */
export type Random = () => number;

/** How long the waits between attempts grow, in ms. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * The wait in ms before the next attempt after so many failures (1 is the first): doubled each time, capped,
 * and drawn from its upper half so that many bridges do not return in step.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: Random): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(fullMs * (0.5 + random() / 2));
}
