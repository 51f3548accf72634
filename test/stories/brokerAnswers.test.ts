import { describe, expect, it } from 'vitest';
import type { Script } from '../simulation/wire.ts';
import { expectWhole, pictureOf } from './brokerPicture.ts';
import { brokerWarnings, Home, minuteMs, prompt, secondMs, startedHome } from './home.ts';

/** A home whose bridge speaks with the broker in bytes, and shows everything. */
async function startWiredHome(): Promise<Home> {
  const home = await startedHome({ isWired: true, config: { schedules: prompt } });
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

  it('has exceeded its quota loses nothing that it had, and gets what it refused once it takes it', async () => {
    const home = await startWiredHome();
    const { sonicId } = home;
    home.wire.play(refusing(151));
    home.world.setValve(sonicId, 'closed');
    // Everything is published again, and refused.
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(5 * minuteMs);
    expect(home.linesFrom(0).join('\n')).toMatch(/Further ones are logged at level debug/);
    expect(refusals(home)).toHaveLength(10);
    expect(refusals(home).filter((line) => !/Quota exceeded/.test(line))).toEqual([]);
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

  it('gets all values before the first discovery message, at a start and at a new connection', async () => {
    const home = new Home({ cloud: { properties: 2, signals: 2, sonics: 4 }, config: { schedules: prompt } });
    /** The first discovery messages since then, and which values came for the first time after the first one. */
    const late = (from: number, isMeant: (topic: string) => boolean) => {
      const messages = home.messages.slice(from).filter(({ retain }) => retain);
      const first = messages.findIndex(({ topic }) => topic.startsWith('homeassistant/') && isMeant(topic));
      expect(first).toBeGreaterThan(0);
      const before = new Set(messages.slice(0, first).map(({ topic }) => topic));
      return [...home.broker.retained.keys()].filter(
        (topic) => topic.startsWith('sonic2mqtt/') && !before.has(topic),
      );
    };
    await home.start();
    await home.pass(minuteMs);
    // The bridge's own device shows from the beginning why the cloud cannot be read.
    expect(late(0, (topic) => !topic.includes('_bridge'))).toEqual([]);
    const from = home.messages.length;
    home.broker.cut();
    await home.pass(minuteMs);
    expect(late(from, () => true)).toEqual([]);
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

  it('shuts down and says so is quoted, once, and what passes meanwhile is not told later', async () => {
    const home = await startWiredHome();
    const before = pictureOf(home);
    // It does not even hang up.
    for (const connection of home.wire.connections)
      connection.toBridge({ cmd: 'disconnect', reasonCode: 139 });
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
    expect(brokerWarnings(home)[0]).toContain('the broker closed the connection: Server shutting down');
    expect(brokerWarnings(home).slice(2)).toEqual([]);
    expect(home.valveCommands).toEqual([]);
    await home.stop();
  });
});
