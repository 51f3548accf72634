import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createRoutes } from '../../../src/http/routes.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { logLines } from '../../support/logLines.ts';

let close = () => {};
afterEach(() => close());

it.each([
  [true, 413, '{"status":"too_many_devices"}'],
  [false, 200, 'views: []'],
])('the dashboard of a large account (%s) is not written on request', async (isLarge, status, body) => {
  const unread = () => {
    throw new Error('the status is not needed');
  };
  const snapshots = { status: unread, readiness: unread, metrics: unread };
  const options = { dashboard: async () => 'views: []', isDashboardTooLarge: () => isLarge };
  const { secrets } = logLines();
  const routes = createRoutes(snapshots, { of: () => null }, null, systemClock, secrets, options);
  const route = routes.find(({ path }) => path === '/dashboard.yaml');
  const server = createServer((request, response) => {
    void route?.answer(response, new URL(request.url ?? '', 'http://localhost'), request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () => server.close();
  const { port } = server.address() as AddressInfo;
  const answer = await httpRequest(`http://127.0.0.1:${port}/dashboard.yaml`);
  expect([answer.status, answer.text.trim()]).toEqual([status, body]);
});
