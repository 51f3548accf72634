import { describe, expect, it } from 'vitest';
import type { Script } from '../simulation/wire.ts';
import { expectWhole, pictureOf } from './brokerPicture.ts';
import { brokerWarnings, Home, minuteMs, prompt, secondMs, startedHome } from './home.ts';

/** A home whose bridge speaks with the broker in bytes, and shows everything. */
async function startWiredHome(mqtt: object = {}): Promise<Home> {
  const home = await startedHome({ isWired: true, config: { mqtt, schedules: prompt } });
  // By then all that is read seldom was read, too.
  await home.pass(5 * minuteMs);
  return home;
}

/** Tells the valve to close or open, and lets it move. */
async function command(home: Home, action: 'CLOSE' | 'OPEN'): Promise<void> {
  const told = home.events('command').length;
  home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, action, false);
  await home.pass(2 * minuteMs);
  expect(home.events('command').slice(told)).toMatchObject([{ status: 'ok', http_status: 200 }]);
  expect(home.json(`sonic/${home.sonicId}`).valve).toBe(action === 'CLOSE' ? 'closed' : 'open');
}

/** Counts the messages that the bridge has sent and that the broker has not acknowledged. */
function countingInFlight(home: Home, ackMs: number, limit?: number) {
  const counts = { now: 0, most: 0 };
  const script: Script = {
    fromBridge: (packet) => {
      if (packet.cmd === 'publish') counts.now += 1;
      counts.most = Math.max(counts.most, counts.now);
      return false;
    },
    fromBroker: (packet, connection) => {
      if (packet.cmd === 'connack' && limit !== undefined) {
        connection.toBridge({ ...packet, properties: { ...packet.properties, receiveMaximum: limit } });
        return true;
      }
      if (packet.cmd !== 'puback') return false;
      home.time.after(ackMs, () => {
        counts.now -= 1;
        connection.toBridge(packet);
      });
      return true;
    },
  };
  return { counts, script };
}

const hangUpOnAll = ({ wire }: Home) => {
  for (const connection of wire.connections) connection.hangUp();
};

/** Each message is refused for this reason; the broker has not taken it. */
const refusing = (reasonCode: number | undefined): Script => ({
  fromBridge: (packet, connection) => {
    if (packet.cmd !== 'publish') return false;
    const answer = { cmd: 'puback', messageId: packet.messageId ?? 0 } as const;
    connection.toBridge(reasonCode === undefined ? answer : { ...answer, reasonCode });
    return true;
  },
});

const refusals = (home: Home) => home.linesFrom(0).filter((text) => /^warn:.*broker rejected/.test(text));

