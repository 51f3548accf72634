import { joinSentences } from '../base/joinSentences.ts';
import { type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import type { HealthStatus } from '../model/devices.ts';
import { type PollName, pollNames, pollTable, vitalPolls } from '../model/polls.ts';
import { incompleteKey, type PollFailure, type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import { type HealthProblem, healthProblem } from './problem.ts';

/** Everything that decides about the status. */
export interface HealthInputs {
  readonly polls: StatusByPoll;
  /** Whether the account is read for the first time, so that a valve or a leak may be missing. */
  readonly isFirstReading: boolean;
  /** The polls that have read nothing for longer than their schedule allows. */
  readonly overdue: readonly PollName[];
  /** Names of the valves that are reachable and send no new measurements. */
  readonly silentValves: readonly string[];
  /** Wall clock, ms, of the next sign-in; null unless the cloud rejected the credentials. */
  readonly rejectedUntil: number | null;
  /** Wall clock, ms, until which the cloud limits requests. */
  readonly limitedUntil: number | null;
  /** Problems of everything else: broker, account, data directory. */
  readonly problems: readonly HealthProblem[];
}

/** How the bridge is doing, and why. */
export interface HealthReport {
  readonly status: HealthStatus;
  /** All problems as text, the gravest first; null if there is none. */
  readonly reason: string | null;
  /** Problems of the cloud alone, as text; null if there is none. */
  readonly cloudReason: string | null;
  /** The gravest first. */
  readonly problems: readonly HealthProblem[];
  /** Why a side of the bridge is not ready although it is connected, as text; null if it is ready. */
  readonly unready: Readonly<Record<'cloud' | 'broker', string | null>>;
}

/** Why the data of the cloud is unavailable if nothing has failed. */
export const staleReason = 'No fresh data from the cloud';

/** Why nothing is known yet. */
export const waitingReason = 'Waiting for the cloud to answer';

/** Why not all is known yet. */
export const readingReason = 'Connected, reading the account for the first time';

/** A longer list is no clearer. */
export const maxShown = 10;
const maxNames = 5;

/** The gravest first. */
const gravestFirst: readonly HealthStatus[] = ['auth_failed', 'cloud_unreachable', 'degraded', 'ok'];

/** Evaluates all problems; the gravest gives the status and the first sentence. */
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

/** Kinds of failures that leave no data of the cloud. */
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
  overdue,
  silentValves,
  rejectedUntil,
}: HealthInputs): HealthProblem[] {
  if (rejectedUntil !== null) return [rejectedAccount(rejectedUntil)];
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
  return [...failed, ...waitingPolls(polls, overdue), ...reading, ...silence(silentValves)];
}

/** Polls that have not failed, and have not read anything in time either: their requests wait. */
function waitingPolls(polls: StatusByPoll, overdue: readonly PollName[]): HealthProblem[] {
  const waiting = overdue.filter((poll) => polls[poll].failure === null).map((poll) => pollTable[poll].label);
  if (waiting.length === 0) return [];
  const message = `No new data for too long: ${waiting.join(', ')}. The requests wait. A leak or a moved valve may not be shown`;
  return [healthProblem('cloud', 'degraded', message, 'waiting', 'cloud')];
}

function silence(valves: readonly string[]): HealthProblem[] {
  if (valves.length === 0) return [];
  const shown = `${valves.slice(0, maxNames).join(', ')}${valves.length > maxNames ? ' and others' : ''}`;
  const message = `No new measurements from ${shown}. Flow, pressure and temperature are unknown. Check the batteries and the hubs`;
  return [healthProblem('telemetry', 'degraded', message, message, 'cloud')];
}

function rejectedAccount(untilMs: number): HealthProblem {
  const next = `Next attempt by ${utcTime(untilMs)} UTC, or when the password file changes`;
  const message = `The cloud rejects the e-mail or the password. Correct them. ${next}`;
  // One key, whether the cloud has rejected the account again or no attempt is allowed yet.
  const key = 'auth_failed';
  const outage = 'the cloud rejects the e-mail or the password. Correct them';
  return { ...healthProblem('cloud', 'auth_failed', message, key), outage };
}

function failedPolls({ kind, key, message }: PollFailure, polls: readonly PollName[]): HealthProblem {
  const data = polls.map((poll) => pollTable[poll].label).join(', ');
  if (isPermanent({ kind }))
    return healthProblem('cloud', 'degraded', `Cannot read ${data}: ${message}`, key);
  const sentence = `${kind === 'incomplete' ? 'Could not read all' : 'Cannot read'} ${data}: ${message}. Retrying`;
  return healthProblem('cloud', 'degraded', sentence, key);
}

/** Whether a vital poll has failed only once. */
function isFirstFailure(polls: StatusByPoll, poll: PollName): boolean {
  return vitalPolls.includes(poll) && polls[poll].consecutiveFailures === 1;
}

/** Whether all vital polls fail in this way. Before the first of them has ended, the other polls decide. */
function isWhollyFailing(polls: StatusByPoll, kind: CloudErrorKind): boolean {
  const vital = vitalPolls.map((poll) => polls[poll]).filter(wasPolled);
  const judged = vital.length > 0 ? vital : pollNames.map((poll) => polls[poll]).filter(wasPolled);
  return judged.length > 0 && judged.every(({ failure }) => failure?.kind === kind);
}

/** Each distinct failure, with the polls that failed by it. Polls share an error, but each incomplete list lacks something else. */
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

/** `bridge/health` is published again when this changes. The time of each success is not part of it. */
export function healthFingerprint(inputs: HealthInputs, { status, problems }: HealthReport): string {
  const outcomes = pollNames.map((poll) => {
    const { lastSuccessAt, failure } = inputs.polls[poll];
    return [lastSuccessAt !== null, failure?.kind ?? null, failure?.key ?? null];
  });
  return JSON.stringify([
    status,
    problems.map(({ key }) => key),
    outcomes,
    inputs.rejectedUntil,
    iso(inputs.limitedUntil),
  ]);
}

function iso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** Hours and minutes in UTC. */
function utcTime(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 16);
}
