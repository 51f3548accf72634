import { describe, expect, it } from 'vitest';
import { type Call, operationNames, operationRow } from '../../src/cloud/operations.ts';
import type { StubAnswer } from '../support/cloudStub.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { answerWith, benchFor, forget, heard } from '../support/operationBench.ts';
import { operationSamples, sampleCall } from '../support/operationSamples.ts';
import { errorOf, startBench } from '../support/testClient.ts';

/** One byte more than is ever read. */
const oversized = { text: `{"id":"${'x'.repeat(16 * 1024 * 1024)}"}` };
const nonsense: StubAnswer[] = [
  { text: '<html>Sorry</html>' },
  { text: '' },
  { json: null },
  { json: [1, 2] },
  { json: 'text' },
  { json: 7 },
  { text: '{"id":' },
  { json: { id: 'x' }, fault: 'cutInBody' },
];

describe.each(operationNames)('%s', (name) => {
  const row = operationRow(name);
  const call: Call = sampleCall(name);
  const { reply, ...parts } = operationSamples[name];
  const { query, body } = { query: undefined, body: undefined, ...parts };
  const good: StubAnswer = reply === undefined ? {} : { json: reply };
  const isSafe = row.retry === 'safe';
  const isAcknowledged = row.reply.kind === 'acknowledgement';
  // Nobody has shown what these answer: nothing at all is a success.
  const isAssumedChange = row.source === 'assumed' && row.control !== undefined;

  it('has a name that a topic can hold', () => {
    expect(name).toMatch(/^[a-z_]+$/);
  });

  it('is asked for exactly as its row says, and its answer is read', async () => {
    const bench = await benchFor(name, good);
    const answer = await bench.client.call(call);
    expect(bench.stub.complaints).toEqual([]);
    const [request, ...others] = heard(bench, name);
    expect(others).toEqual([]);
    expect(request?.method).toBe(row.method);
    expect(request?.path).toBe(row.path.replace(/\{(\w+)\}/g, '$1%20%C3%BC%3F%23%26%2B'));
    expect(request?.query).toEqual(
      Object.fromEntries(Object.entries(query ?? {}).map(([key, value]) => [key, String(value)])),
    );
    expect(request?.body).toEqual(body);
    const { host: _, connection: __, ...headers } = request?.headers ?? {};
    const length = body === undefined ? null : String(JSON.stringify(body).length);
    expect(headers).toEqual({
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': expect.stringMatching(/^sonic2mqtt\/\d/),
      ...(name === 'sign_in' ? {} : { authorization: 'Bearer kept' }),
      ...(length === null ? {} : { 'content-type': 'application/json', 'content-length': length }),
    });
    if (row.reply.kind === 'page') {
      const { data, total_entries } = reply as { data: object[]; total_entries: number };
      expect(answer).toMatchObject({ dropped: 0, nameless: 0, pageNumber: 2, pageSize: 10, totalPages: 2 });
      expect(answer).toMatchObject({ records: data, totalEntries: total_entries });
    } else if (reply === undefined) expect(answer).toBeNull();
    else expect(answer).toMatchObject(reply as object);
    expect(bench.client.problems()).toEqual([]);
  });

  it('takes a success that is not as promised for unreadable, unless the status is all that was promised', async () => {
    const bench = await benchFor(name, {});
    for (const answer of nonsense) {
      answerWith(bench, name, answer);
      forget(bench);
      const asked = bench.client.call(call);
      const isDone = isAcknowledged || (answer.text === '' && isAssumedChange);
      if (isDone) await expect(asked).resolves.toBeNull();
      else if (answer.fault) expect(await errorOf(asked)).toMatchObject({ kind: 'unavailable' });
      else expect(await errorOf(asked)).toMatchObject({ kind: 'unreadable', status: 200 });
      expect(heard(bench, name)).toHaveLength(answer.fault && isSafe ? 3 : 1);
    }
  });

  it('takes a redirect for unreadable and does not follow it', async () => {
    for (const status of [301, 302, 307, 308]) {
      const bench = await benchFor(name, { status, headers: { location: 'https://example.com/' } });
      const error = await errorOf(bench.client.call(call));
      expect(error).toMatchObject({ kind: 'unreadable', status });
      expect(error.message).toContain('https://example.com/');
      expect(heard(bench, name)).toHaveLength(1);
    }
  });

  it('reads no more than 16 MiB', async () => {
    const bench = await benchFor(name, oversized);
    const asked = bench.client.call(call);
    if (isAcknowledged) await expect(asked).resolves.toBeNull();
    else {
      const error = await errorOf(asked);
      expect(error).toMatchObject({ kind: 'unreadable', mayHaveActed: true });
      expect(error.message).toContain('larger than 16777216 bytes');
    }
    expect(heard(bench, name)).toHaveLength(1);
  });

  it(`is asked ${isSafe ? 'again' : 'once'} when the connection breaks before an answer`, async () => {
    const bench = await benchFor(name, { fault: 'cut' });
    const error = await errorOf(bench.client.call(call, { priority: 'command' }));
    expect(error).toMatchObject({ kind: 'unavailable', mayHaveActed: true });
    expect(heard(bench, name)).toHaveLength(isSafe ? 3 : 1);
  });

  it('is given up at its deadline when it is never answered, and not asked again', async () => {
    const clock = new FakeClock();
    const bench = await benchFor(name, {}, { clock });
    const arrived = new Promise<void>((resolve) => {
      bench.stub.handler = bench.stub.sessionHandler = () => {
        resolve();
        return { fault: 'hang' };
      };
    });
    const error = errorOf(bench.client.call(call, { priority: 'command' }));
    await arrived;
    clock.advance(5_000);
    expect(await error).toMatchObject({ kind: 'unavailable', timedOut: true, mayHaveActed: true });
    expect(heard(bench, name)).toHaveLength(1);
  });
});

describe('both forms of a refresh', () => {
  it.each([[{}], [{ refresh_token: 'kept' }]])('send their body as it is: %j', async (body) => {
    const { client, stub, memory } = await startBench(undefined, {
      session: { token: 'kept', since: Date.now() },
    });
    await client.call({ operation: 'refresh_token', body });
    expect(stub.sessionRequests).toHaveLength(1);
    expect(stub.sessionRequests[0]).toMatchObject({ method: 'PUT', token: 'kept' });
    expect(stub.sessionRequests[0]?.body).toEqual(body);
    expect(memory.session?.token).toBe('token-1');
  });
});
