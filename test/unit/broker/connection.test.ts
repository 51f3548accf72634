import { type AddressInfo, createServer, Socket } from 'node:net';
import { MqttClient } from 'mqtt';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeUrl } from '../../../src/broker/brokerUrl.ts';
import { brokerKinds, connected, openConnection, startEmbedded } from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { waitFor } from '../../support/waitFor.ts';

const retained = { retain: true } as const;
const live = { retain: false } as const;

describe.each(brokerKinds)(
  'on $name, a connection',
  ({ isInstalled, protocolVersion, loggedVersion, start }) => {
    const here = it.skipIf(!isInstalled);

    here('says what it speaks and hears what it subscribed to', async () => {
      const { url, port } = await start();
      const { connection, received, events, lines } = await connected(url, {
        protocolVersion,
        subscriptions: ['a/+/set', 'b'],
      });
      await connection.publish('a/1/set', 'OPEN', live);
      await connection.publish('b', 'müll \u{1f4a7}', live);
      await connection.publish('c', 'not subscribed to', live);
      await connection.publish('b', '', live);
      await waitFor(() => received.length === 3, { what: 'the messages' });
      expect(received.map(({ sentAfter, ...message }) => message)).toEqual([
        { topic: 'a/1/set', payload: 'OPEN', isRetained: false, mayBeStored: 'unproven', isText: true },
        { topic: 'b', payload: 'müll \u{1f4a7}', isRetained: false, mayBeStored: 'unproven', isText: true },
        { topic: 'b', payload: '', isRetained: false, mayBeStored: 'unproven', isText: true },
      ]);
      expect(events).toEqual(['connected']);
      expect(lines.messages.at(-1)).toBe(
        `info: Connected to the MQTT broker mqtt://127.0.0.1:${port} (${loggedVersion})`,
      );
      expect(lines.text).not.toContain('warn');
    });

    here('holds no message back until the one before it has arrived', async () => {
      const { url, port } = await start();
      const atOnce = vi.spyOn(Socket.prototype, 'setNoDelay');
      onTestFinished(() => atOnce.mockRestore());
      const { connection } = await connected(url, { protocolVersion });
      expect(connection.isConnected).toBe(true);
      const own = atOnce.mock.contexts.flatMap((socket, index) =>
        (socket as Socket).remotePort === port ? [atOnce.mock.calls[index]] : [],
      );
      expect(own).toEqual([[true]]);
    });

    here('is certain that a command is live once it has seen its own state as a stored message', async () => {
      const { url } = await start();
      const will = { topic: 'bridge/state', payload: 'offline' };
      const options = { protocolVersion, subscriptions: ['a/set'], will };
      const watcher = await watchTopics(url, 'none');
      const reasons = async ({ received, connection }: Awaited<ReturnType<typeof connected>>) => {
        await waitFor(
          async () => {
            await watcher.publish('a/set', 'CLOSE');
            return received.some(({ topic, mayBeStored }) => topic === 'a/set' && mayBeStored === null);
          },
          { what: 'a command that is certainly live' },
        );
        expect(connection.areStoredUnmarked).toBe(false);
      };
      // A broker that knows nothing yet is asked for the state once it has it.
      const first = await connected(url, options);
      await watcher.publish('a/set', 'CLOSE');
      await waitFor(() => first.received.length === 1, { what: 'a command' });
      expect(first.received[0]?.mayBeStored).toBe('unproven');
      await first.connection.publish('bridge/state', 'online', retained);
      await reasons(first);
      await first.connection.stop([]);
      await reasons(await connected(url, options));
    });

    here('is let in with a password but no user where nobody is asked for either', async () => {
      const { url } = await start();
      const { events } = await connected(url, { protocolVersion, password: async () => 'idle' });
      expect(events).toEqual(['connected']);
    });

    here('tells text from what is none', async () => {
      const { url } = await start();
      const { received } = await connected(url, { protocolVersion, subscriptions: ['a'] });
      const watcher = await watchTopics(url, 'none');
      await watcher.publish('a', Buffer.from([0x7b, 0xc3, 0x28, 0x7d]));
      await watcher.publish('a', 'ü');
      await waitFor(() => received.length === 2, { what: 'the messages' });
      expect(received.map(({ isText }) => isText)).toEqual([false, true]);
    });

    here(
      'reads what is retained under filters, far more than a broker queues, and then hears no more of it',
      async () => {
        const { url } = await start();
        const { connection, received } = await connected(url, { protocolVersion, subscriptions: ['set'] });
        const topics = Array.from({ length: 1_500 }, (_, index) => `many/${index}`);
        await Promise.all([...topics, 'other/1'].map((topic) => connection.publish(topic, topic, retained)));
        const found: string[] = [];
        const reading = connection.readRetained(['other/+', 'many/+'], ({ payload }) => found.push(payload));
        await connection.publish('set', 'while it reads', live);
        await reading;
        // More than a thousand are read again, filter by filter.
        expect(new Set(found)).toEqual(new Set([...topics, 'other/1']));
        const { length } = found;
        await connection.publish('many/1', 'later', live);
        await connection.publish('set', 'after', live);
        await waitFor(() => received.length === 2, { what: 'the commands' });
        expect(received.map(({ topic }) => topic)).toEqual(['set', 'set']);
        expect(found).toHaveLength(length);
      },
    );

    here('reads what is retained to its end, although others never cease to publish', async () => {
      const { url } = await start();
      const { connection } = await connected(url, { protocolVersion });
      const other = await watchTopics(url, ['other']);
      await connection.publish('many/1', 'kept', retained);
      const found: string[] = [];
      let isRead = false;
      const chatter = (async () => {
        while (!isRead) await other.publish('many/2', 'chatter');
      })();
      await connection.readRetained(['many/+'], ({ payload }) => found.push(payload));
      isRead = true;
      await chatter;
      expect(new Set(found)).toEqual(new Set(['kept', 'chatter']));
    });

    here('reads one list after the other, each whole', async () => {
      const { url } = await start();
      const { connection } = await connected(url, { protocolVersion });
      for (const topic of ['a/1', 'b/1']) await connection.publish(topic, topic, retained);
      const read = async (filter: string) => {
        const found: string[] = [];
        await connection.readRetained([filter], ({ topic }) => found.push(topic));
        return found;
      };
      expect(await Promise.all([read('a/+'), read('b/+')])).toEqual([['a/1'], ['b/1']]);
    });
  },
);

