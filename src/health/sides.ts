import type { Connection } from '../broker/connection.ts';
import type { BridgeFacts, HealthStatus, Side } from '../model/devices.ts';
import { type PollName, pollNames, pollTable, vitalPolls } from '../model/polls.ts';
import { decidingPoll, type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import type { Store } from '../store/store.ts';
import { readingReason, waitingReason } from './checks.ts';
import { type HealthProblem, type HealthReport, reasonOf } from './health.ts';

/** The reason if the cloud's data is unavailable although nothing has failed. */
export const staleReason = 'No fresh data from the cloud';

/** Whether the publishing of devices has begun, and whether all were published once. */
export interface PublishingProgress {
  readonly isShowingDevices: boolean;
  readonly hasShownDevices: boolean;
}

/** A side that is connected. With a problem, it is not ready, but what was read from it is current. */
function connected(problems: readonly HealthProblem[], side: HealthProblem['stops']): Side {
  const reason = reasonOf(problems.filter(({ stops }) => stops === side));
  return { status: 'up', isReady: reason === null, reason, workedAt: null };
}

const starting = (status: 'connecting' | 'loading', reason: string): Side => {
  return { status, isReady: false, reason, workedAt: null };
};

export function cloudSide(report: HealthReport | null, isFresh: boolean, polls: StatusByPoll): Side {
  const { status, problems } = report ?? { status: null, problems: [] };
  const cloudReason = reasonOf(problems.filter(({ source }) => source === 'cloud'));
  // After the beginning of an outage, data still counts as fresh for a while.
  const isAway = status === 'cloud_unreachable' || status === 'auth_failed';
  const deciding = decidingPoll(polls);
  const isJudged = deciding === null || wasPolled(polls[deciding]);
  if (isAway || (isJudged && !isFresh)) {
    // The older of the vital lists decides how old the data is.
    const [workedAt = null] = vitalPolls
      .flatMap((poll) => polls[poll].lastSuccessAt ?? [])
      .toSorted((a, b) => a - b);
    return { status: 'down', isReady: isFresh, reason: cloudReason ?? staleReason, workedAt };
  }
  if (isFresh) return connected(problems, 'cloud');
  return pollNames.some((poll) => wasPolled(polls[poll]))
    ? starting('loading', cloudReason ?? readingReason)
    : starting('connecting', waitingReason);
}

/** `lostAt`: when the last connection to the broker ended, in ms since 1970; null before the first one. */
export function brokerSide(
  report: HealthReport | null,
  { isConnected, trouble }: Pick<Connection, 'isConnected' | 'trouble'>,
  lostAt: number | null,
  { isShowingDevices, hasShownDevices }: PublishingProgress,
): Side {
  if (isConnected && hasShownDevices) return connected(report?.problems ?? [], 'broker');
  if (isConnected && isShowingDevices) return starting('loading', 'Connected, publishing devices …');
  if (isConnected) return starting('loading', 'Connected, waiting for data from the cloud');
  const reason = trouble ?? 'not connected to the MQTT broker';
  if (trouble === null && lostAt === null) return starting('connecting', reason);
  return { status: 'down', isReady: false, reason, workedAt: lostAt };
}

/** The facts about the cloud in the headline. */
export function cloudFacts(
  { cloud, status }: { readonly cloud: Side; readonly status: HealthStatus | null },
  polls: StatusByPoll,
  store: Pick<Store, 'isComplete'>,
): Omit<BridgeFacts, 'broker' | 'isWatchOnly'> {
  return {
    cloud,
    health: status,
    isLoading: cloud.status !== 'down' && pollNames.some((poll) => isPending(poll, polls)),
    isComplete: store.isComplete,
  };
}

/**
 * Whether the first run of the poll is not finished and has not failed. Data of single valves waits for the list of
 * valves.
 */
export function isPending(poll: PollName, polls: StatusByPoll): boolean {
  const { sonics } = polls;
  const isBarred = pollTable[poll].isBySonic && sonics.failure !== null && sonics.lastSuccessAt === null;
  return polls[poll].isUnread && polls[poll].failure === null && !isBarred;
}
