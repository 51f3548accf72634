import { afterAll, describe, expect, it } from 'vitest';
import { incidentTypes } from '../../src/model/records.ts';
import { fault, startBridge } from '../support/bridge.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

/** Home Assistant needs this time between two messages about one device. */
const minGapMs = 2_000;

const bridge = await startBridge({ cloud: { properties: 2, signals: 3, sonics: 12 } });
afterAll(() => bridge.close());
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [sonic = '', vanishing = ''] = world.sonics.ids;
const pages = 2;

/** The topics that the broker keeps for the bridge. */
const retainedTopics = () =>
  [...mqtt.last.keys()].filter((topic) => !/\/(event|hello|incident|status|set)$/.test(topic));
const discovery = (id: string) => `homeassistant/device/sonic2mqtt_${id}/config`;
const announcements = () => mqtt.messages.filter(({ topic }) => topic.endsWith('/incident'));

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

  it('announces parents before children to Home Assistant', () => {
    const topics = mqtt.messages.map(({ topic }) => topic).filter((topic) => topic.endsWith('/config'));
    expect(new Set(topics).size).toBe(1 + 2 + 3 + 12);
    const seen = new Set<string>();
    for (const topic of topics) {
      const { device } = JSON.parse(mqtt.last.get(topic) ?? '{}');
      if (device.via_device) expect(seen).toContain(device.via_device);
      seen.add(device.identifiers[0]);
    }
  });

  it('announces an open incident once, two seconds after its device at the earliest', async () => {
    await waitFor(() => announcements().length > 0, { what: 'the incident that is open' });
    const [announcement] = announcements();
    const id = announcement?.topic.split('/')[2] ?? '';
    const device = mqtt.messages.find(({ topic }) => topic === discovery(id));
    expect(Number(announcement?.atMs) - Number(device?.atMs)).toBeGreaterThanOrEqual(minGapMs);
    expect(announcement?.retain).toBe(false);
    await bridge.untilJson(`sonic/${id}/incidents`, ({ open_count }) => open_count === 1);
  });

  it('publishes nothing in ten quiet polls', async () => {
    await waitFor(() => bridge.events('incident_opened').length > 0, { what: 'the event of the incident' });
    // The details follow the first publication within seconds.
    let news = mqtt.messages;
    for (let round = 0; round < 5 && news.length > 0; round++) {
      const before = mqtt.messages.length;
      await bridge.polls(10 * pages);
      news = mqtt.messages.slice(before);
    }
    expect(news).toEqual([]);
  });

  it('publishes everything again when Home Assistant starts', async () => {
    const from = mqtt.messages.length;
    await mqtt.publish('homeassistant/status', 'online');
    const again = () => new Set(mqtt.messages.slice(from).map(({ topic }) => topic));
    await waitFor(() => retainedTopics().every((topic) => again().has(topic)), { what: 'everything again' });
  });
});

describe('a device that vanishes from the cloud', () => {
  const topics = () => retainedTopics().filter((topic) => topic.includes(vanishing));

  it('keeps its topics while the list is incomplete, and loses them after two complete lists', async () => {
    cloud.setFaults([fault('missing-page@list_sonics')]);
    world.removeSonic(vanishing);
    await bridge.polls(6);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'degraded');
    expect(topics().length).toBeGreaterThanOrEqual(6);
    cloud.setFaults([]);
    await waitFor(() => topics().length === 0, { what: 'the sonic to go' });
    expect(bridge.events('device_removed')).toMatchObject([{ kind: 'sonic', id: vanishing }]);
  });

  it('while the bridge is stopped loses them at the next start, and another bridge keeps its own', async () => {
    const [, gone = ''] = world.sonics.ids;
    const foreign = { availability: [{ topic: 'another/bridge/state' }], components: {} };
    await mqtt.publish(discovery('other'), JSON.stringify(foreign), { retain: true });
    const announced = announcements().length;
    const { code, durationMs } = await bridge.program.stop('SIGTERM');
    expect({ code, isInTime: durationMs < 5_000 }).toEqual({ code: 0, isInTime: true });
    await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    world.removeSonic(gone);
    bridge.start();
    await waitFor(() => !retainedTopics().some((topic) => topic.includes(gone)), { what: 'the sonic to go' });
    expect(mqtt.last.has(discovery('other'))).toBe(true);
    // Nor is an incident announced again.
    const { id } = world.openIncident({ type: 'something_new', sonicId: sonic });
    await waitFor(() => announcements().length > announced, { what: 'the next incident' });
    expect(
      announcements()
        .slice(announced)
        .map(({ text }) => JSON.parse(text)),
    ).toMatchObject([{ event_type: 'unknown_incident', id }]);
  });
});

describe('after a start', () => {
  it('what cannot be read yet is left as the broker has it', async () => {
    await bridge.program.stop();
    cloud.setFaults([fault('error=500@read_property_settings'), fault('error=500@read_telemetry')]);
    world.dropRadio(sonic);
    const kept = retainedTopics();
    const from = mqtt.messages.length;
    bridge.start();
    await mqtt.waitForTopic(`sonic2mqtt/sonic/${sonic}/availability`, (text) => text === 'offline');
    await bridge.untilJson('bridge/health', ({ status }) => status === 'degraded');
    await bridge.polls(3 * pages);
    cloud.setFaults([]);
    world.connectRadio(sonic);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
    const since = mqtt.messages.slice(from);
    expect(since.filter(({ topic, text }) => text === '' && kept.includes(topic))).toEqual([]);
    expect(bridge.program.stderr).not.toMatch(/removing entities|Deleted/);
    // Nor is a device shown without its property, only because that is read later.
    const records = since.filter(({ topic }) => /^sonic2mqtt\/(sonic|signal)\/[^/]+$/.test(topic));
    expect(records.filter(({ text }) => text.includes('"property_id":null'))).toEqual([]);
  });
});

describe('a broker', () => {
  it('that forgets everything gets all retained state back, and nothing that is outdated', async () => {
    await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
    // The alert about the radio has ended in the cloud just now.
    const closed = world.incidents.ids.filter((id) => !world.incidents.get(id)?.open);
    await waitFor(() => !closed.some((id) => mqtt.last.has(`sonic2mqtt/incident/${id}`)), {
      what: 'the closed alerts to be gone',
    });
    const before = retainedTopics().filter((topic) => !topic.includes('_other/'));
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

  it('publishes offline for a bridge that was killed', async () => {
    await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    await bridge.program.stop('SIGKILL');
    await mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
  });
});
