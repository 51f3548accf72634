import type { HealthStatus } from '../model/devices.ts';

/** The part of the bridge that a problem concerns. */
export type ProblemSource =
  | 'start'
  | 'cloud'
  | 'account'
  | 'bridges'
  | 'broker'
  | 'commands'
  | 'telemetry'
  | 'pause'
  | 'data_dir'
  | 'http'
  | 'data';

/** One problem, or one piece of information. */
export interface HealthProblem {
  readonly source: ProblemSource;
  /** The status of the bridge while the problem lasts; `ok` for information. */
  readonly status: HealthStatus;
  /** What happened, what it means and what to do, in short sentences without the last full stop. */
  readonly message: string;
  /** The same text for each occurrence of one problem, and another text for another problem. */
  readonly key: string;
  /** The side of the bridge that is not ready while the problem lasts. */
  readonly stops?: 'cloud' | 'broker' | undefined;
  /** Whether the log waits, because the problem may end soon, or become an outage that has its own line. */
  readonly isBrief?: boolean;
  /** Why the cloud's data cannot be read at all, for the log. */
  readonly outage?: string;
}

/** A problem, or information if the status is `ok`. */
export function healthProblem(
  source: ProblemSource,
  status: HealthStatus,
  message: string,
  key = message,
  stops?: HealthProblem['stops'],
): HealthProblem {
  return { source, status, message, key, stops };
}
