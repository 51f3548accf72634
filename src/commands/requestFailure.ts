import { describeDuration } from '../base/duration.ts';
import { reasonOf } from '../base/reason.ts';
import { CloudError, type CloudErrorKind } from '../cloud/errors.ts';
import { type Call, operationRow } from '../cloud/operations.ts';
import type { Traffic } from '../cloud/sender.ts';

/** What went wrong with a request, in a word for programs. */
export type ErrorCode =
  | 'invalid_request'
  | 'unknown_operation'
  | 'not_permitted'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'validation_failed'
  | 'rate_limited'
  | 'cloud_unavailable'
  | 'timeout'
  | 'unsupported';

/** Why a request came to nothing. */
export interface RequestFailure {
  readonly code: ErrorCode;
  /** A sentence for people. */
  readonly message: string;
  /** Null where the cloud did not answer. */
  readonly httpStatus: number | null;
  /** False for what was turned away before anything was tried. */
  readonly isTried: boolean;
}

const codes: Readonly<Record<CloudErrorKind, ErrorCode>> = {
  auth: 'unauthorized',
  forbidden: 'forbidden',
  notFound: 'not_found',
  rateLimited: 'rate_limited',
  rejected: 'validation_failed',
  unavailable: 'cloud_unavailable',
  unreadable: 'cloud_unavailable',
  unsupported: 'unsupported',
  invalid: 'invalid_request',
};

// The cloud's words and a caller's mistakes have no end by themselves.
const mostCharacters = 500;

/** A request that is turned away before anything is tried. */
export function turnedAway(code: ErrorCode, message: string): RequestFailure {
  return { code, message: shortened(message), httpStatus: null, isTried: false };
}

/** What an error means for the request; `answered` is the status of the cloud's last answer to it, if any. */
export function failureOf(error: unknown, answered: number | null): RequestFailure {
  const message = shortened(reasonOf(error));
  if (!(error instanceof CloudError)) {
    return { code: 'cloud_unavailable', message, httpStatus: answered, isTried: true };
  }
  const { kind, timedOut, status } = error;
  const code = kind === 'unavailable' && timedOut ? 'timeout' : codes[kind];
  return { code, message, httpStatus: status ?? answered, isTried: kind !== 'invalid' };
}

/** Why a request was not sent in its time. */
export function unsentFailure({ operation }: Call, { limitedUntil, pollWaitMs }: Traffic): RequestFailure {
  // Only reads keep to the budget and to the pauses that the cloud asks for.
  const waitMs = operationRow(operation).retry === 'never' ? 0 : pollWaitMs;
  if (waitMs > 0 && limitedUntil !== null) {
    return turnedAway('rate_limited', `the cloud asks to wait another ${describeDuration(waitMs)}`);
  }
  if (waitMs > 0) {
    return turnedAway('rate_limited', 'cloud.max_requests_per_minute left no room for it in its time');
  }
  const words = 'timeout: the requests before it took too long; it was not sent';
  return { ...turnedAway('timeout', words), isTried: true };
}

function shortened(message: string): string {
  return message.length > mostCharacters ? `${message.slice(0, mostCharacters)}…` : message;
}
