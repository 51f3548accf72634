import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime } from '../../support/passTime.ts';
import { closeValve, errorOf, startBench } from '../../support/testClient.ts';
import { waitFor } from '../../support/waitFor.ts';

const session = { token: 'kept', since: Date.now() };
const sonic = { json: { id: 's-1' } };
const readSonic = { operation: 'read_sonic', params: { sonic_id: 's-1' } } as const;
const readTelemetry = { operation: 'read_telemetry', params: { sonic_id: 's-1' } } as const;

describe('a valve command', () => {
  it.each([{ status: 503 }, { status: 500, text: '<html>' }, { fault: 'cut' as const }])(
    'that is answered with %j is sent exactly once',
    async (answer) => {
      const { client, stub } = await startBench(() => answer, { session });
      expect(await errorOf(client.call(closeValve))).toMatchObject({
        kind: 'unavailable',
        mayHaveActed: true,
      });
      expect(stub.requests).toHaveLength(1);
    },
  );

  it('that is never answered fails within the deadline and is not sent again', async () => {
    const { client, stub } = await startBench(() => ({ fault: 'hang' }), { session, requestTimeoutMs: 80 });
    const startedAt = performance.now();
    const error = await errorOf(client.call(closeValve));
    expect(error).toMatchObject({ kind: 'unavailable', timedOut: true, mayHaveActed: true });
    expect(error.message).toMatch(/^timeout: /);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(stub.requests).toHaveLength(1);
  });

  it('is good with an empty body, with HTML and with a body that breaks off', async () => {
    const answers = [{}, { text: '<html>' }, { text: '{"a"', fault: 'cutInBody' as const }];
    for (const answer of answers) {
      const { client } = await startBench(() => answer, { session });
      await expect(client.call(closeValve)).resolves.toBeNull();
    }
  });

  it('is sent again after a 401 and after a 429: the cloud did not act', async () => {
    const answers = [{ status: 401 }, { status: 429 }, {}];
    const { client, stub } = await startBench(() => answers.shift(), { session });
    await client.call(closeValve);
    expect(stub.requests).toHaveLength(3);
  });

  it('does not wait longer than its deadline where the cloud asks for it', async () => {
    const { client, stub } = await startBench(() => ({ status: 429, headers: { 'retry-after': '6' } }), {
      session,
    });
    expect(await errorOf(client.call(closeValve))).toMatchObject({
      kind: 'rateLimited',
      retryAfterMs: 6_000,
    });
    expect(stub.requests).toHaveLength(1);
  });

  it('fails within its deadline where all slots hang, and is not sent when one becomes free', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startBench(() => ({ fault: 'hang' }), {
      clock,
      session: { token: 'kept', since: clock.now() },
      maxConcurrency: 1,
      requestTimeoutMs: 10_000,
    });
    const first = errorOf(client.call(closeValve));
    await waitFor(() => stub.requests.length === 1, { what: 'the first command' });
    const second = errorOf(client.call({ ...closeValve, params: { sonic_id: 's-2' } }));
    clock.advance(10_000);
    expect(await first).toMatchObject({ timedOut: true, mayHaveActed: true });
    expect(await second).toMatchObject({
      message: 'timed out before the cloud could be asked',
      timedOut: true,
      mayHaveActed: false,
    });
    stub.handler = () => sonic;
    await client.call(readSonic);
    expect(stub.requests.map(({ path }) => path.split('/')[4])).toEqual(['s-1', 's-1']);
  });

  it('is not sent with too little of its time left: nobody would know what became of it', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startBench(() => sonic, {
      clock,
      session: { token: 'kept', since: clock.now() },
      requestTimeoutMs: 1_000,
    });
    const error = await errorOf(client.call(closeValve, { timeoutMs: 99 }));
    expect(error).toMatchObject({ kind: 'unavailable', timedOut: true, mayHaveActed: false });
    expect(stub.requests).toEqual([]);
    await client.call(closeValve, { timeoutMs: 101 });
    await client.call(readSonic, { timeoutMs: 99, priority: 'command' });
    expect(stub.requests.map(({ method }) => method)).toEqual(['PUT', 'GET']);
  });

  it('gets the time of one sign-in more where the session has expired, and no more than that', async () => {
    const { client, stub } = await startBench(() => ({ fault: 'hang' }), { requestTimeoutMs: 400 });
    const startedAt = performance.now();
    stub.sessionHandler = async () => {
      await new Promise((resolve) => setTimeout(resolve, 240));
      return undefined;
    };
    expect(await errorOf(client.call(closeValve))).toMatchObject({ timedOut: true });
    expect(stub.requests).toHaveLength(1);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(600);
    expect(tookMs).toBeLessThan(1_500);
  });

  it('goes out although polls have used up the budget', async () => {
    const { client, stub } = await startBench(({ method }) => (method === 'PUT' ? {} : sonic), {
      session,
      maxRequestsPerMinute: 2,
    });
    for (let polls = 0; polls < 2; polls++) await client.call(readSonic);
    const waiting = client.call(readSonic).catch(() => {});
    await client.call(closeValve);
    expect(stub.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'PUT']);
    void waiting;
  });
});

