import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import { hourMs } from '../base/duration.ts';
import { CloudError } from './errors.ts';
import type { HttpResponse } from './http.ts';

const maxAttempts = 3;
const backoff: Backoff = { firstMs: 500, longestMs: 4_000 };
/** The longest wait for the cloud before a retry, in ms. A poll runs again by its schedule anyway. */
export const maxWaitForRetryMs = 10_000;

interface FailedAttempt {
  readonly retry: 'safe' | 'never';
  /** Including this one. */
  readonly attempts: number;
  readonly error: CloudError;
  /** Ms until the call's deadline; Infinity if the call has none. */
  readonly remainingMs: number;
}

/** In ms; null to give up. */
export function retryWaitMs(
  { retry, attempts, error, remainingMs }: FailedAttempt,
  random: Random,
): number | null {
  const mayRepeat = retry === 'safe' ? isPassing(error) : provablyNotExecuted(error);
  const askedMs = error.retryAfterMs ?? 0;
  if (attempts >= maxAttempts || !mayRepeat || askedMs > maxWaitForRetryMs) return null;
  const waitMs = Math.max(askedMs, backoffMs(backoff, attempts, random));
  return waitMs < remainingMs ? waitMs : null;
}

function isPassing(error: CloudError): boolean {
  return error.kind === 'unavailable' || (error.kind === 'rateLimited' && !isHeldBack(error));
}

/** Whether it was not sent: the budget is used up, or the cloud had requested a wait. */
export function isHeldBack(error: unknown): boolean {
  return error instanceof CloudError && error.kind === 'rateLimited' && error.status === undefined;
}

/** Whether the cloud has certainly not acted, so that even a change may be sent again. */
export function provablyNotExecuted(error: CloudError): boolean {
  return isPassing(error) && !error.mayHaveActed;
}

/**
 * How long a 429 or a 503 requests to wait, in ms from now, at most an hour; null if it does not say. A date is measured
 * against the answer's own Date, so that a wrong clock here does no harm.
 */
export function retryAfterOf({ status, header }: Pick<HttpResponse, 'status' | 'header'>, nowMs: number) {
  const text = header('retry-after')?.trim();
  if (text === undefined || (status !== 429 && status !== 503)) return null;
  const answeredAt = Date.parse(header('date') ?? '');
  const ms = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (Number.isNaN(answeredAt) ? nowMs : answeredAt);
  return Number.isNaN(ms) ? null : Math.min(Math.max(0, Math.round(ms)), hourMs);
}
