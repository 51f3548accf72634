import type { CloudErrorKind } from '../cloud/errors.ts';
import type { HealthStatus } from '../model/devices.ts';
import {
  type PollFailure,
  type PollName,
  type PollStatus,
  pollNames,
  vitalPolls,
  wasPolled,
} from '../polling/pollStatus.ts';

/** Everything that the judgement rests on. */
export interface HealthInputs {
  readonly slices: Readonly<Record<PollName, PollStatus>>;
  /** Wall clock, ms, of the next sign-in; null unless the cloud rejected the credentials. */
  readonly rejectedUntil: number | null;
  /** Wall clock, ms, until which the cloud asked to wait. */
  readonly limitedUntil: number | null;
  /** Records that could not be read, in words. */
  readonly dataProblems: readonly string[];
  /** In words; null when the state works. */
  readonly stateProblem: string | null;
  /** In words; null when there is something to show. */
  readonly emptiness: string | null;
  /** Why there is no connection to the broker, in words; null while there is one. */
  readonly brokerProblem: string | null;
  /** Said, though nothing is wrong. */
  readonly notes: readonly string[];
}

/** How the bridge fares, and why, in words. */
export interface HealthReport {
  readonly status: HealthStatus;
  readonly reason: string | null;
  /** The reason without what is wrong with the broker. */
  readonly cloudReason: string | null;
  /** The distinct faults of the cloud, without the schedules that they affect: the same list is no news. */
  readonly problems: readonly string[];
  /** What is worth knowing besides, one thing each. */
  readonly notes: readonly string[];
}

/** Why the data of the cloud is unavailable if nothing has failed. */
export const staleReason = 'no fresh data from the cloud';

/** More is not read by anybody. */
const mostProblemsShown = 10;

/** Judges the symptoms; the gravest gives the status and the words. */
export function evaluateHealth(symptoms: HealthInputs): HealthReport {
  const { brokerProblem } = symptoms;
  const cloud = judgeCloud(symptoms);
  const { status, reason } = cloud;
  // Where the cloud is away that is graver, and the broker's own lines are in the log.
  if (brokerProblem === null || (status !== 'ok' && status !== 'degraded')) {
    return { ...cloud, cloudReason: reason };
  }
  const words = [brokerProblem, reason].filter((each) => each !== null).join('; ');
  return { ...cloud, status: 'degraded', reason: words, cloudReason: reason };
}

function judgeCloud(symptoms: HealthInputs): Omit<HealthReport, 'cloudReason'> {
  const failing = failuresByKey(symptoms);
  const shown = failing.map(([{ message }, affected]) => `${affected.join(', ')}: ${message}`);
  const problems = failing.map(([{ key }]) => key);
  const { notes } = symptoms;
  if (symptoms.rejectedUntil !== null) {
    const reason = `the cloud rejected the e-mail or the password; next attempt by ${iso(symptoms.rejectedUntil)}, or as soon as a password file changes`;
    return { status: 'auth_failed', reason, problems, notes };
  }
  if (isWhollyFailing(symptoms, 'auth')) {
    return { status: 'auth_failed', reason: shown.join('; '), problems, notes };
  }
  if (isWhollyFailing(symptoms, 'unavailable')) {
    return { status: 'cloud_unreachable', reason: failing[0]?.[0].message ?? null, problems, notes };
  }
  const others = [symptoms.stateProblem, symptoms.emptiness, ...symptoms.dataProblems].filter(
    (problem) => problem !== null,
  );
  const wrong = [...(isUnpolled(symptoms) ? ['waiting for the cloud to answer'] : []), ...shown, ...others];
  return {
    status: wrong.length === 0 ? 'ok' : 'degraded',
    reason: [...wrong, ...notes].slice(0, mostProblemsShown).join('; ') || null,
    problems: [...problems, ...others],
    notes,
  };
}

/** Whether what matters fails in this way; at first, whether all that was polled does. */
function isWhollyFailing(symptoms: HealthInputs, kind: CloudErrorKind): boolean {
  const records = pollNames.map((slice) => symptoms.slices[slice]);
  const vital = vitalPolls.map((slice) => symptoms.slices[slice]).filter(wasPolled);
  const judged = vital.length > 0 ? vital : records.filter(wasPolled);
  return judged.length > 0 && judged.every(({ failure }) => failure?.kind === kind);
}

function isUnpolled(symptoms: HealthInputs): boolean {
  return !pollNames.some((slice) => wasPolled(symptoms.slices[slice]));
}

/** Each distinct failure, and the slices that it befell. */
function failuresByKey(symptoms: HealthInputs): [PollFailure, PollName[]][] {
  const failures = new Map<string, [PollFailure, PollName[]]>();
  for (const slice of pollNames) {
    const { failure } = symptoms.slices[slice];
    if (failure === null) continue;
    const known = failures.get(failure.key);
    if (known) known[1].push(slice);
    else failures.set(failure.key, [failure, [slice]]);
  }
  return [...failures.values()];
}

/** The payload of `bridge/health`. */
export function healthPayload(symptoms: HealthInputs): object {
  const { status, reason } = evaluateHealth(symptoms);
  const schedules = Object.fromEntries(
    pollNames.map((slice) => {
      const { lastSuccessAt, failure, consecutiveFailures } = symptoms.slices[slice];
      return [
        slice,
        {
          last_success: iso(lastSuccessAt),
          last_error: failure?.message ?? null,
          consecutive_failures: consecutiveFailures,
        },
      ];
    }),
  );
  return { status, reason, schedules, limited_until: iso(symptoms.limitedUntil) };
}

/** What must differ before `bridge/health` is published again: not the time of each success. */
export function healthFingerprint(symptoms: HealthInputs): string {
  const outcomes = pollNames.map((slice) => {
    const { lastSuccessAt, failure } = symptoms.slices[slice];
    return [lastSuccessAt !== null, failure?.kind ?? null, failure?.key ?? null];
  });
  const { status, problems, notes } = evaluateHealth(symptoms);
  return JSON.stringify([
    status,
    problems,
    notes,
    symptoms.brokerProblem,
    outcomes,
    iso(symptoms.rejectedUntil),
    iso(symptoms.limitedUntil),
  ]);
}

function iso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
