import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openConnection } from '../../support/brokers.ts';
import { waitFor } from '../../support/waitFor.ts';

it('a WebSocket is asked for with the path and the query of its address', async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer().on('upgrade', ({ url }, socket) => {
    asked.push(url);
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { events } = openConnection(`ws://127.0.0.1:${port}/mqtt?token=hush-hush&v=1`);
  await waitFor(() => events.length > 0, { what: 'the attempt to fail' });
  expect(asked[0]).toBe('/mqtt?token=hush-hush&v=1');
  expect(events.join()).not.toContain('hush');
});
