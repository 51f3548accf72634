import { describe, expect, it } from 'vitest';
import { crawl } from '../../../src/cloud/crawl.ts';
import { CloudError } from '../../../src/cloud/errors.ts';
import type { Page } from '../../../src/cloud/response.ts';
import { judge } from '../../../src/health/health.ts';
import { byPoll, type PollName } from '../../../src/model/polls.ts';
import {
  incomplete,
  listProblem,
  mergeProblems,
  type PollFailure,
  toProblem,
} from '../../../src/polling/pollProblem.ts';
import {
  begun,
  ended,
  lateEveryMs,
  neverPolled,
  type PollStatus,
  PollStatuses,
} from '../../../src/polling/pollStatus.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { good, healthFacts } from '../../support/healthFacts.ts';

const away = new CloudError('unavailable', 'list_sonics', 'timeout: the cloud, after 10 s', {
  key: 'timeout',
});

/** A list of three pages, of which those after the first cannot be read. */
async function cutOffList() {
  const readPage = async (page: number): Promise<Page<{ id: string }>> => {
    if (page > 1) throw away;
    const totals = { page_number: page, page_size: 1, total_entries: 3, total_pages: 3 };
    return { records: [{ id: 'kitchen' }], dropped: 0, missing: 0, ...totals };
  };
  return crawl({ operation: 'list_sonics', concurrency: 1, readPage });
}

describe('what could not be read', () => {
  it('has the key of its cause, and a message of its own', async () => {
    expect(toProblem(away)).toEqual({ message: 'timeout: the cloud, after 10 s', key: 'timeout' });
    expect(toProblem(new Error('a mistake'))).toEqual({ message: 'a mistake', key: 'a mistake' });
    expect(listProblem(await cutOffList())).toEqual({
      message: 'page 2 and 1 more could not be read: timeout: the cloud, after 10 s',
      key: 'timeout',
    });
  });

  it('is known by what is lacking where nothing failed', () => {
    expect(listProblem({ problem: '3 records read, 4 announced', key: null, isInconsistent: true })).toEqual({
      message: '3 records read, 4 announced',
      key: 'incomplete',
      isInconsistent: true,
    });
    expect(listProblem({ problem: null, key: null, isInconsistent: false })).toBeNull();
  });

  it('is one of several by the first of them, and says nothing twice', () => {
    const problems = [null, toProblem(away), { message: 'no page', key: 'page' }, toProblem(away)];
    expect(mergeProblems(problems)).toEqual({
      message: 'timeout: the cloud, after 10 s. no page',
      key: 'timeout',
    });
    expect(mergeProblems([null, null])).toBeNull();
  });

  it('is no other problem than the outage that has only begun', async () => {
    const partly = { ...good, failure: incomplete(listProblem(await cutOffList())) };
    const wholly: PollStatus = { ...good, failure: { kind: 'unavailable', ...toProblem(away) } };
    const polls = { ...byPoll(() => good), signals: partly, sonics: partly, incidents: wholly };
    expect(judge(healthFacts({ polls })).problems.map(({ key }) => key)).toEqual(['timeout']);
  });
});

const minuteMs = 60_000;
const hourly = {
  dueAfter: (at: number) => at + 60 * minuteMs,
  periodMs: 60 * minuteMs,
};
const times = { staleAfterMs: 5 * minuteMs, requestTimeoutMs: 10_000 };
const away503: PollFailure = { kind: 'unavailable', message: '503', key: '503' };

function start(schedule = hourly, staleAfterMs = times.staleAfterMs) {
  const clock = new FakeClock();
  const statuses = new PollStatuses(
    byPoll(() => schedule),
    { ...times, staleAfterMs },
    clock,
  );
  /** A run that takes so long. */
  const run = (poll: PollName, failure: PollFailure | null = null, tookMs = 0) => {
    statuses.begin(poll);
    clock.advance(tookMs);
    statuses.end(poll, failure);
  };
  return { clock, statuses, run };
}

describe('a run that ends', () => {
  const torn: PollFailure = {
    kind: 'incomplete',
    message: '0 of 3',
    key: 'incomplete',
    isInconsistent: true,
  };
  const lacking: PollFailure = { kind: 'incomplete', message: 'records without a usable id: 1', key: 'id' };

  const endings: Readonly<Record<string, PollFailure | null>> = { whole: null, torn, lacking, away: away503 };

  /** The status after runs that have each begun and ended in that minute. */
  function statusAfter(runs: string): PollStatus {
    let status = neverPolled;
    for (const [minute, ending = ''] of runs.split(', ').map((run) => run.split(' '))) {
      const at = Number(minute) * minuteMs;
      status = ended(
        begun(status, { ...times, schedule: hourly }, at),
        endings[ending] ?? null,
        { ...times, schedule: hourly },
        at,
        at,
      );
    }
    return status;
  }

  it.each([
    ['is a failure at once, and counted', '0 whole, 1 lacking, 2 away', away503, 2],
    ['is none while the list only changes', '0 whole, 119 torn', null, 0],
    ['is one once the last complete run is too long ago', '0 whole, 120 torn', torn, 1],
    ['is one then, although others have read nothing since', '0 whole, 110 away, 120 torn', torn, 2],
    ['is one too where no run was ever complete', '0 torn, 120 torn, 121 torn', torn, 2],
    ['is one where the list lacked something before', '0 lacking, 0 torn', torn, 2],
    ['ends with a complete run', '0 whole, 120 torn, 121 whole', null, 0],
  ])('%s', (_, runs, failure, consecutiveFailures) => {
    expect(statusAfter(runs)).toMatchObject({ failure, consecutiveFailures });
  });

  it.each([
    ['nothing is read before the first answer', '0 away', null, true],
    ['a part is read', '0 away, 1 lacking', 1, false],
    ['a list that changes is not read yet', '0 torn', 0, true],
    ['what was read stays read', '0 whole, 1 away', 0, false],
  ])('%s', (_, runs, answeredMinute, isUnread) => {
    const lastSuccessAt = answeredMinute === null ? null : answeredMinute * minuteMs;
    expect(statusAfter(runs)).toMatchObject({ lastSuccessAt, isUnread });
  });

  it('counts how it ended, and makes its data fresh until the end of the next run', () => {
    expect(statusAfter('0 whole, 1 lacking, 2 away, 3 away')).toMatchObject({
      counts: { success: 1, incomplete: 1, failure: 2 },
      answeredAt: minuteMs,
      freshUntil: 61 * minuteMs + 10_000,
    });
  });
});

