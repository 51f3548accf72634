import { describe, expect, it } from 'vitest';
import { crawl } from '../../../src/cloud/crawl.ts';
import { CloudError } from '../../../src/cloud/errors.ts';
import type { Page } from '../../../src/cloud/response.ts';
import { evaluateHealth } from '../../../src/health/health.ts';
import { byPoll } from '../../../src/model/polls.ts';
import { PollSchedule } from '../../../src/polling/pollSchedule.ts';
import {
  incomplete,
  listProblem,
  mergeProblems,
  neverPolled,
  type PollFailure,
  type PollStatus,
  PollStatuses,
  toProblem,
} from '../../../src/polling/pollStatus.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const away = new CloudError('unavailable', 'list_sonics', 'timeout: the cloud, after 10 s', {
  key: 'timeout',
});

/** A list of three pages, of which those after the first cannot be read. */
async function cutOffList() {
  const readPage = async (page: number): Promise<Page<{ id: string }>> => {
    if (page > 1) throw away;
    const totals = { pageNumber: page, pageSize: 1, totalEntries: 3, totalPages: 3 };
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
    const partly = incomplete(listProblem(await cutOffList()));
    const wholly: PollFailure = { kind: 'unavailable', ...toProblem(away) };
    const failing = (failure: PollFailure | null): PollStatus => ({
      ...neverPolled,
      lastSuccessAt: 0,
      failure,
    });
    const { problems } = evaluateHealth({
      polls: {
        properties: failing(null),
        signals: failing(partly),
        sonics: failing(partly),
        incidents: failing(wholly),
        telemetry: failing(null),
        usage: failing(null),
        pressure_tests: failing(null),
      },
      rejection: null,
      limitedUntil: null,
      isFirstReading: false,
      overload: null,
      overdue: [],
      silentValves: [],
      areAllSilent: false,
      problems: [],
    });
    expect(problems.map(({ key }) => key)).toEqual(['timeout']);
  });
});

const minuteMs = 60_000;

function start() {
  const clock = new FakeClock();
  const hourly = new PollSchedule({ kind: 'every', everyMs: 60 * minuteMs }, 'UTC', clock, () => 0.5);
  const schedules = byPoll(() => hourly);
  const times = { staleAfterMs: 5 * minuteMs, requestTimeoutMs: 10_000 };
  return { clock, statuses: new PollStatuses(schedules, times, clock) };
}

describe('a list whose pages do not fit together', () => {
  it('has failed once what was read before is too old, though no run ends at that time', () => {
    const { clock, statuses } = start();
    const torn: PollFailure = {
      kind: 'incomplete',
      message: '0 of 3',
      key: 'incomplete',
      isInconsistent: true,
    };
    statuses.end('sonics', 0, null);
    clock.advance(119 * minuteMs);
    statuses.end('sonics', clock.monotonic(), torn);
    expect(statuses.records.sonics).toMatchObject({ failure: null, consecutiveFailures: 0 });
    statuses.begin('sonics');
    clock.advance(minuteMs);
    // A run of a large account takes long, and may read all of it.
    expect(statuses.records.sonics).toMatchObject({ failure: null });
    statuses.end('sonics', clock.monotonic() - 1, null);
    clock.advance(100 * minuteMs);
    // A run that read nothing does not make anything younger.
    statuses.end('sonics', clock.monotonic(), { kind: 'unavailable', ...toProblem(away) });
    clock.advance(19 * minuteMs);
    statuses.end('sonics', clock.monotonic(), torn);
    clock.advance(minuteMs);
    expect(statuses.records.sonics).toMatchObject({ failure: torn, consecutiveFailures: 1 });
    statuses.end('sonics', clock.monotonic(), torn);
    expect(statuses.records.sonics).toMatchObject({ failure: torn, consecutiveFailures: 2 });
    statuses.end('sonics', clock.monotonic(), null);
    clock.advance(60 * minuteMs);
    expect(statuses.records.sonics).toMatchObject({ failure: null, consecutiveFailures: 0 });
  });

  it('does not end that the list is incomplete', () => {
    const { statuses } = start();
    const torn: PollFailure = {
      kind: 'incomplete',
      message: '0 of 3',
      key: 'incomplete',
      isInconsistent: true,
    };
    statuses.end('sonics', 0, { kind: 'incomplete', message: 'records without a usable id: 1', key: 'id' });
    statuses.end('sonics', 0, torn);
    expect(statuses.records.sonics).toMatchObject({ failure: torn, consecutiveFailures: 2 });
  });
});

