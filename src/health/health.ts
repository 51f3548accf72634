import { joinSentences } from '../base/joinSentences.ts';
import { listNames } from '../base/listNames.ts';
import { type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import type { Rejection } from '../cloud/session.ts';
import type { HealthStatus } from '../model/devices.ts';
import { type PollName, pollNames, pollTable, vitalPolls } from '../model/polls.ts';
import { incompleteKey, type PollFailure } from '../polling/pollProblem.ts';
import { type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import { type HealthProblem, healthProblem } from './problem.ts';

/** All facts that decide about the status. */
export interface HealthInputs {
  readonly polls: StatusByPoll;
  /** Whether the first reading of the account goes on, so that a valve or a leak may still be missing. */
  readonly isFirstReading: boolean;
  /** Why the schedules cannot be kept; null if they can. */
  readonly overload: string | null;
  /** The polls that have read nothing for longer than their schedule allows. */
  readonly overdue: readonly PollName[];
  /** Names of the valves that are reachable but send no new measurements, and whether no other valve sends any. */
  readonly silentValves: readonly string[];
  readonly areAllSilent: boolean;
  /** Null unless the cloud has rejected the account. */
  readonly rejection: Rejection | null;
  /** Wall-clock ms until which the cloud limits requests; null if it does not. */
  readonly limitedUntil: number | null;
  /** Problems besides reading the cloud: broker, account, data directory. */
  readonly problems: readonly HealthProblem[];
}

/** The result: the status of the bridge and its problems. */
export interface HealthReport {
  readonly status: HealthStatus;
  /** All problems as text, the most serious first; null if there are none. */
  readonly reason: string | null;
  /** Only the problems of the cloud, as text; null if there are none. */
  readonly cloudReason: string | null;
  /** The most serious first. */
  readonly problems: readonly HealthProblem[];
  /** For each side of the bridge: why it is not ready although it is connected, as text; null if it is ready. */
  readonly unready: Readonly<Record<'cloud' | 'broker', string | null>>;
}

/** The reason if the cloud's data is unavailable although nothing has failed. */
export const staleReason = 'No fresh data from the cloud';

/** The reason before the cloud has answered. */
export const waitingReason = 'Waiting for the cloud to answer';

/** The reason during the first reading. */
export const readingReason = 'Connected, reading the account for the first time';

/** At most this many problems are listed. A longer list would be no clearer. */
export const maxShown = 10;

/** The most serious status first. */
const gravestFirst: readonly HealthStatus[] = ['auth_failed', 'cloud_unreachable', 'degraded', 'ok'];

/** Evaluates all problems. The most serious one gives the status and the first sentence. */
export function evaluateHealth(inputs: HealthInputs): HealthReport {
  const all = [...cloudProblems(inputs), ...inputs.problems];
  const problems = gravestFirst.flatMap((status) => all.filter((each) => each.status === status));
  return {
    status: problems[0]?.status ?? 'ok',
    reason: joinedMessages(problems),
    cloudReason: joinedMessages(problems.filter(({ source }) => source === 'cloud')),
    problems,
    unready: {
      cloud: joinedMessages(problems.filter(({ stops }) => stops === 'cloud')),
      broker: joinedMessages(problems.filter(({ stops }) => stops === 'broker')),
    },
  };
}

/** Kinds of failures after which there is no data of the cloud at all. */
const outages = [
  { kind: 'auth', status: 'auth_failed' },
  { kind: 'unavailable', status: 'cloud_unreachable' },
] as const;

function joinedMessages(problems: readonly HealthProblem[]): string | null {
  return joinSentences(problems.slice(0, maxShown).map(({ message }) => message)) || null;
}

function cloudProblems({
  polls,
  isFirstReading,
  overload,
  overdue,
  silentValves,
  areAllSilent,
  rejection,
}: HealthInputs): HealthProblem[] {
  if (rejection !== null) return [rejectedAccount(rejection)];
  const failing = failuresByKey(polls);
  for (const { kind, status } of outages) {
    if (!isWhollyFailing(polls, kind)) continue;
    const { message = '', key = '' } = failing.map(([each]) => each).find((each) => each.kind === kind) ?? {};
    const sentence = `No data from the cloud: ${message}. Retrying`;
    return [{ ...healthProblem('cloud', status, sentence, `${status} ${key}`), outage: message }];
  }
  if (!pollNames.some((poll) => wasPolled(polls[poll])))
    return [healthProblem('start', 'degraded', waitingReason)];
  const failed = failing.map(([failure, affected]) => {
    const isBrief = failure.kind === 'unavailable' && affected.every((poll) => isFirstFailure(polls, poll));
    const isOverdue = affected.some((poll) => overdue.includes(poll));
    return { ...failedPolls(failure, affected), isBrief, stops: isOverdue ? ('cloud' as const) : undefined };
  });
  const reading = isFirstReading ? [healthProblem('start', 'degraded', readingReason)] : [];
  const slow = overload === null ? [] : [healthProblem('cloud', 'degraded', overload, 'overload', 'cloud')];
  return [
    ...failed,
    ...waitingPolls(polls, overdue),
    ...slow,
    ...reading,
    ...silence(silentValves, areAllSilent),
  ];
}

/** Polls that have not failed but have read nothing in time. Their requests still wait for their turn. */
function waitingPolls(polls: StatusByPoll, overdue: readonly PollName[]): HealthProblem[] {
  const waiting = overdue.filter((poll) => polls[poll].failure === null).map((poll) => pollTable[poll].label);
  if (waiting.length === 0) return [];
  const message = `No new data for too long: ${waiting.join(', ')}. The requests wait. A leak or a moved valve may not be shown`;
  return [healthProblem('cloud', 'degraded', message, 'waiting', 'cloud')];
}

/** Measurements have stopped. Those of some valves are no reason not to be ready. */
function silence(valves: readonly string[], areAllSilent: boolean): HealthProblem[] {
  if (valves.length === 0) return [];
  const message = `No new measurements from ${listNames(valves)}. Flow, pressure and temperature are unknown. Check the batteries and the hubs`;
  return [healthProblem('telemetry', 'degraded', message, message, areAllSilent ? 'cloud' : undefined)];
}

function rejectedAccount({ reason, nextAttemptAt }: Rejection): HealthProblem {
  const next = `Next attempt by ${utcTime(nextAttemptAt)} UTC, or when the password file changes`;
  const message = joinSentences([reason.charAt(0).toUpperCase() + reason.slice(1), next]);
  // The key is the same, whether the cloud has rejected another attempt or no attempt is allowed yet.
  return { ...healthProblem('cloud', 'auth_failed', message, `auth_failed ${reason}`), outage: reason };
}

function failedPolls({ kind, key, message }: PollFailure, polls: readonly PollName[]): HealthProblem {
  const data = polls.map((poll) => pollTable[poll].label).join(', ');
  if (isPermanent({ kind }))
    return healthProblem('cloud', 'degraded', `Cannot read ${data}: ${message}`, key);
  const sentence = `${kind === 'incomplete' ? 'Could not read all' : 'Cannot read'} ${data}: ${message}. Retrying`;
  return healthProblem('cloud', 'degraded', sentence, key);
}

/** Whether the poll is a vital one and has failed only once. */
function isFirstFailure(polls: StatusByPoll, poll: PollName): boolean {
  return vitalPolls.includes(poll) && polls[poll].consecutiveFailures === 1;
}

/** Whether all vital polls fail in this way. Until one of them has ended, the other polls decide. */
function isWhollyFailing(polls: StatusByPoll, kind: CloudErrorKind): boolean {
  const vital = vitalPolls.map((poll) => polls[poll]).filter(wasPolled);
  const judged = vital.length > 0 ? vital : pollNames.map((poll) => polls[poll]).filter(wasPolled);
  return judged.length > 0 && judged.every(({ failure }) => failure?.kind === kind);
}

/**
 * Each different failure, with the polls that it concerns. Polls with the same error share one entry. Incomplete lists
 * do not, because each of them misses other records.
 */
function failuresByKey(polls: StatusByPoll): [PollFailure, PollName[]][] {
  const failures = new Map<string, [PollFailure, PollName[]]>();
  for (const poll of pollNames) {
    const { failure } = polls[poll];
    if (failure === null) continue;
    const key = failure.key === incompleteKey ? `${incompleteKey} ${poll}` : failure.key;
    const known = failures.get(key);
    if (known) known[1].push(poll);
    else failures.set(key, [{ ...failure, key }, [poll]]);
  }
  return [...failures.values()];
}

/** The payload of `bridge/health`. */
export function healthPayload(inputs: HealthInputs, { status, reason }: HealthReport): object {
  const schedules = Object.fromEntries(
    pollNames.map((poll) => {
      const { lastSuccessAt, failure, consecutiveFailures } = inputs.polls[poll];
      return [
        poll,
        {
          last_success: iso(lastSuccessAt),
          last_error: failure?.message ?? null,
          consecutive_failures: consecutiveFailures,
        },
      ];
    }),
  );
  return { status, reason, schedules, limited_until: iso(inputs.limitedUntil) };
}

/** `bridge/health` is published again when this text changes. It does not contain the time of each success. */
export function healthFingerprint(inputs: HealthInputs, { status, problems }: HealthReport): string {
  const outcomes = pollNames.map((poll) => {
    const { lastSuccessAt, failure } = inputs.polls[poll];
    return [lastSuccessAt !== null, failure?.kind ?? null, failure?.key ?? null];
  });
  return JSON.stringify([
    status,
    problems.map(({ key }) => key),
    outcomes,
    inputs.rejection,
    iso(inputs.limitedUntil),
  ]);
}

function iso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** A time as hours and minutes in UTC. */
function utcTime(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 16);
}
