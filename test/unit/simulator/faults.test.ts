import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decoders, readEnvelope } from '../../../src/cloud/decoders.ts';
import { type Fault, faultUsage, parseFault } from '../../../src/simulator/faults.ts';
import { Simulator } from '../../../src/simulator/simulator.ts';
import { CloudVisitor } from '../../support/cloudVisitor.ts';
import { FakeClock } from '../../support/fakeClock.ts';

describe('a fault that is typed', () => {
  it.each([
    ['latency=250', { kind: 'latency', value: 250, rate: 1 }],
    ['error=503@list_sonics:0.5', { kind: 'error', value: 503, operation: 'list_sonics', rate: 0.5 }],
    ['hang@command_valve', { kind: 'hang', operation: 'command_valve', rate: 1 }],
    ['html:0.1', { kind: 'html', rate: 0.1 }],
    ['rate-limit', { kind: 'rate-limit', value: 5, rate: 1 }],
    ['rate-limit=30', { kind: 'rate-limit', value: 30, rate: 1 }],
    ['lying-totals=0', { kind: 'lying-totals', value: 0, rate: 1 }],
    ['bad-record', { kind: 'bad-record', rate: 1 }],
  ])('%s is read', (text, fault) => {
    expect(parseFault(text)).toEqual({ fault });
  });

  it.each([
    ['latancy=5', 'unknown fault latancy; did you mean latency?'],
    ['', 'unknown fault '],
    ['toString', 'unknown fault toString'],
    ['latency', 'fault latency needs a number MS from 0 to 600000'],
    ['latency=', 'fault latency needs a number MS from 0 to 600000'],
    ['latency=-1', 'fault latency needs a number MS from 0 to 600000'],
    ['error=200', 'fault error needs a number STATUS from 400 to 599'],
    ['hang=3', 'fault hang takes no value'],
    ['hang@list_sonic', 'unknown operation list_sonic; did you mean list_sonics?'],
    ['hang:2', 'the rate of a fault is a number from 0 to 1'],
    ['hang:often', 'the rate of a fault is a number from 0 to 1'],
  ])('%s is refused in words', (text, problem) => {
    expect(parseFault(text)).toEqual({ problem });
  });

  it('is explained, whatever its kind', () => {
    for (const [usage, does] of faultUsage) {
      const example = usage.replace(/\[.*\]/, '').replace(/[A-Z]+/, '404');
      expect(parseFault(example), usage).toHaveProperty('fault');
      expect(does.length).toBeGreaterThan(10);
    }
    expect(faultUsage.map(([usage]) => usage)).toContain('rate-limit[=SECONDS]');
  });
});

