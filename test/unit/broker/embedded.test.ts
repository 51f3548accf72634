import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Secrets } from '../../../src/base/secrets.ts';
import { EmbeddedBroker, type EmbeddedOptions } from '../../../src/broker/embedded.ts';
import { rereadPassword } from '../../../src/partOptions.ts';
import { codec } from '../../simulation/wire.ts';
import { connected, openConnection } from '../../support/brokers.ts';
import { logLines } from '../../support/logLines.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const mqttPacket = (packet: object) =>
  codec.generate({ protocolId: 'MQTT', protocolVersion: 4, clean: true, ...packet });

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

/** Connects without a library. Whatever the broker sends is read and dropped. */
async function dialRaw(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  return socket;
}

/** A client without a library, which has signed in. */
async function signInRaw(port: number, clientId: string): Promise<Socket> {
  const socket = await dialRaw(port);
  socket.write(mqttPacket({ cmd: 'connect', clientId }));
  await once(socket, 'data');
  return socket;
}

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

/** From now on the time of the broker stands still, until it is told to pass. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
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
    client.publish('longer', Buffer.alloc(1024 * 1024), { qos: 1 }, () => undefined);
    await new Promise<void>((resolve) => client.once('close', () => resolve()));
  });

  it.each(['a\0b', 'a/+', 'a/#'])('closes the connection at the topic %j', async (topic) => {
    const { port } = await startBroker();
    const client = await signInRaw(port, 'odd');
    const written = mqttPacket({ cmd: 'publish', topic: 'x'.repeat(topic.length), payload: 'x' });
    written.write(topic, written.indexOf('x'));
    client.write(written);
    await closed(client);
  });

  it('stores ten thousand messages and 16 MiB in all, delivers what is beyond, and says so', async () => {
    const { url, port, lines } = await startBroker();
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
    const filler = await signInRaw(port, 'filler');
    const topics = Array.from({ length: 10_000 }, (_, at) => `many/${at}`);
    const packets = topics.map((topic) => mqttPacket({ cmd: 'publish', topic, payload: 'x', retain: true }));
    filler.write(Buffer.concat([...packets, mqttPacket({ cmd: 'pingreq' })]));
    await once(filler, 'data');
    const found = await watchTopics(url, ['many/9998', 'many/9999', 'kept/#']);
    expect([...found.last.keys()].toSorted()).toEqual(['kept/2', 'many/9998']);
  });

  it('says that its port is taken', async () => {
    const { port } = await startBroker();
    await expect(startBroker({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('closes all connections when it stops, active or idle, and frees its port', async () => {
    const { broker, port, url } = await startBroker();
    const silent = await dialRaw(port);
    const { connection } = await connected(url, { protocolVersion: 4 });
    const hungUp = closed(silent);
    await broker.stop();
    await hungUp;
    await waitFor(() => !connection.isConnected, { what: 'the loss to be noticed' });
    expect((await startBroker({ port })).port).toBe(port);
  });

  it.each([
    ['says nothing', Buffer.alloc(0)],
    ['begins to greet and goes no further', Buffer.from([0x10, 20, 0, 4])],
  ])('closes the connection of a client that %s after five seconds', async (_what, bytes) => {
    const { port } = await startBroker();
    stopTime();
    const stranger = await dialRaw(port);
    const hungUp = closed(stranger);
    stranger.write(bytes);
    await waitFor(() => vi.getTimerCount() > 0, { what: 'the broker to see it' });
    vi.advanceTimersByTime(4_999);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    vi.advanceTimersByTime(1);
    await hungUp;
  });

  it.each([
    ['announces a greeting of 256 MB', Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
    ['announces a message of 256 MB', Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])],
    [
      'greets with more than 64 KiB',
      Buffer.concat([Buffer.from([0x10, 0xff, 0xff, 0x3f]), Buffer.alloc(65_600)]),
    ],
    ['sends no MQTT', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ])('closes the connection of a client that %s at once, and stays for others', async (_what, bytes) => {
    const { port, url } = await startBroker({ username: 'user-1', password: async () => 'pass-1' });
    stopTime();
    const stranger = await dialRaw(port);
    stranger.write(bytes);
    await closed(stranger);
    vi.useRealTimers();
    const credentials = { protocolVersion: 4, username: 'user-1', password: async () => 'pass-1' } as const;
    expect((await connected(url, credentials)).events).toEqual(['connected']);
  });

  it('delivers a command at once beside a client that does not read, and disconnects that client', async () => {
    const { url, port } = await startBroker();
    const frozen = await signInRaw(port, 'frozen');
    frozen.write(mqttPacket({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: '#', qos: 0 }] }));
    await once(frozen, 'data');
    frozen.pause();
    const observer = await watchTopics(url, ['set', '$SYS/+/disconnect/clients']);
    stopTime();
    const messages = (count: number, bytes: number) =>
      Buffer.concat(
        Array.from({ length: count }, () =>
          mqttPacket({ cmd: 'publish', topic: 'busy', payload: Buffer.alloc(bytes) }),
        ),
      );
    // More than the buffers of the system take. After that, everybody who sends to the frozen client waits.
    (await signInRaw(port, 'writer')).write(messages(1_000, 16_000));
    const isBlocked = () => vi.getTimerCount() > 0;
    await waitFor(isBlocked, { what: 'the broker to wait for it', timeoutMs: 10_000 });
    // More than aedes handles at a time by default.
    (await signInRaw(port, 'crowd')).write(messages(200, 1));
    for (let count = 1; count <= 5; count++) {
      const sender = await signInRaw(port, `sender-${count}`);
      sender.write(mqttPacket({ cmd: 'publish', topic: 'set', payload: `${count}` }));
      const isThere = () => observer.last.get('set') === `${count}`;
      await waitFor(isThere, { what: 'the command', timeoutMs: 10_000, intervalMs: 1 });
    }
    vi.advanceTimersByTime(2_499);
    await observer.settle();
    expect(observer.messages.map(({ text }) => text)).not.toContain('frozen');
    vi.advanceTimersByTime(1);
    await observer.waitForMessage(({ text }) => text === 'frozen', { what: 'its end', timeoutMs: 10_000 });
  });

  it('takes a hundred clients and no more', async () => {
    const { port } = await startBroker();
    await Promise.all(Array.from({ length: 100 }, (_, at) => signInRaw(port, `client-${at}`)));
    await closed(await dialRaw(port));
  });
});
