import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { type RawData, WebSocketServer } from 'ws';
import { connected, startEmbedded } from '../../support/brokers.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';

/** A broker behind a WebSocket that ends the connection at an empty frame, like Mosquitto 2.1.2. */
async function startWebSocket(onFrame: (bytes: Buffer) => void): Promise<{ url: string; behind: string }> {
  const { port, url: behind } = await startEmbedded();
  const server = createServer();
  new WebSocketServer({ server }).on('connection', (socket) => {
    const broker = connect(port, '127.0.0.1').on('error', () => undefined);
    broker.on('data', (bytes) => socket.send(bytes)).on('close', () => socket.close());
    socket.on('close', () => broker.destroy());
    socket.on('message', (bytes: RawData) => {
      if (!Buffer.isBuffer(bytes)) return;
      onFrame(bytes);
      if (bytes.length === 0) socket.terminate();
      else broker.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, behind };
}

it('no empty frame is sent over a WebSocket, also where a message is deleted', async () => {
  const frames: Buffer[] = [];
  const { url, behind } = await startWebSocket((bytes) => frames.push(bytes));
  const { connection, events } = await connected(url, { protocolVersion: 4 });
  const watcher = await watchTopics(behind, 'kept/#');
  for (const topic of ['kept/one', 'kept/two']) {
    await connection.publish(topic, 'x'.repeat(200_000), { retain: true });
    await connection.publish(topic, '', { retain: true });
  }
  await Promise.all(
    ['', 'a', '', ''].map((payload) => connection.publish('kept/live', payload, { retain: false })),
  );
  await watcher.settle();
  expect(watcher.messages.map(({ topic, text }) => [topic, text.length])).toEqual([
    ['kept/one', 200_000],
    ['kept/one', 0],
    ['kept/two', 200_000],
    ['kept/two', 0],
    ...[0, 1, 0, 0].map((length) => ['kept/live', length]),
  ]);
  expect(frames.filter(({ length }) => length === 0)).toEqual([]);
  expect(events).toEqual(['connected']);
});
