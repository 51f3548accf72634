import type { HealthStatus } from '../model/devices.ts';

/** One of the two sides of the bridge. */
export interface ComponentStatus {
  /** Whether it has worked, and what it brought or was given is the present. */
  readonly isWorking: boolean;
  /**
   * How the side is at this moment. `connecting`: it has neither worked nor failed since the start. `loading`: it
   * answers, and not everything was read or published yet for the first time.
   */
  readonly status: 'connecting' | 'loading' | 'up' | 'down';
  /** Why it is not up, in words; null if it is, or if there is nothing to say. */
  readonly reason: string | null;
  /** Wall clock, ms, when it last worked; null while it works, and if it never did. */
  readonly workedAt: number | null;
}

/** How the two sides of the bridge fare. */
export interface Readiness {
  readonly cloud: ComponentStatus;
  readonly broker: ComponentStatus;
}

/** What is looked at. */
export interface ReadinessInputs {
  readonly cloud: {
    readonly isFresh: boolean;
    /** What the monitor says; null before it does. */
    readonly status: HealthStatus | null;
    readonly reason: string | null;
    /** Whether anything was read or failed to be read. */
    readonly isTried: boolean;
    /** Whether the list that decides whether data is fresh was read or failed to be read. */
    readonly isJudged: boolean;
    /** Wall clock, ms, of the last good reading. */
    readonly readAt: number | null;
  };
  readonly broker: {
    readonly isConnected: boolean;
    /** Why the last attempt failed; null before the first one did. */
    readonly trouble: string | null;
    /** Wall clock, ms, when the last connection ended; null before that. */
    readonly lostAt: number | null;
    /** Whether the devices were ever published, and whether that has begun. */
    readonly isShown: boolean;
    readonly isShowing: boolean;
  };
}

/** Judges the signs. */
export function evaluateReadiness({ cloud, broker }: ReadinessInputs): Readiness {
  return { cloud: cloudHalf(cloud), broker: brokerHalf(broker) };
}

function cloudHalf({
  isFresh,
  status,
  reason,
  isTried,
  isJudged,
  readAt,
}: ReadinessInputs['cloud']): ComponentStatus {
  // Data stays fresh for a while after the cloud has gone.
  if (status === 'cloud_unreachable' || status === 'auth_failed' || (isJudged && !isFresh)) {
    const words = reason ?? 'the cloud has said nothing new for too long';
    return { isWorking: isFresh, status: 'down', reason: words, workedAt: readAt };
  }
  if (isFresh) return up;
  const [stage, words] = isTried
    ? (['loading', 'Connected, reading the account for the first time'] as const)
    : (['connecting', 'the cloud has not answered yet'] as const);
  return { isWorking: false, status: stage, reason: reason ?? words, workedAt: null };
}

function brokerHalf({
  isConnected,
  trouble,
  lostAt,
  isShown,
  isShowing,
}: ReadinessInputs['broker']): ComponentStatus {
  if (isConnected && isShown) return up;
  if (isConnected) {
    const words = isShowing
      ? 'Connected, publishing devices …'
      : 'Connected, waiting for data from the cloud';
    return { isWorking: false, status: 'loading', reason: words, workedAt: null };
  }
  const isTried = trouble !== null || lostAt !== null;
  const reason = trouble ?? 'not connected to the MQTT broker yet';
  return { isWorking: false, status: isTried ? 'down' : 'connecting', reason, workedAt: lostAt };
}

const up: ComponentStatus = { isWorking: true, status: 'up', reason: null, workedAt: null };
