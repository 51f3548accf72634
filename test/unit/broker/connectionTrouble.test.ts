import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { connectAsync } from 'mqtt';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NotConnectedError } from '../../../src/broker/notConnectedError.ts';
import { brokerKinds, connected, openConnection, startEmbedded } from '../../support/brokers.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { passTime } from '../../support/passTime.ts';
import { freePort } from '../../support/ports.ts';
import { startTcpProxy } from '../../support/tcpProxy.ts';
import { waitFor } from '../../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());
const unanswered =
  'the connection was closed before any answer. Check the port, mqtt:// or mqtts://, and mqtt.username and mqtt.password';

/** Of MQTT, as the first packet of a client says. */
const versionOf = (firstBytes: Buffer) => firstBytes[firstBytes.indexOf('MQTT') + 4];

describe('a connection', () => {
  it('asks for MQTT 5 again at each return: the broker that refused it may have been upgraded', async () => {
    const { port } = await startEmbedded();
    const versions: (number | undefined)[] = [];
    const proxy = await startTcpProxy(port, (firstBytes) => {
      versions.push(versionOf(firstBytes));
      return true;
    });
    const { events, lines } = await connected(`mqtt://127.0.0.1:${proxy.port}`);
    expect(events).toEqual(['connected']);
    expect(lines.messages[0]).toMatch(/^info: Connected to the MQTT broker .* \(MQTT 3\.1\.1\)$/);
    expect(lines.text).not.toContain('warn');
    proxy.reset();
    const isBack = () => events.filter((each) => each === 'connected').length === 2;
    await waitFor(isBack, { what: 'the connection to be back' });
    expect(versions).toEqual([5, 4, 5, 4]);
  });

  it('uses MQTT 3.1.1 where the broker closes the connection at MQTT 5 without a word', async () => {
    const { port } = await startEmbedded();
    const proxy = await startTcpProxy(port, (firstBytes) => versionOf(firstBytes) === 4);
    const { events, lines } = await connected(`mqtt://127.0.0.1:${proxy.port}`);
    expect(events).toEqual(['connected']);
    expect(lines.messages).toEqual([
      `info: Connected to the MQTT broker mqtt://127.0.0.1:${proxy.port} (MQTT 3.1.1)`,
    ]);
    proxy.reset();
    await waitFor(() => events.filter((each) => each === 'connected').length === 2, {
      what: 'the connection to be back',
    });
    expect(proxy.connectionCount).toBe(4);
  });

  it('uses MQTT 3.1.1 where the broker does not answer MQTT 5 for 15 seconds', async () => {
    const { port } = await startEmbedded();
    const clock = new FakeClock();
    const versions: (number | undefined)[] = [];
    const server = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once('data', (firstBytes) => {
          versions.push(versionOf(firstBytes));
          if (versionOf(firstBytes) !== 4) return;
          const target = dial(port, '127.0.0.1');
          target.write(firstBytes);
          socket.pipe(target).pipe(socket);
        }),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { connection, lines } = openConnection(url, {}, clock);
    await waitFor(() => versions.length === 1, { what: 'the first attempt' });
    await passTime(clock, 15_000, 1_000);
    await waitFor(() => connection.isConnected, { what: 'the connection' });
    expect(versions).toEqual([5, 4]);
    expect(lines.text).toContain('(MQTT 3.1.1)');
  });

  it('says that the password may be wrong where the broker closes the connection at each', async () => {
    const versions: (number | undefined)[] = [];
    const proxy = await startTcpProxy(await freePort(), (firstBytes) => {
      versions.push(versionOf(firstBytes));
      return false;
    });
    const { events } = openConnection(`mqtt://127.0.0.1:${proxy.port}`);
    await waitFor(() => events.length > 0, { what: 'the attempt to fail' });
    expect(versions).toEqual([5, 4]);
    expect(events).toEqual([`failed: ${unanswered}`]);
  });

  onMosquitto('stays with MQTT 5 where a broker that has used it restarts behind a proxy', async () => {
    const { port } = await startMosquitto();
    const versions: (number | undefined)[] = [];
    let hangUps = 0;
    const proxy = await startTcpProxy(port, (firstBytes) => {
      versions.push(versionOf(firstBytes));
      hangUps -= 1;
      return hangUps < 0;
    });
    const { events, lines } = await connected(`mqtt://127.0.0.1:${proxy.port}`);
    hangUps = 2;
    proxy.reset();
    await waitFor(() => events.filter((each) => each === 'connected').length === 2, {
      what: 'the connection to be back',
    });
    expect(versions).toEqual([5, 5, 5, 5]);
    expect(lines.messages.at(-1)).toMatch(/\(MQTT 5\)$/);
  });

  it('takes a broker that restarts twice for no other client of the same id', async () => {
    const { port } = await startEmbedded();
    const proxy = await startTcpProxy(port);
    const { connection, events, lines } = await connected(`mqtt://127.0.0.1:${proxy.port}`);
    for (let restarts = 0; restarts < 3; restarts++) {
      const from = events.length;
      proxy.cut();
      await waitFor(() => events.slice(from).some((each) => each.startsWith('failed')), {
        what: 'an attempt to fail',
      });
      proxy.repair();
      await waitFor(() => connection.isConnected, { what: 'the connection' });
    }
    expect(lines.text).toContain('the connection was closed');
    expect(lines.text).not.toContain('another client');
  });

  it('waits for a broker that is not there yet', async () => {
    const { connection, events } = openConnection(`mqtt://localhost:${await freePort()}`);
    await expect(connection.publish('a', 'b', { retain: false })).rejects.toThrow(
      'the MQTT broker is offline',
    );
    await expect(connection.readRetained(['#'], () => undefined)).rejects.toThrow(NotConnectedError);
    await waitFor(() => events.length === 1, { what: 'the first attempt to fail' });
    expect(events[0]).toBe('failed: connection refused. Check the broker and its port');
  });

  it('says in words that there is no such host', async () => {
    const { events } = openConnection('mqtt://no-such-host.invalid:1');
    await waitFor(() => events.length > 0, { what: 'the attempt to fail' });
    expect(events[0]).toMatch(/^failed: (no such host|the name server does not answer)$/);
  });

  onMosquitto.each([5, 4] as const)(
    'with MQTT %i says in words that the password is wrong, and asks for it again',
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

  it('whose password cannot be read says why, and tries again', async () => {
    const { url } = await startEmbedded();
    let reads = 0;
    const { connection, events } = openConnection(url, {
      protocolVersion: 4,
      password: async () => {
        reads += 1;
        if (reads === 1) throw new Error('cannot read the file mqtt.password_file');
        return undefined;
      },
    });
    await waitFor(() => connection.isConnected, { what: 'the connection' });
    expect(events).toEqual(['failed: cannot read the file mqtt.password_file', 'connected']);
  });

  onMosquitto('knows to the byte how much the broker takes with a topic', async () => {
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
      expect(received.at(-1)).toEqual({
        topic: 'request',
        payload: '{}',
        isRetained: false,
        isText: true,
        mayBeStored: 'unproven',
        sentAfter: expect.any(Number),
        responseTopic: 'answer',
        correlationData,
      });
      const from = watcher.messages.length;
      await connection.publish('answer', 'x', { retain: false, correlationData });
      const answer = await watcher.waitForMessage(({ topic }) => topic === 'answer', {
        what: 'the answer',
        from,
      });
      expect(answer.properties?.correlationData).toEqual(correlationData);
    }
  });

  onMosquitto('trusts the authority that it is given, and no other', async () => {
    const { url, caFile } = await startMosquitto({ tls: true });
    const ca = readFileSync(caFile ?? '', 'utf8');
    await connected(url, {
      tls: async () => ({ ca, cert: undefined, key: undefined, rejectUnauthorized: true }),
    });
    const { events } = openConnection(url);
    await waitFor(() => events.length > 0, { what: 'the distrust' });
    expect(events[0]).toMatch(/certificate/);
    await connected(url, {
      tls: async () => ({ ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: false }),
    });
  });
});

