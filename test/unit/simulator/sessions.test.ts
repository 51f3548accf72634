import { expect, it } from 'vitest';
import { startCloudWithClient } from '../../support/cloudTestClient.ts';

async function startSession() {
  const cloud = await startCloudWithClient();
  const { client } = cloud;
  const statusOf = async (token = client.token) =>
    (await client.ask('GET', '/ape/v1/sonics', { token })).status;
  const refresh = async (sent = {}) => {
    const { status, text } = await client.ask('PUT', '/user-service/auth/refresh_token', sent);
    return { status, token: status === 200 ? JSON.parse(text).token_details : null };
  };
  return { ...cloud, statusOf, refresh };
}

it('a session begins with the right password only, whatever the case of the address', async () => {
  const { client } = await startSession();
  for (const password of ['wrong', 'Demo']) {
    const { status, contentType } = await client.signIn(password);
    expect({ status, contentType }).toEqual({ status: 401, contentType: 'text/html; charset=utf-8' });
  }
  const body = { email: 'Demo@Example.com', password: 'demo' };
  const heard = await client.ask('POST', '/user-service/auth/sign_in', { body, token: null });
  expect(JSON.parse(heard.text)).toMatchObject({
    token_details: expect.stringMatching(/^[A-Za-z0-9+/]{240}--[0-9a-f]{40}$/),
    user_details: { email: 'demo@example.com', active: true, language: 'en' },
  });
});

it('a refresh ends the old token at once', async () => {
  const { client, statusOf, refresh } = await startSession();
  const { token } = await refresh({ body: {} });
  expect([await statusOf(client.token), await statusOf(token)]).toEqual([401, 200]);
  expect((await refresh({ body: {} })).status).toBe(401);
});

it('a refresh takes the token in the body too, or no body, but needs a bearer token', async () => {
  const { client, statusOf, refresh } = await startSession();
  const body = { refresh_token: client.token };
  expect((await refresh({ body, token: null })).status).toBe(401);
  expect(await statusOf()).toBe(200);
  const { token } = await refresh({ body });
  expect((await refresh({ token })).status).toBe(200);
});

it('all tokens can be made to expire, and the password to be wrong or another', async () => {
  const { simulator, client, statusOf, refresh } = await startSession();
  simulator.expireTokens();
  expect(await statusOf()).toBe(401);
  expect((await refresh({ body: {} })).status).toBe(200);
  simulator.setPassword(null);
  expect((await client.signIn()).status).toBe(401);
  simulator.setPassword('new');
  expect((await client.signIn()).status).toBe(401);
  expect((await client.signIn('new')).status).toBe(200);
  simulator.setPassword('newer');
  expect([await statusOf(), (await refresh({ body: {} })).status]).toEqual([401, 401]);
});

it('an eleventh session ends the oldest', async () => {
  const { client, statusOf } = await startSession();
  const first = client.token;
  for (let session = 2; session <= 10; session++) await client.signIn();
  expect(await statusOf(first)).toBe(200);
  await client.signIn();
  expect([await statusOf(first), await statusOf()]).toEqual([401, 200]);
});
