import { describe, expect, it } from 'vitest';
import type { Script } from '../simulation/wire.ts';
import { Home, minuteMs, secondMs } from './home.ts';

const valve = (home: Home) => `sonic2mqtt/sonic/${home.sonicId}/valve/set`;

/** The state of the bridge itself does not reach it. */
const hidingState: Script = {
  fromBroker: (packet) => packet.cmd === 'publish' && packet.topic === 'sonic2mqtt/bridge/state',
};

/** A broker that sends all that it has stored without the retain flag, as Mosca does. */
const clearingFlags: Script = {
  fromBroker: (packet, way) => {
    if (packet.cmd !== 'publish' || !packet.retain) return false;
    way.toBridge({ ...packet, retain: false });
    return true;
  },
};

/** A broker that sends all that it knows a little later, as new, after each subscription: the MQTT adapter of ioBroker. */
const resending = (home: Home): Script => ({
  fromBridge: (packet, way) => {
    if (packet.cmd !== 'subscribe') return false;
    home.time.after(200, () => {
      for (const [topic, payload] of home.broker.retained)
        way.toBridge({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false });
    });
    return false;
  },
  fromBroker: (packet) => packet.cmd === 'publish' && packet.retain,
});

const outcomes = (home: Home) =>
  home.events('command').map(({ status, reason }) => `${status}: ${String(reason).slice(0, 50)}`);

const unproven = 'refused: the command may be an old one that';
const unmarked = 'refused: the command may be an old one, because';

describe.each([5, 4] as const)('a command that the broker has stored, with MQTT version %i', (version) => {
  const wired = (script?: (home: Home) => Script) => {
    const home = new Home({ isWired: true, config: { mqtt: { protocol_version: version } } });
    if (script) home.wire.play(script(home));
    return home;
  };

  it.each([
    ['clears the retain flag', () => clearingFlags],
    ['sends it again after each subscription', resending],
  ])('moves no valve though the broker %s, not at the start and not later', async (_, script) => {
    const home = wired(script);
    home.broker.retained.set(valve(home), 'CLOSE');
    await home.start();
    await home.pass(10 * minuteMs);
    const before = outcomes(home).length;
    home.broker.cut();
    await home.pass(10 * minuteMs);
    expect(home.valveCommands).toEqual([]);
    expect(outcomes(home).length).toBeGreaterThan(before);
    expect(outcomes(home).filter((each) => !each.startsWith(unproven) && !each.startsWith(unmarked))).toEqual(
      [],
    );
  });

  it('hides no live one: with the state of an earlier run, it is carried out at once', async () => {
    const home = wired();
    await home.start();
    home.broker.cut();
    const links = home.links.length;
    await home.until(() => home.links.length > links, 'the connection');
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(minuteMs);
    expect(outcomes(home)).toEqual(['ok: null']);
  });

  it('hides no live one: on a broker that knows nothing yet, it is carried out as soon as the bridge is online', async () => {
    const home = wired();
    home.bridge.start();
    await home.until(() => home.text('bridge/state') === 'online', 'the bridge');
    await home.until(
      () => home.text(`sonic/${home.sonicId}`)?.includes('"valve":"open"') === true,
      'the valve',
    );
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(minuteMs);
    expect(outcomes(home)).toEqual(['ok: null']);
  });

  it('hides no live one if the bridge may not read its own state: ten seconds after a subscription it is carried out', async () => {
    const home = wired(() => hidingState);
    home.bridge.start();
    await home.until(() => home.text('bridge/state') === 'online', 'the bridge');
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(30 * secondMs);
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(minuteMs);
    expect(outcomes(home)).toEqual([expect.stringContaining(unproven), 'ok: null']);
  });

  it('is not suspected because the broker stores a message later than it acknowledges it', async () => {
    const home = wired();
    home.wire.play({
      fromBridge: (packet, way) => {
        if (packet.cmd !== 'publish' || packet.topic !== 'sonic2mqtt/bridge/state') return false;
        way.toBridge({ cmd: 'puback', messageId: packet.messageId ?? 0 });
        const { topic, payload } = packet;
        home.time.after(3 * secondMs, () => home.broker.publish(topic, payload.toString(), true));
        return true;
      },
    });
    await home.start();
    await home.pass(minuteMs);
    expect(home.json('bridge/health')).toMatchObject({ status: 'ok' });
    home.broker.publish(valve(home), 'CLOSE', false);
    await home.pass(minuteMs);
    expect(outcomes(home)).toEqual(['ok: null']);
  });

  it('of a broker that does not mark it is said to be so, once: in the log, and by health', async () => {
    const home = wired(() => clearingFlags);
    await home.start();
    // The bridge subscribes again every now and then, to look for its messages.
    await home.pass(20 * minuteMs);
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/sends stored messages without the retain flag/),
    });
    const lines = home.linesFrom(0).filter((text) => /without the retain flag|Everything works/.test(text));
    expect(lines).toEqual([expect.stringMatching(/^warn:.*without the retain flag/)]);
  });
});
