import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Secrets } from '../../../src/base/secrets.ts';
import { EmbeddedBroker, type EmbeddedOptions } from '../../../src/broker/embedded.ts';
import { rereadPassword } from '../../../src/partOptions.ts';
import { connected, openConnection } from '../../support/brokers.ts';
import { logLines } from '../../support/logLines.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const { generate }: { generate(packet: object): Buffer } = createRequire(
  createRequire(import.meta.url).resolve('mqtt'),
)('mqtt-packet');
const mqttPacket = (packet: object) =>
  generate({ protocolId: 'MQTT', protocolVersion: 4, clean: true, ...packet });

/** Starts an embedded broker that ends with the test. */
async function startBroker(changes: Partial<EmbeddedOptions> = {}) {
  const lines = logLines();
  const options = {
    host: '127.0.0.1',
    port: 0,
    username: undefined,
    password: async () => undefined,
    unreadMs: 2_500,
    log: lines.log,
    ...changes,
  };
  const broker = new EmbeddedBroker(options);
  const port = await broker.start();
  onTestFinished(() => broker.stop());
  return { broker, lines, port, url: `mqtt://127.0.0.1:${port}` };
}

describe('the embedded broker', () => {
  it('keeps what is retained for who comes later', async () => {
    const { url } = await startBroker();
    const first = await watchTopics(url, '#');
    await first.publish('kept', 'yes', { retain: true });
    await first.publish('told', 'once');
    expect([...(await watchTopics(url, '#')).last]).toEqual([['kept', 'yes']]);
  });

  it('holds no message back until the one before it has arrived', async () => {
    const { url, port } = await startBroker();
    const atOnce = vi.spyOn(Socket.prototype, 'setNoDelay');
    onTestFinished(() => atOnce.mockRestore());
    await watchTopics(url, '#');
    const own = atOnce.mock.contexts.flatMap((socket, index) =>
      (socket as Socket).localPort === port ? [atOnce.mock.calls[index]] : [],
    );
    expect(own).toEqual([[true]]);
  });

  it('keeps nothing for a client that went away, however long it stays away', async () => {
    const { url } = await startBroker();
    const other = await watchTopics(url, 'none');
    const present: boolean[] = [];
    const received: string[] = [];
    for (const round of ['first', 'second']) {
      const client = mqtt.connect(url, { clientId: 'phone', clean: false, reconnectPeriod: 0 });
      onTestFinished(() => void client.end(true));
      client.on('message', (_topic, payload) => received.push(payload.toString()));
      await new Promise<void>((resolve) => {
        client.on('connect', ({ sessionPresent }) => {
          present.push(sessionPresent);
          resolve();
        });
      });
      await client.subscribeAsync('home/#', { qos: 1 });
      await other.publish('home/live', round, { qos: 1 });
      await waitFor(() => received.includes(round), { what: 'the message' });
      await client.endAsync();
      await other.publish('home/missed', `after the ${round}`, { qos: 1 });
    }
    expect(present).toEqual([false, false]);
    expect(received).toEqual(['first', 'second']);
  });

  it('keeps the retain flag of a live message, for the client and the filters that want it', async () => {
    const { url } = await startBroker({
      retainAsPublished: { clientId: 'bridge-under-test', filters: ['home/+/set'] },
    });
    const options = { protocolVersion: 4, subscriptions: ['home/+/set', 'home/+/state'] } as const;
    const { received } = await connected(url, options);
    const other = await watchTopics(url, 'home/#');
    for (const qos of [0, 1, 2] as const) {
      for (const retain of [true, false]) {
        for (const topic of ['home/one/set', 'home/one/state']) {
          const before = received.length;
          await other.publish(topic, `${qos} ${retain}`, { retain, qos });
          await waitFor(() => received.length > before, { what: `the message at ${topic}` });
        }
      }
    }
    const flagged = received.filter(({ isRetained }) => isRetained);
    expect(flagged.map(({ topic, payload }) => `${topic} ${payload}`)).toEqual([
      'home/one/set 0 true',
      'home/one/set 1 true',
      'home/one/set 2 true',
    ]);
    await other.settle();
    expect(other.messages.filter(({ retain }) => retain)).toEqual([]);
    expect([...(await watchTopics(url, '#')).last.keys()].toSorted()).toEqual([
      'home/one/set',
      'home/one/state',
    ]);
  });

  it.each([
    ['wrong', 'user-1', 'pass-2'],
    ['of a longer password', 'user-1', 'pass-11'],
    ['of another user', 'user-2', 'pass-1'],
    ['without a password', 'user-1', undefined],
    ['without a user', undefined, 'pass-1'],
    ['without anything', undefined, undefined],
  ])('lets nobody in with credentials that are %s', async (_what, username, password) => {
    const { url } = await startBroker({ username: 'user-1', password: async () => 'pass-1' });
    const { connection, events } = openConnection(url, {
      protocolVersion: 4,
      username,
      password: async () => password,
    });
    await waitFor(() => events.length > 0, { what: 'the refusal' });
    expect(events).toEqual(['failed: not authorized. Check mqtt.username and mqtt.password']);
    expect(connection.isConnected).toBe(false);
  });

  it('lets in who knows the user and the password', async () => {
    const { url } = await startBroker({ username: 'user-1', password: async () => 'pässwörd' });
    const credentials = { protocolVersion: 4, username: 'user-1', password: async () => 'pässwörd' } as const;
    expect((await connected(url, credentials)).events).toEqual(['connected']);
  });

  it('lets in who knows the current content of its password file', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'first');
    const section = { password: null, password_file: file };
    const password = rereadPassword(section, new Secrets(), systemClock);
    const { url } = await startBroker({ username: 'user-1', password });
    const signIn = (secret: string) =>
      mqtt
        .connectAsync(url, { username: 'user-1', password: secret, reconnectPeriod: 0 })
        .then((client) => client.endAsync());
    await signIn('first');
    writeFileSync(file, 'second');
    await expect(signIn('first')).rejects.toThrow('Not authorized');
    await signIn('second');
    // A file that contains no password lets in nobody.
    writeFileSync(file, '\n');
    await expect(signIn('second')).rejects.toThrow('Not authorized');
    await expect(signIn('')).rejects.toThrow('Not authorized');
  });

  it('says once a minute how often a sign-in has failed', async () => {
    const { url, lines } = await startBroker({ username: 'user-1', password: async () => 'pass-1' });
    const guess = () => mqtt.connectAsync(url, { username: 'user-1', password: 'guess', reconnectPeriod: 0 });
    for (let count = 0; count < 3; count++) await expect(guess()).rejects.toThrow('Not authorized');
    expect(lines.messages).toEqual([
      'warn: Built-in MQTT broker: wrong user name or password (once, last from 127.0.0.1)',
    ]);
  });

  it('accepts a packet of a megabyte, and closes the connection at a longer one', async () => {
    const { url } = await startBroker();
    const client = await mqtt.connectAsync(url, { reconnectPeriod: 0 });
    onTestFinished(() => void client.end(true));
    await client.publishAsync('long', Buffer.alloc(1024 * 1024 - 10), { qos: 1 });
    client.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.publish('longer', Buffer.alloc(1024 * 1024), { qos: 1 }, () => undefined);
    await closed;
  });

  it.each(['a\0b', 'a/+', 'a/#'])('closes the connection at the topic %j', async (topic) => {
    const { port } = await startBroker();
    const client = connect(port, '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    client.write(mqttPacket({ cmd: 'connect', clientId: 'odd' }));
    await once(client, 'data');
    const written = mqttPacket({ cmd: 'publish', topic: 'x'.repeat(topic.length), payload: 'x' });
    written.write(topic, written.indexOf('x'));
    client.write(written);
    await once(client, 'close');
  });

  it('stores ten thousand messages and 16 MiB in all, delivers what is beyond, and says so', async () => {
    const { url, lines } = await startBroker();
    const client = await mqtt.connectAsync(url, { reconnectPeriod: 0, protocolVersion: 4 });
    onTestFinished(() => void client.end(true));
    const keep = (topic: string, payload: string | Buffer) =>
      client.publishAsync(topic, payload, { qos: 1, retain: true });
    await Promise.all(Array.from({ length: 15 }, (_, at) => keep(`large/${at}`, Buffer.alloc(1_000_000))));
    const watcher = await watchTopics(url, 'kept/#');
    await keep('kept/1', 'fits');
    await keep('kept/2', Buffer.alloc(1_000_000));
    await keep('kept/1', Buffer.alloc(1_000_000));
    await keep('kept/1', Buffer.alloc(1_000_000));
    await watcher.settle();
    expect(watcher.messages).toHaveLength(4);
    expect([...(await watchTopics(url, 'kept/#')).last.keys()]).toEqual(['kept/2']);
    expect(lines.messages).toEqual([
      'warn: Built-in MQTT broker: too many retained messages, not stored (once, last at kept/1)',
    ]);
    await Promise.all(Array.from({ length: 15 }, (_, at) => keep(`large/${at}`, '')));
    const names = Array.from({ length: 10_001 }, (_, at) => `many/${at}`);
    await Promise.all(names.map((name) => keep(name, 'x')));
    const found = await watchTopics(url, ['many/#', 'kept/#']);
    expect(found.last.size).toBe(10_000);
  });

  it('says that its port is taken', async () => {
    const { port } = await startBroker();
    const second = new EmbeddedBroker({
      host: '127.0.0.1',
      port,
      username: undefined,
      password: async () => undefined,
      unreadMs: 2_500,
      log: logLines().log,
    });
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await second.stop();
  });

  it('closes all connections when it stops, active or idle, and frees its port', async () => {
    const { broker, port, url } = await startBroker();
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    const { connection } = await connected(url, { protocolVersion: 4 });
    const hungUp = once(silent, 'close');
    silent.resume();
    await broker.stop();
    await hungUp;
    await waitFor(() => !connection.isConnected, { what: 'the loss to be noticed' });
    expect((await startBroker({ port })).port).toBe(port);
  });

  it.each([
    ['says nothing', Buffer.alloc(0)],
    ['begins to greet and goes no further', Buffer.from([0x10, 20, 0, 4])],
    ['announces a greeting of 256 MB', Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
    ['announces a message of 256 MB', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])],
  ])('closes the connection of a client that %s', async (_what, bytes) => {
    const { port, url } = await startBroker({ username: 'user-1', password: async () => 'pass-1' });
    const stranger = connect(port, '127.0.0.1');
    stranger.on('error', () => undefined).resume();
    stranger.write(bytes);
    await once(stranger, 'close');
    const credentials = { protocolVersion: 4, username: 'user-1', password: async () => 'pass-1' } as const;
    expect((await connected(url, credentials)).events).toEqual(['connected']);
  });

  it('accepts a long message of a client that has signed in, and closes the connection of one that has not', async () => {
    const { port, url } = await startBroker();
    const watcher = await watchTopics(url, '#');
    await watcher.publish('long', 'x'.repeat(1_000_000));
    await watcher.waitForTopic('long', (text) => text.length === 1_000_000);
    const stranger = connect(port, '127.0.0.1');
    const closed = new Promise<void>((resolve) => stranger.on('close', () => resolve()));
    stranger.on('error', () => undefined).resume();
    const startedAt = performance.now();
    // The beginning of a greeting of 256 MB.
    stranger.write(Buffer.concat([Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(1_000_000)]));
    await closed;
    // Without a limit, it would end with the time for signing in, after five seconds.
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    expect([...watcher.last.keys()]).toEqual(['long']);
  });

  it('delivers a command at once beside a client that does not read, and disconnects that client', async () => {
    const { url, port } = await startBroker({ unreadMs: 4_000 });
    const frozen = connect(port, '127.0.0.1');
    onTestFinished(() => void frozen.destroy());
    frozen.on('error', () => undefined).write(mqttPacket({ cmd: 'connect', clientId: 'frozen' }));
    await once(frozen, 'data');
    frozen.write(mqttPacket({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 0 }] }));
    await once(frozen, 'data');
    frozen.pause();
    const { received } = await connected(url, { protocolVersion: 4, subscriptions: ['set'] });
    const observer = await watchTopics(url, ['busy/last', '$SYS/+/disconnect/clients']);
    const publishers = await Promise.all(
      Array.from({ length: 5 }, () => mqtt.connectAsync(url, { reconnectPeriod: 0 })),
    );
    onTestFinished(() => void publishers.map((publisher) => publisher.end(true)));
    // More than the buffers of the system take, in few messages, so that a busy computer reads in time: after that, everybody who sends to the frozen client waits.
    for (const publisher of publishers) {
      for (let count = 0; count < 500; count++) publisher.publish('busy/message', Buffer.alloc(16_000));
      publisher.publish('busy/last', 'sent');
    }
    const sender = await mqtt.connectAsync(url, { reconnectPeriod: 0 });
    onTestFinished(() => void sender.end(true));
    const latencies: number[] = [];
    const isFrozen = () => observer.messages.filter(({ topic }) => topic === 'busy/last').length < 5;
    while (isFrozen()) {
      const sentAt = performance.now();
      const before = received.length;
      sender.publish('set', 'CLOSE');
      await waitFor(() => received.length > before, { what: 'the command', timeoutMs: 20_000 });
      latencies.push(performance.now() - sentAt);
    }
    expect(latencies.length).toBeGreaterThan(3);
    expect(Math.max(...latencies)).toBeLessThan(3_000);
    expect(observer.messages.map(({ text }) => text)).toContain('frozen');
  });

  it('takes a hundred clients and no more', async () => {
    const { port } = await startBroker();
    const clients = Array.from({ length: 101 }, () => connect(port, '127.0.0.1'));
    const closed = clients.map(async (client) => {
      client.on('error', () => undefined).resume();
      await once(client, 'close');
      return client;
    });
    onTestFinished(() => {
      for (const client of clients) client.destroy();
    });
    await Promise.race(closed);
    expect(clients.filter((client) => client.destroyed)).toHaveLength(1);
  });

  it('stays when somebody sends no MQTT', async () => {
    const { port, url } = await startBroker();
    const stranger = connect(port, '127.0.0.1');
    stranger.on('error', () => undefined).resume();
    stranger.write('GET / HTTP/1.1\r\n\r\n');
    await once(stranger, 'close');
    expect((await connected(url, { protocolVersion: 4 })).events).toEqual(['connected']);
  });
});
