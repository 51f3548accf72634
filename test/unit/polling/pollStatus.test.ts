import { describe, expect, it } from 'vitest';
import { CloudError } from '../../../src/cloud/errors.ts';
import { readList } from '../../../src/cloud/readList.ts';
import type { Page } from '../../../src/cloud/response.ts';
import { evaluateHealth } from '../../../src/health/health.ts';
import {
  incomplete,
  listProblem,
  mergeProblems,
  neverPolled,
  type PollFailure,
  type PollStatus,
  toProblem,
} from '../../../src/polling/pollStatus.ts';

const away = new CloudError('unavailable', 'list_sonics', 'timeout: the cloud, after 10 s', {
  gist: 'timeout',
});

/** A list of three pages, of which those after the first cannot be read. */
async function cutOffList() {
  const readPage = async (page: number): Promise<Page<{ id: string }>> => {
    if (page > 1) throw away;
    const totals = { pageNumber: page, pageSize: 1, totalEntries: 3, totalPages: 3 };
    return { records: [{ id: 'kitchen' }], dropped: 0, nameless: 0, ...totals };
  };
  return readList({ operation: 'list_sonics', concurrency: 1, readPage });
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
    expect(listProblem({ problem: '3 records read, 4 announced', gist: null, isInDoubt: true })).toEqual({
      message: '3 records read, 4 announced',
      key: 'incomplete',
      isInDoubt: true,
    });
    expect(listProblem({ problem: null, gist: null, isInDoubt: false })).toBeNull();
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
      rejectedUntil: null,
      limitedUntil: null,
      problems: [],
    });
    expect(problems.map(({ key }) => key)).toEqual(['timeout']);
  });
});
