import { joinSentences } from '../base/joinSentences.ts';
import { type HealthStatus, healthStatuses } from '../model/devices.ts';
import { pollNames } from '../model/polls.ts';
import type { Finding } from './accountProblems.ts';
import { type Check, checks, type HealthFacts, maxShown } from './checks.ts';

/** What a check has found. */
export type HealthProblem = Omit<Check, 'find'> & Finding & { readonly key: string };

/** The status of the bridge and its problems, the most serious first. */
export interface HealthReport {
  readonly status: HealthStatus;
  readonly problems: readonly HealthProblem[];
}

const gravestFirst = healthStatuses.toReversed();

/** Judges the facts by all checks. What two checks find alike counts once, at its most serious. */
export function judge(facts: HealthFacts): HealthReport {
  const all = checks.flatMap(({ find, ...check }) =>
    [find(facts) ?? []].flat().map((found): HealthProblem => {
      const finding = typeof found === 'string' ? { message: found } : found;
      return { ...check, key: finding.message, ...finding };
    }),
  );
  const sorted = gravestFirst.flatMap((status) => all.filter((each) => each.status === status));
  const seen = new Set<string>();
  const problems = sorted.filter(({ message }) => !seen.has(message) && seen.add(message));
  return { status: problems[0]?.status ?? 'ok', problems };
}

/** Problems as text; null if there are none. */
export function reasonOf(problems: readonly HealthProblem[]): string | null {
  return joinSentences(problems.slice(0, maxShown).map(({ message }) => message)) || null;
}

/** The payload of `bridge/health`. */
export function healthPayload(
  { polls, limitedUntil }: Pick<HealthFacts, 'polls' | 'limitedUntil'>,
  { status, problems }: HealthReport,
): object {
  const schedules = pollNames.map((poll) => {
    const { lastSuccessAt, failure, consecutiveFailures } = polls[poll];
    const last = { last_success: iso(lastSuccessAt), last_error: failure?.message ?? null };
    return [poll, { ...last, consecutive_failures: consecutiveFailures }];
  });
  const reason = reasonOf(problems);
  return { status, reason, schedules: Object.fromEntries(schedules), limited_until: iso(limitedUntil) };
}

/** `bridge/health` is published again when this text changes. It does not contain the time of each success. */
export function healthFingerprint(
  { polls, rejection, limitedUntil }: HealthFacts,
  { status, problems }: HealthReport,
): string {
  const outcomes = pollNames.map((poll) => {
    const { lastSuccessAt, failure } = polls[poll];
    return [lastSuccessAt !== null, failure?.kind ?? null, failure?.key ?? null];
  });
  const keys = problems.map(({ key }) => key);
  return JSON.stringify([status, keys, outcomes, rejection, iso(limitedUntil)]);
}

function iso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
