import { createRequire } from 'node:module';
import type { Packet } from 'mqtt';
import { expect, it } from 'vitest';
import { PacketLimit } from '../../../src/broker/packetLimit.ts';

const { generate }: { generate(packet: Packet): Buffer } = createRequire(
  createRequire(import.meta.url).resolve('mqtt'),
)('mqtt-packet');

const message = (length: number, messageId: number) =>
  generate({
    cmd: 'publish',
    topic: 'a/topic',
    payload: Buffer.alloc(length, 'x'),
    qos: 1,
    messageId,
    dup: false,
    retain: true,
  });

const topicBytes = 2 + 'a/topic'.length + 2;

it.each([1, 2, 3, 7, 1_000, 100_000])(
  'packets in pieces of %i bytes pass as they are, and one that is too long is cut',
  (pieceBytes) => {
    const maxBytes = 20_000;
    const fitting = maxBytes - topicBytes;
    const packets = [
      message(3, 1),
      generate({ cmd: 'pingresp' }),
      message(200, 2),
      message(fitting, 3),
      message(fitting + 1, 4),
      message(2_500_000, 5),
      generate({ cmd: 'pingresp' }),
      message(5, 6),
    ];
    const tooLong: number[] = [];
    const limit = new PacketLimit(maxBytes, (bytes) => tooLong.push(bytes));
    const passed: Buffer[] = [];
    const stream = Buffer.concat(packets);
    const ends = packets.map((_, index) => Buffer.concat(packets.slice(0, index + 1)).length);
    for (let at = 0; at < stream.length; ) {
      const begin = ends.findLast((end) => end <= at) ?? 0;
      const end = ends.find((each) => each > at) ?? 0;
      // Nothing happens between the first and the last bytes of a packet.
      const isInside = at - begin > 100 && end - at > 100;
      const next = isInside ? Math.max(at + pieceBytes, end - 100) : at + pieceBytes;
      passed.push(limit.apply(stream.subarray(at, next)));
      at = next;
    }
    const cut = (messageId: number) => {
      const bytes = Buffer.from(message(fitting, messageId));
      bytes[bytes.length - 1] = 0xff;
      return bytes;
    };
    const expected = [
      message(3, 1),
      generate({ cmd: 'pingresp' }),
      message(200, 2),
      message(fitting, 3),
      cut(4),
      cut(5),
      generate({ cmd: 'pingresp' }),
      message(5, 6),
    ];
    expect(Buffer.concat(passed).equals(Buffer.concat(expected))).toBe(true);
    expect(tooLong).toHaveLength(2);
    expect(tooLong[0]).toBe(maxBytes + 1);
  },
);
