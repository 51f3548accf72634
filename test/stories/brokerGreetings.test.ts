import type { Packet } from 'mqtt';
import { describe, expect, it } from 'vitest';
import type { Script, Way } from '../simulation/wire.ts';
import { brokerWarnings, Home, leisurely, minuteMs } from './home.ts';

/** Answers the client's first packet so, whatever the broker says. */
const greeting = (answer: (way: Way) => void): Script => ({
  fromBridge: ({ cmd }, way) => {
    if (cmd === 'connect') answer(way);
    return cmd === 'connect';
  },
});

const connack = (code: number) =>
  greeting((way) => {
    way.toBridge({ cmd: 'connack', sessionPresent: false, reasonCode: code, returnCode: code });
    way.hangUp();
  });

/** Changes what the broker grants to each filter. */
const granting = (grant: (code: unknown, index: number) => number): Script => ({
  fromBroker: (packet, way) => {
    if (packet.cmd !== 'suback') return false;
    way.toBridge({ ...packet, granted: [...packet.granted].map(grant) } as Packet);
    return true;
  },
});

interface Row {
  readonly name: string;
  readonly script: Script;
  readonly words: RegExp;
  readonly version?: 4 | 5;
}

const greetings: readonly Row[] = [
  {
    name: 'resets the connection',
    script: greeting((way) => way.reset()),
    words: /the connection was reset/,
  },
  {
    name: 'breaks off in its first packet',
    script: greeting((way) => {
      way.toBridge(Buffer.from([0x20]));
      way.hangUp();
    }),
    words: /the connection was closed/,
  },
  {
    name: 'is none, but garbage',
    script: greeting((way) => way.toBridge(Buffer.from('\u0000\u0001\u00ff no MQTT at all \u0000'))),
    words: /does not use MQTT\. Check the port/,
  },
  {
    name: 'lets garbage follow a good answer',
    script: greeting((way) => {
      const [good, pubrel] = [
        Buffer.from([0x20, 0x03, 0x00, 0x00, 0x00]),
        Buffer.from([0x62, 0x02, 0x00, 0x07]),
      ];
      way.toBridge(Buffer.concat([good, pubrel, pubrel, Buffer.alloc(8, 0xff)]));
    }),
    words: /does not use MQTT\. Check the port/,
  },
  {
    name: 'is a web server',
    script: greeting((way) => way.toBridge(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))),
    words: /does not use MQTT\. Check the port/,
  },
  {
    name: 'tears its first answer',
    script: greeting((way) => way.toBridge(Buffer.from([0x20, 0x01, 0x00]))),
    words: /the server accepts connections but does not answer/,
    version: 4,
  },
  { name: 'is unavailable', script: connack(136), words: /Server unavailable/ },
  { name: 'is unavailable with MQTT 3.1.1', script: connack(3), words: /Server unavailable/, version: 4 },
  { name: 'has banned the bridge', script: connack(138), words: /Banned/ },
  { name: 'has no room for it', script: connack(151), words: /Quota exceeded/ },
  { name: 'does not know the user', script: connack(134), words: /wrong user name or password/ },
  {
    name: 'does not know the user with MQTT 3.1.1',
    script: connack(4),
    words: /wrong user name or password/,
    version: 4,
  },
  {
    name: 'does not let the bridge in',
    script: connack(5),
    words: /not authorized\. Check mqtt\.username and mqtt\.password/,
    version: 4,
  },
  {
    name: 'does not answer a subscription',
    script: { fromBroker: ({ cmd }) => cmd === 'suback' },
    words: /the broker does not answer a subscription/,
  },
  {
    name: 'refuses all subscriptions',
    script: granting(() => 128),
    words: /rejects a subscription: \S+, \S+ and \d+ more: Unspecified error/,
  },
];

describe('a broker that', () => {
  it.each(greetings)(
    '$name is told in words, once, and tried until it works',
    async ({ script, words, version = 5 }) => {
      const home = new Home({
        isWired: true,
        config: {
          schedules: leisurely,
          mqtt: { protocol_version: version },
          homeassistant: { enabled: false },
        },
      });
      home.wire.play(script);
      home.bridge.start();
      await home.until(() => home.wire.visits >= 3, 'a third attempt');
      expect(brokerWarnings(home)).toEqual([expect.stringMatching(words)]);
      home.wire.play();
      for (const way of home.wire.ways) way.hangUp();
      await home.pass(minuteMs);
      expect(home.json(`sonic/${home.sonicId}`)).toMatchObject({ valve: 'open' });
      expect(home.text('bridge/state')).toBe('online');
      expect(home.linesFrom(0).join()).toMatch(/works again after/);
      const { visits } = home.wire;
      home.wire.play(script);
      for (const way of home.wire.ways) way.hangUp();
      await home.until(() => home.wire.visits > visits, 'the next attempt');
      await home.stop();
    },
  );

  it('refuses one subscription is told in words, and shows the rest', async () => {
    const home = new Home({ isWired: true, config: { schedules: leisurely } });
    home.wire.play(granting((code, index) => (index === 0 ? 135 : Number(code))));
    await home.start();
    await home.pass(minuteMs);
    expect(home.json(`sonic/${home.sonicId}`)).toMatchObject({ valve: 'open' });
    expect(home.text('bridge/state')).toBe('online');
    expect(home.wire.visits).toBe(1);
    const words =
      /The MQTT broker rejects a subscription: sonic2mqtt\/\S+: Not authorized\. Messages there have no effect/;
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(words),
    });
    expect(home.linesFrom(0).filter((line) => words.test(line))).toHaveLength(1);
    await home.stop();
  });
});
