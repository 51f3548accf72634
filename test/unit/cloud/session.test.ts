import { describe, expect, it } from 'vitest';
import type { StubRequest } from '../../support/cloudStub.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { closeValve, errorOf, startBench } from '../../support/testClient.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const sonic = { json: { id: 's-1' } };
const readSonic = { operation: 'read_sonic', params: { sonic_id: 's-1' } } as const;

/** Session requests by the last word of their path. */
function names(requests: readonly StubRequest[]): string[] {
  return requests.map(({ path }) => path.split('/').at(-1) ?? '');
}

describe('a client without a session', () => {
  it('signs in once for all that ask at the same time, and remembers the token', async () => {
    const { client, stub, memory } = await startBench(() => sonic);
    await Promise.all(Array.from({ length: 20 }, () => client.call(readSonic)));
    expect(names(stub.sessionRequests)).toEqual(['sign_in']);
    expect(stub.requests).toHaveLength(20);
    expect(memory.session).toMatchObject({ token: 'token-1' });
    expect(client.sessionState()).toEqual({ status: 'signed_in', nextAttemptAt: null });
  });

  it('is unavailable, not rejected, while the cloud cannot be reached to sign in', async () => {
    const { client, stub } = await startBench(() => sonic);
    stub.sessionHandler = () => ({ status: 503 });
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'unavailable', status: 503 });
    expect(client.sessionState()).toEqual({ status: 'unknown', nextAttemptAt: null });
    stub.sessionHandler = () => undefined;
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
  });

  it.each([
    ['seconds', () => '3600'],
    ['a date', (now: number) => new Date(now + hourMs).toUTCString()],
  ])(
    'waits as long as the cloud asks before it signs in again (Retry-After: %s)',
    async (_, retryAfterAt) => {
      const clock = new FakeClock(Date.now());
      const retryAfter = retryAfterAt(clock.now());
      const { client, stub } = await startBench(() => sonic, { clock });
      stub.sessionHandler = () => ({ status: 429, headers: { 'retry-after': retryAfter } });
      const error = await errorOf(client.call(closeValve));
      expect(error).toMatchObject({ kind: 'rateLimited', mayHaveActed: false });
      stub.sessionHandler = () => undefined;
      clock.advance(hourMs - minuteMs);
      expect((await errorOf(client.call(closeValve))).message).toMatch(/requests a wait of (60|59) s|1 min/);
      expect(names(stub.sessionRequests)).toEqual(['sign_in']);
      clock.advance(2 * minuteMs);
      await expect(client.call(closeValve)).resolves.toMatchObject({ status: null });
      expect(names(stub.sessionRequests)).toEqual(['sign_in', 'sign_in']);
    },
  );

  it.each([404, 405, 418])(
    'takes a %i at sign-in for a wrong address, never for a missing device',
    async (status) => {
      const { client, stub } = await startBench(() => sonic);
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
    const { client, stub } = await startBench(() => sonic);
    stub.sessionHandler = () => answer;
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'unreadable' });
  });

  it.each(['me@home', 'a@b.c', '"me..too"@example.com'])(
    'asks the cloud about %s, which the configuration takes: only the cloud knows its addresses',
    async (email) => {
      const { client, stub } = await startBench(() => sonic, { email });
      stub.sessionHandler = ({ body }) => ({
        status: 401,
        json: { error: `nobody is ${JSON.stringify(body)}` },
      });
      expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'auth' });
      expect(stub.sessionRequests.map(({ body }) => body)).toEqual([expect.objectContaining({ email })]);
    },
  );

  it('says so when the password cannot be read, without asking the cloud', async () => {
    const password = () => {
      throw new Error('no such file: /run/secrets/password');
    };
    const { client, stub } = await startBench(() => sonic, { password });
    const error = await errorOf(client.call(readSonic));
    expect(error.kind).toBe('auth');
    expect(error.message).toBe('cannot read the password: no such file: /run/secrets/password');
    expect(stub.sessionRequests).toEqual([]);
  });
});

