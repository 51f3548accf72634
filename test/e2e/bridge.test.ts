import { afterAll, describe, expect, it } from 'vitest';
import { incidentTypes } from '../../src/model/records.ts';
import { startBridge } from '../support/bridge.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

const bridge = await startBridge({ cloud: { properties: 2, signals: 3, sonics: 12 } });
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [sonic = ''] = world.sonics.ids;
const pages = 2;

/** The topics that the broker keeps for the bridge. */
const retainedTopics = () =>
  [...mqtt.last.keys()].filter((topic) => !/\/(event|incident|status|set)$/.test(topic));

describe('the bridge', () => {
  it('shows every device with its record, its parent, its availability and its incidents', async () => {
    for (const record of world.sonics.values()) {
      expect(await bridge.untilJson(`sonic/${record.id}`, ({ property_id }) => property_id)).toMatchObject({
        ...record,
        property_id: world.propertyOf(record.signal_id),
        valve: 'open',
      });
      await mqtt.waitForTopic(`sonic2mqtt/sonic/${record.id}/availability`, (text) => text === 'online');
      await bridge.untilJson(`sonic/${record.id}/telemetry`, ({ probed_at }) => probed_at !== null);
      expect(Object.keys(bridge.json(`sonic/${record.id}/incidents`).open)).toEqual([...incidentTypes]);
    }
    for (const [id, signal] of world.signals) {
      expect(bridge.json(`signal/${id}`)).toMatchObject({ ...signal, property_id: world.propertyOf(id) });
    }
    for (const [id, property] of world.properties) {
      expect(bridge.json(`property/${id}`)).toMatchObject(property);
      await bridge.untilJson(`property/${id}/settings`, ({ timezone }) => timezone !== null);
      await bridge.untilJson(`property/${id}/notifications`, ({ legionella_risk: risk }) => risk !== null);
    }
  });

  it('shows its own state, with the counts of the account and without a secret', async () => {
    await mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    await bridge.untilJson('bridge/health', ({ status, reason }) => status === 'ok' && reason === null);
    const counts = { properties: 2, signals: 3, sonics: 12, open_incidents: 1 };
    const info = await bridge.untilJson('bridge/info', (each) => each.counts.open_incidents === 1);
    expect(info.counts).toEqual(counts);
    expect(info.operations.command_valve).toBe('available');
    expect(JSON.stringify(info)).not.toContain('"password":"demo"');
    // HTTP is off by default.
    expect(bridge.program.output).not.toContain('HTTP: ');
  });
});

describe('a broker', () => {
  it('that forgets everything gets all retained state back, and nothing that is outdated', async () => {
    await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
    const before = retainedTopics();
    await bridge.broker.stop();
    world.setValve(sonic, 'closed');
    await bridge.polls(3 * pages);
    await bridge.broker.restart();
    const after = await watchTopics(bridge.broker.url, ['sonic2mqtt/#', 'homeassistant/device/#']);
    await waitFor(() => before.every((topic) => after.last.has(topic)), { what: 'all retained state' });
    const records = after.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic}`);
    expect(records.map(({ text }) => JSON.parse(text).valve)).toEqual(['closed']);
    expect(after.last.get('sonic2mqtt/bridge/state')).toBe('online');
  });

  it('publishes offline for a bridge that was killed, and takes it from one that stops in time', async () => {
    const until = (state: string) => mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === state);
    await until('online');
    await bridge.program.stop('SIGKILL');
    await until('offline');
    bridge.start();
    await until('online');
    const { code, durationMs } = await bridge.program.stop('SIGTERM');
    expect({ code, isInTime: durationMs < 5_000 }).toEqual({ code: 0, isInTime: true });
    await until('offline');
  });
});
