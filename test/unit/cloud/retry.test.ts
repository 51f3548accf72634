import { describe, expect, it } from 'vitest';
import { CloudError, type CloudErrorDetails, type CloudErrorKind } from '../../../src/cloud/errors.ts';
import { retryAfterOf, retryWaitMs } from '../../../src/cloud/retry.ts';

const lowest = () => 0;
const now = Date.parse('2026-03-01T12:00:00Z');

function failed(kind: CloudErrorKind, details: CloudErrorDetails = {}, retry: 'safe' | 'never' = 'safe') {
  const error = new CloudError(kind, 'read_sonic', 'it failed', details);
  return { retry, attempts: 1, error, remainingMs: Number.POSITIVE_INFINITY };
}

describe('a failed attempt of a safe operation', () => {
  it('is made again when the cloud was away or limited it', () => {
    expect(retryWaitMs(failed('unavailable'), lowest)).toBe(250);
    expect(retryWaitMs(failed('rateLimited', { status: 429 }), lowest)).toBe(250);
    // A limit of the bridge itself.
    expect(retryWaitMs(failed('rateLimited'), lowest)).toBeNull();
  });

  it.each(['auth', 'forbidden', 'notFound', 'rejected', 'unreadable', 'unsupported', 'invalid'] as const)(
    'is final when the cloud said %s',
    (kind) => {
      expect(retryWaitMs(failed(kind), lowest)).toBeNull();
    },
  );

  it('waits longer each time, and gives up after the third', () => {
    const attempt = (attempts: number) => retryWaitMs({ ...failed('unavailable'), attempts }, lowest);
    expect([attempt(1), attempt(2), attempt(3)]).toEqual([250, 500, null]);
  });

  it('waits as long as the cloud asks, up to ten seconds', () => {
    expect(retryWaitMs(failed('rateLimited', { status: 429, retryAfterMs: 10_000 }), lowest)).toBe(10_000);
    expect(retryWaitMs(failed('rateLimited', { status: 429, retryAfterMs: 10_001 }), lowest)).toBeNull();
  });

  it('is not made again where the wait would reach the deadline', () => {
    expect(retryWaitMs({ ...failed('unavailable'), remainingMs: 251 }, lowest)).toBe(250);
    expect(retryWaitMs({ ...failed('unavailable'), remainingMs: 250 }, lowest)).toBeNull();
  });
});

describe('a failed attempt of an operation that changes something', () => {
  const wait = (kind: CloudErrorKind, details: CloudErrorDetails) =>
    retryWaitMs(failed(kind, details, 'never'), lowest);

  it('is final where the cloud may have acted', () => {
    expect(wait('unavailable', { mayHaveActed: true })).toBeNull();
    expect(wait('unavailable', { status: 503 })).toBeNull();
    expect(wait('unavailable', { timedOut: true })).toBeNull();
  });

  it('is made again where the cloud plainly did not act', () => {
    expect(wait('unavailable', { mayHaveActed: false })).toBe(250);
    expect(wait('rateLimited', { status: 429, mayHaveActed: false })).toBe(250);
  });

  it('is final where the cloud said no', () => {
    expect(wait('rejected', { status: 422, mayHaveActed: false })).toBeNull();
  });
});

describe('Retry-After', () => {
  const asked = (value: string | null, date: string | null = null, nowMs = now, status = 429) =>
    retryAfterOf(
      { status, header: (name) => ({ 'retry-after': value, date })[name as 'date'] ?? null },
      nowMs,
    );

  it.each([
    ['2', 2_000],
    ['0', 0],
    [' 1.5 ', 1_500],
    ['999999999999', 3_600_000],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Mon, 01 Mar 2027 12:00:00 GMT', 3_600_000],
  ])('%j is a wait', (value, ms) => {
    expect(asked(value)).toBe(ms);
  });

  it.each([[null], [''], ['soon'], ['-5x'], ['NaN'], ['Infinity']])('%j says nothing', (value) => {
    expect(asked(value)).toBeNull();
  });

  it("measures a date against the answer's own date, however wrong the clock is here", () => {
    const date = 'Sun, 01 Mar 2026 12:00:00 GMT';
    expect(asked('Sun, 01 Mar 2026 12:00:20 GMT', date, 0)).toBe(20_000);
  });

  it('counts with a 503 too, and with no other answer', () => {
    expect([503, 500, 200].map((status) => asked('2', null, now, status))).toEqual([2_000, null, null]);
  });
});
