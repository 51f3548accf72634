import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { findUsualBroker } from '../../../src/cli/answers.ts';
import { freePort } from '../../support/ports.ts';

it('finds the first of the usual brokers that answers, and none where none does', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = Object(server.address());
  const hosts = ['no-such-host.invalid', '127.0.0.1', 'localhost'];
  expect(await findUsualBroker(hosts, port)).toBe(`mqtt://127.0.0.1:${port}`);
  expect(await findUsualBroker(hosts, await freePort())).toBeNull();
});
