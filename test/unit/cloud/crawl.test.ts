import { describe, expect, it } from 'vitest';
import { CloudError } from '../../../src/cloud/errors.ts';
import { startClient } from '../../support/clientBench.ts';
import { pageOf, type StubAnswer, type StubHandler } from '../../support/cloudStub.ts';

const sonics = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ id: `s-${from + index}` }));
const listSonics = { operation: 'list_sonics' } as const;
const listIncidents = { operation: 'list_incidents' } as const;

/** Crawls a list whose pages the test answers by number; `asked` holds the numbers in order. */
async function crawl(
  answer: (page: number, asked: number[]) => StubAnswer | undefined,
  list: typeof listSonics | typeof listIncidents = listSonics,
) {
  const asked: number[] = [];
  const handler: StubHandler = ({ query }) => {
    const page = Number(query['page']);
    asked.push(page);
    return answer(page, asked);
  };
  const bench = await startClient(handler, { session: { token: 'kept', since: Date.now() } });
  const outcome = await bench.client.readList(list);
  return { ...outcome, ids: outcome.records.map(({ id }) => id).sort(), asked, ...bench };
}

const idsOf = (records: readonly { id: string }[]) => records.map(({ id }) => id).sort();

/** The envelope of a page with some of it changed. */
function envelope(records: readonly unknown[], page: number, changes: object): StubAnswer {
  return { json: { ...(pageOf(records, page).json as object), ...changes } };
}

describe('an honest list', () => {
  it.each([0, 1, 9, 10, 11, 37, 40])('of %i records is complete after its own pages', async (count) => {
    const all = sonics(count);
    const result = await crawl((page) => pageOf(all, page));
    expect(result).toMatchObject({ complete: true, problem: null, ids: idsOf(all) });
    expect(result.asked).toHaveLength(Math.max(1, Math.ceil(count / 10)));
    expect(result.client.problems()).toEqual([]);
  });

  it('keeps its filter on every page', async () => {
    const queries: unknown[] = [];
    const { client } = await startClient(
      ({ query }) => {
        queries.push(query);
        return pageOf(sonics(12), Number(query['page']));
      },
      { session: { token: 'kept', since: Date.now() } },
    );
    await client.readList({ operation: 'list_sonics', query: { name: 'Hall' } });
    expect(queries).toEqual([
      { name: 'Hall', page: '1' },
      { name: 'Hall', page: '2' },
    ]);
  });

  it('reports how far it is, page by page', async () => {
    const { client } = await startClient(({ query }) => pageOf(sonics(25), Number(query['page'])), {
      session: { token: 'kept', since: Date.now() },
    });
    const told: (number | null)[][] = [];
    await client.readList(listSonics, {
      onPage: ({ read, announced }) => told.push([read, announced]),
    });
    expect(told).toEqual([
      [10, 25],
      [20, 25],
      [25, 25],
    ]);
  });
});

