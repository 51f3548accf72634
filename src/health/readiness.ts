import type { Connection } from '../broker/connection.ts';
import type { BridgeFacts, SideStatus } from '../model/devices.ts';
import { type PollName, pollNames, pollTable, vitalPolls } from '../model/polls.ts';
import type { Poller } from '../polling/poller.ts';
import { decidingPoll, type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import type { Store } from '../store/store.ts';
import { readingReason, staleReason, waitingReason } from './health.ts';
import type { HealthMonitor } from './healthMonitor.ts';

/** The status of one side of the bridge: the cloud or the broker. */
export interface ComponentStatus extends SideStatus {
  /** Whether it works: the cloud's data is fresh, or the devices are published. */
  readonly isWorking: boolean;
  /** Why it is not up, for people; null if it is. */
  readonly reason: string | null;
}

/** The status of both sides of the bridge. */
export interface Readiness {
  readonly cloud: ComponentStatus;
  readonly broker: ComponentStatus;
}

/** Whether the publishing of devices has begun, and whether all were published once. */
export interface PublishingProgress {
  readonly isShowingDevices: boolean;
  readonly hasShownDevices: boolean;
}

const up: ComponentStatus = { isWorking: true, status: 'up', reason: null, workedAt: null };
const starting = (status: 'connecting' | 'loading', reason: string): ComponentStatus => {
  return { isWorking: false, status, reason, workedAt: null };
};

/** The status of a side that is connected. With a problem, it does not work, but what was read from it is current. */
function connected(problem: string | null): ComponentStatus {
  return problem === null ? up : { ...up, isWorking: false, reason: problem };
}

/** The status of the cloud. */
export function cloudReadiness(
  {
    isCloudFresh,
    status,
    cloudReason,
    unready,
  }: Pick<HealthMonitor, 'isCloudFresh' | 'status' | 'cloudReason' | 'unready'>,
  records: StatusByPoll,
): ComponentStatus {
  // After the beginning of an outage, data still counts as fresh for a while.
  const isAway = status === 'cloud_unreachable' || status === 'auth_failed';
  const deciding = decidingPoll(records);
  const isJudged = deciding === null || wasPolled(records[deciding]);
  if (isAway || (isJudged && !isCloudFresh)) {
    const readAt = Math.max(...vitalPolls.map((poll) => records[poll].lastSuccessAt ?? 0));
    const reason = cloudReason ?? staleReason;
    return { isWorking: isCloudFresh, status: 'down', reason, workedAt: readAt || null };
  }
  if (isCloudFresh) return connected(unready.cloud);
  return pollNames.some((poll) => wasPolled(records[poll]))
    ? starting('loading', cloudReason ?? readingReason)
    : starting('connecting', waitingReason);
}

/** The status of the broker. */
export function brokerReadiness(
  { isConnected, trouble }: Pick<Connection, 'isConnected' | 'trouble'>,
  { brokerLostAt, unready }: Pick<HealthMonitor, 'brokerLostAt' | 'unready'>,
  { isShowingDevices, hasShownDevices }: PublishingProgress,
): ComponentStatus {
  if (isConnected && hasShownDevices) return connected(unready.broker);
  if (isConnected && isShowingDevices) return starting('loading', 'Connected, publishing devices …');
  if (isConnected) return starting('loading', 'Connected, waiting for data from the cloud');
  const reason = trouble ?? 'not connected to the MQTT broker';
  const isTried = trouble !== null || brokerLostAt !== null;
  return isTried
    ? { isWorking: false, status: 'down', reason, workedAt: brokerLostAt }
    : starting('connecting', reason);
}

/** The facts about the bridge in the headline, except those about the broker. */
export function cloudFacts(
  health: HealthMonitor,
  poller: Pick<Poller, 'statuses'>,
  store: Pick<Store, 'isResolved'>,
): Omit<BridgeFacts, 'broker'> {
  const { status, workedAt } = cloudReadiness(health, poller.statuses.records);
  return {
    cloud: { status, workedAt },
    health: health.status,
    isLoading: status !== 'down' && pollNames.some((poll) => isPending(poll, poller)),
    isWhole: store.isResolved,
  };
}

/**
 * Whether the first run of the poll is not finished and has not failed. Data of single valves waits for the list of
 * valves.
 */
export function isPending(
  poll: PollName,
  { statuses: { records, progress } }: Pick<Poller, 'statuses'>,
): boolean {
  const { sonics } = records;
  const isBarred = pollTable[poll].isBySonic && sonics.failure !== null && sonics.lastSuccessAt === null;
  return progress.some((each) => each.poll === poll) && records[poll].failure === null && !isBarred;
}
