import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MessageLimit } from '../../../src/broker/messageLimit.ts';
import { PacketLimit } from '../../../src/broker/packetLimit.ts';
import { Retained } from '../../../src/broker/retained.ts';
import { openConnection, startEmbedded } from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { waitFor } from '../../support/waitFor.ts';

/** A broker that closes the connection at each packet that is longer, without a word. */
async function startClosingAt(
  maxBytes: number,
): Promise<{ url: string; port: number; visits: () => number }> {
  const { port, url } = await startEmbedded();
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    const target = dial(port, '127.0.0.1');
    const end = () => {
      socket.destroy();
      target.destroy();
    };
    const limit = new PacketLimit(maxBytes, end);
    socket.on('data', (bytes) => {
      limit.apply(bytes);
      if (!socket.destroyed) target.write(bytes);
    });
    target.on('data', (bytes) => socket.write(bytes));
    for (const each of [socket, target]) each.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url, port: (server.address() as AddressInfo).port, visits: () => visits };
}

/** Publishes messages of these lengths at each connection, as the bridge does. */
function publishAll(url: string, lengths: readonly number[], protocolVersion: 4 | 5) {
  const opened = openConnection(url, { protocolVersion });
  const retained = new Retained(opened.connection, opened.lines.log);
  let answers = 0;
  opened.connection.on('connected', async () => {
    answers = 0;
    retained.markAllUnknown();
    for (const length of lengths) {
      await retained.waitForRoom();
      retained.put(`of/${length}`, 'x'.repeat(length), () => {
        answers += 1;
      });
    }
  });
  const untilAnswered = () => waitFor(() => answers === lengths.length, { what: 'an answer to each' });
  return { ...opened, retained, untilAnswered };
}

const lengths = [30_000, 50, 12_000, 3_000, 500, 7_000, 45_000, 20_000, 4_000, 60, 12_001];
const accepted = lengths.filter((length) => length < 8_000);

describe('a broker that closes the connection at a large message', () => {
  it('gets all that it accepts, and the rest is named', async () => {
    const broker = await startClosingAt(8_192);
    const { connection, lines, retained, untilAnswered } = publishAll(
      `mqtt://127.0.0.1:${broker.port}`,
      lengths,
      4,
    );
    await untilAnswered();
    const visits = broker.visits();
    expect(visits).toBeLessThan(8);
    const watcher = await watchTopics(broker.url, 'of/+');
    expect([...watcher.last.keys()].toSorted()).toEqual(accepted.map((length) => `of/${length}`).toSorted());
    expect(retained.refusal?.reason).toMatch(/^of\/\d+ has \d+ bytes\. The broker accepts at most 12\d\d\d$/);
    for (const length of lengths.filter((each) => each > 8_000)) {
      expect(lines.text).toMatch(new RegExp(`The MQTT broker rejected of/${length}: `));
    }
    expect(lines.text).toMatch(/the broker closes the connection at of\/30000 with 30\d\d\d bytes/);
    expect(lines.text).not.toContain('another client');
    // It stays, and a large message later does no harm.
    expect(connection.roomFor('of/1')).toBeLessThan(12_100);
    await connection.publish('later', 'x'.repeat(4_000), { retain: true });
    expect(broker.visits()).toBe(visits);
  });

  it.skipIf(!mosquittoAvailable())('or answers it as the MQTT library does not accept', async () => {
    const { url } = await startMosquitto({ lines: ['message_size_limit 8000'] });
    const { lines, untilAnswered } = publishAll(url, lengths, 5);
    await untilAnswered();
    const watcher = await watchTopics(url, 'of/+');
    expect([...watcher.last.keys()].toSorted()).toEqual(accepted.map((length) => `of/${length}`).toSorted());
    expect(lines.text).toMatch(/The MQTT broker rejected of\/45000: /);
  });
});

describe('the limit of a broker that names none', () => {
  const large = (bytes: number, topic = `of/${bytes}`) => ({ topic, bytes });

  it.each([
    ['no end with a large message', [undefined, undefined], [false, Number.POSITIVE_INFINITY]],
    ['one end', [large(5_000)], [true, Number.POSITIVE_INFINITY]],
    ['one end with it alone', [large(5_000), large(5_000)], [true, Number.POSITIVE_INFINITY]],
    ['two with it alone', [large(5_000), large(5_000), large(5_000)], [true, 4_999]],
    ['two with others', [large(5_000), large(5_000), large(6_000)], [true, Number.POSITIVE_INFINITY]],
    [
      'one more with a shorter one after that',
      [large(5_000), large(5_000), large(5_000), large(3_000)],
      [true, 2_999],
    ],
  ])('after %s', (_, ends, expected) => {
    const limit = new MessageLimit();
    for (const each of ends) limit.ended(each, false);
    expect([limit.isOneAtATime, limit.maxBytes]).toEqual(expected);
  });

  it('is found out again after a lasting connection, with one end, and forgotten once nothing was too long', () => {
    const limit = new MessageLimit();
    for (let ends = 0; ends < 3; ends++) limit.ended(large(5_000), false);
    limit.ended(undefined, true);
    expect([limit.isOneAtATime, limit.maxBytes]).toEqual([true, Number.POSITIVE_INFINITY]);
    limit.ended(large(5_000), false);
    expect(limit.maxBytes).toBe(4_999);
    limit.ended(undefined, true);
    limit.ended(undefined, true);
    expect([limit.isOneAtATime, limit.maxBytes]).toEqual([false, Number.POSITIVE_INFINITY]);
  });
});
