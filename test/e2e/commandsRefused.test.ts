import { afterAll, describe, expect, it } from 'vitest';
import { fault, hourly, startBridge } from '../support/bridge.ts';
import { changingCommands } from '../support/commandTable.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { waitFor } from '../support/waitFor.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 2, sonics: 4 },
  config: { schedules: hourly },
  isStarted: false,
});
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [hub = '', otherHub = ''] = world.signals.ids;
const property = world.propertyOf(hub) ?? '';
const [sonic = ''] = world.thingIdsOf(property);
const [hidden = ''] = world.thingIdsOf(world.propertyOf(otherHub) ?? '');
world.openIncident({ type: 'low_temperature', sonicId: sonic });
world.openIncident({ type: 'cloud_disconnection', signalId: hub });
world.openIncident({ type: 'legionella_risk', sonicId: hidden });

/** One good command of each kind. */
const good = changingCommands(bridge);

/** Publishes them all and waits for an outcome of each. */
async function outcomesOf(commands: readonly { topic: string; payload: string | Buffer }[]) {
  const before = bridge.outcomes().length;
  await Promise.all(commands.map(({ topic, payload }) => mqtt.publish(topic, payload)));
  await waitFor(() => bridge.outcomes().length >= before + commands.length, {
    what: `${commands.length} outcomes`,
  });
  // The bridge takes messages in order: an outcome too many would be there before this one.
  await bridge.command('bridge/log_level/set', 'info');
  return bridge.outcomes().slice(before, -1);
}

describe('a command is refused and does not reach the cloud', () => {
  it('before the first poll is complete, and is not carried out later', async () => {
    const lists = ['list_properties', 'list_signals', 'list_sonics', 'list_incidents'];
    cloud.setFaults(lists.map((name) => fault(`latency=1500@${name}`)));
    bridge.start();
    await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    const early = good.filter(({ topic }) => !topic.includes('/request/'));
    const outcomes = await outcomesOf(early);
    expect(outcomes).toHaveLength(early.length);
    for (const { topic, status, reason } of outcomes) {
      expect([topic, status]).toEqual([topic, 'refused']);
      // The bridge may not have seen its own state yet.
      expect(reason).toMatch(
        /^there is no .*\. The cloud was not read completely yet$|^the command may be an old one/,
      );
    }
    cloud.setFaults([]);
    await bridge.untilShown();
    await bridge.command('bridge/log_level/set', 'info');
    expect(bridge.changesSent()).toEqual([]);
  });

  it.each([
    ['malformed', '{"action":"close"', /must be OPEN or CLOSE|OPEN or CLOSE/],
    ['contradictory', '{"action":"open","action":"close"}', /twice/],
    ['too large', 'CLOSE'.repeat(200_000), /larger than 64 KiB/],
    ['not UTF-8', Buffer.from([0x43, 0x4c, 0x4f, 0xff, 0x53, 0x45]), /UTF-8/],
  ])('if it is %s, by topic and by request', async (_, payload, reason) => {
    const topics = [`sonic/${sonic}/valve/set`, 'bridge/request/command_valve'];
    const outcomes = await outcomesOf(topics.map((path) => ({ topic: `sonic2mqtt/${path}`, payload })));
    expect(outcomes.map(({ status }) => status)).toEqual(['refused', 'refused']);
    expect(outcomes.find(({ topic }) => topic.endsWith('/valve/set'))?.reason).toMatch(reason);
    expect(bridge.changesSent()).toEqual([]);
  });

  it('if the filters hide its property', async () => {
    await bridge.restart({ filters: { properties: [property] } });
    const incident = world.openIncidentOf('legionella_risk', hidden)?.id ?? '';
    const outcomes = await outcomesOf([
      { topic: `sonic2mqtt/sonic/${hidden}/valve/set`, payload: 'CLOSE' },
      { topic: `sonic2mqtt/property/${world.propertyOf(otherHub)}/push/set`, payload: 'ON' },
      { topic: `sonic2mqtt/incident/${incident}/action`, payload: 'resolve' },
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['refused', 'refused', 'refused']);
    expect(await bridge.command(`sonic/${sonic}/valve/set`, 'CLOSE')).toMatchObject({ status: 'ok' });
    expect(bridge.changesSent().map(({ path }) => path)).toEqual([`/ape/v1/sonics/${sonic}/valve`]);
  });

  it.runIf(mosquittoAvailable())(
    'if the broker keeps 20 MB for it, and the next one is carried out',
    async () => {
      const topic = `sonic2mqtt/sonic/${sonic}/valve/set`;
      await mqtt.publish(topic, `CLOSE${' '.repeat(20_000_000)}`, { retain: true });
      // Only with MQTT 3.1.1: with MQTT 5 the broker knows what the bridge takes, and does not send it.
      await bridge.restart({ mqtt: { protocol_version: 4 } });
      const before = bridge.changesSent().length;
      expect(await bridge.command(`sonic/${sonic}/valve/set`, 'OPEN')).toMatchObject({ status: 'ok' });
      expect(bridge.changesSent()).toHaveLength(before + 1);
      expect(bridge.program.output.match(/Connected to the MQTT broker/g)).toHaveLength(1);
    },
  );
});
