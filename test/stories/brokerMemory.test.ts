import { describe, expect, it } from 'vitest';
import { expectWhole, pictureOf } from './brokerPicture.ts';
import { type Home, hourMs, minuteMs, secondMs, startedHome } from './home.ts';

async function startHome(): Promise<Home> {
  const home = await startedHome({ cloud: { sonics: 2 } });
  // By then all that is read seldom was read, too.
  await home.pass(5 * minuteMs);
  return home;
}

type Files = ReadonlyMap<string, string>;

const noRemoval = /removing entities|Deleted/;

describe('a broker', () => {
  it.each([
    ['that restarts empty', 0, false],
    ['that restarts with half of what it kept', 0.5, false],
    ['that restarts with half of what it kept, together with the bridge', 0.5, true],
  ])('%s has all again, and no device goes', async (_, keptShare, isBridgeRestarted) => {
    const home = await startHome();
    const before = pictureOf(home);
    if (isBridgeRestarted) home.bridge.kill();
    home.broker.restart(keptShare);
    expect(home.broker.retained.size).toBeLessThan(0.8 * before.size);
    if (isBridgeRestarted) home.bridge.start();
    await home.pass(6 * minuteMs);
    expectWhole(home, before);
    expect(home.linesFrom(0).join('\n')).not.toMatch(noRemoval);
  });

  it('loses the message of an ended incident once, also if the disk cannot be written', async () => {
    const home = await startHome();
    const [sonicId = ''] = home.world.sonics.ids;
    const { id } = home.world.openIncident({ type: 'long_flow_alert', sonicId });
    await home.pass(minuteMs);
    home.bridge.kill();
    home.world.incidents.delete(id);
    home.disk.fault = 'EROFS';
    const from = home.messages.length;
    await home.start();
    await home.pass(6 * minuteMs);
    const deletions = home.messages.slice(from).filter(({ topic }) => topic === `sonic2mqtt/incident/${id}`);
    expect(deletions).toHaveLength(1);
  });

  it('that shows only a part of what it keeps to a new bridge loses nothing by that', async () => {
    const home = await startHome();
    const before = pictureOf(home);
    await home.stop();
    home.broker.shownShare = 0.5;
    await home.start();
    home.broker.publish('homeassistant/status', 'online', false);
    await home.pass(6 * minuteMs);
    expectWhole(home, before);
    expect(home.linesFrom(0).join('\n')).not.toMatch(noRemoval);
  });

  it.each([
    ['deleted a discovery message', ''],
    ['replaced a discovery message by something else', 'gone'],
  ])('in which somebody has %s has it again', async (_, payload) => {
    const home = await startHome();
    await home.pass(5 * minuteMs);
    const before = pictureOf(home);
    const topic = `homeassistant/device/sonic2mqtt_${home.sonicId}/config`;
    home.broker.publish(topic, payload, true);
    const from = home.messages.length;
    await home.pass(10 * secondMs);
    expect(pictureOf(home)).toEqual(before);
    const deleted = home.messages.slice(from).filter(({ payload: text, retain }) => retain && text === '');
    expect(deleted).toEqual([]);
    const lines = home.linesFrom(0).filter((line) => /has replaced or deleted discovery/.test(line));
    expect(lines).toHaveLength(1);
  });

  it.each([
    ['all that it keeps', () => true],
    ['what it keeps of valves', (topic: string) => topic.includes('/sonic/')],
  ])('that sends %s only after its answer to the ping loses nothing', async (_, isLate) => {
    const home = await startedHome({ isWired: true, cloud: { sonics: 2 } });
    await home.pass(5 * minuteMs);
    const before = pictureOf(home);
    await home.stop();
    home.wire.play({
      fromBroker: (packet, way) => {
        if (packet.cmd !== 'publish' || !packet.retain || !isLate(packet.topic)) return false;
        home.time.after(1_000, () => way.toBridge(packet));
        return true;
      },
    });
    await home.start();
    await home.pass(5 * minuteMs);
    expectWhole(home, before);
    await home.stop();
  });

  it.each([
    ['lost', () => {}],
    ['damaged', (home: Home) => home.disk.damage('cut')],
    [
      'older',
      (home: Home, before: Files) => before.forEach((text, file) => void home.disk.files.set(file, text)),
    ],
  ])(
    'that has devices of a state file that is %s, and an account without them, loses them',
    async (how, damage) => {
      const home = await startHome();
      const before: Files = new Map(home.disk.files);
      const { id: gone } = home.world.addSonic(home.signalId);
      await home.pass(5 * minuteMs);
      expect(home.text(`sonic/${gone}/availability`)).toBe('online');
      await home.stop();
      if (how === 'lost') home.disk.files.clear();
      damage(home, before);
      home.world.removeSonic(gone);
      const from = home.messages.length;
      await home.start();
      await home.pass(5 * minuteMs);
      const said = home.messages
        .slice(from)
        .filter(({ topic }) => topic === `sonic2mqtt/sonic/${gone}/availability`)
        .map(({ payload }) => payload);
      expect(said).toEqual(['offline', '']);
      expect([...home.broker.retained.keys()].filter((topic) => topic.includes(gone))).toEqual([]);
      await home.stop();
    },
  );

  it.each([
    ['is lost', (home: Home) => home.disk.files.clear()],
    [
      'is older',
      (home: Home, before: Files) => before.forEach((text, file) => void home.disk.files.set(file, text)),
    ],
    [
      'is on a disk that is mounted late',
      (home: Home) => {
        home.disk.fault = 'unmounted';
      },
    ],
  ])(
    'that has a failed command and a movement of a state file that %s shows them further',
    async (_, damage) => {
      const home = await startHome();
      const { sonicId, world } = home;
      const before: Files = new Map(home.disk.files);
      world.valve(sonicId)?.command('close');
      await home.pass(2 * minuteMs);
      const valve = world.valve(sonicId);
      if (valve) valve.weak = true;
      home.broker.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'OPEN', false);
      await home.pass(3 * minuteMs);
      const shown = () => ['last_command', 'movement'].map((path) => home.json(`sonic/${sonicId}/${path}`));
      const expected = shown();
      expect(expected).toMatchObject([
        { failed: { action: 'open' } },
        { valve: 'closed', at: expect.any(String) },
      ]);
      await home.stop();
      damage(home, before);
      await home.start();
      await home.pass(5 * minuteMs);
      expect(shown()).toEqual(expected);
      home.disk.fault = null;
      await home.pass(5 * minuteMs);
      expect(shown()).toEqual(expected);
      await home.restart();
      await home.pass(5 * minuteMs);
      expect(shown()).toEqual(expected);
    },
  );

  it('that refuses to forget a closed incident is asked again, and health says so until it has', async () => {
    const home = await startHome();
    const { id } = home.world.openIncident({ type: 'high_humidity', sonicId: home.sonicId });
    await home.pass(minuteMs);
    home.broker.refuses = (topic) => topic === `sonic2mqtt/incident/${id}`;
    home.world.closeIncident(id);
    await home.pass(minuteMs);
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining(`rejects messages, for example sonic2mqtt/incident/${id}`),
    });
    home.broker.refuses = () => false;
    await home.pass(3 * minuteMs);
    expect(home.text(`incident/${id}`)).toBeUndefined();
    expect(home.json('bridge/health').status).toBe('ok');
    await home.stop();
  });

  it('that keeps what others have written there shows the truth again, and what is theirs stays', async () => {
    const home = await startHome();
    const { broker, sonicId } = home;
    const config = `homeassistant/device/sonic2mqtt_${sonicId}/config`;
    const others = JSON.stringify({ availability: [{ topic: 'another/bridge/state' }], components: {} });
    const foreign: Record<string, string> = {
      'homeassistant/device/sonic2mqtt_another/config': others,
      'homeassistant/device/sonic2mqtt_broken/config': '{"availability":',
      'homeassistant/sensor/somebody/config': '{}',
      'sonic2mqtt/notes': 'mine',
      'sonic2mqtt/sonic/attic/notes/mine': 'too',
      // Of a device that neither the state file nor the account knows.
      'sonic2mqtt/sonic/attic': '{}',
      'sonic2mqtt/incident/attic': '{}',
      'another/sonic/attic': '{}',
    };
    const before = broker.retained.get(config);
    broker.cut();
    for (const [topic, text] of Object.entries(foreign)) broker.publish(topic, text, true);
    broker.publish(`sonic2mqtt/sonic/${sonicId}`, '{"valve":"closed"}', true);
    broker.publish(`sonic2mqtt/sonic/${sonicId}/availability`, 'offline', true);
    broker.publish(config, others, true);
    await home.pass(minuteMs);
    const expectTruth = () => {
      expect(home.entity(sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: true });
      expect(broker.retained.get(config)).toBe(before);
      for (const [topic, text] of Object.entries(foreign))
        expect([topic, broker.retained.get(topic)]).toEqual([topic, text]);
    };
    expectTruth();
    await home.restart();
    await home.pass(5 * minuteMs);
    expectTruth();
  });

  it.each([
    ['is away while a run without the state file goes on', 'away'],
    ['is being read when a run without the state file is killed', 'killed'],
  ])('has the totals, incidents and pauses for the next run if it %s', async (_, how) => {
    const home = await startHome();
    const { broker, sonicId, propertyId, world } = home;
    world.settings.change(propertyId, { auto_shut_off: true });
    const usage = `sonic2mqtt/sonic/${sonicId}/usage`;
    const { total, ...others } = JSON.parse(broker.retained.get(usage) ?? '{}');
    const told = home.opened(sonicId).length;
    expect(told).toBeGreaterThan(0);
    broker.publish(`sonic2mqtt/property/${propertyId}/pause/set`, '60', false);
    await home.pass(minuteMs);
    expect(home.json(`property/${propertyId}/pause`).state).toBe('paused');
    await home.stop();
    home.disk.files.clear();
    broker.publish(usage, JSON.stringify({ ...others, total: total + 5_000_000 }), true);
    if (how === 'away') broker.fault = 'away';
    home.bridge.start();
    if (how === 'away') {
      await home.pass(5 * minuteMs);
      await home.stop();
      broker.fault = null;
    } else {
      await home.pass(400);
      home.bridge.kill();
    }
    await home.start();
    await home.pass(hourMs);
    expect(home.json(`sonic/${sonicId}/usage`).total).toBeGreaterThanOrEqual(total + 5_000_000);
    expect(home.opened(sonicId)).toHaveLength(told);
    expect(world.settings.get(propertyId)?.auto_shut_off).toBe(true);
    expect(home.json(`property/${propertyId}/pause`).state).toBe('none');
  });

  it('that shows retained messages to exact topics only has the totals and incidents of a lost state file', async () => {
    const home = await startHome();
    const { broker, sonicId } = home;
    broker.listsRetained = false;
    const usage = `sonic2mqtt/sonic/${sonicId}/usage`;
    const { total, ...others } = JSON.parse(broker.retained.get(usage) ?? '{}');
    const told = home.opened(sonicId).length;
    expect(told).toBeGreaterThan(0);
    await home.stop();
    home.disk.files.clear();
    broker.publish(usage, JSON.stringify({ ...others, total: total + 5_000_000 }), true);
    const from = home.messages.length;
    await home.start();
    await home.pass(6 * minuteMs);
    const totals = home.messages
      .slice(from)
      .filter(({ topic }) => topic === usage)
      .map(({ payload }) => JSON.parse(payload).total);
    expect(totals.filter((each) => each !== null && each < 5_000_000)).toEqual([]);
    expect(home.json(`sonic/${sonicId}/usage`).total).toBeGreaterThanOrEqual(total + 5_000_000);
    expect(home.opened(sonicId)).toHaveLength(told);
    expect(home.linesFrom(0).join('\n')).not.toMatch(noRemoval);
  });
});
