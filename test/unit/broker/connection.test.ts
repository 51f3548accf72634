import { readFileSync } from 'node:fs';
import { type AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { connectAsync } from 'mqtt';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeUrl } from '../../../src/broker/brokerUrl.ts';
import { brokerKinds, connected, openConnection } from '../../support/brokers.ts';
import { certificates } from '../../support/certificates.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { passTime } from '../../support/passTime.ts';
import { waitFor } from '../../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());
const retained = { retain: true } as const;
const live = { retain: false } as const;

describe.each(brokerKinds)('on $name', ({ isInstalled, protocolVersion, loggedVersion, start }) => {
  const here = it.skipIf(!isInstalled);

  here('a connection says what it speaks, hears what it subscribed to, and holds nothing back', async () => {
    const { url, port } = await start();
    const atOnce = vi.spyOn(Socket.prototype, 'setNoDelay');
    onTestFinished(() => atOnce.mockRestore());
    const { connection, received, events, lines } = await connected(url, {
      protocolVersion,
      subscriptions: ['a/+/set', 'b'],
    });
    const own = atOnce.mock.contexts.flatMap((socket, index) =>
      (socket as Socket).remotePort === port ? [atOnce.mock.calls[index]] : [],
    );
    expect(own).toEqual([[true]]);
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
    expect(lines.messages).toEqual([
      `info: Connected to the MQTT broker mqtt://127.0.0.1:${port} (${loggedVersion})`,
    ]);
  });

  here('a command is certainly live once the bridge has seen its own state as a stored message', async () => {
    const { url } = await start();
    const will = { topic: 'bridge/state', payload: 'offline' };
    const options = { protocolVersion, subscriptions: ['a/set'], will };
    const watcher = await watchTopics(url, 'none');
    const isProven = async ({ received, connection }: Awaited<ReturnType<typeof connected>>) => {
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
    await isProven(first);
    await first.connection.stop([]);
    await isProven(await connected(url, options));
  });

  here('a connection reads far more than a broker queues', async () => {
    const { url } = await start();
    const { connection } = await connected(url, { protocolVersion });
    const topics = Array.from({ length: 1_500 }, (_, index) => `many/${index}`);
    await Promise.all([...topics, 'other/1'].map((topic) => connection.publish(topic, topic, retained)));
    const found = new Set<string>();
    const isEnough = () => found.size === 1_501;
    await connection.readRetained(['other/+', 'many/+'], ({ payload }) => found.add(payload), isEnough);
    expect(found).toEqual(new Set([...topics, 'other/1']));
  });

  here('a connection hears when its own last will is published while it lives', async () => {
    const { url } = await start();
    const watcher = await watchTopics(url, 'state');
    await watcher.publish('state', 'offline', retained);
    const will = { topic: 'state', payload: 'offline' };
    const opened = await connected(url, { protocolVersion, will, subscriptions: ['set'] });
    await opened.connection.publish('state', 'online', retained);
    await watcher.publish('set', 'the end of what was kept');
    await waitFor(() => opened.received.length === 1, { what: 'the command' });
    // What the broker had kept is of the connection before, and the rest is its own.
    expect(opened.events).toEqual(['connected']);
    await watcher.publish('state', 'offline', retained);
    await waitFor(() => opened.events.length > 1, { what: 'the news of its death' });
    expect(opened.events).toEqual(['connected', 'will published']);
    expect(opened.received.map(({ topic }) => topic)).toEqual(['set']);
  });

  const sameTopics = {
    protocolVersion,
    baseTopic: 'home',
    clientId: 'home',
    pingEveryMs: 3_600_000,
  } as const;

  here('of two bridges with one base topic, the older stands still and comes back', async () => {
    const { url } = await start();
    const clock = new FakeClock();
    const passUntil = async (what: string, isSo: () => boolean) => {
      await waitFor(
        () => {
          clock.advance(100);
          return isSo();
        },
        { what },
      );
    };
    const older = openConnection(url, sameTopics, clock);
    await waitFor(() => older.connection.isConnected, { what: 'the first connection' });
    await passTime(clock, 40_000, 10_000);
    const newer = openConnection(url, sameTopics, clock);
    await passUntil('the older one to stand still', () => older.connection.isStandingStill);
    await passUntil('the newer one to go on', () => newer.connection.isConnected);
    await passTime(clock, 40_000, 10_000);
    expect([older.connection.isConnected, newer.connection.isConnected]).toEqual([false, true]);
    expect(older.connection.trouble).toContain('another sonic2mqtt uses the base topic home.');
    expect([older.lines.text, newer.lines.text].map((text) => text.includes('another sonic2mqtt'))).toEqual([
      true,
      false,
    ]);
    await newer.connection.stop([]);
    await passTime(clock, 20_000, 10_000);
    await passUntil('the older one to come back', () => older.connection.isConnected);
    expect(older.connection.isStandingStill).toBe(false);
  });

  here('a bridge takes the place of one that has died, also before the broker has noticed', async () => {
    const { url } = await start();
    for (let restarts = 0; restarts < 5; restarts++) {
      // The connection of a killed process, which the broker has not yet noticed.
      const dead = await connectAsync(url, { protocolVersion: 4, clientId: 'home', reconnectPeriod: 0 });
      onTestFinished(() => void dead.end(true));
      const { connection, events } = await connected(url, sameTopics);
      expect(events).toEqual(['connected']);
      await connection.stop([]);
    }
  });
});

onMosquitto('what a broker has sent by its answer to a ping is all, and is no news to wait for', async () => {
  const { url } = await startMosquitto({ lines: ['max_queued_messages 1000'] });
  const { connection } = await connected(url);
  const topics = Array.from({ length: 3_000 }, (_, index) => `${index % 3}/${index}`);
  await Promise.all(topics.map((topic) => connection.publish(topic, topic, retained)));
  const found = new Set<string>();
  const readings: number[] = [];
  await connection.readRetained(
    ['0/+', '1/+', 'none', '2/+'],
    ({ topic }) => found.add(topic),
    () => readings.push(found.size) > 0,
  );
  expect(readings).toEqual([3_000]);
});

it('an address is shown without its credentials and its path', () => {
  expect(describeUrl('mqtts://me:secret@example.com:8883/path?x')).toBe('mqtts://example.com:8883');
  expect(describeUrl('mqtt://[::1]')).toBe('mqtt://[::1]');
});

onMosquitto.each([5, 4] as const)(
  'with MQTT %i a connection says in words that the password is wrong, and asks for it again',
  async (protocolVersion) => {
    const { url, port } = await startMosquitto({ password: { user: 'bridge', password: 'right' } });
    let password = 'wrong-password';
    const { connection, events, lines } = openConnection(url, {
      protocolVersion,
      username: 'bridge',
      password: async () => password,
    });
    const reason = 'not authorized. Check mqtt.username and mqtt.password';
    await waitFor(() => events.length > 0, { what: 'the refusal' });
    expect(events).toEqual([`failed: ${reason}`]);
    expect(lines.messages).toEqual([`warn: MQTT broker mqtt://127.0.0.1:${port}: ${reason}. Retrying`]);
    password = 'right';
    await waitFor(() => connection.isConnected, { what: 'the connection' });
    expect(lines.text).not.toContain('wrong-password');
  },
);

onMosquitto('a connection knows to the byte how much the broker takes with a topic', async () => {
  const { url } = await startMosquitto({ lines: ['max_packet_size 5000'] });
  const { connection } = await connected(url);
  const correlationData = Buffer.alloc(100);
  for (const answered of [undefined, correlationData]) {
    const room = connection.roomFor('big', answered);
    const options = { retain: false, correlationData: answered };
    await connection.publish('big', 'x'.repeat(room), options);
    await expect(connection.publish('big', 'x'.repeat(room + 1), options)).rejects.toThrow(
      'big has 5001 bytes. The broker accepts at most 5000',
    );
  }
  expect(connection.roomFor('big') - connection.roomFor('big', correlationData)).toBeGreaterThan(100);
});

onMosquitto('with MQTT 5 hears where an answer is wanted and gives back what goes with it', async () => {
  const { url } = await startMosquitto();
  const { connection, received } = await connected(url, { subscriptions: ['request'] });
  const watcher = await watchTopics(url, 'answer', { protocolVersion: 5 });
  for (const correlationData of [Buffer.from([0, 255, 10, 0xc3]), Buffer.alloc(0)]) {
    await watcher.publish('request', '{}', { properties: { responseTopic: 'answer', correlationData } });
    await waitFor(() => received.at(-1)?.correlationData?.equals(correlationData), { what: 'the request' });
    expect(received.at(-1)).toMatchObject({ topic: 'request', responseTopic: 'answer', correlationData });
    const from = watcher.messages.length;
    await connection.publish('answer', 'x', { retain: false, correlationData });
    const isAnswer = ({ topic }: { topic: string }) => topic === 'answer';
    const answer = await watcher.waitForMessage(isAnswer, { what: 'the answer', from });
    expect(answer.properties?.correlationData).toEqual(correlationData);
  }
});

onMosquitto('trusts the authority that it is given, and no other', async () => {
  const { url, caFile, folder } = await startMosquitto({ tls: true });
  const nothing = { ca: undefined, cert: undefined, key: undefined };
  const ca = readFileSync(caFile ?? '', 'utf8');
  await connected(url, { tls: async () => ({ ...nothing, ca, rejectUnauthorized: true }) });
  // Alone, without that of the authority, which Mosquitto sends too.
  const [key, cert] = ['server.key', 'server.crt'].map((file) => readFileSync(join(folder, file)));
  const alone = createServer({ key, cert } as { key: Buffer; cert: Buffer });
  await new Promise<void>((resolve) => alone.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void alone.close());
  for (const [stranger, words] of [
    [url, /^failed: self-signed certificate in certificate chain\. Check mqtt\.ca_file$/],
    [
      `mqtts://127.0.0.1:${(alone.address() as AddressInfo).port}`,
      /whole certificate chain, or mqtt\.ca_file is/,
    ],
  ] as const) {
    const { events } = openConnection(stranger);
    await waitFor(() => events.length > 0, { what: 'the distrust' });
    expect(events[0]).toMatch(words);
  }
  await connected(url, { tls: async () => ({ ...nothing, rejectUnauthorized: false }) });
});

onMosquitto('says in words that the broker wants a client certificate, and takes another one', async () => {
  const lines = ['require_certificate true', 'use_identity_as_username true'];
  const { url, caFile } = await startMosquitto({ tls: true, lines });
  const trusted = { ca: readFileSync(caFile ?? '', 'utf8'), rejectUnauthorized: true };
  for (const [own, words] of [
    [{ cert: undefined, key: undefined }, 'needs a client certificate. Set mqtt.cert_file and mqtt.key_file'],
    [certificates.stranger, 'rejects the certificate in mqtt.cert_file'],
  ] as const) {
    const { events } = openConnection(url, { tls: async () => ({ ...trusted, ...own }) });
    await waitFor(() => events.length > 0, { what: 'the refusal' });
    expect(events[0]).toBe(`failed: the broker ${words}`);
  }
});
