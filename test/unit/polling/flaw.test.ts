import { describe, expect, it } from 'vitest';
import { CloudError } from '../../../src/cloud/errors.ts';
import { listAll } from '../../../src/cloud/listAll.ts';
import type { Page } from '../../../src/cloud/response.ts';
import { judge } from '../../../src/health/health.ts';
import { flawOf, flawOfList, together } from '../../../src/polling/flaw.ts';
import { type Failure, incomplete, neverPolled, type SliceRecord } from '../../../src/polling/slices.ts';

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
  return listAll({ operation: 'list_sonics', workers: 1, readPage });
}

describe('what could not be read', () => {
  it('has the gist of its cause, and words of its own', async () => {
    expect(flawOf(away)).toEqual({ words: 'timeout: the cloud, after 10 s', gist: 'timeout' });
    expect(flawOf(new Error('a mistake'))).toEqual({ words: 'a mistake', gist: 'a mistake' });
    expect(flawOfList(await cutOffList())).toEqual({
      words: 'page 2 and 1 more could not be read: timeout: the cloud, after 10 s',
      gist: 'timeout',
    });
  });

  it('is known by what is lacking where nothing failed', () => {
    expect(flawOfList({ problem: '3 records read, 4 announced', gist: null, isInDoubt: true })).toEqual({
      words: '3 records read, 4 announced',
      gist: 'incomplete',
      isInDoubt: true,
    });
    expect(flawOfList({ problem: null, gist: null, isInDoubt: false })).toBeNull();
  });

  it('is one of several by the first of them, and says nothing twice', () => {
    const flaws = [null, flawOf(away), { words: 'no page', gist: 'page' }, flawOf(away)];
    expect(together(flaws)).toEqual({ words: 'timeout: the cloud, after 10 s; no page', gist: 'timeout' });
    expect(together([null, null])).toBeNull();
  });

  it('is no other problem than the outage that has only begun', async () => {
    const partly = incomplete(flawOfList(await cutOffList()));
    const wholly: Failure = { kind: 'unavailable', ...flawOf(away) };
    const failing = (failure: Failure | null): SliceRecord => ({ ...neverPolled, lastSuccessAt: 0, failure });
    const { problems } = judge({
      slices: {
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
      dataProblems: [],
      ledgerProblem: null,
      brokerProblem: null,
      emptiness: null,
      notes: [],
    });
    expect(problems).toEqual(['timeout']);
  });
});
