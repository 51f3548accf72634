import { hourMs, minuteMs } from '../base/duration.ts';
/** The sign-ins since the first that was rejected; times in monotonic ms. */
export interface Rejections {
  /** The words of the cloud in its last rejection; empty if it said nothing. */
  readonly said: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
}

export function withRejection(rejections: Rejections | null, at: number, said = ''): Rejections {
  return { said, firstAt: rejections?.firstAt ?? at, lastAt: at, count: (rejections?.count ?? 0) + 1 };
}

/** The words of the cloud may name another cause than the password. */
export function rejectionMessage(said: string, status?: number): string {
  const code = status === undefined ? '' : ` (status ${status})`;
  return said === ''
    ? `the cloud rejects the e-mail or the password${code}. Correct them`
    : `the cloud rejects the sign-in${code}: ${said}`;
}

/** At most 3 in the first minute, 6 in the first hour, then one an hour, even if a user asks: the account could be locked. */
export function earliestAttemptAt({ firstAt, lastAt, count }: Rejections): number {
  if (lastAt >= firstAt + hourMs) return lastAt + hourMs;
  if (count < 3) return lastAt;
  if (count < 6) return Math.max(lastAt, firstAt + minuteMs);
  return firstAt + hourMs;
}

// Fewer attempts than the limits allow. The rest is left for a user who has just corrected the password.
const pausesMs = [30_000, 5 * minuteMs, 20 * minuteMs];

export function automaticAttemptAt(rejections: Rejections): number {
  const pauseMs = pausesMs[rejections.count - 1] ?? hourMs;
  return Math.max(earliestAttemptAt(rejections), rejections.lastAt + pauseMs);
}
