import { describe, expect, it } from 'vitest';
import { closeValve, errorOf, startClient } from '../../support/clientBench.ts';
import type { StubHandler, StubRequest } from '../../support/cloudStub.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime } from '../../support/passTime.ts';
import { waitFor } from '../../support/waitFor.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const sonic = { json: { id: 's-1' } };
const readSonic = { operation: 'read_sonic', params: { sonic_id: 's-1' } } as const;

/** A client with a kept session on a clock that the test moves. */
async function slowly(handler: StubHandler = () => sonic) {
  const clock = new FakeClock();
  const session = { token: 'kept', since: clock.now() };
  const bench = await startClient(handler, { clock, session, random: () => 0.5 });
  return { ...bench, clock };
}

/** For a call that fails rather than to wait and to be sent again. */
const now = { timeoutMs: 100 };

/** Session requests by the last word of their path. */
function names(requests: readonly StubRequest[]): string[] {
  return requests.map(({ path }) => path.split('/').at(-1) ?? '');
}

describe('a client without a session', () => {
  it('signs in once for all that ask at the same time, and remembers the token', async () => {
    const { client, stub, memory } = await startClient(() => sonic);
    await Promise.all(Array.from({ length: 20 }, () => client.call(readSonic)));
    expect(names(stub.sessionRequests)).toEqual(['sign_in']);
    expect(stub.requests).toHaveLength(20);
    expect(memory.session).toMatchObject({ token: 'token-1' });
    expect(client.session.state).toEqual({ status: 'signed_in', rejection: null });
  });

  it.each([
    ['seconds', () => '3600'],
    ['a date', (now: number) => new Date(now + hourMs).toUTCString()],
  ])(
    'waits as long as the cloud asks before it signs in again (Retry-After: %s)',
    async (_, retryAfterAt) => {
      const clock = new FakeClock(Date.now());
      const retryAfter = retryAfterAt(clock.now());
      const { client, stub } = await startClient(() => sonic, { clock });
      stub.sessionHandler = () => ({ status: 429, headers: { 'retry-after': retryAfter } });
      const error = await errorOf(client.call(closeValve));
      expect(error).toMatchObject({ kind: 'rateLimited', mayHaveActed: false });
      stub.sessionHandler = () => undefined;
      clock.advance(hourMs - minuteMs);
      expect(await errorOf(client.call(closeValve))).toMatchObject({ kind: 'rateLimited', status: 429 });
      expect(names(stub.sessionRequests)).toEqual(['sign_in']);
      clock.advance(2 * minuteMs);
      await expect(client.call(closeValve)).resolves.toMatchObject({ status: null });
      expect(names(stub.sessionRequests)).toEqual(['sign_in', 'sign_in']);
    },
  );

  it.each([404, 405, 418])(
    'takes a %i at sign-in for a wrong address, never for a missing device',
    async (status) => {
      const { client, stub } = await startClient(() => sonic);
      stub.sessionHandler = () => ({ status });
      const error = await errorOf(client.call(readSonic));
      expect(error.kind).toBe('unavailable');
      expect(error.message).toMatch(/^cannot sign in/);
      expect(client.operationState('read_sonic')).toBe('available');
    },
  );

  it.each([
    ['no JSON', { text: 'welcome' }],
    ['no token', { json: {} }],
    ['a bad token', { json: { token_details: 'a b' } }],
  ])('says so when the sign-in is answered with %s', async (_, answer) => {
    const { client, stub } = await startClient(() => sonic);
    stub.sessionHandler = () => answer;
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'unreadable' });
  });

  it('says so when the password cannot be read, without asking the cloud', async () => {
    const password = () => {
      throw new Error('no such file: /run/secrets/password');
    };
    const { client, stub } = await startClient(() => sonic, { password });
    const error = await errorOf(client.call(readSonic));
    expect(error.kind).toBe('auth');
    expect(error.message).toBe('cannot read the password: no such file: /run/secrets/password');
    expect(stub.sessionRequests).toEqual([]);
  });
});

