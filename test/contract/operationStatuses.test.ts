import { describe, expect, it } from 'vitest';
import type { CloudErrorKind } from '../../src/cloud/errors.ts';
import { type Call, operationNames, operationRow } from '../../src/cloud/operations.ts';
import type { StubAnswer } from '../support/cloudStub.ts';
import { answerWith, benchFor, forget, heard, isUncertain } from '../support/operationBench.ts';
import { sampleCall } from '../support/operationSamples.ts';
import { errorOf } from '../support/testClient.ts';

describe.each(operationNames)('%s', (name) => {
  const call: Call = sampleCall(name);

  it('judges each answer by its status, and asks again only where its row lets it', async () => {
    const often = operationRow(name).retry === 'safe' ? 3 : 1;
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
      [{ status: 429, headers: wait('3600') }, 'rateLimited', 1, { retryAfterMs: 3_600_000 }],
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
    const bench = await benchFor(name, {});
    for (const [answer, kind, times, details = {}] of statuses) {
      const what = `${answer.status} ${answer.headers?.['retry-after'] ?? ''}`;
      answerWith(bench, name, { ...answer, json: { message: 'said\nthe cloud' } });
      forget(bench);
      const error = await errorOf(bench.client.call(call, { priority: 'command' }));
      const { status } = answer;
      expect(error, what).toEqual(expect.objectContaining({ kind, operation: name, status, ...details }));
      expect(error.message, what).toContain(': said the cloud');
      expect(heard(bench, name), what).toHaveLength(times);
      expect(bench.client.availability(name), what).toBe('available');
    }
  });

  it('takes a 401 for auth once a new session has not helped either', async () => {
    const bench = await benchFor(name, { status: 401, text: 'expired' });
    const error = await errorOf(bench.client.call(call));
    expect(error.kind).toBe('auth');
    expect(heard(bench, name).length).toBeLessThanOrEqual(name === 'refresh_token' ? 3 : 2);
  });
});