describe('a poll', () => {
  it('is asked again after passing trouble', async () => {
    const answers = [{ status: 502 }, { fault: 'cutInBody' as const, text: '{"id"' }, sonic];
    const { client, stub } = await startBench(() => answers.shift(), { session });
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
    expect(stub.requests).toHaveLength(3);
  });

  it('waits for its turn without a deadline, which starts when it is sent', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startBench(() => sonic, {
      clock,
      session: { token: 'kept', since: clock.now() },
      maxRequestsPerMinute: 1,
      requestTimeoutMs: 1_000,
    });
    await client.call(readSonic);
    const second = client.call(readSonic);
    await passTime(clock, 59_000, 1_000);
    expect(stub.requests).toHaveLength(1);
    await passTime(clock, 1_000, 1_000);
    await expect(second).resolves.toMatchObject({ id: 's-1' });
  });

  it.each([
    [
      'a list, leaving slots for commands and valves',
      2,
      { operation: 'list_sonics' },
      { json: { data: [] } },
    ],
    ['one thing, leaving another for lists', 1, readSonic, sonic],
  ] as const)('stays within the concurrency (%s)', async (_, most, call, answer) => {
    const { client, stub } = await startBench(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return answer;
      },
      { session, maxConcurrency: 4 },
    );
    await Promise.all(Array.from({ length: 12 }, () => client.call(call)));
    expect(stub.mostAtOnce).toBe(most);
  });

  it('ends at once when its caller gives up, waiting or under way', async () => {
    const { client, stub } = await startBench(() => ({ fault: 'hang' }), { session, maxConcurrency: 1 });
    const stop = new AbortController();
    const calls = Array.from({ length: 30 }, () => errorOf(client.call(readSonic, { signal: stop.signal })));
    await waitFor(() => stub.requests.length === 1, { what: 'the first request' });
    stop.abort();
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({
        kind: 'unavailable',
        message: 'given up by its caller',
        timedOut: false,
      });
    }
    expect(stub.requests).toHaveLength(1);
  });
});

describe('a cloud that asks to wait', () => {
  it.each([
    ['seconds', () => '30'],
    ['a date', (clock: FakeClock) => new Date(clock.now() + 30_000).toUTCString()],
  ])('in %s keeps polls waiting, says until when, and still gets commands', async (_, retryAfter) => {
    const clock = new FakeClock();
    const { client, stub, lines } = await startBench(
      ({ method }) => {
        if (method === 'PUT') return {};
        if (stub.requests.length > 1) return sonic;
        const date = new Date(clock.now()).toUTCString();
        return { status: 429, headers: { 'retry-after': retryAfter(clock), date } };
      },
      { clock, session: { token: 'kept', since: clock.now() } },
    );
    const error = await errorOf(client.call(readSonic));
    expect(error).toMatchObject({ kind: 'rateLimited', retryAfterMs: 30_000 });
    expect(client.traffic()).toMatchObject({ requestsLastHour: 1, limitedUntil: clock.now() + 30_000 });
    const poll = client.call(readSonic);
    await client.call(closeValve);
    await passTime(clock, 29_000, 1_000);
    expect(stub.requests).toHaveLength(2);
    await passTime(clock, 1_000);
    await expect(poll).resolves.toMatchObject({ id: 's-1' });
    expect(client.traffic()).toMatchObject({ requestsLastHour: 3, limitedUntil: null });
    expect(lines.filter((line) => line.includes('asks to wait 30 s'))).toHaveLength(1);
  });
});