describe('a sign-in that fails', () => {
  it.each([
    ['429', { status: 429 }],
    ['500', { status: 500 }],
    ['a reset', { fault: 'cut' as const }],
    ['HTML', { text: '<html>' }],
  ])(
    'with %s is tried less and less often, whatever requests it, and a command waits for it within its time',
    async (_, answer) => {
      const clock = new FakeClock();
      const { client, stub } = await startClient(() => ({}), { clock, requestTimeoutMs: 10_000 });
      stub.sessionHandler = () => answer;
      for (let second = 0; second < 50; second += 1) {
        await errorOf(client.call(readSonic, now));
        await errorOf(client.call(closeValve, now));
        clock.advance(1_000);
      }
      expect(stub.sessionRequests.length).toBeGreaterThan(3);
      expect(stub.sessionRequests.length).toBeLessThan(9);
      stub.sessionHandler = () => undefined;
      clock.advance(2 * minuteMs);
      await client.call(closeValve);
    },
  );

  it('is tried again for a command whose time allows it', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startClient(() => ({}), { clock, requestTimeoutMs: 10_000 });
    stub.sessionHandler = () => ({ status: 503 });
    await errorOf(client.call(readSonic, now));
    stub.sessionHandler = () => undefined;
    const closing = client.call(closeValve);
    await passTime(clock, 5_000, 250);
    await closing;
    expect(names(stub.sessionRequests)).toEqual(['sign_in', 'sign_in']);
  });
});

describe('a client with the session of its last run', () => {
  it('signs in when the cloud knows the token no longer and does not renew it', async () => {
    const bench = await startClient(() => sonic, { session: { token: 'kept', since: Date.now() } });
    bench.stub.tokens.clear();
    await bench.client.call(readSonic);
    expect(names(bench.stub.sessionRequests)).toEqual(['refresh_token', 'sign_in']);
    expect(bench.memory.session?.token).toBe('token-1');
  });

  it.each(['to\u0000ken', 'to\r\nken: x', 'tokeń', ' ', ''])(
    'signs in when no header can carry its token: %j',
    async (token) => {
      const { client, memory, stub } = await startClient(() => sonic, {
        session: { token, since: Date.now() },
      });
      await client.call(readSonic);
      expect(names(stub.sessionRequests)).toEqual(['sign_in']);
      expect(memory.session?.token).toBe('token-1');
    },
  );
});