describe('a page that fails', () => {
  it('leaves the others, and the crawl incomplete', async () => {
    const all = sonics(37);
    const result = await crawl((page) => (page === 3 ? { status: 503 } : pageOf(all, page)));
    expect(result.complete).toBe(false);
    expect(result.problem).toBe('page 3 could not be read: the cloud answered 503 (server error)');
    expect(result.ids).toEqual(idsOf([...all.slice(0, 20), ...all.slice(30)]));
    expect(result.asked.filter((page) => page === 3)).toHaveLength(3);
  });

  it('as the first one fails the crawl', async () => {
    await expect(crawl(() => ({ status: 403 }))).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('as one of very many ends the crawl soon', async () => {
    const all = sonics(1_000);
    const result = await crawl((page) => (page > 3 ? { status: 404 } : pageOf(all, page)));
    expect(result.complete).toBe(false);
    expect(result.asked.length).toBeLessThan(15);
  });
});

describe('pages that move while they are read', () => {
  it.each([
    ['a record that went away', (all: readonly { id: string }[]) => all.slice(1)],
    ['a record that came in front', (all: readonly { id: string }[]) => [{ id: 'new' }, ...all.slice(0, -1)]],
  ])('leave the crawl incomplete, and the next one is complete: %s', async (_, change) => {
    let all = sonics(37);
    const { client, ...result } = await crawl((page, asked) => {
      const answer = pageOf(all, page);
      if (asked.length === 1) all = change(all);
      return answer;
    });
    expect(result).toMatchObject({ complete: false, isInconsistent: true });
    const next = await client.readList(listSonics);
    expect(next).toMatchObject({ complete: true, problem: null });
    expect(idsOf(next.records)).toEqual(idsOf(all));
  });

  it('all the time leave each crawl incomplete, with every record that was seen', async () => {
    const { client, problem, ids } = await crawl((page, asked) => pageOf(sonics(37 + asked.length), page));
    expect(problem).toMatch(/changed while it was read/);
    expect(ids).toEqual(expect.arrayContaining(idsOf(sonics(37))));
    expect(await client.readList(listSonics)).toMatchObject({ complete: false, isInconsistent: true });
  });
});

describe('totals that lie', () => {
  it('low: everything beyond them is found', async () => {
    const all = sonics(37);
    const result = await crawl((page) => envelope(all, page, { total_pages: 2 }));
    expect(result).toMatchObject({ complete: true, ids: idsOf(all) });
    expect(result.asked).toEqual(expect.arrayContaining([1, 2, 3, 4]));
  });

  it('high in entries: two equal readings in a row prove it, which is one oddity', async () => {
    let all = sonics(37);
    const { client, complete, lines } = await crawl((page) => envelope(all, page, { total_entries: 50 }));
    expect(complete).toBe(false);
    const again = async () => (await client.readList(listSonics)).complete;
    expect([await again(), await again()]).toEqual([true, true]);
    all = sonics(36);
    expect([await again(), await again()]).toEqual([false, true]);
    all = sonics(37);
    expect([await again(), await again()]).toEqual([false, true]);
    expect(lines.filter((line) => line.includes('37 records'))).toHaveLength(1);
    expect(client.problems()).toEqual([
      {
        level: 'info',
        message: "list_sonics: the list's totals are wrong: 37 records read, 50 announced",
      },
    ]);
  });

  it.each([
    ['every page is empty', [0, 0, 0]],
    ['the first page is empty', [0, 10, 5]],
    ['a page in the middle is empty', [10, 0, 5]],
    ['a page in the middle is short', [10, 4, 5]],
    ['the last page is empty', [10, 10, 0]],
  ])('less than the pages: %s, and however often it is read, something is missing', async (_, sizes) => {
    const all = sonics(25);
    const announced = { total_entries: 25, total_pages: 3, page_size: 10 };
    const { client, ...result } = await crawl((page) => ({
      json: {
        data: all.slice(10 * (page - 1)).slice(0, sizes[page - 1] ?? 0),
        page_number: page,
        ...announced,
      },
    }));
    expect(result.complete).toBe(false);
    expect(result.problem).toMatch(/records read, 25 announced/);
    expect((await client.readList(listSonics)).complete).toBe(false);
  });

  it('high in pages: the empty ones are not all asked for', async () => {
    const all = sonics(37);
    for (const total_pages of [4_000, 1_000_000_000]) {
      const result = await crawl((page) => envelope(all, page, { total_pages }));
      expect(result).toMatchObject({ complete: true, ids: idsOf(all) });
      expect(result.asked.length).toBeLessThan(12);
    }
  });

  it('and a cloud that shows its last page again beyond the end are seen through', async () => {
    const all = sonics(37);
    const result = await crawl((page) =>
      envelope(all, Math.min(page, 4), { page_number: page, total_entries: 38 }),
    );
    expect(result).toMatchObject({ complete: false, isInconsistent: true, ids: idsOf(all) });
    expect(await result.client.readList(listSonics)).toMatchObject({ complete: true });
  });
});

describe('a list without totals', () => {
  it.each([0, 3, 20, 37])('of %i records is read until an empty page', async (count) => {
    const all = sonics(count);
    const result = await crawl((page) => ({ json: { data: all.slice((page - 1) * 10, page * 10) } }));
    expect(result).toMatchObject({ complete: true, ids: idsOf(all) });
  });

  it('of a cloud that ignores the page number is never believed to be complete', async () => {
    const result = await crawl(() => ({ json: { data: sonics(10) } }));
    expect(result.complete).toBe(false);
    expect(result.ids).toEqual(idsOf(sonics(10)));
    expect(result.asked.length).toBeLessThan(6);
  });
});

describe('a cloud that answers another page than was asked for', () => {
  it('leaves the crawl incomplete', async () => {
    const result = await crawl(() => pageOf(sonics(37), 1));
    expect(result.complete).toBe(false);
    expect(result.problem).toMatch(/page 2 .*could not be read: page 2 was requested, page 1 came/);
    expect(result.ids).toEqual(idsOf(sonics(10)));
  });
});

describe('a list without totals', () => {
  it.each([0, 7, 10, 20])('of %i records ends where the cloud knows no further page', async (count) => {
    const all = sonics(count);
    const result = await crawl((page) => {
      const data = all.slice((page - 1) * 10, page * 10);
      return page > 1 && data.length === 0 ? { status: 404 } : { json: { data } };
    });
    expect(result).toMatchObject({ complete: true, problem: null, ids: idsOf(all) });
  });
});

describe('a list that is read again', () => {
  const session = { token: 'kept', since: Date.now() };

  it('with the same bytes has the same records, and its oddities are still told', async () => {
    const all = [{ id: 's-1', valve_state: 'ajar', name: 'open sesame' }, { id: 'a/b' }];
    const { client, secrets } = await startClient(() => pageOf(all, 1), { session });
    const [first, second] = [await client.readList(listSonics), await client.readList(listSonics)];
    expect(second).toMatchObject({ complete: true });
    expect(second.records[0]).toBe(first.records[0]);
    expect(client.problems()).toHaveLength(2);

    // A secret that has become known is hidden at once.
    secrets.add('open sesame');
    expect((await client.readList(listSonics)).records).toMatchObject([{ name: '[hidden]' }]);
  });

  it('with other bytes has the new records', async () => {
    const names = ['Hall', 'Hell', 'Hall'];
    const { client } = await startClient(() => pageOf([{ id: 's-1', name: names.shift() }], 1), { session });
    for (const name of [...names]) {
      expect((await client.readList(listSonics)).records).toMatchObject([{ name }]);
    }
  });
});

describe('unreadable records', () => {
  it('with an unsafe id do not spoil the crawl of devices', async () => {
    const all = [...sonics(12), { id: 'a/b' }];
    const result = await crawl((page) => pageOf(all, page));
    expect(result).toMatchObject({ complete: true, ids: idsOf(sonics(12)) });
    expect(JSON.stringify(result.client.problems())).toContain('a/b');
  });

  it('with an unsafe id spoil the crawl of incidents: one may be a leak', async () => {
    const all = [...sonics(12), { id: 'a/b' }];
    const result = await crawl((page) => pageOf(all, page), listIncidents);
    const problem = 'records without a usable id: 1';
    expect(result).toMatchObject({ complete: false, problem, ids: idsOf(sonics(12)) });
    expect(JSON.stringify(result.client.problems())).toContain('a/b');
  });

  it.each([7, null, {}, { id: 7 }])('without an id that is a text (%j) spoil it', async (record) => {
    const all = [...sonics(12), record];
    const result = await crawl((page) => pageOf(all, page));
    expect(result).toMatchObject({ complete: false, problem: 'records without a usable id: 1' });
    expect(result.asked).toHaveLength(2);
  });
});

it('a crawl that is given up ends with an error, not with a part of the list', async () => {
  const stop = new AbortController();
  const { client } = await startClient(
    ({ query }) => {
      if (query['page'] === '2') stop.abort();
      return query['page'] === '1' ? pageOf(sonics(100), 1) : { fault: 'hang' };
    },
    { session: { token: 'kept', since: Date.now() } },
  );
  await expect(client.readList(listSonics, { signal: stop.signal })).rejects.toBeInstanceOf(CloudError);
});

describe('two ids that differ only in case', () => {
  it.each([
    ['Kitchen', 'kitchen'],
    ['kitchen', 'Kitchen'],
  ])('are said, and the one in lower case stays: %s, %s', async (...ids) => {
    const list = [...sonics(11), ...ids.map((id) => ({ id }))];
    const { client, ids: read, complete } = await crawl((page) => pageOf(list, page));
    expect(read).toEqual(idsOf([...sonics(11), { id: 'kitchen' }]));
    expect(complete).toBe(true);
    const message = 'list_sonics: a record was skipped: its id differs from another only in case: "Kitchen"';
    expect(client.problems()).toEqual([{ level: 'warn', message }]);
  });

  it('make a list of incidents incomplete', async () => {
    const list = [{ id: 'leak' }, { id: 'Leak' }];
    const { ids, complete, problem } = await crawl((page) => pageOf(list, page), listIncidents);
    expect({ ids, complete, problem }).toEqual({
      ids: ['leak'],
      complete: false,
      problem: 'records without a usable id: 1',
    });
  });
});