describe.each(brokerKinds)(
  'on $name, two bridges with one base topic',
  ({ isInstalled, protocolVersion, start }) => {
    const here = it.skipIf(!isInstalled);
    const options = { protocolVersion, baseTopic: 'home', clientId: 'home', pingEveryMs: 3_600_000 } as const;

    here('are not both connected: the newer goes on, and the older stands still and comes back', async () => {
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
      const older = openConnection(url, options, clock);
      await waitFor(() => older.connection.isConnected, { what: 'the first connection' });
      await passTime(clock, 40_000, 10_000);
      const newer = openConnection(url, options, clock);
      await passUntil('the older one to stand still', () => older.connection.isStandingStill);
      await passUntil('the newer one to go on', () => newer.connection.isConnected);
      await passTime(clock, 40_000, 10_000);
      expect([older.connection.isConnected, newer.connection.isConnected]).toEqual([false, true]);
      expect(older.connection.trouble).toContain('another sonic2mqtt uses the base topic home.');
      expect([older.lines.text, newer.lines.text].map((text) => text.includes('another sonic2mqtt'))).toEqual(
        [true, false],
      );
      await newer.connection.stop([]);
      await passTime(clock, 20_000, 10_000);
      await passUntil('the older one to come back', () => older.connection.isConnected);
      expect(older.connection.isStandingStill).toBe(false);
    });

    here('of which one has died replace each other at once, also before the broker has noticed', async () => {
      const { url } = await start();
      for (let restarts = 0; restarts < 5; restarts++) {
        // The connection of a killed process, which the broker has not yet noticed.
        const dead = await connectAsync(url, { protocolVersion: 4, clientId: 'home', reconnectPeriod: 0 });
        onTestFinished(() => void dead.end(true));
        const { connection, events } = await connected(url, options);
        expect(events).toEqual(['connected']);
        await connection.stop([]);
      }
    });
  },
);