describe('a token', () => {
  it('that has expired is renewed once for all, and everything is asked again', async () => {
    const { client, stub, memory } = await startClient(
      ({ token }) => (token === 'kept' ? { status: 401 } : sonic),
      {
        session: { token: 'kept', since: Date.now() },
      },
    );
    await Promise.all(Array.from({ length: 20 }, () => client.call(readSonic)));
    expect(names(stub.sessionRequests)).toEqual(['refresh_token']);
    expect(stub.sessionRequests[0]).toMatchObject({ token: 'kept', body: {} });
    expect(memory.session?.token).toBe('token-1');
  });

  it('that is dead, while a sign-in fails, is the cloud being away and not a wrong password', async () => {
    const { client, stub, clock } = await slowly(({ token }) => (token === 'kept' ? { status: 401 } : sonic));
    stub.sessionHandler = ({ path }) => ({ status: path.endsWith('refresh_token') ? 401 : 500 });
    const error = await errorOf(client.call(readSonic, now));
    expect(error).toMatchObject({ kind: 'unavailable', status: 500 });
    expect(error.message).toMatch(/^cannot sign in: the cloud answered 500/);
    expect(stub.requests).toHaveLength(1);
    stub.sessionHandler = () => undefined;
    clock.advance(5_000);
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
  });

  it.each([
    ['hangs', { fault: 'hang' as const }],
    ['is cut off', { fault: 'cut' as const }],
    ['is answered 429', { status: 429, headers: { 'retry-after': '3600' } }],
    ['is answered 503', { status: 503 }],
  ])('that was answered 401 is dead, also for the next start, if its renewal %s', async (_, answer) => {
    const { client, stub, clock, memory } = await slowly(({ token }) =>
      token === 'kept' ? { status: 401 } : sonic,
    );
    const keptMeanwhile: unknown[] = [];
    stub.sessionHandler = ({ path }) => {
      if (!path.endsWith('refresh_token')) return undefined;
      keptMeanwhile.push(memory.session);
      return answer;
    };
    const reading = client.call(readSonic).catch(() => null);
    await waitFor(() => stub.sessionRequests.length > 0, { what: 'the renewal' });
    expect(keptMeanwhile).toEqual([null]);
    // Time goes on in small steps, so that what really passes over a socket keeps up with it.
    const isSignedIn = async () => {
      if (memory.session === null) await passTime(clock, 100, 100);
      return memory.session !== null;
    };
    await waitFor(isSignedIn, { what: 'a sign-in' });
    await reading;
    expect(names(stub.sessionRequests)).toEqual(['refresh_token', 'sign_in']);
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
  });

  it('whose renewal is lost keeps no command from being sent again: the cloud answered it 401', async () => {
    const { client, stub, clock } = await slowly(({ token }) => (token === 'kept' ? { status: 401 } : sonic));
    stub.sessionHandler = ({ path }) => (path.endsWith('refresh_token') ? { fault: 'cut' } : undefined);
    const closing = client.call(closeValve).then(
      () => 'done',
      (error: unknown) => error,
    );
    const isOver = async () => (await Promise.race([closing, passTime(clock, 100, 100)])) !== undefined;
    await waitFor(isOver, { what: 'the command' });
    expect(await closing).toBe('done');
    expect(stub.requests.map(({ token }) => token)).toEqual(['kept', 'token-1']);
  });

  it('that is older than nine days is renewed before a poll, but a command does not wait for it', async () => {
    const clock = new FakeClock();
    const since = clock.now() - 9 * dayMs - 1;
    const { client, stub, memory } = await startClient(() => sonic, {
      clock,
      session: { token: 'kept', since },
    });
    await client.call(closeValve);
    expect(stub.sessionRequests).toEqual([]);
    await client.call(readSonic);
    expect(names(stub.sessionRequests)).toEqual(['refresh_token']);
    expect(memory.session).toEqual({ token: 'token-1', since: clock.now() });
  });

  it('that cannot be renewed early goes on being used, and is tried again after ten minutes', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startClient(() => sonic, { clock, session: { token: 'kept', since: 0 } });
    stub.sessionHandler = () => ({ fault: 'cut' });
    await client.call(readSonic);
    await client.call(readSonic);
    expect(names(stub.sessionRequests)).toEqual(['refresh_token']);
    clock.advance(10 * minuteMs);
    await client.call(readSonic);
    expect(names(stub.sessionRequests)).toEqual(['refresh_token', 'refresh_token']);
    expect(stub.requests.map(({ token }) => token)).toEqual(['kept', 'kept', 'kept']);
  });

  it.each([
    ['valid', true],
    ['revoked', false],
  ])(
    'that is %s is renewed once for an operation that always answers 401, which takes nothing from the others',
    async (_, isValid) => {
      const { client, stub, clock } = await slowly(({ path }) =>
        path.endsWith('s-1') ? { status: 401 } : sonic,
      );
      if (!isValid) stub.tokens.clear();
      const other = { operation: 'read_sonic', params: { sonic_id: 's-2' } } as const;
      const always = { operation: 'read_hub', params: { hub_id: 's-1' } } as const;
      for (let minute = 0; minute < 20; minute++) {
        expect(await errorOf(client.call(always))).toMatchObject({ kind: 'auth', status: 401 });
        await client.call(other);
        clock.advance(minuteMs);
      }
      expect(names(stub.sessionRequests)).toEqual(isValid ? ['refresh_token'] : ['refresh_token', 'sign_in']);
      // It ends some day, and so does the other's trouble.
      stub.tokens.clear();
      await client.call(other);
      await errorOf(client.call(always));
      expect(names(stub.sessionRequests).slice(-2)).toEqual(['refresh_token', 'sign_in']);
      expect(stub.sessionRequests).toHaveLength(isValid ? 3 : 4);
    },
  );

  it('that is refused to all, new or not, is renewed less and less, and again as soon as one works', async () => {
    let isRefused = true;
    const { client, stub, clock } = await slowly(() => (isRefused ? { status: 401 } : sonic));
    const calls = [
      readSonic,
      { operation: 'list_sonics' } as const,
      { operation: 'list_incidents' } as const,
    ];
    for (let second = 0; second < 300; second++) {
      await errorOf(client.call(calls[second % 3] ?? readSonic, now));
      clock.advance(1_000);
    }
    expect(stub.sessionRequests.length).toBeGreaterThan(5);
    expect(stub.sessionRequests.length).toBeLessThan(10);
    isRefused = false;
    await client.call(readSonic);
    stub.tokens.clear();
    await client.call(readSonic);
  });

  it('that dies while others wait for their turn is waited for by them too', async () => {
    const { client } = await startClient(({ token }) => (token === 'kept' ? { status: 401 } : sonic), {
      session: { token: 'kept', since: Date.now() },
      maxConcurrency: 1,
    });
    await Promise.all(Array.from({ length: 10 }, () => client.call(readSonic)));
  });

  it('is hidden in the log and in error messages, as is the password', async () => {
    const { client, stub, lines, secrets } = await startClient(({ token }) => ({
      status: 422,
      json: { message: `token ${token} of correct horse` },
    }));
    const error = await errorOf(client.call(readSonic));
    expect(error.message).toBe(
      'the cloud answered 422 (the values are not accepted): token [hidden] of [hidden]',
    );
    expect(secrets.hide(stub.requests[0]?.token ?? '')).toBe('[hidden]');
    expect(lines.join()).not.toMatch(/token-1|correct horse/);
  });
});

