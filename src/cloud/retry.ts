import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { CloudError } from './errors.ts';

const maxAttempts = 3;
const backoff: Backoff = { firstMs: 500, longestMs: 4_000 };
/** The longest wait for the cloud before a retry, in ms. A poll runs again by its schedule anyway. */
export const maxWaitForRetryMs = 10_000;
const longestPauseMs = 3_600_000;

/** What is known when an attempt has failed. */
interface FailedAttempt {
  /** From the row: `safe` to send again, or `never` unless the cloud clearly did not act. */
  readonly retry: 'safe' | 'never';
  /** The number of attempts so far, including this one. */
  readonly attempts: number;
  readonly error: CloudError;
  /** Ms until the call's deadline; Infinity if the call has none. */
  readonly remainingMs: number;
}

/** The wait in ms before the next attempt; null to give up. */
export function retryWaitMs(failed: FailedAttempt, random: Random): number | null {
  const { retry, attempts, error, remainingMs } = failed;
  if (attempts >= maxAttempts || !(retry === 'safe' ? isPassing(error) : provablyNotExecuted(error)))
    return null;
  const asked = error.retryAfterMs ?? 0;
  if (asked > maxWaitForRetryMs) return null;
  const waitMs = Math.max(asked, backoffMs(backoff, attempts, random));
  return waitMs < remainingMs ? waitMs : null;
}

function isPassing({ kind }: CloudError): boolean {
  return kind === 'unavailable' || kind === 'rateLimited';
}

/** Whether the cloud has certainly not acted, so that even a change may be sent again. */
export function provablyNotExecuted(error: CloudError): boolean {
  return isPassing(error) && !error.mayHaveActed;
}

/**
 * Reads a Retry-After header, in seconds or as a date, into ms from now, at most an hour; null if it cannot be read.
 * A date is measured against the answer's own Date, so that a wrong clock here does no harm.
 */
export function readRetryAfter(value: string | null, date: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const answeredAt = Date.parse(date ?? '');
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (Number.isNaN(answeredAt) ? nowMs : answeredAt);
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, Math.round(ms)), longestPauseMs);
}
