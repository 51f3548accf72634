/** The kinds differ in what the caller can do. */
export type CloudErrorKind =
  | 'auth' // There is no valid session, and the bridge cannot get one.
  | 'forbidden' // 403 or 405.
  | 'notFound' // 404.
  | 'rateLimited' // 429.
  | 'unavailable' // No answer, or 5xx.
  | 'rejected' // Another 4xx: the cloud did not accept the request.
  | 'unreadable' // The answer does not have the format of the operation.
  | 'unsupported' // The route is switched off, or the cloud does not have it.
  | 'invalid'; // The call itself is wrong and was not sent.

export interface CloudErrorDetails {
  readonly status?: number | undefined;
  /** How long the cloud requests to wait, in ms. */
  readonly retryAfterMs?: number | undefined;
  /** False only if the cloud clearly did not act. The default is true, except for calls that are never sent. */
  readonly mayHaveActed?: boolean | undefined;
  readonly timedOut?: boolean | undefined;
  /** Whether the answer is JSON, so that it comes from the cloud itself and not from a proxy. */
  readonly isJson?: boolean | undefined;
  /** The words of the cloud, if its answer is JSON. */
  readonly said?: string | undefined;
  /** The same text for every error with the same cause, and another text for another cause. The default is the message. */
  readonly key?: string | undefined;
  readonly cause?: unknown;
}

/** The only class of errors that the cloud room throws. The message is a sentence for people and holds no secret. */
export class CloudError extends Error {
  readonly kind: CloudErrorKind;
  readonly operation: string;
  readonly key: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly mayHaveActed: boolean;
  readonly timedOut: boolean;
  readonly isJson: boolean;
  readonly said: string;

  constructor(kind: CloudErrorKind, operation: string, message: string, details: CloudErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'CloudError';
    this.kind = kind;
    this.operation = operation;
    this.key = details.key ?? message;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.mayHaveActed = details.mayHaveActed ?? (kind !== 'invalid' && kind !== 'unsupported');
    this.timedOut = details.timedOut ?? false;
    this.isJson = details.isJson ?? false;
    this.said = details.said ?? '';
  }
}

/** Whether the record does not exist, or this user has none. */
export function isMissing(error: unknown): error is CloudError {
  return error instanceof CloudError && (error.status === 404 || error.status === 405);
}

/** Whether the cloud will always answer this way. */
export function isPermanent(failure: unknown): boolean {
  const kind = typeof failure === 'object' && failure !== null && 'kind' in failure ? failure.kind : null;
  return kind === 'forbidden' || kind === 'unsupported';
}