describe('a poll of valves or incidents', () => {
  const failure: PollFailure = { kind: 'unavailable', ...toProblem(away) };

  it('has read what grows old between two runs too, as long as the cloud was there and can be asked', () => {
    const { clock, statuses } = start();
    statuses.end('sonics', 0, null);
    // Two hours are how old it may be, and the cloud was there until the next hourly run is due.
    const staleAt = (minutes: number) => statuses.staleBefore('usage', minutes * minuteMs) / minuteMs + 120;
    expect([0, 59, 60, 300].map(staleAt)).toEqual([0, 59, 60, 60]);
    clock.advance(10 * minuteMs);
    statuses.begin('usage');
    expect(staleAt(50)).toBe(10);
    statuses.end('usage', 0, null);
    expect(staleAt(50)).toBe(50);
    statuses.end('sonics', 0, failure);
    expect(staleAt(50)).toBe(Number.NEGATIVE_INFINITY);
    // Another bridge may say that the cloud's data is fresh.
    statuses.isSharingTopics = true;
    expect([0, 59, 60, 300].map(staleAt)).toEqual([0, 59, 60, 300]);
  });

  it('is late while a run takes longer than its interval, and until one does not', () => {
    const { clock, statuses } = start();
    const run = (poll: 'telemetry' | 'sonics', minutes: number) => {
      const startedAt = clock.monotonic();
      statuses.begin(poll);
      clock.advance(minutes * minuteMs);
      const wasLate = statuses.isLate;
      statuses.end(poll, startedAt, null);
      return [wasLate, statuses.isLate];
    };
    expect(run('telemetry', 60)).toEqual([false, false]);
    expect(run('telemetry', 61)).toEqual([true, true]);
    expect(run('sonics', 1)).toEqual([true, true]);
    expect(run('telemetry', 60.1)).toEqual([true, true]);
    expect(run('telemetry', 60)).toEqual([true, false]);
    expect(run('telemetry', 60.1)).toEqual([false, false]);
  });

  it('is overdue a request and five seconds after its next run was due, unless it may not be read at all', () => {
    const { clock, statuses } = start();
    for (const poll of ['sonics', 'incidents', 'telemetry'] as const) statuses.end(poll, 0, null);
    clock.advance(60 * minuteMs + 15_000);
    expect(statuses.overdue).toEqual([]);
    clock.advance(1);
    expect(statuses.overdue.toSorted()).toEqual(['incidents', 'sonics']);
    statuses.end('sonics', clock.monotonic(), null);
    expect(statuses.overdue).toEqual(['incidents']);
    statuses.end('incidents', clock.monotonic(), { kind: 'forbidden', ...toProblem(away) });
    expect(statuses.overdue).toEqual([]);
  });

  it('is missing ten minutes after its next run was due, however the last one ended', () => {
    const { clock, statuses } = start();
    statuses.end('sonics', 0, failure);
    statuses.end('incidents', 0, null);
    clock.advance(70 * minuteMs);
    expect(statuses.areRunsMissing).toBe(false);
    clock.advance(1);
    expect(statuses.areRunsMissing).toBe(true);
    statuses.end('sonics', 0, failure);
    expect(statuses.areRunsMissing).toBe(true);
    statuses.end('incidents', 0, null);
    expect(statuses.areRunsMissing).toBe(false);
  });

  it('is not missing while its first run waits for properties that are still read', () => {
    const { clock, statuses } = start();
    statuses.begin('properties');
    for (let read = 1; read < 20; read++) {
      clock.advance(10 * minuteMs);
      statuses.recordProgress('properties', read, 20);
      expect(statuses.areRunsMissing).toBe(false);
    }
    clock.advance(70 * minuteMs);
    expect(statuses.areRunsMissing).toBe(false);
    clock.advance(1);
    expect(statuses.areRunsMissing).toBe(true);
  });

  it('is not missing while its run goes on from page to page', () => {
    const { clock, statuses } = start();
    clock.advance(60 * minuteMs);
    for (const poll of ['sonics', 'incidents'] as const) statuses.begin(poll);
    statuses.end('incidents', clock.monotonic(), null);
    clock.advance(60 * minuteMs);
    statuses.recordProgress('sonics', 100, 200);
    statuses.end('incidents', clock.monotonic(), null);
    clock.advance(60 * minuteMs);
    expect(statuses.areRunsMissing).toBe(false);
    clock.advance(11 * minuteMs);
    expect(statuses.areRunsMissing).toBe(true);
  });
});