it.skipIf(!mosquittoAvailable())(
  'what a broker has sent by its answer to a ping is all, and is no news to wait for',
  async () => {
    const { url } = await startMosquitto({ lines: ['max_queued_messages 1000'] });
    const { connection } = await connected(url);
    const topics = Array.from({ length: 3_000 }, (_, index) => `${index % 3}/${index}`);
    await Promise.all(topics.map((topic) => connection.publish(topic, topic, retained)));
    const found = new Set<string>();
    const startedAt = performance.now();
    const readings: unknown[] = [];
    await connection.readRetained(
      ['0/+', '1/+', 'none', '2/+'],
      ({ topic }) => found.add(topic),
      () => readings.push([found.size, performance.now() - startedAt < 1_000]) > 0,
    );
    expect(readings).toEqual([[3_000, true]]);
  },
);

it('a session is a clean one, so that a broker keeps no commands for a bridge that is away', async () => {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const connect = new Promise<Buffer>((greeted) => {
    server.once('connection', (socket) => socket.once('data', (bytes) => greeted(bytes)));
  });
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  openConnection(url, { protocolVersion: 4 });
  // The flags of CONNECT come after its fixed header of two bytes, the name of the protocol and its version.
  const cleanSession = 0b10;
  expect((await connect).readUInt8(2 + 6 + 1) & cleanSession).toBe(cleanSession);
});

it('an address is shown without its credentials and its path', () => {
  expect(describeUrl('mqtts://me:secret@example.com:8883/path?x')).toBe('mqtts://example.com:8883');
  expect(describeUrl('mqtt://[::1]')).toBe('mqtt://[::1]');
});

it('subscribes with at most eight filters in a packet, and hears at all of them', async () => {
  const subscribe = vi.spyOn(MqttClient.prototype, 'subscribe');
  onTestFinished(() => subscribe.mockRestore());
  const { url } = await startEmbedded();
  const subscriptions = Array.from({ length: 30 }, (_, at) => `set/${String(at).padStart(2, '0')}`);
  const { connection, received } = await connected(url, { protocolVersion: 4, subscriptions });
  for (const topic of subscriptions) await connection.publish(topic, 'x', live);
  await waitFor(() => received.length === 30, { what: 'the messages' });
  const sizes = subscribe.mock.calls.map(([filters]) => Object.keys(filters).length);
  expect(sizes.filter((size) => size > 1)).toEqual([8, 8, 8, 6]);
});
