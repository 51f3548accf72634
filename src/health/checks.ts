import { joinSentences } from '../base/joinSentences.ts';
import { listNames } from '../base/listNames.ts';
import type { Connection } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import { type CloudErrorKind, isPermanent } from '../cloud/errors.ts';
import type { SessionState } from '../cloud/session.ts';
import { type HealthStatus, kindLabels } from '../model/devices.ts';
import { type PollName, pollNames, pollTable, vitalPolls } from '../model/polls.ts';
import { isAvailable } from '../model/reach.ts';
import type { RefusedDevices } from '../polling/pollParts.ts';
import { incompleteKey, type PollFailure } from '../polling/pollProblem.ts';
import { lateEveryMs, type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';
import {
  accountProblems,
  type Finding,
  pauseProblems,
  refusedValves,
  type SideName,
} from './accountProblems.ts';

/** At most this many problems are listed. A longer list would be no clearer. */
export const maxShown = 10;

/** All facts that health is judged by. */
export interface HealthFacts {
  readonly polls: StatusByPoll;
  /** Whether the first reading of the account goes on, so that a valve or a leak may still be missing. */
  readonly isFirstReading: boolean;
  /** The polls that have read nothing for longer than their schedule allows. */
  readonly overdue: readonly PollName[];
  /** Null unless the cloud has rejected the account. */
  readonly rejection: SessionState['rejection'];
  /** Wall-clock ms until which the cloud limits requests; null if it does not. */
  readonly limitedUntil: number | null;
  readonly refused: RefusedDevices;
  /** Odd data of the cloud. */
  readonly oddities: ReturnType<CloudClient['problems']>;
  readonly store: Store;
  readonly connection: Pick<
    Connection,
    | 'isConnected'
    | 'isStandingStill'
    | 'trouble'
    | 'refusedSubscriptions'
    | 'unreadTopic'
    | 'areStoredUnmarked'
  >;
  /** A message that the broker rejects; null if there is none. */
  readonly refusal: Connection['refusedEvent'];
  /** The discovery topics at which other clients keep replacing the messages of this bridge. */
  readonly replacedTopics: readonly string[];
  readonly state: Pick<StateFile, 'problem'>;
  /** Why HTTP does not work; null if it works or is off. */
  readonly httpProblem: string | null;
}

type Find = (facts: HealthFacts) => string | Finding | null | readonly (string | Finding)[];

export interface Check {
  readonly source: 'cloud' | 'account' | 'broker' | 'bridge';
  /** The status of the bridge while the check finds something; `ok` for information. */
  readonly status: HealthStatus;
  /** The side of the bridge that is not ready meanwhile. */
  readonly stops?: SideName | undefined;
  /** False if another part logs it. */
  readonly isLogged?: false;
  readonly find: Find;
}

/** The reason before the cloud has answered. */
export const waitingReason = 'Waiting for the cloud to answer';

/** The reason during the first reading. */
export const readingReason = 'Connected, reading the account for the first time';

const unmarkedMessages =
  'The MQTT broker sends stored messages without the retain flag, so an old command looks like a new one. Commands are refused. Use another broker, for example Mosquitto';

/** THE TABLE of everything that may be wrong. Of equally serious findings, the first comes first. */
export const checks: readonly Check[] = [
  { source: 'cloud', status: 'cloud_unreachable', find: outageOf },
  {
    ...{ source: 'bridge', status: 'degraded', isLogged: false },
    find: (facts) => (isReached(facts) || outageOf(facts) ? null : waitingReason),
  },
  { source: 'cloud', status: 'degraded', find: whileReached(failedPolls) },
  { source: 'cloud', status: 'degraded', stops: 'cloud', find: whileReached(waitingPolls) },
  {
    ...{ source: 'cloud', status: 'degraded', stops: 'cloud' },
    find: whileReached(latePolls),
  },
  {
    ...{ source: 'bridge', status: 'degraded', isLogged: false },
    find: whileReached(({ isFirstReading }) => (isFirstReading ? readingReason : null)),
  },
  { source: 'account', status: 'degraded', isLogged: false, find: whileReached(unreadDevices) },
  { source: 'account', status: 'degraded', find: whileReached(silentValves) },
  {
    ...{ source: 'broker', status: 'degraded', isLogged: false },
    find: ({ connection: { isConnected, trouble } }) =>
      isConnected ? null : `No connection to the MQTT broker: ${trouble ?? 'not connected yet'}. Retrying`,
  },
  {
    ...{ source: 'broker', status: 'degraded', stops: 'broker', isLogged: false },
    find: ({ connection, refusal }) =>
      connection.isConnected && refusal
        ? {
            message: `The MQTT broker rejects messages, for example ${refusal.topic}: ${refusal.reason}. Home Assistant shows old values or none. Check the access list and the limits of the broker`,
            key: 'rejected',
          }
        : null,
  },
  {
    ...{ source: 'broker', status: 'degraded', stops: 'broker' },
    find: ({ connection: { refusedSubscriptions: refused } }) =>
      refused &&
      `The MQTT broker rejects a subscription: ${refused}. Messages there have no effect. Check the access list of the broker`,
  },
  {
    ...{ source: 'broker', status: 'degraded', stops: 'broker' },
    find: ({ connection: { unreadTopic: topic } }) =>
      topic && {
        message: `The MQTT broker does not send ${topic} back. Commands may have no effect. Check the access list of the broker`,
        key: 'unread',
      },
  },
  {
    ...{ source: 'broker', status: 'degraded', stops: 'broker' },
    find: ({ connection }) => (connection.areStoredUnmarked ? unmarkedMessages : null),
  },
  {
    ...{ source: 'broker', status: 'degraded' },
    find: ({ replacedTopics: [topic] }) =>
      topic === undefined
        ? null
        : {
            message: `Another MQTT client keeps replacing or deleting discovery messages, for example ${topic}. Home Assistant may show wrong devices. Stop that client, then restart sonic2mqtt`,
            key: 'replaced',
          },
  },
  { source: 'bridge', status: 'degraded', isLogged: false, find: ({ state }) => state.problem },
  { source: 'bridge', status: 'degraded', isLogged: false, find: ({ httpProblem }) => httpProblem },
  {
    source: 'account',
    status: 'degraded',
    isLogged: false,
    find: ({ store }) => pauseProblems(store),
  },
  { source: 'account', status: 'ok', find: ({ refused, store }) => refusedValves(refused, store) },
  {
    ...{ source: 'account', status: 'degraded' },
    find: ({ store, polls }) => accountProblems(store, polls.properties.lastSuccessAt !== null),
  },
  // A record is missing because of it.
  { source: 'account', status: 'degraded', isLogged: false, find: (facts) => unexpectedData(facts, 'warn') },
  // An unknown value was used.
  { source: 'account', status: 'ok', isLogged: false, find: (facts) => unexpectedData(facts, 'info') },
];

/** Kinds of failures after which there is no data of the cloud at all. */
const outages = [
  { kind: 'auth', status: 'auth_failed' },
  { kind: 'unavailable', status: 'cloud_unreachable' },
] as const;

/** Why there is no data of the cloud at all; null if there is some. It explains everything else about the cloud. */
function outageOf({ polls, rejection }: HealthFacts): Finding | null {
  if (rejection !== null) return rejectedAccount(rejection);
  for (const { kind, status } of outages) {
    if (!isWhollyFailing(polls, kind)) continue;
    const failure = pollNames.map((poll) => polls[poll].failure).find((each) => each?.kind === kind);
    const { message = '', key = '' } = failure ?? {};
    const sentence = `No data from the cloud: ${message}. Retrying`;
    return { status, message: sentence, key: `${status} ${key}`, outage: message };
  }
  return null;
}

/** Whether all vital polls fail in this way. Until one of them has ended, the other polls decide. */
function isWhollyFailing(polls: StatusByPoll, kind: CloudErrorKind): boolean {
  const vital = vitalPolls.map((poll) => polls[poll]).filter(wasPolled);
  const judged = vital.length > 0 ? vital : pollNames.map((poll) => polls[poll]).filter(wasPolled);
  return judged.length > 0 && judged.every(({ failure }) => failure?.kind === kind);
}

function rejectedAccount({ reason, nextAttemptAt }: NonNullable<SessionState['rejection']>): Finding {
  const at = new Date(nextAttemptAt).toISOString().slice(11, 16);
  const next = `Next attempt by ${at} UTC, or when the password file changes`;
  const message = joinSentences([reason.charAt(0).toUpperCase() + reason.slice(1), next]);
  // The key is the same, whether the cloud has rejected another attempt or no attempt is allowed yet.
  return { status: 'auth_failed', message, key: `auth_failed ${reason}`, outage: reason };
}

function isReached({ polls }: HealthFacts): boolean {
  return pollNames.some((poll) => wasPolled(polls[poll]));
}

/** A check of what was read. It finds nothing while the cloud has not answered, or while nothing can be read. */
function whileReached(find: Find): Find {
  return (facts) => (isReached(facts) && outageOf(facts) === null ? find(facts) : null);
}

/**
 * Each different failure, with the polls that it concerns. Polls with the same error share one entry. Incomplete lists
 * do not, because each of them misses other records.
 */
function failedPolls({ polls, overdue }: HealthFacts): Finding[] {
  const affected = new Map<string, [PollFailure, PollName[]]>();
  for (const poll of pollNames) {
    const { failure } = polls[poll];
    if (failure === null) continue;
    const key = failure.key === incompleteKey ? `${incompleteKey} ${poll}` : failure.key;
    affected.set(key, [affected.get(key)?.[0] ?? failure, [...(affected.get(key)?.[1] ?? []), poll]]);
  }
  // After an outage, everything that has failed is read again at once.
  const mayEndSoon = (poll: PollName) =>
    polls[poll].runningSince !== null || (vitalPolls.includes(poll) && polls[poll].consecutiveFailures === 1);
  return [...affected].map(([key, [failure, names]]) => ({
    message: failureMessage(failure, names),
    key,
    isBrief: failure.kind === 'unavailable' && names.every(mayEndSoon),
    stops: names.some((poll) => overdue.includes(poll)) ? 'cloud' : undefined,
  }));
}

/** What these polls could not read, and why. */
export function failureMessage({ kind, message }: PollFailure, polls: readonly PollName[]): string {
  const data = polls.map((poll) => pollTable[poll].label).join(', ');
  if (isPermanent({ kind })) return `Cannot read ${data}: ${message}`;
  return `${kind === 'incomplete' ? 'Could not read all' : 'Cannot read'} ${data}: ${message}. Retrying`;
}

/** Polls that have not failed but have read nothing in time. Their requests still wait for their turn. */
function waitingPolls({ polls, overdue, connection }: HealthFacts): Finding | null {
  if (connection.isStandingStill) return null;
  const waiting = overdue.filter((poll) => polls[poll].failure === null).map((poll) => pollTable[poll].label);
  if (waiting.length === 0) return null;
  const message = `No new data for too long: ${waiting.join(', ')}. The requests wait. A leak or a moved valve may not be shown`;
  return { message, key: 'waiting' };
}

/** The first poll that cannot keep its schedule, because the budget is too small or the cloud too slow. */
function latePolls({ polls }: HealthFacts): Finding | null {
  const late = pollNames.find((poll) => lateEveryMs(polls[poll]) !== null);
  if (late === undefined) return null;
  // In whole minutes, so that the sentence stays the same.
  const minutes = Math.ceil((lateEveryMs(polls[late]) ?? 0) / 60_000);
  const message = `The ${pollTable[late].label} cannot be read as often as planned. Set schedules.${late} to ${minutes}m, or increase cloud.max_requests_per_minute`;
  return { message, key: 'overload' };
}

function unreadDevices({ store, isFirstReading }: HealthFacts): string | null {
  const unread = isFirstReading ? [] : store.unreadDevices;
  if (unread.length === 0) return null;
  const names = unread.map(({ kind, id }) => `${kindLabels[kind]} ${store.label(kind, id)}`);
  return `Offline, because not read since the start: ${listNames(names)}`;
}

/**
 * Valves whose measurements have stopped. An unreachable valve is left out, because it is shown as offline anyway. The
 * bridge is ready without the measurements of some valves.
 */
function silentValves({ store }: HealthFacts): Finding | null {
  const silent = new Set(Object.values(store.telemetry).flatMap(({ silentIds }) => [...silentIds]));
  if (silent.size === 0) return null;
  const measuring = store.ids('sonic').filter((id) => {
    const view = store.sonicView(id);
    return view?.telemetry && isAvailable(view.reach);
  });
  const ids = measuring.filter((id) => silent.has(id));
  if (ids.length === 0) return null;
  const names = listNames(ids.map((id) => store.label('sonic', id)));
  const message = `No new measurements from ${names}. Flow, pressure and temperature are unknown. Check the batteries and the hubs`;
  return { message, stops: ids.length === measuring.length ? 'cloud' : undefined };
}

function unexpectedData({ oddities }: HealthFacts, wanted: 'info' | 'warn'): string | null {
  const messages = oddities.flatMap(({ level, message }) => (level === wanted ? [message] : []));
  if (messages.length === 0) return null;
  return `Unexpected data from the cloud: ${joinSentences(messages.slice(0, maxShown))}`;
}