describe('a simulator with a fault', () => {
  let clock: FakeClock;
  let simulator: Simulator;
  let visitor: CloudVisitor;

  beforeEach(async () => {
    clock = new FakeClock();
    simulator = new Simulator({ quiet: true, sonics: 23, clock });
    await simulator.start();
    visitor = new CloudVisitor(simulator);
    await visitor.signIn();
  });
  afterEach(() => simulator.stop());

  const sonics = (page = 1) => visitor.ask('GET', `/ape/v1/sonics?page=${page}`);
  const incidents = () => visitor.ask('GET', '/ape/v1/incidents');

  async function page(number = 1) {
    const read = readEnvelope(JSON.parse((await sonics(number)).text));
    if (!read.ok) throw new Error(read.reason);
    return read.value;
  }

  it('answers later', async () => {
    simulator.setFaults([{ kind: 'latency', value: 5_000, operation: 'list_incidents' }]);
    const late = incidents();
    await expect.poll(() => clock.waiting).toBe(1);
    clock.advance(4_999);
    await sonics();
    expect(simulator.requests.count('list_incidents')).toBe(0);
    clock.advance(1);
    expect((await late).status).toBe(200);
  });

  it('answers with a status to the operation that was named, and does not carry it out', async () => {
    simulator.setFaults([{ kind: 'error', value: 503, operation: 'command_valve' }]);
    const [sonicId = ''] = simulator.world.sonics.ids;
    const body = { action: 'close' };
    expect((await visitor.ask('PUT', `/ape/v1/sonics/${sonicId}/valve`, { body })).status).toBe(503);
    expect(simulator.world.sonics.get(sonicId)?.valve_state).toBe('open');
    expect((await sonics()).status).toBe(200);
    expect(simulator.requests.entries.find(({ operation }) => operation === 'command_valve')).toMatchObject({
      status: 503,
      body,
    });
  });

  it('answers 401 as the cloud does, not in JSON', async () => {
    simulator.setFaults([{ kind: 'error', value: 401 }]);
    const { status, contentType } = await sonics();
    expect({ status, contentType }).toEqual({ status: 401, contentType: 'text/html; charset=utf-8' });
  });

  it('strikes as often as its rate says', async () => {
    simulator.setFaults([{ kind: 'error', value: 500, rate: 0.3 }]);
    let failures = 0;
    for (let request = 0; request < 100; request++) failures += (await incidents()).status === 500 ? 1 : 0;
    expect(failures).toBeGreaterThan(15);
    expect(failures).toBeLessThan(45);
  });

  it('never answers, until it stops', async () => {
    simulator.setFaults([{ kind: 'hang' }]);
    const heard = sonics();
    const rejected = expect(heard).rejects.toThrow();
    await expect.poll(() => simulator.requests.entries.at(-1)).toMatchObject({ status: null });
    await simulator.stop();
    await rejected;
  });

  it('cuts the connection', async () => {
    simulator.setFaults([{ kind: 'reset' }]);
    await expect(sonics()).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
  });

  it('answers with a web page', async () => {
    simulator.setFaults([{ kind: 'html' }]);
    const { status, contentType, text } = await sonics();
    expect({ status, contentType }).toEqual({ status: 200, contentType: 'text/html; charset=utf-8' });
    expect(text).toMatch(/^<!doctype html>/);
  });

  it('limits the rate for a while, says how long, and serves again', async () => {
    simulator.setFaults([{ kind: 'rate-limit', value: 10 }]);
    const refused = await sonics();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
    clock.advance(7_500);
    expect((await sonics()).headers.get('retry-after')).toBe('3');
    clock.advance(2_500);
    expect((await sonics()).status).toBe(200);
    clock.advance(10_000);
    expect((await sonics()).status).toBe(429);
  });

  it('lets tokens expire', async () => {
    simulator.setFaults([{ kind: 'expire-tokens', value: 60 }]);
    clock.advance(59_000);
    expect((await sonics()).status).toBe(200);
    clock.advance(1_000);
    expect((await sonics()).status).toBe(401);
    simulator.setFaults([]);
    expect((await sonics()).status).toBe(200);
  });

  it.each([
    ['bad-record', false],
    ['unsafe-id', true],
  ] as const)('begins its lists with one record that cannot be used (%s)', async (kind, unsafeId) => {
    simulator.setFaults([{ kind }]);
    const { data, total_entries } = await page();
    const reads = data.map((record) => decoders.sonic(record));
    expect(reads.map(({ ok }) => ok)).toEqual([false, ...Array(9).fill(true)]);
    expect(reads[0]).toMatchObject({ unsafeId });
    expect(total_entries).toBe(24);
    expect((await page(3)).data).toHaveLength(4);
  });

  it('gives the last record of each kind unknown words, in lists and alone', async () => {
    simulator.setFaults([{ kind: 'unknown-enum' }]);
    const unknown = { valve_state: 'half_open', battery: 'solar', radio_connection: 'roaming' };
    expect((await page(3)).data.at(-1)).toMatchObject(unknown);
    expect((await page(1)).data[0]).toMatchObject({ valve_state: 'open' });
    const lastId = simulator.world.sonics.ids.at(-1);
    const alone = JSON.parse((await visitor.ask('GET', `/ape/v1/sonics/${lastId}`)).text);
    expect(alone).toMatchObject(unknown);
    expect(decoders.sonic(alone)).toMatchObject({ ok: true, notices: { length: 3 } });
    expect(JSON.parse((await incidents()).text).data).toMatchObject([{ type: 'meteor_strike' }]);
  });

  it('gives the last record of each kind a name of 100 kB', async () => {
    simulator.setFaults([{ kind: 'long-name' }]);
    const { data } = await page(3);
    const isLong = data.map((record) => (record as { name: string }).name.length === 100_000);
    expect(isLong).toEqual([false, false, true]);
  });

  it('moves records between the requests of a crawl', async () => {
    simulator.setFaults([{ kind: 'moving-pages' }]);
    const crawled = [await page(1), await page(2), await page(3)];
    const ids = crawled.flatMap(({ data }) => data.map((record) => (record as { id: string }).id));
    expect(ids).toHaveLength(23);
    expect(new Set(ids).size).toBe(21);
  });

  it('lies about totals', async () => {
    simulator.setFaults([{ kind: 'lying-totals', value: 1_000 }]);
    expect(await page(3)).toMatchObject({ total_entries: 1_000, total_pages: 100, data: { length: 3 } });
    simulator.setFaults([{ kind: 'lying-totals' }]);
    expect(await page(1)).toMatchObject({ total_entries: 1, total_pages: 1, data: { length: 10 } });
  });

  it('loses a page', async () => {
    simulator.setFaults([{ kind: 'missing-page' }] satisfies Fault[]);
    expect([(await sonics(1)).status, (await sonics(2)).status, (await sonics(3)).status]).toEqual([
      200, 500, 200,
    ]);
  });
});
