import { describe, expect, it } from 'vitest';
import { decoders } from '../../../src/cloud/decoders.ts';
import { faultUsage, parseFault } from '../../../src/simulator/faults.ts';
import { startCloudWithClient } from '../../support/cloudTestClient.ts';

describe('a fault that is typed', () => {
  it.each([
    ['latency=250', { kind: 'latency', value: 250, rate: 1 }],
    ['error=503@list_sonics:0.5', { kind: 'error', value: 503, operation: 'list_sonics', rate: 0.5 }],
    ['hang@command_valve', { kind: 'hang', operation: 'command_valve', rate: 1 }],
    ['html:0.1', { kind: 'html', rate: 0.1 }],
    ['rate-limit', { kind: 'rate-limit', value: 5, rate: 1 }],
    ['lying-totals=0', { kind: 'lying-totals', value: 0, rate: 1 }],
  ])('%s is read', (text, fault) => expect(parseFault(text)).toEqual({ fault }));

  it.each([
    ['latancy=5', 'unknown fault latancy. Did you mean latency?'],
    ['toString', 'unknown fault toString'],
    ['latency', 'fault latency needs a number MS from 0 to 600000'],
    ['latency=', 'fault latency needs a number MS from 0 to 600000'],
    ['error=200', 'fault error needs a number STATUS from 400 to 599'],
    ['hang=3', 'fault hang takes no value'],
    ['hang@list_sonic', 'unknown operation list_sonic. Did you mean list_sonics?'],
    ['hang:2', 'the rate of a fault is a number from 0 to 1'],
    ['hang:often', 'the rate of a fault is a number from 0 to 1'],
  ])('%s is refused in words', (text, problem) => expect(parseFault(text)).toEqual({ problem }));

  it('is explained, whatever its kind', () => {
    for (const [usage] of faultUsage) {
      const example = usage.replace(/\[.*\]/, '').replace(/[A-Z]+/, '404');
      expect(parseFault(example), usage).toHaveProperty('fault');
    }
    expect(faultUsage.map(([usage]) => usage)).toContain('rate-limit[=SECONDS]');
  });
});

describe('a simulator with a fault', () => {
  async function visitFaultyCloud(...faults: readonly string[]) {
    const cloud = await startCloudWithClient({ sonics: 23 });
    const { simulator, client } = cloud;
    const setFaults = (...texts: readonly string[]) => {
      const read = texts.map(parseFault);
      simulator.setFaults(read.flatMap((each) => ('fault' in each ? [each.fault] : [])));
    };
    setFaults(...faults);
    const sonics = (page = 1) => client.ask('GET', `/ape/v1/sonics?page=${page}`);
    const page = async (number = 1) => JSON.parse((await sonics(number)).text);
    return { ...cloud, setFaults, sonics, page };
  }

  it('answers with a status to the operation that was named, and does not carry it out', async () => {
    const { simulator, world, client, sonics } = await visitFaultyCloud('error=503@command_valve');
    const [sonicId = ''] = world.sonics.ids;
    const body = { action: 'close' };
    expect((await client.put(`/ape/v1/sonics/${sonicId}/valve`, body)).status).toBe(503);
    expect(simulator.world.sonics.get(sonicId)?.valve_state).toBe('open');
    expect(simulator.requests.entries.at(-1)).toMatchObject({ status: 503, body });
    expect((await sonics()).status).toBe(200);
  });

  it.each([
    ['error=401', 401, /Access denied/],
    ['html', 200, /^<!doctype html>/],
  ])('%s answers %d without JSON', async (fault, expected, words) => {
    const { sonics } = await visitFaultyCloud(fault);
    const { status, contentType, text } = await sonics();
    expect({ status, contentType }).toEqual({ status: expected, contentType: 'text/html; charset=utf-8' });
    expect(text).toMatch(words);
  });

  it('limits the rate for a while, says how long, and serves again', async () => {
    const { clock, sonics } = await visitFaultyCloud('rate-limit=10');
    const seen = [];
    for (const waitMs of [7_500, 2_500, 10_000, 0]) {
      const { status, headers } = await sonics();
      seen.push([status, headers.get('retry-after')]);
      clock.advance(waitMs);
    }
    expect(seen).toEqual([
      [429, '10'],
      [429, '3'],
      [200, null],
      [429, '10'],
    ]);
  });

  it('lets tokens expire', async () => {
    const { clock, setFaults, sonics } = await visitFaultyCloud('expire-tokens=60');
    clock.advance(59_000);
    expect((await sonics()).status).toBe(200);
    clock.advance(1_000);
    expect((await sonics()).status).toBe(401);
    setFaults();
    expect((await sonics()).status).toBe(200);
  });

  it.each([
    ['bad-record', false],
    ['unsafe-id', true],
  ] as const)('begins its lists with one record that cannot be used (%s)', async (kind, isLeftOut) => {
    const { page } = await visitFaultyCloud(kind);
    const { data, total_entries } = await page();
    const reads = data.map((record: unknown) => decoders.sonic(record));
    expect(reads.map(({ ok }: { ok: boolean }) => ok)).toEqual([false, ...Array(9).fill(true)]);
    expect(reads[0]).toMatchObject({ isLeftOut });
    expect(total_entries).toBe(24);
    expect((await page(3)).data).toHaveLength(4);
  });

  it('gives the last record of each kind unknown words or a name of 100 kB, in lists and alone', async () => {
    const { world, client, page } = await visitFaultyCloud('unknown-enum', 'long-name');
    const { name, ...last } = (await page(3)).data.at(-1);
    expect(last).toMatchObject({ valve_state: 'half_open', battery: 'solar', radio_connection: 'roaming' });
    expect(name).toHaveLength(100_000);
    expect(await client.get(`/ape/v1/sonics/${world.sonics.ids.at(-1)}`)).toEqual({ ...last, name });
    expect((await page(3)).data[0]).toEqual(world.sonics.get(world.sonics.ids[20] ?? ''));
    expect((await client.get('/ape/v1/incidents')).data).toMatchObject([{ type: 'meteor_strike' }]);
  });

  it('moves records between the requests of a crawl', async () => {
    const { page } = await visitFaultyCloud('moving-pages');
    const crawled = [await page(1), await page(2), await page(3)];
    const ids = crawled.flatMap(({ data }) => data.map(({ id }: { id: string }) => id));
    expect(ids).toHaveLength(23);
    expect(new Set(ids).size).toBe(21);
  });

  it('lies about totals, and loses a page', async () => {
    const { setFaults, page, sonics } = await visitFaultyCloud('lying-totals=1000', 'missing-page');
    expect(await page(3)).toMatchObject({ total_entries: 1_000, total_pages: 100, data: { length: 3 } });
    expect((await sonics(2)).status).toBe(500);
    setFaults('lying-totals');
    expect(await page(2)).toMatchObject({ total_entries: 1, total_pages: 1, data: { length: 10 } });
  });
});
