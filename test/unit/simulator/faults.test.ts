import { describe, expect, it } from 'vitest';
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
    const read = faults.map(parseFault);
    cloud.simulator.setFaults(read.flatMap((each) => ('fault' in each ? [each.fault] : [])));
    const sonics = (page = 1) => cloud.client.ask('GET', `/ape/v1/sonics?page=${page}`);
    const page = async (number = 1) => JSON.parse((await sonics(number)).text);
    return { ...cloud, sonics, page };
  }

  it('answers with a status to the operation that was named, and does not carry it out', async () => {
    const { simulator, client, sonics } = await visitFaultyCloud('error=401@command_valve');
    const [sonicId = ''] = simulator.world.sonics.ids;
    expect(await client.put(`/ape/v1/sonics/${sonicId}/valve`, { action: 'close' })).toMatchObject({
      status: 401,
      contentType: 'text/html; charset=utf-8',
    });
    expect(simulator.world.sonics.get(sonicId)?.valve_state).toBe('open');
    expect((await sonics()).status).toBe(200);
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
    const { clock, sonics } = await visitFaultyCloud('expire-tokens=60');
    clock.advance(59_000);
    expect((await sonics()).status).toBe(200);
    clock.advance(1_000);
    expect((await sonics()).status).toBe(401);
  });

  it('gives the last record unknown words and a name of 100 kB', async () => {
    const { page } = await visitFaultyCloud('unknown-enum', 'long-name');
    const { name, ...last } = (await page(3)).data.at(-1);
    expect(last).toMatchObject({ valve_state: 'half_open', battery: 'solar', radio_connection: 'roaming' });
    expect(name).toHaveLength(100_000);
  });

  it('moves records between the requests of a crawl, and lies about their number', async () => {
    const { page } = await visitFaultyCloud('moving-pages', 'lying-totals=1000');
    const crawled = [await page(1), await page(2), await page(3)];
    const ids = crawled.flatMap(({ data }) => data.map(({ id }: { id: string }) => id));
    expect([ids.length, new Set(ids).size]).toEqual([23, 21]);
    expect(crawled[2]).toMatchObject({ total_entries: 1_000, total_pages: 100, data: { length: 3 } });
  });
});
