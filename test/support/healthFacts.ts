import type { HealthFacts } from '../../src/health/checks.ts';
import { byPoll } from '../../src/model/polls.ts';
import { noneRefused } from '../../src/polling/pollParts.ts';
import type { PollFailure } from '../../src/polling/pollProblem.ts';
import { neverPolled, type PollStatus } from '../../src/polling/pollStatus.ts';
import { Store } from '../../src/store/store.ts';
import { FakeClock } from './fakeClock.ts';

/** A poll that has read everything. */
export const good: PollStatus = {
  ...neverPolled,
  isUnread: false,
  lastSuccessAt: 1_000,
  freshUntil: 5_000,
  answeredAt: 900,
};

/** A poll that has failed once. */
export function bad(kind: PollFailure['kind'], message = `${kind} in words`): PollStatus {
  return { ...good, failure: { kind, message, key: message }, consecutiveFailures: 1 };
}

/** The facts of a bridge whose account is not known, and that has no problem otherwise, except as changed. */
export function healthFacts(changes: Partial<HealthFacts> = {}): HealthFacts {
  return {
    polls: byPoll(() => good),
    isFirstReading: false,
    overdue: [],
    rejection: null,
    limitedUntil: null,
    refused: noneRefused(),
    oddities: [],
    store: new Store({ selection: [], clock: new FakeClock() }),
    connection: {
      ...{ isConnected: true, isStandingStill: false, trouble: null },
      ...{ refusedSubscriptions: null, unreadTopic: null, areStoredUnmarked: false },
    },
    refusal: null,
    replacedTopics: [],
    state: { problem: null },
    httpProblem: null,
    ...changes,
  };
}
