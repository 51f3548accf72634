import { describe, expect, it } from 'vitest';
import type { CloudErrorKind } from '../../src/cloud/errors.ts';
import {
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../../src/cloud/operations.ts';
import {
  answerWith,
  benchFor,
  errorOf,
  forget,
  isUncertain,
  requestsFor,
  startClient,
} from '../support/clientBench.ts';
import type { StubAnswer } from '../support/cloudStub.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { operationSamples, sampleCall } from '../support/operationSamples.ts';

/** What sets the behaviour of an operation: what it answers, whether it may be asked again, whether its route is sure. */
interface Behaviour {
  readonly isSafe: boolean;
  /** The status alone is the success. */
  readonly isAcknowledged: boolean;
  /** A 404 may be about the route. */
  readonly isUncertain: boolean;
}

const of = (words: string): Behaviour => ({
  isSafe: words.includes('safe'),
  isAcknowledged: words.includes('acknowledged'),
  isUncertain: words.includes('uncertain'),
});

/** One row of each kind; the other rows are these again, as golden/operations.json shows. */
const representatives: readonly (readonly [OperationName, Behaviour])[] = [
  ['sign_in', of('a record')],
  ['list_sonics', of('a page, safe')],
  ['command_valve', of('acknowledged')],
  ['read_daily_usage', of('a record, safe, uncertain')],
  ['start_pressure_test', of('acknowledged, uncertain')],
  ['list_wifi_sonics', of('a page, safe, uncertain')],
];
const certain = representatives.filter(([name]) => !isUncertain(name));
const uncertain = representatives.filter(([name]) => isUncertain(name));

/** One byte more than is ever read. */
const oversized = { text: `{"id":"${'x'.repeat(16 * 1024 * 1024)}"}` };
const nonsense: readonly StubAnswer[] = [
  { text: '<html>Sorry</html>' },
  { text: '' },
  { json: null },
  { json: [1, 2] },
  { json: 'text' },
  { json: 7 },
  { text: '{"id":' },
  { json: { id: 'x' }, fault: 'cutInBody' },
];

describe.each(representatives)('%s', (name, { isSafe, isAcknowledged }) => {
  const call: Call = sampleCall(name);
  const often = isSafe ? 3 : 1;

  it('takes a success that is not as promised for unreadable, unless the status is all that was promised', async () => {
    const bench = await benchFor(name, {});
    for (const answer of nonsense) {
      answerWith(bench, name, answer);
      forget(bench);
      const asked = bench.client.call(call);
      if (isAcknowledged) await expect(asked).resolves.toBeNull();
      else if (answer.fault) expect(await errorOf(asked)).toMatchObject({ kind: 'unavailable' });
      else expect(await errorOf(asked)).toMatchObject({ kind: 'unreadable', status: 200 });
      expect(requestsFor(bench, name)).toHaveLength(answer.fault ? often : 1);
    }
  });

  it('takes a redirect for unreadable and does not follow it', async () => {
    const bench = await benchFor(name, {});
    for (const status of [301, 302, 307, 308]) {
      answerWith(bench, name, { status, headers: { location: 'https://example.com/' } });
      forget(bench);
      const error = await errorOf(bench.client.call(call));
      expect(error).toMatchObject({ kind: 'unreadable', status });
      expect(error.message).toContain('https://example.com/');
      expect(requestsFor(bench, name)).toHaveLength(1);
    }
  });

  it(`is asked ${isSafe ? 'again' : 'once'} when the connection breaks before an answer`, async () => {
    const bench = await benchFor(name, { fault: 'cut' });
    const error = await errorOf(bench.client.call(call, { priority: 'command' }));
    expect(error).toMatchObject({ kind: 'unavailable', mayHaveActed: true });
    expect(requestsFor(bench, name)).toHaveLength(often);
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
    const timedOut = { timedOut: true, mayHaveActed: true, key: 'no answer' };
    expect(await error).toMatchObject({ kind: 'unavailable', ...timedOut });
    expect(requestsFor(bench, name)).toHaveLength(1);
  });

  it('judges each answer by its status, and is asked again only where its row lets it', async () => {
    const wait = (seconds: string) => ({ 'retry-after': seconds });
    const statuses: [StubAnswer, CloudErrorKind, number, object?][] = [
      [{ status: 400 }, 'rejected', 1],
      [{ status: 403 }, 'forbidden', 1],
      [{ status: 408 }, 'unavailable', often],
      [{ status: 409 }, 'rejected', 1],
      [{ status: 412 }, 'rejected', 1],
      [{ status: 415 }, 'rejected', 1],
      [{ status: 422 }, 'rejected', 1],
      [{ status: 429 }, 'rateLimited', 3, { retryAfterMs: undefined, mayHaveActed: false }],
      [{ status: 429, headers: wait('1') }, 'rateLimited', 3, { retryAfterMs: 1_000 }],
      [{ status: 500 }, 'unavailable', often, { mayHaveActed: true }],
      [{ status: 502 }, 'unavailable', often],
      [{ status: 503 }, 'unavailable', often],
      [{ status: 503, headers: wait('1') }, 'unavailable', often, { retryAfterMs: 1_000 }],
      [{ status: 599 }, 'unavailable', often],
    ];
    if (!isUncertain(name)) {
      statuses.push(
        [{ status: 404 }, 'notFound', 1],
        [{ status: 405 }, 'forbidden', 1],
        [{ status: 501 }, 'unavailable', often],
      );
    }
    // It comes last, because the operation then waits.
    statuses.push([{ status: 429, headers: wait('3600') }, 'rateLimited', 1, { retryAfterMs: 3_600_000 }]);
    const bench = await benchFor(name, {});
    for (const [answer, kind, times, details = {}] of statuses) {
      const what = `${answer.status} ${answer.headers?.['retry-after'] ?? ''}`;
      answerWith(bench, name, { ...answer, json: { message: 'said\nthe cloud' } });
      forget(bench);
      const error = await errorOf(bench.client.call(call, { priority: 'command' }));
      const { status } = answer;
      expect(error, what).toEqual(expect.objectContaining({ kind, operation: name, status, ...details }));
      expect(error.message, what).toContain(': said the cloud');
      expect(requestsFor(bench, name), what).toHaveLength(times);
      expect(bench.client.operationState(name), what).toBe('available');
    }
  });

  it('takes a 401 for auth once a new session has not helped either', async () => {
    const bench = await benchFor(name, { status: 401, text: 'expired' });
    const error = await errorOf(bench.client.call(call));
    expect(error.kind).toBe('auth');
    expect(requestsFor(bench, name).length).toBeLessThanOrEqual(2);
  });

  it('sends nothing of a call that is wrong', async () => {
    const bench = await benchFor(name, {});
    const error = await errorOf(bench.client.call({ ...call, params: { stranger: 'x' } } as unknown as Call));
    expect(error).toMatchObject({ kind: 'invalid', operation: name, mayHaveActed: false });
    expect(requestsFor(bench, name)).toEqual([]);
  });

  it('goes nowhere where its route is switched off', async () => {
    const bench = await benchFor(name, {}, { routes: { [name]: null } });
    expect(bench.client.operationState(name)).toBe('off');
    const error = await errorOf(bench.client.call(call));
    expect(error).toMatchObject({ kind: 'unsupported', mayHaveActed: false });
    expect(error.message).toBe(`${name} is switched off in cloud.routes`);
    expect(requestsFor(bench, name)).toEqual([]);
    const others = operationNames.filter((other) => other !== name);
    expect(new Set(others.map((other) => bench.client.operationState(other)))).toEqual(
      new Set(['available']),
    );
  });
});

it.each(['list_sonics', 'command_valve'] as const)('%s reads no more than 16 MiB', async (name) => {
  const bench = await benchFor(name, oversized);
  const asked = bench.client.call(sampleCall(name));
  if (name === 'command_valve') await expect(asked).resolves.toBeNull();
  else {
    const error = await errorOf(asked);
    expect(error).toMatchObject({ kind: 'unreadable', mayHaveActed: true });
    expect(error.message).toContain('larger than 16777216 bytes');
  }
  expect(requestsFor(bench, name)).toHaveLength(1);
});

describe.each(uncertain)('%s, which may not exist,', (name) => {
  const call: Call = sampleCall(name);

  // What a path names may be missing instead: see unit/cloud/missingRoutes.
  const isAboutRecord = paramNames(operationRow(name).path).length > 0;
  it.each(isAboutRecord ? [501] : [404, 405, 501])(
    'goes off after a %i, which is said once, with its route',
    async (status) => {
      const bench = await benchFor(name, { status, json: { message: 'no such thing' } });
      const ask = () => errorOf(bench.client.call(call, { priority: 'command' }));
      for (const error of [...(await Promise.all([ask(), ask()])), await ask()]) {
        expect(error).toMatchObject({ kind: 'unsupported', operation: name, mayHaveActed: false });
      }
      expect(requestsFor(bench, name)).toHaveLength(2);
      expect(bench.client.operationState(name)).toBe('unavailable');
      const said = bench.lines.filter((line) => line.includes('does not offer'));
      expect(said).toHaveLength(1);
      const { method, path } = operationRow(name);
      expect(JSON.parse(said[0] ?? '').msg).toBe(
        `The cloud does not offer ${name} (${status} for ${method} ${path}). It is not used until the next start. If the path differs, set cloud.routes.${name}`,
      );
      const others = operationNames.filter((other) => other !== name);
      expect(others.map((other) => bench.client.operationState(other))).not.toContain('unavailable');
    },
  );

  it('is named by its overridden route when that does not exist either', async () => {
    const bench = await benchFor(name, { status: 501 }, { routes: { [name]: 'POST /v2/elsewhere' } });
    await errorOf(bench.client.call(call));
    const said = bench.lines.filter((line) => line.includes('(501 for POST /v2/elsewhere)'));
    expect(said).toHaveLength(1);
  });
});

it.each([
  // Its path names a thing, or it lists things: the 404 is about those.
  'read_daily_usage',
  'start_pressure_test',
  'list_wifi_sonics',
  // The cloud may have lost its routes for a moment.
  'read_appliance_categories',
  'create_property',
] as const)('%s, once it has answered, ends a 404 as notFound and is available', async (name) => {
  const bench = await benchFor(name, { json: operationSamples[name].reply });
  await bench.client.call(sampleCall(name) as Call);
  answerWith(bench, name, { status: 404 });
  expect(await errorOf(bench.client.call(sampleCall(name) as Call))).toMatchObject({ kind: 'notFound' });
  expect(bench.client.operationState(name)).toBe('available');
});

it.each(certain)('%s, which is published, is never given up', async (name) => {
  const bench = await benchFor(name, {});
  for (const status of [404, 405, 501]) {
    answerWith(bench, name, { status });
    forget(bench);
    await errorOf(bench.client.call(sampleCall(name) as Call, { priority: 'command' }));
    expect(requestsFor(bench, name)).not.toEqual([]);
  }
  expect(bench.client.operationState(name)).toBe('available');
  expect(bench.lines.filter((line) => line.includes('does not offer'))).toEqual([]);
});

describe('an override of a route', () => {
  it.each([
    ['command_valve', '/x/{sonic_id}', 'sonic_id'],
    ['act_on_property_incident', '/x/{property_id}/y/{incident_id}', 'property_id', 'incident_id'],
    ['sign_in', '/signing-in'],
  ] as const)('takes %s to %s, encoded in the same way', async (name, path, ...params) => {
    const { reply, ...parts } = operationSamples[name];
    const bench = await benchFor(name, reply === undefined ? {} : { json: reply }, {
      routes: { [name]: `POST ${path}` },
    });
    // Signing in goes without a token.
    bench.stub.tokens.add('');
    await bench.client.call(sampleCall(name) as Call);
    const filled = params.reduce<string>(
      (text, param) => text.replace(`{${param}}`, `${param}%20%C3%BC%3F%23%26%2B`),
      path,
    );
    expect(bench.stub.requests).toMatchObject([{ method: 'POST', path: filled, body: parts.body }]);
  });
});

describe('both forms of a refresh', () => {
  it.each([[{}], [{ refresh_token: 'kept' }]])('send their body as it is: %j', async (body) => {
    const { client, stub, memory } = await startClient(undefined, {
      session: { token: 'kept', since: Date.now() },
    });
    await client.call({ operation: 'refresh_token', body });
    expect(stub.sessionRequests).toHaveLength(1);
    expect(stub.sessionRequests[0]).toMatchObject({ method: 'PUT', token: 'kept' });
    expect(stub.sessionRequests[0]?.body).toEqual(body);
    expect(memory.session?.token).toBe('token-1');
  });
});

it.each(representatives)('%s is such a row', (name, behaviour) => {
  const { reply, retry, control } = operationRow(name);
  expect(behaviour).toEqual({
    isSafe: retry === 'safe',
    isAcknowledged: reply.kind === 'acknowledgement' || control !== undefined,
    isUncertain: isUncertain(name),
  });
});
