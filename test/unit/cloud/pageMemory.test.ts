import { describe, expect, it } from 'vitest';
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
  return { client, stub, secrets, answer, crawl: () => client.crawl(listSonics) };
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
