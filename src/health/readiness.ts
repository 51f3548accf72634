import type { Connection } from '../broker/connection.ts';
import { pollNames, vitalPolls } from '../model/polls.ts';
import { isJudged, type StatusByPoll, wasPolled } from '../polling/pollStatus.ts';
import { readingReason, staleReason, waitingReason } from './health.ts';
import type { HealthMonitor } from './healthMonitor.ts';

/** One of the two sides of the bridge. */
export interface ComponentStatus {
  /** Whether it has worked, and its data is fresh or published. */
  readonly isWorking: boolean;
  /**
   * Its status now. `connecting`: it has neither worked nor failed since the start. `loading`: it answers, and the first
   * reading or publishing goes on.
   */
  readonly status: 'connecting' | 'loading' | 'up' | 'down';
  /** Why it is not up, in words; null if it is. */
  readonly reason: string | null;
  /** Wall clock, ms, when it last worked; null while it works, and if it never did. */
  readonly workedAt: number | null;
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
