import type { CloudClient } from '../../src/cloud/client.ts';
import { CloudError } from '../../src/cloud/errors.ts';
import type { OperationName } from '../../src/cloud/operations.ts';
import type { UncheckedCall } from '../../src/cloud/request.ts';
import { byPoll } from '../../src/model/polls.ts';
import { localDays } from '../../src/polling/localDays.ts';
import type { PollParts } from '../../src/polling/pollParts.ts';
import { noneRefused } from '../../src/polling/pollParts.ts';
import { pollSchedule } from '../../src/polling/pollSchedule.ts';
import { PollStatuses } from '../../src/polling/pollStatus.ts';
import type { StateFile } from '../../src/state/stateFile.ts';
import type { Store } from '../../src/store/store.ts';
import type { FakeClock } from './fakeClock.ts';
import { logLines } from './logLines.ts';

type Answers = Readonly<Partial<Record<OperationName, (call: UncheckedCall) => unknown>>>;

export interface SonicPollOptions {
  readonly store: Store;
  readonly state: StateFile;
  /** The answers of the cloud, by operation. It offers no other operation. */
  readonly answers: Answers;
  /** The largest age of data, in ms. */
  readonly maxAgeMs: number;
  /** The time zone if that of the property is unknown. */
  readonly timezone: string;
  readonly clock: FakeClock;
}

/** The parts that polls of single sonics need, on a cloud that answers at once. */
export function sonicPollParts({ store, state, answers, maxAgeMs, timezone, clock }: SonicPollOptions) {
  const schedule = pollSchedule({ kind: 'every', everyMs: 1 }, timezone, clock, () => 0.5);
  const schedules = byPoll(() => schedule);
  const statuses = new PollStatuses(schedules, { staleAfterMs: maxAgeMs, requestTimeoutMs: 0 }, clock);
  const parts: PollParts = {
    client: clientOf(answers),
    store,
    state,
    statuses,
    refused: noneRefused(),
    days: localDays(store, state, timezone, clock),
    stopping: new AbortController().signal,
    clock,
    log: logLines('error').log,
  };
  /**
   * Runs a poll as the poller does. The sonics count as just listed, because data gets stale only while the
   * cloud answers.
   */
  const run = async (poll: 'usage' | 'pressure_tests', read: () => Promise<unknown>) => {
    const startedAt = clock.monotonic();
    statuses.end('sonics', null);
    try {
      await read();
    } finally {
      store.markStale({ [poll]: statuses.staleBefore(poll, startedAt) });
    }
  };
  return { parts, run };
}

/** A stand-in for the client of a cloud that answers at once. */
function clientOf(answers: Answers): CloudClient {
  const client = {
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

/** The month in the query of a request for daily usage, as YYYY-MM. */
export function monthIn(query: unknown): string {
  const { year, month } = query as { readonly year: number; readonly month: number };
  return `${year}-${String(month).padStart(2, '0')}`;
}
