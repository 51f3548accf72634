import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/cloud/operations.ts';
import { errorOf, startClient } from '../../support/clientBench.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { waitFor } from '../../support/waitFor.ts';

const session = { token: 'kept', since: Date.now() };
const readSonic = { operation: 'read_sonic', params: { sonic_id: 's-1' } } as const;
const listSonics = { operation: 'list_sonics' } as const;

describe('odd data', () => {
  it('is read all the same, logged once, and kept for health', async () => {
    const odd = { id: 's-1', valve_state: 'ajar', radio_rssi: 'strong', extra: 1 };
    const { client, lines } = await startClient(() => ({ json: odd }), { session });
    for (let count = 0; count < 3; count++) {
      expect(await client.call(readSonic)).toMatchObject({ valve_state: 'ajar', radio_rssi: null, extra: 1 });
    }
    expect(client.problems()).toHaveLength(2);
    expect(client.problems()).toContainEqual({
      level: 'info',
      message: 'read_sonic: unknown value of valve_state: "ajar"',
    });
    expect(lines.filter((line) => line.includes('nexpected data'))).toHaveLength(2);
  });

  it('in one record of a list costs that record', async () => {
    const data = [{ id: 'a/b' }, 7, { id: 's-1' }, { name: 'nobody' }];
    const { client, lines } = await startClient(() => ({ json: { data, page_number: 1 } }), { session });
    const page = await client.call(listSonics);
    expect(page).toMatchObject({ dropped: 3, missing: 2, page_number: 1, total_entries: null });
    expect(page.records.map(({ id }) => id)).toEqual(['s-1']);
    expect(lines.filter((line) => line.includes('"a/b\\"') || line.includes('a/b'))).toHaveLength(1);
  });

  it('is forgotten when the next answer is right again, and that of others is not', async () => {
    const answers = [{ id: 's-1', valve_state: 'ajar' }, { id: 's-2', battery: 'flat' }, { id: 's-1' }];
    const { client } = await startClient(() => ({ json: answers.shift() }), { session });
    for (const sonic_id of ['s-1', 's-2', 's-1']) {
      await client.call({ operation: 'read_sonic', params: { sonic_id } });
    }
    expect(client.problems().map(({ message }) => message)).toEqual([
      'read_sonic: unknown value of battery: "flat"',
    ]);
  });

  it('is bounded in what it leaves behind', async () => {
    let count = 0;
    const { client, lines } = await startClient(
      () => ({ json: { id: 's-1', valve_state: `odd ${count++}` } }),
      {
        session,
      },
    );
    for (let calls = 0; calls < 230; calls++) {
      await client.call({ operation: 'read_sonic', params: { sonic_id: `s-${calls}` } });
    }
    expect(client.problems()).toHaveLength(20);
    expect(lines.filter((line) => line.includes('"Unexpected data'))).toHaveLength(200);
  });
});

describe('hostile answers', () => {
  it('bring whole characters only', async () => {
    const text = '{"id":"a","name":"Half \\ud83d of it, and a whole \\ud83d\\ude00","extra":["\\udc00"]}';
    const { client } = await startClient(() => ({ status: 200, text }), { session, clock: new FakeClock() });
    expect(await client.call(readSonic)).toMatchObject({
      name: 'Half \ufffd of it, and a whole 😀',
      extra: ['\ufffd'],
    });
  });
});

describe('closing', () => {
  it('ends everything at once: what hangs, what waits, what would be retried', async () => {
    const { client, stub } = await startClient(
      ({ path }) => (path.endsWith('/s-1') ? { fault: 'hang' } : { status: 503 }),
      {
        session,
        maxRequestsPerMinute: 3,
        // Longer than the test may take: nothing ends by its time limit.
        requestTimeoutMs: 600_000,
      },
    );
    const calls = [listSonics, ...Array.from({ length: 10 }, () => readSonic)].map((call: Call) =>
      errorOf(client.call(call)),
    );
    await waitFor(() => stub.requests.length === 3, { what: 'requests under way' });
    await client.close();
    for (const error of await Promise.all(calls)) {
      expect(error).toMatchObject({ kind: 'unavailable' });
    }
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
    const { client, secrets, lines } = await startClient(() => answer, { session: kept });
    secrets.add('secret-password');
    const { message } = await errorOf(client.call(readSonic));
    for (const part of [secret.slice(0, 30), 'secret-password']) {
      expect(message).not.toContain(part);
      expect(lines.join()).not.toContain(part);
    }
  });

  it('in a field hides it in what is kept for health', async () => {
    const odd = { id: 's-1', valve_state: secret, battery: 'secret-password' };
    const { client, secrets } = await startClient(() => ({ json: odd }), { session: kept });
    secrets.add('secret-password');
    await client.call(readSonic);
    expect(client.problems().map(({ message }) => message)).toEqual([
      'read_sonic: unknown value of battery: "[hidden]"',
      'read_sonic: unknown value of valve_state: "[hidden]"',
    ]);
  });
});

describe('what the cloud says with an error', () => {
  it('is in its words and not in its key, which is the same each time', async () => {
    let count = 0;
    const { client } = await startClient(() => ({ status: 422, json: { message: `request ${count++}` } }), {
      session,
    });
    const errors = [await errorOf(client.call(readSonic)), await errorOf(client.call(readSonic))];
    expect(errors.map(({ message }) => message)).toEqual([
      'the cloud answered 422 (the values are not accepted): request 0',
      'the cloud answered 422 (the values are not accepted): request 1',
    ]);
    expect(new Set(errors.map(({ key }) => key)).size).toBe(1);
  });
});