describe('a poll of valves or incidents', () => {
  it('has read what grows old between two runs too, as long as the cloud was there and can be asked', () => {
    const { clock, statuses, run } = start();
    run('sonics');
    // Two hours are how old it may be, and the cloud was there until the next hourly run is due.
    const staleAt = (minutes: number) => statuses.staleBefore('usage', minutes * minuteMs) / minuteMs + 120;
    expect([0, 59, 60, 300].map(staleAt)).toEqual([0, 59, 60, 60]);
    clock.advance(10 * minuteMs);
    statuses.begin('usage');
    expect(staleAt(50)).toBe(10);
    statuses.end('usage', null);
    expect(staleAt(50)).toBe(50);
    run('sonics', away503);
    expect(staleAt(50)).toBe(Number.NEGATIVE_INFINITY);
  });

  it('has measurements grow old while the other list is read, which may hang after an outage', () => {
    const { statuses, run } = start();
    run('sonics', away503);
    expect(statuses.isCloudAnswering).toBe(false);
    run('sonics');
    statuses.begin('incidents');
    expect(statuses.isCloudAnswering).toBe(true);
    statuses.begin('sonics');
    expect(statuses.isCloudAnswering).toBe(false);
  });

  it('is late once three runs in a row have begun later than scheduled, and until one does not', () => {
    const { clock, statuses, run } = start();
    const everyAfter = (minutes: number, failure: PollFailure | null = null) => {
      clock.advance(minutes * minuteMs);
      run('telemetry', failure);
      const everyMs = lateEveryMs(statuses.records.telemetry);
      return everyMs === null ? null : everyMs / minuteMs;
    };
    expect([60, 70, 80, 60.1, 70, 70].map((minutes) => everyAfter(minutes))).toEqual(Array(6).fill(null));
    expect([90, 70, 60].map((minutes) => everyAfter(minutes))).toEqual([90, 90, null]);
    // A poll that fails is late for another reason.
    expect([70, 70].map((minutes) => everyAfter(minutes, away503))).toEqual([null, null]);
    expect(everyAfter(70)).toBe(null);
    expect(lateEveryMs(statuses.records.sonics)).toBe(null);
  });

  it('is overdue a request and five seconds after its next run was due, except measurements that may not be read', () => {
    const { clock, statuses, run } = start();
    for (const poll of ['sonics', 'incidents', 'telemetry'] as const) run(poll);
    clock.advance(60 * minuteMs + 15_000);
    expect(statuses.overdue).toEqual([]);
    clock.advance(1);
    expect(statuses.overdue.toSorted()).toEqual(['incidents', 'sonics']);
    run('sonics');
    expect(statuses.overdue).toEqual(['incidents']);
    // A page that was read is news, and the next may take a minute.
    statuses.recordProgress('incidents', 10, 20);
    expect(statuses.overdue).toEqual([]);
    clock.advance(minuteMs + 15_001);
    expect(statuses.overdue).toEqual(['incidents']);
    for (const poll of ['sonics', 'incidents'] as const) run(poll);
    run('incidents', { ...away503, kind: 'forbidden' });
    run('telemetry', { ...away503, kind: 'forbidden' });
    clock.advance(60 * minuteMs);
    expect(statuses.overdue).toEqual([]);
    clock.advance(15_001);
    expect(statuses.overdue.toSorted()).toEqual(['incidents', 'sonics']);
  });

  it('is overdue while it fails without fresh data: it was never read, or too long ago', () => {
    const { clock, statuses, run } = start({ ...hourly, dueAfter: (at) => at, periodMs: 1_000 }, 10_000);
    run('sonics');
    for (const poll of ['incidents', 'telemetry'] as const) run(poll, away503);
    expect(statuses.overdue).toEqual(['incidents', 'telemetry']);
    for (const poll of ['incidents', 'telemetry'] as const) run(poll);
    for (const poll of ['incidents', 'telemetry'] as const) run(poll, away503);
    clock.advance(10_000);
    expect(statuses.overdue).toEqual([]);
    clock.advance(1);
    expect(statuses.overdue).toEqual(['incidents', 'telemetry']);
  });
});