describe('a client with the session of its last run', () => {
  it('uses it without asking', async () => {
    const { client, stub } = await startBench(() => sonic, { session: { token: 'kept', since: Date.now() } });
    await client.call(readSonic);
    expect(stub.sessionRequests).toEqual([]);
    expect(stub.requests[0]?.token).toBe('kept');
  });

  it('signs in when the cloud knows the token no longer and does not renew it', async () => {
    const bench = await startBench(() => sonic, { session: { token: 'kept', since: Date.now() } });
    bench.stub.tokens.clear();
    await bench.client.call(readSonic);
    expect(names(bench.stub.sessionRequests)).toEqual(['refresh_token', 'sign_in']);
    expect(bench.memory.session?.token).toBe('token-1');
  });

  it.each(['to\u0000ken', 'to\r\nken: x', 'tokeń', ' ', ''])(
    'signs in when no header can carry its token: %j',
    async (token) => {
      const { client, memory, stub } = await startBench(() => sonic, {
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
    const { client, stub, memory } = await startBench(
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
    const { client, stub } = await startBench(({ token }) => (token === 'kept' ? { status: 401 } : sonic), {
      session: { token: 'kept', since: Date.now() },
    });
    stub.sessionHandler = ({ path }) => ({ status: path.endsWith('refresh_token') ? 401 : 500 });
    const error = await errorOf(client.call(readSonic));
    expect(error).toMatchObject({ kind: 'unavailable', status: 500 });
    expect(error.message).toMatch(/^cannot sign in: the cloud answered 500/);
    expect(stub.requests).toHaveLength(1);
    stub.sessionHandler = () => undefined;
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
  });

  it('that could not be renewed for a moment is renewed at the next attempt of the same call', async () => {
    const { client, stub } = await startBench(({ token }) => (token === 'kept' ? { status: 401 } : sonic), {
      session: { token: 'kept', since: Date.now() },
    });
    const answers = [{ fault: 'cut' as const }];
    stub.sessionHandler = () => answers.shift();
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
    expect(names(stub.sessionRequests)).toEqual(['refresh_token', 'refresh_token']);
  });

  it('that is older than nine days is renewed before a poll, but a command does not wait for it', async () => {
    const clock = new FakeClock();
    const since = clock.now() - 9 * dayMs - 1;
    const { client, stub, memory } = await startBench(() => sonic, {
      clock,
      session: { token: 'kept', since },
    });
    await client.call(closeValve);
    expect(stub.sessionRequests).toEqual([]);
    await client.call(readSonic);
    expect(names(stub.sessionRequests)).toEqual(['refresh_token']);
    expect(memory.session).toEqual({ token: 'token-1', since: clock.now() });
  });

  it('that is younger is left alone', async () => {
    const clock = new FakeClock();
    const since = clock.now() - 9 * dayMs + 1_000;
    const { client, stub } = await startBench(() => sonic, { clock, session: { token: 'kept', since } });
    await client.call(readSonic);
    expect(stub.sessionRequests).toEqual([]);
  });

  it('that cannot be renewed early goes on being used, and is tried again after ten minutes', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startBench(() => sonic, { clock, session: { token: 'kept', since: 0 } });
    stub.sessionHandler = () => ({ fault: 'cut' });
    await client.call(readSonic);
    await client.call(readSonic);
    expect(names(stub.sessionRequests)).toEqual(['refresh_token']);
    clock.advance(10 * minuteMs);
    await client.call(readSonic);
    expect(names(stub.sessionRequests)).toEqual(['refresh_token', 'refresh_token']);
    expect(stub.requests.map(({ token }) => token)).toEqual(['kept', 'kept', 'kept']);
  });

  it('is not renewed again and again for an operation that always answers 401', async () => {
    const clock = new FakeClock();
    const { client, stub } = await startBench(() => ({ status: 401 }), {
      clock,
      session: { token: 'kept', since: clock.now() },
    });
    for (let count = 0; count < 10; count++)
      expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'auth' });
    expect(names(stub.sessionRequests)).toEqual(['refresh_token']);
    clock.advance(minuteMs);
    await errorOf(client.call(readSonic));
    expect(names(stub.sessionRequests)).toEqual(['refresh_token', 'refresh_token']);
  });

  it('is hidden in the log and in error messages, as is the password', async () => {
    const { client, stub, lines, secrets } = await startBench(({ token }) => ({
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
    const { client, memory, stub } = await startBench(() => sonic);
    await expect(client.call({ operation: 'validate_token' })).resolves.toMatchObject({
      token_details: 'token-1',
    });
    await client.call({ operation: 'refresh_token', body: {} });
    expect(memory.session?.token).toBe('token-2');
    await client.call(readSonic);
    expect(stub.requests[0]?.token).toBe('token-2');
    await expect(client.call({ operation: 'sign_out' })).resolves.toEqual({ success: true });
    expect(memory.session).toBeNull();
    expect(client.sessionState().status).toBe('unknown');
  });
});

describe('a rejected password', () => {
  /** A client with a wrong password, which has been rejected once. */
  async function rejected() {
    const clock = new FakeClock();
    const tries: string[] = [];
    const secret = { password: 'wrong horse' };
    const changed: number[] = [];
    const bench = await startBench(() => sonic, {
      clock,
      password: () => secret.password,
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
    expect(client.sessionState()).toEqual({ status: 'rejected', nextAttemptAt: clock.now() + 30_000 });
  });

  it.each([400, 401, 403, 422])('is what a %i at sign-in means', async (status) => {
    const { client, stub } = await startBench(() => sonic);
    stub.sessionHandler = () => ({ status });
    expect(await errorOf(client.call(readSonic))).toMatchObject({ kind: 'auth', status });
    expect(client.sessionState().status).toBe('rejected');
  });

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

  it('is tried less and less: a client that polls every 30 s keeps to the limits', async () => {
    const { client, tries, clock } = await rejected();
    const counts: number[] = [];
    for (let poll = 0; poll < 4 * 120; poll++) {
      clock.advance(30_000);
      await errorOf(client.call(readSonic));
      if (poll % 120 === 118) counts.push(tries.length);
    }
    expect(counts).toEqual([4, 5, 6, 7]);
  });

  it('is tried at once when somebody asks, until the limit of the minute is reached', async () => {
    const { client, tries, clock } = await rejected();
    for (let count = 0; count < 5; count++) {
      client.signInNow();
      await errorOf(client.call(readSonic));
    }
    expect(tries).toHaveLength(3);
    clock.advance(minuteMs);
    client.signInNow();
    await errorOf(client.call(readSonic));
    expect(tries).toHaveLength(4);
  });

  it('is forgotten as soon as the changed one is accepted', async () => {
    const { client, tries, secret, changed, clock, memory } = await rejected();
    secret.password = 'correct horse';
    clock.advance(1_999);
    expect(changed).toHaveLength(0);
    clock.advance(1);
    expect(changed).toHaveLength(1);
    await expect(client.call(readSonic)).resolves.toMatchObject({ id: 's-1' });
    expect(tries).toEqual(['wrong horse', 'correct horse']);
    expect(client.sessionState()).toEqual({ status: 'signed_in', nextAttemptAt: null });
    expect(memory.session).not.toBeNull();
    clock.advance(hourMs);
    expect(changed).toHaveLength(1);
  });

  it('that changes too often waits for the limits', async () => {
    const { client, tries, secret, changed, clock } = await rejected();
    for (const password of ['second', 'third', 'fourth']) {
      secret.password = password;
      clock.advance(2_000);
      await errorOf(client.call(readSonic));
    }
    expect(tries).toEqual(['wrong horse', 'second', 'third']);
    expect(changed).toHaveLength(2);
    clock.advance(minuteMs);
    expect(changed).toHaveLength(3);
    await errorOf(client.call(readSonic));
    expect(tries.at(-1)).toBe('fourth');
  });

  it('that was changed is told of once, and goes on being tried where something came between', async () => {
    const { client, stub, secret, clock, changed } = await rejected();
    const { sessionHandler } = stub;
    stub.sessionHandler = () => ({ text: '<html>Please accept our terms</html>' });
    secret.password = 'correct horse';
    clock.advance(2_000);
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
