import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageOf, type StubAnswer } from '../../support/cloudStub.ts';
import { startBench } from '../../support/testClient.ts';

const session = { token: 'kept', since: Date.now() };
const listSonics = { operation: 'list_sonics' } as const;

/** A cloud with one page of sonics, which `answer` changes. */
async function startWith(...first: object[]) {
  let data = first;
  const page = () => ({ page_number: 1, page_size: 10, total_entries: data.length, total_pages: 1 });
  const { client, stub, secrets } = await startBench(() => ({ json: { data, ...page() } }), { session });
  const answer = (...changed: object[]) => {
    data = changed;
  };
  return { client, stub, secrets, answer, crawl: () => client.listAll(listSonics) };
}

describe('a list that is polled again', () => {
  it('and has not changed brings the very same records', async () => {
    const { crawl, answer } = await startWith({ id: 's-1', name: 'one' }, { id: 's-2' });
    const first = await crawl();
    const second = await crawl();
    expect(second.records).toHaveLength(2);
    for (const [index, record] of second.records.entries()) expect(record).toBe(first.records[index]);
    answer({ id: 's-1', name: 'uno' }, { id: 's-2' });
    expect((await crawl()).records).toMatchObject([{ name: 'uno' }, { id: 's-2' }]);
  });

  it('and shows odd data says so each time', async () => {
    const { crawl, client, answer } = await startWith({ id: 's-1', valve_state: 'ajar' });
    for (let times = 0; times < 3; times++) {
      await crawl();
      expect(client.problems()).toEqual([{ level: 'info', words: 'list_sonics: valve_state says "ajar"' }]);
    }
    answer({ id: 's-1', valve_state: 'open' });
    await crawl();
    expect(client.problems()).toEqual([]);
  });

  it('hides what has become a secret meanwhile', async () => {
    const { crawl, secrets } = await startWith({ id: 's-1', name: 'long enough' });
    await crawl();
    secrets.add('long enough');
    expect((await crawl()).records).toMatchObject([{ name: '[hidden]' }]);
  });

  it('is not taken for read when its answer breaks off', async () => {
    const { crawl, stub } = await startWith({ id: 's-1' });
    await crawl();
    const answer = stub.handler;
    stub.handler = async (request) => ({ ...(await answer(request)), fault: 'cutInBody' });
    await expect(crawl()).rejects.toThrow();
  });
});

const aRecord = fc.record({
  id: fc.nat(9).map((number) => `s-${number}`),
  name: fc.constantFrom('one', 'two'),
});
/** A list as a cloud may show it: records may be there twice, totals lie or lack, and pages fail. */
const aShownList = fc.record({
  records: fc.array(aRecord, { maxLength: 9 }),
  pageSize: fc.constantFrom(2, 3),
  totals: fc.constantFrom('true', 'true', 'lacking', 'one more'),
  failing: fc.constantFrom(null, null, 1, 2),
});

describe('a list of several pages', () => {
  it('that has not changed is the very same list', async () => {
    const records = Array.from({ length: 25 }, (_, index) => ({ id: `s-${index}`, name: 'one' }));
    const { client } = await startBench(({ query }) => pageOf(records, Number(query['page'])), { session });
    const first = await client.listAll(listSonics);
    expect((await client.listAll(listSonics)).records).toBe(first.records);
    records[24] = { id: 's-24', name: 'two' };
    const changed = await client.listAll(listSonics);
    expect(changed.records.map(({ name }) => name).filter((name) => name === 'two')).toHaveLength(1);
    expect(changed.complete).toBe(true);
    expect(first.records.some(({ name }) => name === 'two')).toBe(false);
  });

  it('is read as by a client that has never seen it, whatever becomes of it', async () => {
    let shown: Parameters<typeof answerOf>[0] | undefined;
    const asked: string[] = [];
    const { client } = await startBench(
      ({ query }) => {
        asked.push(query['page'] ?? '');
        return shown && answerOf(shown, Number(query['page']));
      },
      // Of a record that is shown twice the page counts that comes last.
      { session, maxConcurrency: 1 },
    );
    let lists = 0;
    const readBy = async (name: string) => {
      asked.length = 0;
      const crawl = await client.listAll({ operation: 'list_sonics', query: { name } }).catch(String);
      if (typeof crawl === 'string') return crawl;
      const { complete, problem, records } = crawl;
      const inOrder = records.toSorted((left, right) => (left.id < right.id ? -1 : 1));
      return { complete, problem, records: inOrder, asked: asked.toSorted() };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(aShownList, { minLength: 2, maxLength: 4 }), async (changes) => {
        const known = `known ${lists++}`;
        for (const list of changes) {
          // Each is polled twice: most polls find what the one before has found.
          for (let times = 0; times < 2; times++) {
            shown = list;
            expect(await readBy(known)).toEqual(await readBy(`new ${lists++}`));
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

function answerOf(
  { records, pageSize, totals, failing }: typeof aShownList extends fc.Arbitrary<infer Each> ? Each : never,
  page: number,
): StubAnswer {
  if (page === failing) return { status: 400 };
  const { json } = pageOf(records, page, pageSize);
  const lacking = { total_entries: null, total_pages: null };
  const changes = { true: {}, lacking, 'one more': { total_entries: records.length + 1 } };
  return { json: { ...(json as object), ...changes[totals] } };
}
