import type { CloudClient } from '../../src/cloud/client.ts';
import { CloudError } from '../../src/cloud/errors.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import type { UncheckedCall } from '../../src/cloud/request.ts';
import { byPoll } from '../../src/model/polls.ts';
import { LocalDays } from '../../src/polling/localDays.ts';
import type { PollParts } from '../../src/polling/pollParts.ts';
import { PollSchedule } from '../../src/polling/pollSchedule.ts';
import { PollStatuses } from '../../src/polling/pollStatus.ts';
import type { StateFile } from '../../src/state/stateFile.ts';
import type { Store } from '../../src/store/store.ts';
import type { FakeClock } from './fakeClock.ts';
import { logLines } from './logLines.ts';

type Answers = Readonly<Partial<Record<OperationName, (call: UncheckedCall) => unknown>>>;

export interface SonicPollOptions {
  readonly store: Store;
  readonly state: StateFile;
  /** What the cloud answers, by operation; it offers no other. */
  readonly answers: Answers;
  /** How old data may be, in ms. */
  readonly maxAgeMs: number;
  /** Where the time zone of the property is not known. */
  readonly timezone: string;
  readonly clock: FakeClock;
}

/** What the polls of single sonics work with, on a cloud that answers at once. */
export function sonicPollParts({ store, state, answers, maxAgeMs, timezone, clock }: SonicPollOptions) {
  const schedule = new PollSchedule({ kind: 'every', everyMs: 1 }, timezone, clock, () => 0.5);
  const schedules = byPoll(() => schedule);
  const statuses = new PollStatuses(schedules, { staleAfterMs: maxAgeMs, requestTimeoutMs: 0 }, clock);
  const parts: PollParts = {
    client: clientOf(answers, clock),
    store,
    state,
    statuses,
    days: new LocalDays(store, state, timezone, clock),
    stopping: new AbortController().signal,
    clock,
    log: logLines('error').log,
  };
  /** A poll as the poller runs it. Data ages only while the cloud answers: it has just listed the sonics. */
  const run = async (poll: 'usage' | 'pressure_tests', read: () => Promise<unknown>) => {
    const startedAt = clock.monotonic();
    statuses.end('sonics', startedAt, null);
    try {
      await read();
    } finally {
      store.markStale(poll, statuses.staleBefore(poll, startedAt));
    }
  };
  return { parts, run };
}

/** Stands in for the client of a cloud that answers at once. */
function clientOf(answers: Answers, clock: FakeClock): CloudClient {
  const client = {
    get cloudNow() {
      return clock.now();
    },
    clockAheadMs: 0,
    maxConcurrency: 4,
    mayBeMissing: () => false,
    isOffered: (name: OperationName) => answers[name] !== undefined,
    call: async (call: UncheckedCall) => {
      const name = call.operation as OperationName;
      const answer = answers[name];
      if (answer) return answer(call);
      throw new CloudError('unsupported', name, `the cloud does not offer ${name}`, { mayHaveActed: false });
    },
  };
  return client as unknown as CloudClient;
}

/** The month, YYYY-MM, that the query of a request for daily usage names. */
export function monthIn(query: unknown): string {
  const { year, month } = query as { readonly year: number; readonly month: number };
  return `${year}-${String(month).padStart(2, '0')}`;
}
