import type { Packet } from 'mqtt';
import { describe, expect, it } from 'vitest';
import type { Script, WireConnection } from '../simulation/wire.ts';
import { brokerWarnings, Home, minuteMs } from './home.ts';

/** Answers the client's first packet so, whatever the broker says. */
const greeting = (answer: (connection: WireConnection) => void): Script => ({
  fromBridge: ({ cmd }, connection) => {
    if (cmd === 'connect') answer(connection);
    return cmd === 'connect';
  },
});

/** Changes what the broker grants to each filter. */
const granting = (grant: (code: unknown, index: number) => number): Script => ({
  fromBroker: (packet, connection) => {
    if (packet.cmd !== 'suback') return false;
    connection.toBridge({ ...packet, granted: [...packet.granted].map(grant) } as Packet);
    return true;
  },
});

const greetings: readonly [name: string, script: Script, words: RegExp][] = [
  [
    'lets garbage follow a good answer',
    greeting((connection) => {
      const [good, pubrel] = [
        Buffer.from([0x20, 0x03, 0x00, 0x00, 0x00]),
        Buffer.from([0x62, 0x02, 0x00, 0x07]),
      ];
      connection.toBridge(Buffer.concat([good, pubrel, pubrel, Buffer.alloc(8, 0xff)]));
    }),
    /does not use MQTT\. Check the port/,
  ],
  [
    'does not answer a subscription',
    { fromBroker: ({ cmd }) => cmd === 'suback' },
    /the broker does not answer a subscription/,
  ],
];

describe('a broker that', () => {
  it.each(greetings)('%s is told in words, once, and tried until it works', async (_, script, words) => {
    const home = new Home({ isWired: true, config: { homeassistant: { enabled: false } } });
    home.wire.play(script);
    home.bridge.start();
    await home.until(() => home.wire.connectionCount >= 3, 'a third attempt');
    expect(brokerWarnings(home)).toEqual([expect.stringMatching(words)]);
    home.wire.play();
    for (const connection of home.wire.connections) connection.hangUp();
    await home.pass(minuteMs);
    expect(home.json(`sonic/${home.sonicId}`)).toMatchObject({ valve: 'open' });
    expect(home.text('bridge/state')).toBe('online');
    expect(home.linesFrom(0).join()).toMatch(/works again after/);
    const { connectionCount } = home.wire;
    home.wire.play(script);
    for (const connection of home.wire.connections) connection.hangUp();
    await home.until(() => home.wire.connectionCount > connectionCount, 'the next attempt');
    await home.stop();
  });

  it('refuses one subscription is named with the reason, and everything else is shown', async () => {
    const home = new Home({ isWired: true });
    home.wire.play(granting((code, index) => (index === 0 ? 135 : Number(code))));
    await home.start();
    await home.pass(minuteMs);
    expect(home.json(`sonic/${home.sonicId}`)).toMatchObject({ valve: 'open' });
    expect(home.text('bridge/state')).toBe('online');
    expect(home.wire.connectionCount).toBe(1);
    const words =
      /The MQTT broker rejects a subscription: sonic2mqtt\/\S+: Not authorized\. Messages there have no effect/;
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(words),
    });
    expect(home.linesFrom(0).filter((line) => words.test(line))).toHaveLength(1);
    await home.stop();
  });

  it('accepts subscriptions to commands and sends none is told, until a command comes', async () => {
    const isCommand = (topic: string) => topic.endsWith('/set');
    const home = new Home({ isWired: true });
    home.wire.play({ fromBroker: (packet) => packet.cmd === 'publish' && isCommand(packet.topic) });
    await home.start();
    await home.pass(minuteMs);
    const told =
      'The MQTT broker does not send sonic2mqtt/sonic/check/valve/set back. Commands may have no effect. Check the access list of the broker';
    expect(home.json('bridge/health')).toMatchObject({ status: 'degraded', reason: told });
    expect(brokerWarnings(home)).toEqual([`warn: ${told}`]);
    home.wire.play();
    home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
    await home.pass(minuteMs);
    expect(home.valveCommands).toHaveLength(1);
    expect(home.json('bridge/health')).toMatchObject({ status: 'ok' });
    // Such a message of another client is no command, and nobody is told of it.
    expect(home.events('command')).toHaveLength(1);
    await home.stop();
  });
});
