import type { Connection } from '../broker/connection.ts';
import type { BridgeFacts, SideStatus } from '../model/devices.ts';
import { type PollName, pollNames, pollTable, vitalPolls } from '../model/polls.ts';
import type { Poller } from '../polling/poller.ts';
import { isJudged, type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import type { Store } from '../store/store.ts';
import { readingReason, staleReason, waitingReason } from './health.ts';
import type { HealthMonitor } from './healthMonitor.ts';

/** One of the two sides of the bridge. */
export interface ComponentStatus extends SideStatus {
  /** Whether it has worked, and its data is fresh or published. */
  readonly isWorking: boolean;
  /** Why it is not up, in words; null if it is. */
  readonly reason: string | null;
}

/** The two sides of the bridge. */
export interface Readiness {
  readonly cloud: ComponentStatus;
  readonly broker: ComponentStatus;
}

/** Whether publishing the devices has begun, and whether it was done. */
export interface PublishingProgress {
  readonly isShowingDevices: boolean;
  readonly hasShownDevices: boolean;
}

const up: ComponentStatus = { isWorking: true, status: 'up', reason: null, workedAt: null };
const starting = (status: 'connecting' | 'loading', reason: string): ComponentStatus => {
  return { isWorking: false, status, reason, workedAt: null };
};

/** Of a side that is connected. */
function connected(problem: string | null): ComponentStatus {
  return problem === null ? up : { isWorking: false, status: 'down', reason: problem, workedAt: null };
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
  // Data stays fresh for a while after an outage begins.
  const isAway = status === 'cloud_unreachable' || status === 'auth_failed';
  if (isAway || (isJudged(records) && !isCloudFresh)) {
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

/** What the headline says of the bridge, but for the broker. */
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

/** Whether the first reading goes on, and has not failed: data of single valves is read once the valves are known. */
export function isPending(
  poll: PollName,
  { statuses: { records, progress } }: Pick<Poller, 'statuses'>,
): boolean {
  const { sonics } = records;
  const isBarred = pollTable[poll].isBySonic && sonics.failure !== null && sonics.lastSuccessAt === null;
  return progress.some((each) => each.poll === poll) && records[poll].failure === null && !isBarred;
}
