import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { CloudClient } from '../../../src/cloud/client.ts';
import { GivenUp } from '../../../src/cloud/deadline.ts';
import { closeValve, errorOf, startClient } from '../../support/clientBench.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { HeldConnections } from '../../support/heldConnections.ts';
import { passTime } from '../../support/passTime.ts';
import { waitFor } from '../../support/waitFor.ts';

const session = { token: 'kept', since: Date.now() };
const sonic = { json: { id: 's-1' } };
const readSonic = { operation: 'read_sonic', params: { sonic_id: 's-1' } } as const;

describe('a valve command', () => {
  it('is sent again after a 401 and after a 429: the cloud did not act', async () => {
    const answers = [{ status: 401 }, { status: 429 }, {}];
    const { client, stub } = await startClient(() => answers.shift(), { session });
    await client.call(closeValve, { priority: 'valve' });
    expect(stub.requests).toHaveLength(3);
  });

  it('does not wait longer than its deadline where the cloud asks for it', async () => {
    const { client, stub } = await startClient(() => ({ status: 429, headers: { 'retry-after': '6' } }), {
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
    const { client, stub } = await startClient(() => ({ fault: 'hang' }), {
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
      message: 'timed out before the request was sent',
      timedOut: true,
      mayHaveActed: false,
    });
    stub.handler = () => sonic;
    await client.call(readSonic);
    expect(stub.requests.map(({ path }) => path.split('/')[4])).toEqual(['s-1', 's-1']);
  });

  it.each([
    ['has no sender', {}],
    ['is not wanted any more', { mayMove: () => false }],
  ])('is not written if it may move a valve and %s', async (_, options) => {
    const { client, stub } = await startClient(() => sonic, { session });
    const { callRaw } = CloudClient.prototype;
    const act = (action: string) =>
      ({ operation: 'act_on_incident', params: { incident_id: 'i-1' }, body: { action } }) as const;
    for (const call of [closeValve, act('open_valve')])
      expect(await errorOf(callRaw.call(client, call, options))).toMatchObject({ mayHaveActed: false });
    expect(stub.requests).toEqual([]);
    await callRaw.call(client, act('snooze'), options);
  });

  it('is not sent with too little of its time left: nobody would know what became of it', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startClient(() => sonic, {
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
    const { client, stub } = await startClient(() => ({ fault: 'hang' }), { requestTimeoutMs: 400 });
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
});

describe('while the connection opens', () => {
  const timeoutMs = 10_000;

  async function held(options: { isSignedIn?: boolean } = {}) {
    const clock = new FakeClock();
    const way = new HeldConnections();
    const { isSignedIn = true } = options;
    const { client } = await startClient(undefined, {
      clock,
      requestTimeoutMs: timeoutMs,
      dispatcher: way,
      ...(isSignedIn && { session: { token: 'kept', since: clock.now() } }),
    });
    const opening = async () => {
      await waitFor(() => way.opening > 0, { what: 'a connection' });
    };
    return { clock, way, client, opening };
  }

  it.each([
    ['a valve command', closeValve, 9_001, 9_000 - 1],
    ['what is only read', readSonic, 10_000, 9_999],
  ] as const)(
    'the machine may sleep: %s is not written after its time',
    async (_, call, lateMs, inTimeMs) => {
      for (const [sleptMs, isWritten] of [
        [lateMs, false],
        [101_000, false],
        [inTimeMs, true],
      ] as const) {
        const { clock, way, client, opening } = await held();
        const told: boolean[] = [];
        const onFlight = (isInFlight: boolean) => told.push(isInFlight);
        const calling = client.call(call, { timeoutMs, onFlight }).catch((error) => error);
        await opening();
        clock.sleep(sleptMs);
        way.open();
        if (isWritten) expect(await calling).not.toBeInstanceOf(Error);
        else
          expect(await calling).toMatchObject({ kind: 'unavailable', timedOut: true, mayHaveActed: false });
        expect(way.written).toHaveLength(isWritten ? 1 : 0);
        expect(told).toEqual(isWritten ? [true, false] : []);
      }
    },
  );

  it('a command that is given up is not written', async () => {
    const { way, client, opening } = await held();
    const giveUp = new AbortController();
    const calling = errorOf(client.call(closeValve, { signal: giveUp.signal }));
    await opening();
    giveUp.abort(new GivenUp('a newer one has come', false));
    expect(await calling).toMatchObject({ message: 'a newer one has come', mayHaveActed: false });
    way.open();
    expect(way.written).toEqual([]);
  });

  it('nothing is sent yet: a reading counts from when it is written', async () => {
    const { clock, way, client, opening } = await held();
    way.holdsAnswers = true;
    const startedAt = clock.now();
    const reading = client.readList({ operation: 'list_sonics' }).catch(() => null);
    await opening();
    expect(client.traffic().requestsLastHour).toBe(0);
    clock.advance(4_000);
    way.open();
    expect(client.traffic().requestsLastHour).toBe(1);
    way.answer();
    expect(startedAt).toBe(clock.now() - 4_000);
    await reading;
  });

  it('what is read is not believed where the machine slept before the answer, and what is changed is', async () => {
    for (const call of [readSonic, closeValve]) {
      const { clock, way, client, opening } = await held();
      way.holdsAnswers = true;
      const calling = client.call(call, { timeoutMs, priority: 'command' }).catch((error) => error);
      await opening();
      way.open();
      clock.sleep(60_000);
      way.answer();
      if (call === closeValve) expect(await calling).toMatchObject({ id: 's-1' });
      else expect(await calling).toMatchObject({ kind: 'unavailable', timedOut: true });
    }
  });

  it.each([
    ['exactly the time that it took', 4_000, 0, 4_999, true],
    ['no more than that', 4_000, 0, 5_001, false],
    ['nothing of a sleep beyond the time of a request', 1_000, 60_000, 0, false],
  ])('a sign-in gives a command back %s', async (_, tookMs, sleptMs, thenMs, isWritten) => {
    const { clock, way, client, opening } = await held({ isSignedIn: false });
    way.holdsAnswers = true;
    // Its message is four seconds old already.
    const calling = client.call(closeValve, { timeoutMs: 6_000 }).catch((error) => error);
    await opening();
    way.open();
    clock.advance(tookMs);
    clock.sleep(sleptMs);
    way.answer();
    if (sleptMs === 0) await opening();
    clock.advance(thenMs);
    way.open();
    expect(way.written.slice(1)).toEqual(isWritten ? ['PUT /prefix/ape/v1/sonics/s-1/valve'] : []);
    way.answer();
    if (isWritten) expect(await calling).toMatchObject({ id: 's-1' });
    else expect(await calling).toMatchObject({ timedOut: true, mayHaveActed: false });
  });
});

describe('a poll', () => {
  it('waits for its turn without a deadline, which starts when it is sent', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startClient(() => sonic, {
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

  it('ends at once when its caller gives up, waiting or under way', async () => {
    const { client, stub } = await startClient(() => ({ fault: 'hang' }), { session, maxConcurrency: 1 });
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
  const listSonics = { operation: 'list_sonics' } as const;
  const list = { json: { data: [], total_entries: 0, total_pages: 1 } };

  /** A client that the cloud has asked to wait with one operation. */
  async function asked(retryAfter: (clock: FakeClock) => string, isAsked: (path: string) => boolean) {
    const clock = new FakeClock();
    let isAsking = true;
    const bench = await startClient(
      ({ method, path }) => {
        const date = new Date(clock.now()).toUTCString();
        if (isAsking && isAsked(path)) {
          return { status: 429, headers: { 'retry-after': retryAfter(clock), date } };
        }
        if (method === 'PUT') return {};
        return path.endsWith('/sonics') ? list : sonic;
      },
      { clock, session: { token: 'kept', since: clock.now() } },
    );
    const stopAsking = () => {
      isAsking = false;
    };
    return { ...bench, clock, stopAsking };
  }

  it.each([
    ['seconds', () => '30'],
    ['a date', (clock: FakeClock) => new Date(clock.now() + 30_000).toUTCString()],
  ])('in %s is not asked before, says until when, and for nothing else', async (_, retryAfter) => {
    const { client, stub, clock, lines, stopAsking } = await asked(retryAfter, (path) =>
      path.endsWith('s-1'),
    );
    const limited = { kind: 'rateLimited', retryAfterMs: 30_000 };
    expect(await errorOf(client.call(readSonic))).toMatchObject(limited);
    const until = clock.now() + 30_000;
    expect(client.traffic()).toMatchObject({ requestsLastHour: 1, limitedUntil: until });
    stopAsking();
    const message = 'the cloud requests a wait until 2025-01-15 12:00 UTC';
    expect(await errorOf(client.call(readSonic))).toMatchObject({ ...limited, message });
    expect(stub.requests).toHaveLength(1);
    // What a client wants to read waits too. Another operation and a command do not.
    expect(await errorOf(client.call(readSonic, { priority: 'command' }))).toMatchObject(limited);
    await client.call(listSonics);
    await client.call(closeValve);
    expect(stub.requests).toHaveLength(3);
    clock.advance(30_000);
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
    expect(client.traffic()).toMatchObject({ limitedUntil: null });
    expect(lines.filter((line) => line.includes('Waiting 30 s'))).toHaveLength(1);
  });

  it('for a moment is waited for, without an attempt more', async () => {
    const { client, stub, clock, stopAsking } = await asked(
      () => '20',
      (path) => path.endsWith('s-1'),
    );
    await errorOf(client.call(readSonic));
    stopAsking();
    clock.advance(12_000);
    const reading = client.call(readSonic);
    await passTime(clock, 7_000, 1_000);
    expect(stub.requests).toHaveLength(1);
    await passTime(clock, 1_000, 1_000);
    await expect(reading).resolves.toMatchObject({ id: 's-1' });
  });

  it('is not asked by what was waiting for its turn', async () => {
    const { client, stub } = await asked(
      () => '30',
      (path) => path.endsWith('s-1'),
    );
    const errors = await Promise.all(Array.from({ length: 9 }, () => errorOf(client.call(readSonic))));
    expect(errors).toEqual(Array(9).fill(expect.objectContaining({ kind: 'rateLimited' })));
    expect(stub.requests).toHaveLength(3);
  });

  it('is asked for the list of valves after ten minutes, however long it wants', async () => {
    const { client, clock, stub, stopAsking } = await asked(
      () => '3600',
      (path) => path.endsWith('/sonics'),
    );
    await errorOf(client.call(listSonics));
    stopAsking();
    clock.advance(600_000 - 11_000);
    expect(await errorOf(client.call(listSonics))).toMatchObject({ kind: 'rateLimited' });
    expect(stub.requests).toHaveLength(1);
    clock.advance(11_000);
    await client.call(listSonics);
    expect(stub.requests).toHaveLength(2);
  });
});

describe('the clock of this machine', () => {
  it('is held against the cloud’s as it is at the moment, and not as it was at the last answer', async () => {
    let shiftMs = 0;
    const clock = { ...systemClock, now: () => Date.now() + shiftMs };
    const { client } = await startClient(() => sonic, { session, clock });
    expect(client.clockAheadMs).toBe(0);
    await client.call(readSonic);
    expect(client.clockAheadMs).toBe(0);
    shiftMs = 7_200_000;
    expect(Math.abs(client.clockAheadMs - shiftMs)).toBeLessThan(60_000);
    shiftMs = 0;
    expect(client.clockAheadMs).toBe(0);
  });
});
