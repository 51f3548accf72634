import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CloudError } from '../../../src/cloud/errors.ts';
import type { Call } from '../../../src/cloud/operations.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime } from '../../support/passTime.ts';
import { startBench } from '../../support/testClient.ts';
import { waitFor } from '../../support/waitFor.ts';

const session = { token: 'kept', since: Date.now() };
const sonic = { json: { id: 's-1' } };
const readSonic = { operation: 'read_sonic', params: { sonic_id: 's-1' } } as const;
const readTelemetry = { operation: 'read_telemetry', params: { sonic_id: 's-1' } } as const;
const listSonics = { operation: 'list_sonics' } as const;
const closeValve = {
  operation: 'command_valve',
  params: { sonic_id: 's-1' },
  body: { action: 'close' },
} as const;

function errorOf(promise: Promise<unknown>): Promise<CloudError> {
  return promise.then(
    () => expect.fail('it was answered'),
    (error) => error,
  );
}

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

  it('gets the time of one sign-in more where the session has expired, and no more than that', async () => {
    const { client, stub } = await startBench(() => ({ fault: 'hang' }), { requestTimeoutMs: 100 });
    const startedAt = performance.now();
    stub.sessionHandler = async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return undefined;
    };
    expect(await errorOf(client.call(closeValve))).toMatchObject({ timedOut: true });
    expect(stub.requests).toHaveLength(1);
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThan(150);
    expect(tookMs).toBeLessThan(1_000);
  });

  it('goes out although polls have used up the budget', async () => {
    const { client, stub } = await startBench(({ method }) => (method === 'PUT' ? {} : sonic), {
      session,
      maxRequestsPerMinute: 2,
    });
    const polls = Array.from({ length: 4 }, () => client.call(readSonic).catch(() => {}));
    await client.call(closeValve);
    await waitFor(() => stub.requests.length === 3, { what: 'two polls and the command' });
    void polls;
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

  it('stays within the concurrency, leaving a slot for commands', async () => {
    const { client, stub } = await startBench(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return sonic;
      },
      { session, maxConcurrency: 3 },
    );
    await Promise.all(Array.from({ length: 12 }, () => client.call(readSonic)));
    expect(stub.mostAtOnce).toBe(2);
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
    expect(client.traffic()).toEqual({ requestsLastHour: 1, limitedUntil: clock.now() + 30_000 });
    const poll = client.call(readSonic);
    await client.call(closeValve);
    await passTime(clock, 29_000, 1_000);
    expect(stub.requests).toHaveLength(2);
    await passTime(clock, 1_000);
    await expect(poll).resolves.toMatchObject({ id: 's-1' });
    expect(client.traffic()).toEqual({ requestsLastHour: 3, limitedUntil: null });
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
});

describe('an operation that is asked for many records', () => {
  it('stays on after a 404 for one, and goes off when its caller gives it up, unless it has answered', async () => {
    const answers = [{ status: 404 }, { json: { pressure: 3252 } }];
    const { client, lines } = await startBench(() => answers.shift() ?? { status: 404 }, { session });
    const options = { isOneOfMany: true };
    expect(await errorOf(client.call(readTelemetry, options))).toMatchObject({ kind: 'notFound' });
    expect(client.availability('read_telemetry')).toBe('available');
    await client.call(readTelemetry, options);
    client.giveUp('read_telemetry');
    expect(client.availability('read_telemetry')).toBe('available');

    const other = await startBench(() => ({ status: 404 }), { session });
    await errorOf(other.client.call(readTelemetry, options));
    for (let times = 0; times < 2; times++) other.client.giveUp('read_telemetry');
    expect(other.client.availability('read_telemetry')).toBe('unavailable');
    expect([...lines, ...other.lines].filter((line) => line.includes('does not offer'))).toHaveLength(1);
  });

  it('goes off at once where the cloud has no such method', async () => {
    const { client } = await startBench(() => ({ status: 501 }), { session });
    await errorOf(client.call(readTelemetry, { isOneOfMany: true }));
    expect(client.availability('read_telemetry')).toBe('unavailable');
  });
});

describe('odd data', () => {
  it('is said where a text is so long that it is cut for people', async () => {
    const { client } = await startBench(() => ({ json: { id: 's-1', name: 'x'.repeat(102_400) } }), {
      session,
    });
    expect((await client.call(readSonic)).name).toHaveLength(102_400);
    expect(client.problems()).toEqual([{ level: 'info', words: 'read_sonic: name has 102400 characters' }]);
  });

  it('is read all the same, told once, and kept for health', async () => {
    const odd = { id: 's-1', valve_state: 'ajar', radio_rssi: 'strong', extra: 1 };
    const { client, lines } = await startBench(() => ({ json: odd }), { session });
    for (let count = 0; count < 3; count++) {
      expect(await client.call(readSonic)).toMatchObject({ valve_state: 'ajar', radio_rssi: null, extra: 1 });
    }
    expect(client.problems()).toHaveLength(2);
    expect(client.problems()).toContainEqual({
      level: 'info',
      words: 'read_sonic: valve_state says "ajar"',
    });
    expect(lines.filter((line) => line.includes('data is odd'))).toHaveLength(2);
  });

  it('in one record of a list costs that record', async () => {
    const data = [{ id: 'a/b' }, 7, { id: 's-1' }, { name: 'nobody' }];
    const { client, lines } = await startBench(() => ({ json: { data, page_number: 1 } }), { session });
    const page = await client.call(listSonics);
    expect(page).toMatchObject({ dropped: 3, nameless: 2, pageNumber: 1, totalEntries: null });
    expect(page.records.map(({ id }) => id)).toEqual(['s-1']);
    expect(lines.filter((line) => line.includes('"a/b\\"') || line.includes('a/b'))).toHaveLength(1);
  });

  it('is forgotten when the next answer is right again, and that of others is not', async () => {
    const answers = [{ id: 's-1', valve_state: 'ajar' }, { id: 's-2', battery: 'flat' }, { id: 's-1' }];
    const { client } = await startBench(() => ({ json: answers.shift() }), { session });
    for (const sonic_id of ['s-1', 's-2', 's-1']) {
      await client.call({ operation: 'read_sonic', params: { sonic_id } });
    }
    expect(client.problems().map(({ words }) => words)).toEqual(['read_sonic: battery says "flat"']);
  });

  it('of a list is forgotten with its next complete reading', async () => {
    const lists = [[{ id: 'a/b' }], [{ id: 's-1' }]];
    const { client } = await startBench(
      () => ({ json: { data: lists.shift(), total_entries: 1, total_pages: 1 } }),
      {
        session,
      },
    );
    await client.crawl(listSonics);
    expect(client.problems()).toMatchObject([{ level: 'warn' }]);
    await client.crawl(listSonics);
    expect(client.problems()).toEqual([]);
  });

  it('is bounded in what it leaves behind', async () => {
    let count = 0;
    const { client, lines } = await startBench(
      () => ({ json: { id: 's-1', valve_state: `odd ${count++}` } }),
      {
        session,
      },
    );
    for (let calls = 0; calls < 230; calls++) {
      await client.call({ operation: 'read_sonic', params: { sonic_id: `s-${calls}` } });
    }
    expect(client.problems()).toHaveLength(20);
    expect(lines.filter((line) => line.includes('data is odd'))).toHaveLength(200);
  });
});

describe('hostile answers', () => {
  it('bring whole characters only', async () => {
    const text = '{"id":"a","name":"Half \\ud83d of it, and a whole \\ud83d\\ude00","extra":["\\udc00"]}';
    const { client } = await startBench(() => ({ status: 200, text }), { session, clock: new FakeClock() });
    expect(await client.call(readSonic)).toMatchObject({
      name: 'Half \ufffd of it, and a whole 😀',
      extra: ['\ufffd'],
    });
  });

  it('never bring anything but a record, a page, null or a CloudError', async () => {
    let answer = {};
    const { client } = await startBench(() => answer, { session, clock: new FakeClock() });
    const anything = fc.oneof(
      fc.record({ status: fc.integer({ min: 200, max: 599 }), text: fc.string({ unit: 'binary' }) }),
      fc.record({ status: fc.constantFrom(200, 422), json: fc.jsonValue() }),
      fc.record({
        status: fc.constant(200),
        json: fc.record({
          data: fc.array(fc.oneof(fc.jsonValue(), fc.record({ id: fc.jsonValue() }))),
          page_number: fc.jsonValue(),
          total_entries: fc.jsonValue(),
        }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.constantFrom<Call>(closeValve, readSonic, listSonics),
        async (given, call) => {
          // What is asked again would wait for the clock.
          fc.pre(![401, 408, 429].includes(given.status) && given.status < 500);
          answer = given;
          try {
            expect(await client.call(call)).not.toBeUndefined();
          } catch (error) {
            expect(error).toBeInstanceOf(CloudError);
            expect((error as CloudError).message).not.toMatch(/\p{Cc}/u);
            expect((error as CloudError).message.length).toBeLessThan(400);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('come to a clear end where the call names no operation', async () => {
    const { client } = await startBench();
    const call = { operation: 'constructor' } as unknown as Call;
    expect(await errorOf(client.call(call))).toMatchObject({ kind: 'invalid' });
  });
});

describe('closing', () => {
  it('ends everything within milliseconds: what hangs, what waits, what would be retried', async () => {
    const { client, stub } = await startBench(
      ({ path }) => (path.endsWith('/s-1') ? { fault: 'hang' } : { status: 503 }),
      {
        session,
        maxRequestsPerMinute: 3,
      },
    );
    const slow = { ...readSonic, params: { sonic_id: 'slow' } };
    const calls = [...Array.from({ length: 10 }, () => readSonic), slow].map((call) =>
      errorOf(client.call(call)),
    );
    await waitFor(() => stub.requests.length === 3, { what: 'requests under way' });
    const startedAt = performance.now();
    await client.close();
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ kind: 'unavailable', message: 'the client is closed' });
    }
    expect(performance.now() - startedAt).toBeLessThan(200);
    expect(await errorOf(client.call(readSonic))).toMatchObject({ message: 'the client is closed' });
    expect(stub.sessionRequests).toEqual([]);
  });
});

describe('an answer that shows a secret', () => {
  const secret = `${'a-long-token-of-the-cloud-'.repeat(9)}end`;
  const kept = { token: secret, since: Date.now() };

  it.each([
    ['as a page', { text: `<html>${secret} and secret-password` }],
    ['in a redirect', { status: 302, headers: { location: `https://other.example/?token=${secret}` } }],
    ['in an error', { status: 422, json: { message: `no ${secret}` } }],
    ['in an id', { json: { id: `/${secret}` } }],
  ])('%s hides it in the error', async (_, answer) => {
    const { client, secrets, lines } = await startBench(() => answer, { session: kept });
    secrets.add('secret-password');
    const { message } = await errorOf(client.call(readSonic));
    for (const part of [secret.slice(0, 30), 'secret-password']) {
      expect(message).not.toContain(part);
      expect(lines.join()).not.toContain(part);
    }
  });

  it('in a field hides it in what is kept for health', async () => {
    const odd = { id: 's-1', valve_state: secret, battery: 'secret-password' };
    const { client, secrets } = await startBench(() => ({ json: odd }), { session: kept });
    secrets.add('secret-password');
    await client.call(readSonic);
    expect(client.problems().map(({ words }) => words)).toEqual([
      `read_sonic: valve_state says something of ${secret.length + 2} characters`,
      'read_sonic: battery says "[hidden]"',
    ]);
  });
});

describe('what the cloud says with an error', () => {
  it('is in its words and not in its gist, which is the same each time', async () => {
    let count = 0;
    const { client } = await startBench(() => ({ status: 422, json: { message: `request ${count++}` } }), {
      session,
    });
    const errors = [await errorOf(client.call(readSonic)), await errorOf(client.call(readSonic))];
    expect(errors.map(({ message }) => message)).toEqual([
      'the cloud answered 422 (the values are not accepted): request 0',
      'the cloud answered 422 (the values are not accepted): request 1',
    ]);
    expect(new Set(errors.map(({ gist }) => gist)).size).toBe(1);
  });
});