describe('an operation beyond the document', () => {
  it('goes off after a 404, is said once, and is asked no more', async () => {
    const { client, stub, lines } = await startBench(() => ({ status: 404 }), { session });
    for (let count = 0; count < 3; count++) {
      expect(await errorOf(client.call(readTelemetry))).toMatchObject({ kind: 'unsupported' });
    }
    expect(stub.requests).toHaveLength(1);
    expect(client.availability('read_telemetry')).toBe('unavailable');
    expect(lines.filter((line) => line.includes('does not offer read_telemetry'))).toHaveLength(1);
  });

  it('stays on after a 404 where it has answered before: the record is missing, not the route', async () => {
    const answers = [{ json: { pressure: 3252 } }, { status: 404 }];
    const { client } = await startBench(() => answers.shift(), { session });
    await client.call(readTelemetry);
    expect(await errorOf(client.call(readTelemetry))).toMatchObject({ kind: 'notFound' });
    expect(client.availability('read_telemetry')).toBe('available');
  });

  it('goes off after a 404, also where it has answered before, where it names no record that may be missing', async () => {
    const answers = [{ json: { categories: [] } }, { status: 404 }];
    const { client, stub } = await startBench(() => answers.shift(), { session });
    const readCategories = { operation: 'read_appliance_categories' } as const;
    await client.call(readCategories);
    for (let times = 0; times < 2; times++)
      expect(await errorOf(client.call(readCategories))).toMatchObject({ kind: 'unsupported' });
    expect(client.availability('read_appliance_categories')).toBe('unavailable');
    expect(stub.requests).toHaveLength(2);
  });

  it('stays on after a 404 where it lists records and has answered before: none of them is withdrawn for it', async () => {
    const answers = [{ json: { data: [] } }, { status: 404 }];
    const { client } = await startBench(() => answers.shift(), { session });
    const listSonics = { operation: 'list_wifi_sonics' } as const;
    await client.call(listSonics);
    expect(await errorOf(client.call(listSonics))).toMatchObject({ kind: 'notFound' });
    expect(client.availability('list_wifi_sonics')).toBe('available');
  });
});

describe('an operation that is asked for many records', () => {
  it('stays on after a 404 for one, and goes off when its caller gives it up, unless it has answered', async () => {
    const answers = [{ status: 404 }, { json: { pressure: 3252 } }];
    const { client, lines } = await startBench(() => answers.shift() ?? { status: 404 }, { session });
    const options = { isOneOfMany: true };
    expect(await errorOf(client.call(readTelemetry, options))).toMatchObject({ kind: 'notFound' });
    expect(client.availability('read_telemetry')).toBe('available');
    await client.call(readTelemetry, options);
    client.giveUp('read_telemetry', 404);
    expect(client.availability('read_telemetry')).toBe('available');

    const other = await startBench(() => ({ status: 404 }), { session });
    await errorOf(other.client.call(readTelemetry, options));
    for (let times = 0; times < 2; times++) other.client.giveUp('read_telemetry', 404);
    expect(other.client.availability('read_telemetry')).toBe('unavailable');
    expect([...lines, ...other.lines].filter((line) => line.includes('does not offer'))).toHaveLength(1);
  });

  it('goes off at once where the cloud has no such method', async () => {
    const { client } = await startBench(() => ({ status: 501 }), { session });
    await errorOf(client.call(readTelemetry, { isOneOfMany: true }));
    expect(client.availability('read_telemetry')).toBe('unavailable');
  });
});

describe('the clock of this machine', () => {
  it('is held against the cloud’s as it is at the moment, and not as it was at the last answer', async () => {
    let shiftMs = 0;
    const clock = { ...systemClock, now: () => Date.now() + shiftMs };
    const { client } = await startBench(() => sonic, { session, clock });
    expect(client.clockAheadMs).toBe(0);
    await client.call(readSonic);
    expect(client.clockAheadMs).toBe(0);
    shiftMs = 7_200_000;
    expect(Math.abs(client.clockAheadMs - shiftMs)).toBeLessThan(60_000);
    shiftMs = 0;
    expect(client.clockAheadMs).toBe(0);
  });

  it('is not held against a clock that nobody can read', async () => {
    const clock = { ...systemClock, now: () => Date.now() + 7_200_000 };
    const { client } = await startBench(() => ({ ...sonic, headers: { date: 'soon' } }), { session, clock });
    await client.call(readSonic);
    expect(client.clockAheadMs).toBe(0);
  });
});