describe('a broker that', () => {
  it.each([
    ['acknowledges a second late gets all, little at a time', 1_000, undefined, 80],
    ['takes one message at a time gets no more at a time', 5, 1, 1],
  ])('%s, and commands are answered', async (_, ackMs, limit, most) => {
    const home = new Home({ isWired: true });
    const { counts, script } = countingInFlight(home, ackMs, limit);
    home.wire.play(script);
    await home.start();
    await command(home, 'CLOSE');
    await command(home, 'OPEN');
    expect(counts.most).toBeGreaterThan(0);
    expect(counts.most).toBeLessThanOrEqual(most);
    expect(brokerWarnings(home)).toEqual([]);
    await home.stop();
  });

  it('acknowledges nothing any more is left and asked again, and a command meanwhile is carried out once', async () => {
    const home = await startWiredHome();
    home.wire.play({ fromBroker: ({ cmd }) => cmd === 'puback' });
    home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
    // One and a half times the keepalive.
    await home.pass(95 * secondMs);
    home.wire.play();
    await home.pass(minuteMs);
    expect(brokerWarnings(home)).toEqual([expect.stringMatching(/the broker does not acknowledge messages/)]);
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closed');
    expect(home.valveCommands).toHaveLength(1);
    await command(home, 'OPEN');
    expect(home.valveCommands).toHaveLength(2);
    await home.stop();
  });

  it.each([
    ['has exceeded its quota', 151, /Quota exceeded/],
    ['has trouble of its own', 131, /Implementation specific error/],
  ])('%s loses nothing that it had, and gets what it refused once it takes it', async (_, code, words) => {
    const home = await startWiredHome();
    const { sonicId } = home;
    home.wire.play(refusing(code));
    home.world.setValve(sonicId, 'closed');
    // Everything is published again, and refused.
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(5 * minuteMs);
    expect(home.linesFrom(0).join('\n')).toMatch(/Further ones are logged at level debug/);
    expect(refusals(home)).toHaveLength(10);
    expect(refusals(home).filter((line) => !words.test(line))).toEqual([]);
    expect(home.json(`sonic/${sonicId}`).valve).toBe('open');
    home.wire.play();
    await home.pass(3 * minuteMs);
    expect(home.json(`sonic/${sonicId}`).valve).toBe('closed');
    const emptied = home.messages.filter(({ topic, payload }) => payload === '' && topic.includes(sonicId));
    expect(emptied).toEqual([]);
    await home.stop();
  });

  it('refuses the state of one valve has that valve as offline, and as online once it takes the state', async () => {
    const home = await startWiredHome();
    const { sonicId: refused } = home;
    const devices = [`sonic/${refused}`, `signal/${home.world.signals.ids[0]}`];
    const linked = () => devices.map((device) => home.text(`${device}/availability`));
    expect(linked()).toEqual(['online', 'online']);
    const { fromBridge } = refusing(135);
    home.wire.play({
      fromBridge: (packet, connection) =>
        packet.cmd === 'publish' && packet.topic === `sonic2mqtt/sonic/${refused}`
          ? (fromBridge?.(packet, connection) ?? false)
          : false,
    });
    home.world.setValve(refused, 'closed');
    await home.pass(2 * minuteMs);
    expect(home.json(`sonic/${refused}`).valve).toBe('open');
    expect(linked()).toEqual(['offline', 'online']);
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining(refused),
    });
    const from = home.messages.length;
    await home.pass(12 * minuteMs);
    const words = home.messages.slice(from).filter(({ topic }) => topic.endsWith('/availability'));
    expect(words).toEqual([]);
    home.wire.play();
    await home.pass(11 * minuteMs);
    expect(home.json(`sonic/${refused}`).valve).toBe('closed');
    expect(linked()).toEqual(['online', 'online']);
    await home.stop();
  });

  it('is about to get everything again when the bridge stops gets no word after its last one', async () => {
    const home = await startWiredHome();
    const said: string[] = [];
    home.wire.play({
      fromBridge: (packet) => {
        if (packet.cmd !== 'publish') return false;
        if (said.length === 0) home.bridge.stop(() => {});
        said.push(`${packet.topic} ${packet.payload}`);
        return false;
      },
    });
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(10 * secondMs);
    expect(said.at(-1)).toBe('sonic2mqtt/bridge/state offline');
    expect(home.text('bridge/state')).toBe('offline');
  });

  it('takes tiny packets only gets what fits, with a few lines in the log, and gets the rest when it takes more', async () => {
    const home = await startWiredHome();
    const before = pictureOf(home);
    home.wire.play({
      fromBroker: (packet, connection) => {
        if (packet.cmd !== 'connack') return false;
        connection.toBridge({ ...packet, properties: { ...packet.properties, maximumPacketSize: 120 } });
        return true;
      },
    });
    hangUpOnAll(home);
    await home.pass(5 * minuteMs);
    expect(home.linesFrom(0).join('\n')).toMatch(
      /has \d+ bytes. The broker accepts at most 120.*Further ones are logged at level debug/,
    );
    expect(refusals(home)).toHaveLength(10);
    home.wire.play();
    hangUpOnAll(home);
    await home.pass(minuteMs);
    expectWhole(home, before);
    await home.stop();
  });

  it.each([
    ['shuts down', 139, 'Server shutting down'],
    ['finds a message too large', 149, 'Packet too large'],
  ])(
    '%s and says so is quoted, once, and what passes meanwhile is not told later',
    async (_, reasonCode, words) => {
      const home = await startWiredHome();
      const before = pictureOf(home);
      // It does not even hang up.
      for (const connection of home.wire.connections) connection.toBridge({ cmd: 'disconnect', reasonCode });
      home.wire.play({
        fromBridge: (_packet, connection) => {
          connection.hangUp();
          return true;
        },
      });
      await home.pass(secondMs);
      home.world.setValve(home.sonicId, 'closed');
      home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
      await home.pass(3 * minuteMs);
      home.world.setValve(home.sonicId, 'open');
      await home.pass(3 * minuteMs);
      home.wire.play();
      await home.pass(minuteMs);
      expectWhole(home, before);
      expect(brokerWarnings(home)[0]).toContain(`the broker closed the connection: ${words}`);
      expect(brokerWarnings(home).slice(2)).toEqual([]);
      expect(home.valveCommands).toEqual([]);
      await home.stop();
    },
  );

  const takenOver = 'another sonic2mqtt uses the base topic sonic2mqtt. Stop one of the two';
  it.each([
    [5, new RegExp(`: ${takenOver}`)],
    [4, new RegExp(`repeatedly.*\\. Perhaps ${takenOver}`)],
  ] as const)(
    'is shared with another bridge of the same base topic (MQTT %i) has this one stand still, longer and longer',
    async (protocolVersion, words) => {
      const home = await startWiredHome({ protocol_version: protocolVersion });
      const before = pictureOf(home);
      const rival = { clientId: 'sonic2mqtt', cut: () => undefined, deliverLive: () => undefined };
      // It comes back at once each time.
      home.onLinked = () =>
        void home.time.after(50, () => home.broker.isPeerOf(rival) || home.broker.attach(rival));
      home.broker.attach(rival);
      const { connectionCount } = home.wire;
      await home.pass(minuteMs / 2);
      const asked = home.asked('list_sonics').length;
      await home.pass(minuteMs / 2);
      expect(home.asked('list_sonics')).toHaveLength(asked);
      await home.pass(19 * minuteMs);
      // With MQTT 5 after 1, 2, 4 and 8 minutes. The older protocol does not tell why, so it takes some more.
      expect(home.wire.connectionCount - connectionCount).toBeGreaterThanOrEqual(4);
      expect(home.wire.connectionCount - connectionCount).toBeLessThanOrEqual(protocolVersion === 5 ? 5 : 15);
      home.onLinked = () => undefined;
      home.broker.detach(rival);
      await home.pass(11 * minuteMs);
      expectWhole(home, before);
      expect(
        home.linesFrom(0).filter((line) => line.startsWith('warn') && words.test(line)).length,
      ).toBeGreaterThan(0);
      await home.stop();
    },
  );

  it('restarts twice, and its young connections end twice, costs nothing of this', async () => {
    const home = await startWiredHome({ protocol_version: 4 });
    for (let restarts = 0; restarts < 3; restarts++) {
      home.broker.cut();
      await home.pass(10 * secondMs);
      expect(home.text('bridge/state')).toBe('online');
    }
    await home.stop();
  });
});