describe('session operations that are called', () => {
  it('keep the session: a refreshed token is taken over, a signed-out one given up', async () => {
    const { client, memory, stub } = await startClient(() => sonic);
    await expect(client.call({ operation: 'validate_token' })).resolves.toMatchObject({
      token_details: 'token-1',
    });
    await client.call({ operation: 'refresh_token', body: {} });
    expect(memory.session?.token).toBe('token-2');
    await client.call(readSonic);
    expect(stub.requests[0]?.token).toBe('token-2');
    await expect(client.call({ operation: 'sign_out' })).resolves.toEqual({ success: true });
    expect(memory.session).toBeNull();
    expect(client.session.state.status).toBe('unknown');
  });
});

describe('a rejected password', () => {
  /** A client with a wrong password, which has been rejected once. */
  async function rejected() {
    const clock = new FakeClock();
    const tries: string[] = [];
    const secret = { password: 'wrong horse' };
    const changed: number[] = [];
    const bench = await startClient(() => sonic, {
      clock,
      password: async () => secret.password,
      onPasswordChange: () => changed.push(clock.monotonic()),
    });
    bench.stub.sessionHandler = ({ body }) => {
      tries.push((body as { password: string }).password);
      return undefined;
    };
    const error = await errorOf(bench.client.call(readSonic));
    return { ...bench, clock, tries, secret, changed, error };
  }

  it('is auth, in words, with the time of the next attempt', async () => {
    const { error, client, clock } = await rejected();
    expect(error).toMatchObject({ kind: 'auth', status: 401, mayHaveActed: false });
    expect(error.message).toMatch(/^the cloud rejects the e-mail or the password .*\. Next attempt in 30 s/);
    expect(client.session.state).toEqual({
      status: 'rejected',
      rejection: {
        reason: 'the cloud rejects the e-mail or the password. Correct them',
        nextAttemptAt: clock.now() + 30_000,
      },
    });
  });

  it.each([400, 401, 403, 422])(
    'is what a %i at sign-in means, in the words of the cloud',
    async (status) => {
      const { client, stub } = await startClient(() => sonic);
      stub.sessionHandler = () => ({ status, json: { error: 'Accept the new terms in the app.' } });
      expect(await errorOf(client.call(readSonic))).toMatchObject({
        kind: 'auth',
        status,
        key: `the cloud rejects the sign-in (status ${status}): Accept the new terms in the app`,
      });
      const reason = 'the cloud rejects the sign-in: Accept the new terms in the app';
      expect(client.session.state).toMatchObject({ status: 'rejected', rejection: { reason } });
      // The next call is not sent.
      expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'auth', key: reason });
    },
  );

  it.each([400, 403, 422])(
    'is not what a %i means that is no JSON: a firewall may have spoken',
    async (status) => {
      const clock = new FakeClock();
      const { client, stub } = await startClient(() => sonic, { clock });
      stub.sessionHandler = () => ({ status, text: '<html>Forbidden</html>' });
      for (let second = 0; second < 50; second += 1) {
        expect(await errorOf(client.call(readSonic, now))).toMatchObject({ kind: 'unavailable' });
        clock.advance(1_000);
      }
      expect(client.session.state.status).toBe('unknown');
      expect(stub.sessionRequests.length).toBeLessThan(8);
      stub.sessionHandler = () => undefined;
      clock.advance(2 * minuteMs);
      await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
    },
  );

  it('is not tried again by calls that come too early: they fail at once', async () => {
    const { client, tries, clock } = await rejected();
    for (let count = 0; count < 5; count++) {
      expect(await errorOf(client.call(closeValve))).toMatchObject({ kind: 'auth' });
    }
    clock.advance(29_999);
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'auth' });
    expect(tries).toHaveLength(1);
    clock.advance(1);
    await errorOf(client.call(readSonic));
    expect(tries).toHaveLength(2);
  });

  it('is tried at once when somebody asks, until the limit of the minute is reached', async () => {
    const { client, tries, clock } = await rejected();
    for (let count = 0; count < 5; count++) {
      client.session.signInNow();
      await errorOf(client.call(readSonic));
    }
    expect(tries).toHaveLength(3);
    clock.advance(minuteMs);
    client.session.signInNow();
    await errorOf(client.call(readSonic));
    expect(tries).toHaveLength(4);
  });

  it('is forgotten as soon as the changed one is accepted', async () => {
    const { client, tries, secret, changed, clock, memory } = await rejected();
    secret.password = 'correct horse';
    clock.advance(1_999);
    expect(changed).toHaveLength(0);
    clock.advance(1);
    await waitFor(() => changed.length === 1, { what: 'the changed password' });
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
    expect(tries).toEqual(['wrong horse', 'correct horse']);
    expect(client.session.state).toEqual({ status: 'signed_in', rejection: null });
    expect(memory.session).not.toBeNull();
    clock.advance(hourMs);
    expect(changed).toHaveLength(1);
  });

  it('that was changed is reported once, and is tried again if something came between', async () => {
    const { client, stub, secret, clock, changed } = await rejected();
    const { sessionHandler } = stub;
    stub.sessionHandler = () => ({ text: '<html>Please accept our terms</html>' });
    secret.password = 'correct horse';
    clock.advance(2_000);
    await waitFor(() => changed.length === 1, { what: 'the changed password' });
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'unreadable' });
    stub.sessionHandler = sessionHandler;
    clock.advance(60_000);
    expect(changed).toHaveLength(1);
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'auth' });
    clock.advance(5 * minuteMs);
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
  });

  it('is looked at no more once the client is closed', async () => {
    const { client, secret, changed, clock } = await rejected();
    await client.close();
    secret.password = 'correct horse';
    clock.advance(hourMs);
    expect(changed).toEqual([]);
  });
});
