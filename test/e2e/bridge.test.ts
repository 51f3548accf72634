import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { incidentTypes } from '../../src/model/records.ts';
import { fault, type House, startHouse } from '../support/house.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { startScriptedBroker } from '../support/scriptedBroker.ts';
import { waitFor } from '../support/waitFor.ts';

/** What Home Assistant needs between two messages about one device. */
const twoSeconds = 2_000;

/** Waits until the cloud was asked for its sonics so many more times. */
async function polls(house: House, pages: number, times: number): Promise<void> {
  const before = house.simulator.requests.count('list_sonics');
  await waitFor(() => house.simulator.requests.count('list_sonics') >= before + times * pages, {
    what: `${times} polls`,
    timeoutMs: 15_000,
  });
}

/** Topics under which a message is kept; events and Home Assistant's birth are not. */
function retainedTopics(house: House): string[] {
  return [...house.watcher.last.keys()].filter((topic) => !/\/(event|incident|status|set)$/.test(topic));
}

describe('a landlord with 37 sonics over four pages', () => {
  let house: House;
  beforeAll(async () => {
    house = await startHouse({ cloud: { properties: 3, signals: 5, sonics: 37 } });
    await waitFor(() => retainedTopics(house).some((topic) => topic.includes('/incident/')), {
      what: 'the incident, which is published last',
      timeoutMs: 15_000,
    });
  });

  it('shows every sonic with its record, its property, its valve and its availability', () => {
    const { sonics } = house.simulator.world;
    for (const sonic of sonics.values()) {
      expect(house.json(`sonic/${sonic.id}`)).toMatchObject({ ...sonic, valve: 'open' });
      expect(house.json(`sonic/${sonic.id}`).property_id).toBe(
        house.simulator.world.propertyOf(sonic.signal_id),
      );
      expect(house.watcher.last.get(`sonic2mqtt/sonic/${sonic.id}/availability`)).toBe('online');
      expect(house.json(`sonic/${sonic.id}/telemetry`)).toHaveProperty('probed_at');
      expect(Object.keys(house.json(`sonic/${sonic.id}/incidents`).open)).toEqual([...incidentTypes]);
    }
    expect(sonics.size).toBe(37);
  });

  it('shows signals, properties, their settings, open incidents and itself', async () => {
    const { world } = house.simulator;
    for (const [id, signal] of world.signals) {
      expect(house.json(`signal/${id}`)).toMatchObject({ ...signal, property_id: world.propertyOf(id) });
      expect(house.watcher.last.get(`sonic2mqtt/signal/${id}/availability`)).toBe('online');
    }
    for (const [id, property] of world.properties) {
      expect(house.json(`property/${id}`)).toMatchObject(property);
      expect(house.json(`property/${id}/settings`)).toMatchObject({ timezone: expect.any(String) });
      expect(house.json(`property/${id}/notifications`)).toHaveProperty('legionella_risk');
    }
    const [incident] = [...world.incidents.values()].filter(({ open }) => open);
    expect(incident).toBeDefined();
    expect(house.json(`incident/${incident?.id}`)).toMatchObject({ id: incident?.id, open: true });
    expect(house.json(`sonic/${incident?.sonic_id}/incidents`)).toMatchObject({ open_count: 1 });
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('online');
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    expect(house.json('bridge/health')).toMatchObject({ status: 'ok', reason: null });
    const info = house.json('bridge/info');
    expect(info.counts).toEqual({ properties: 3, signals: 5, sonics: 37, open_incidents: 1 });
    expect(info.operations.command_valve).toBe('available');
    expect(JSON.stringify(info)).not.toContain('"password":"demo"');
  });

  it('announces parents before children to Home Assistant', () => {
    const topics = house.watcher.messages
      .map(({ topic }) => topic)
      .filter((topic) => topic.endsWith('/config'));
    expect(topics).toHaveLength(1 + 3 + 5 + 37);
    const seen = new Set<string>();
    for (const topic of topics) {
      const { device } = JSON.parse(house.watcher.last.get(topic) ?? '{}');
      if (device.via_device) expect(seen).toContain(device.via_device);
      seen.add(device.identifiers[0]);
    }
  });

  it('publishes nothing in ten quiet polls', async () => {
    const isAnnounced = () =>
      house.events('incident_opened').length > 0 &&
      house.watcher.messages.some(({ topic }) => topic.endsWith('/incident'));
    await waitFor(isAnnounced, { what: 'the incident to be announced' });
    const before = house.watcher.messages.length;
    await polls(house, 4, 10);
    expect(house.watcher.messages.slice(before)).toEqual([]);
  });

  it('carries a valve command to the cloud once and shows it closing, then closed', async () => {
    const [sonic] = house.simulator.world.sonics.values();
    const topic = `sonic2mqtt/sonic/${sonic?.id}`;
    const from = house.watcher.messages.length;
    await house.watcher.publish(`${topic}/valve/set`, 'close');
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed', 10_000);
    const shown = house.watcher.messages
      .slice(from)
      .filter((message) => message.topic === topic)
      .map(({ text }) => JSON.parse(text).valve);
    expect([...new Set(shown)]).toEqual(['closing', 'closed']);
    expect(house.simulator.requests.count('command_valve')).toBe(1);
    expect(house.events('command')).toMatchObject([
      { topic: `${topic}/valve/set`, status: 'ok', reason: null, http_status: 200 },
    ]);
    await house.watcher.waitForTopic(
      `${topic}/homeassistant`,
      (text) => JSON.parse(text).valve_travel_time > 0,
    );
  });

  it('publishes everything again when Home Assistant starts', async () => {
    const from = house.watcher.messages.length;
    await house.watcher.publish('homeassistant/status', 'online');
    const again = () => new Set(house.watcher.messages.slice(from).map(({ topic }) => topic));
    await waitFor(() => retainedTopics(house).every((topic) => again().has(topic)), {
      what: 'everything again',
      timeoutMs: 10_000,
    });
  });

  it('says offline and exits with 0 within five seconds when it is told to stop', async () => {
    const { code, durationMs } = await house.bridge.stop('SIGTERM');
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
  });
});

describe('a broker that forgets everything', () => {
  it('gets all retained state back, without anything having been queued', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 3 } });
    await waitFor(() => retainedTopics(house).some((topic) => topic.includes('/incident/')), {
      what: 'all state',
      timeoutMs: 10_000,
    });
    const before = new Map(retainedTopics(house).map((topic) => [topic, house.watcher.last.get(topic)]));
    await house.broker.stop();
    const [sonic] = house.simulator.world.sonics.values();
    house.simulator.world.setValve(sonic?.id ?? '', 'closed');
    await polls(house, 1, 3);
    await house.broker.restart();
    const after = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/device/#']);
    await waitFor(() => [...before.keys()].every((topic) => after.last.has(topic)), {
      what: 'all retained state',
      timeoutMs: 15_000,
    });
    const record = after.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonic?.id}`);
    expect(record.map(({ text }) => JSON.parse(text).valve)).toEqual(['closed']);
    expect(after.last.get('sonic2mqtt/bridge/state')).toBe('online');
  });

  it('says offline for a bridge that was killed', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online', 10_000);
    await house.bridge.stop('SIGKILL');
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
  });
});

describe('what vanishes', () => {
  it('loses its topics and its device after two complete readings, and not after an incomplete one', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 12 } });
    const [sonic] = house.simulator.world.sonics.values();
    const id = sonic?.id ?? '';
    const topics = () => retainedTopics(house).filter((topic) => topic.includes(id));
    await waitFor(() => topics().length >= 6, { what: 'the sonic', timeoutMs: 10_000 });

    house.simulator.setFaults([fault('missing-page@list_sonics')]);
    house.simulator.world.removeSonic(id);
    await polls(house, 1, 6);
    expect(topics().length).toBeGreaterThanOrEqual(6);
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/health',
      (text) => JSON.parse(text).status === 'degraded',
    );

    house.simulator.setFaults([]);
    await waitFor(() => topics().length === 0, { what: 'the sonic to go', timeoutMs: 10_000 });
    expect(house.events('device_removed')).toMatchObject([{ kind: 'sonic', id }]);
  });

  it('is swept at the next start when it vanished while the bridge was down', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 2 } });
    const [sonic] = house.simulator.world.sonics.values();
    const id = sonic?.id ?? '';
    const topics = () => retainedTopics(house).filter((topic) => topic.includes(id));
    await waitFor(() => topics().length >= 6, { what: 'the sonic', timeoutMs: 10_000 });
    const foreign = { availability: [{ topic: 'another/bridge/state' }], components: {} };
    await house.watcher.publish('homeassistant/device/sonic2mqtt_other/config', JSON.stringify(foreign), {
      retain: true,
    });
    await house.bridge.stop();
    house.simulator.world.removeSonic(id);
    house.startBridge();
    await waitFor(() => topics().length === 0, { what: 'the sonic to be swept', timeoutMs: 10_000 });
    expect(house.watcher.last.has('homeassistant/device/sonic2mqtt_other/config')).toBe(true);
  });

  it.each([
    ['the whole cloud is away', ['error=503']],
    ['a property does not show its settings', ['error=500@read_property_settings']],
    ['no telemetry can be read', ['error=500@read_telemetry']],
  ])('is not what cannot be read yet: %s at a start, and all is kept', async (_, faults) => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 2 },
      config: { cloud: { request_timeout: '300ms' } },
    });
    const isComplete = () => retainedTopics(house).some((topic) => topic.includes('/incident/'));
    await waitFor(isComplete, { what: 'the house', timeoutMs: 10_000 });
    await house.bridge.stop();
    house.simulator.setFaults(faults.map(fault));
    const kept = retainedTopics(house).toSorted();
    const from = house.watcher.messages.length;
    house.startBridge();
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/health',
      (text) => ['cloud_unreachable', 'degraded'].includes(JSON.parse(text).status),
      15_000,
    );
    await pause(1_000);
    house.simulator.setFaults([]);
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/health',
      (text) => JSON.parse(text).status === 'ok',
      20_000,
    );
    await polls(house, 1, 3);
    const since = house.watcher.messages.slice(from);
    expect(since.filter(({ topic, text }) => text === '' && kept.includes(topic))).toEqual([]);
    expect(house.bridge.stderr).not.toMatch(/removing entities|Deleted/);
    expect(retainedTopics(house)).toEqual(expect.arrayContaining(kept));
    // Nor is anything shown without what it belongs to, only because that came later.
    const records = since.filter(({ topic }) => /^sonic2mqtt\/(sonic|signal)\/[^/]+$/.test(topic));
    expect(records.filter(({ text }) => text.includes('"property_id":null'))).toEqual([]);
  });

  it('is not the telemetry of a sonic that is out of reach at a start', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    const [id = ''] = house.simulator.world.sonics.ids;
    const telemetry = `sonic2mqtt/sonic/${id}/telemetry`;
    const discovery = `homeassistant/device/sonic2mqtt_${id}/config`;
    await house.watcher.waitForTopic(telemetry, () => true, 10_000);
    await house.bridge.stop();
    house.simulator.world.dropRadio(id);
    house.startBridge();
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${id}/availability`,
      (text) => text === 'offline',
      10_000,
    );
    await polls(house, 1, 3);
    expect(house.watcher.last.has(telemetry)).toBe(true);
    expect(house.watcher.last.get(discovery)).toContain('"sensor_flow"');
    expect(house.bridge.stderr).not.toMatch(/removing entities|Deleted/);
  });

  it('is withdrawn from Home Assistant first when an entity goes, since leaving it out would keep it', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    const [sonic] = house.simulator.world.sonics.values();
    const topic = `homeassistant/device/sonic2mqtt_${sonic?.id}/config`;
    await house.watcher.waitForTopic(topic, (text) => 'valve_valve' in JSON.parse(text).components, 10_000);
    await house.bridge.stop();
    const from = house.watcher.messages.length;
    house.startBridge({ control: { valves: false } });
    await house.watcher.waitForTopic(
      topic,
      (text) => !('valve_valve' in JSON.parse(text).components),
      10_000,
    );
    const sent = house.watcher.messages.slice(from).filter((message) => message.topic === topic);
    const [withdrawal, final] = sent;
    expect(JSON.parse(withdrawal?.text ?? '{}').components.valve_valve).toEqual({ platform: 'valve' });
    expect((final?.atMs ?? 0) - (withdrawal?.atMs ?? 0)).toBeGreaterThanOrEqual(twoSeconds);
  });

  it('is withdrawn again when the connection breaks before the broker has the message that does so', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 }, isStarted: false });
    const broker = await startScriptedBroker(house.broker.url);
    house.startBridge({ mqtt: { url: broker.url } });
    const [property = ''] = house.simulator.world.properties.ids;
    const topic = `homeassistant/device/sonic2mqtt_${property}/config`;
    const entity = (text: string) => JSON.parse(text).components.text_timezone;
    await house.watcher.waitForTopic(topic, (text) => entity(text) !== undefined, 10_000);
    const from = house.watcher.messages.length;
    let isBroken = false;
    broker.play({
      fromClient(packet, way) {
        if (isBroken || packet.cmd !== 'publish' || packet.topic !== topic) return false;
        isBroken = true;
        way.hangUp();
        return true;
      },
    });
    house.simulator.setFaults([fault('error=403@read_property_settings')]);
    await house.watcher.waitForTopic(topic, (text) => entity(text) === undefined, 10_000);
    expect(isBroken).toBe(true);
    const sent = house.watcher.messages.slice(from).filter((message) => message.topic === topic);
    expect(sent.map(({ text }) => entity(text))).toEqual([{ platform: 'text' }, undefined]);
    await house.bridge.stop();
  });
});

describe('incidents', () => {
  it('of a device that is not listed yet are told at once, and announced by it as soon as it is', async () => {
    const house = await startHouse({
      config: { schedules: { incidents: '500ms', sonics: '1h', signals: '1h', properties: '1h' } },
    });
    const { world } = house.simulator;
    const [first = ''] = world.sonics.ids;
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${first}`, () => true, 10_000);
    const { id } = world.addSonic(world.addSignal().id);
    const incident = world.openIncident({ type: 'water_presence_detected', sonicId: id });
    const announced = () =>
      house.watcher.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${id}/incident`);
    const told = () => house.events('incident_opened').filter((event) => event.id === incident.id);
    await waitFor(() => told().length === 1, { what: 'the word of it', timeoutMs: 10_000 });
    // An incident has the sonics read early, whatever their schedule.
    await waitFor(() => announced().length === 1, { what: 'its announcement', timeoutMs: 10_000 });
    expect(JSON.parse(announced()[0]?.text ?? '{}')).toMatchObject({ id: incident.id });
    expect(told()).toHaveLength(1);
    await house.bridge.stop();
  });

  it('are announced once each, two seconds after their device at the earliest, and not again after a restart', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    const [sonic] = house.simulator.world.sonics.values();
    const id = sonic?.id ?? '';
    const announced = () =>
      house.watcher.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${id}/incident`);
    await waitFor(() => announced().length === 1, { what: 'the incident that was open', timeoutMs: 10_000 });
    const discovery = house.watcher.messages.find(({ topic }) => topic.endsWith(`${id}/config`));
    expect((announced()[0]?.atMs ?? 0) - (discovery?.atMs ?? 0)).toBeGreaterThanOrEqual(twoSeconds);

    const opened = house.simulator.world.openIncident({ type: 'water_presence_detected', sonicId: id });
    await waitFor(() => announced().length === 2, { what: 'the new incident' });
    expect(JSON.parse(announced()[1]?.text ?? '{}')).toMatchObject({
      event_type: 'water_presence_detected',
      id: opened.id,
      open: true,
    });
    expect(announced()[1]?.retain).toBe(false);
    const states = house.json(`sonic/${id}/homeassistant`);
    expect(states).toMatchObject({ incident_water_presence_detected: 'ON', open_incidents: 2 });

    await house.bridge.stop('SIGKILL');
    const from = house.watcher.messages.length;
    house.startBridge();
    house.simulator.world.openIncident({ type: 'something_new', sonicId: id });
    const isNew = ({ topic, text }: { topic: string; text: string }) =>
      topic.endsWith('/incident') && JSON.parse(text).event_type === 'unknown_incident';
    await house.watcher.waitForMessage(isNew, {
      what: 'the incident of an unknown type',
      from,
      timeoutMs: 10_000,
    });
    expect(announced()).toHaveLength(3);

    house.simulator.world.closeIncident(opened.id);
    await waitFor(() => house.json(`sonic/${id}/incidents`).open.water_presence_detected === null, {
      what: 'the incident to close',
    });
    await waitFor(() => !house.watcher.last.has(`sonic2mqtt/incident/${opened.id}`), {
      what: 'its record to go',
    });
    await waitFor(() => house.events('incident_closed').length > 0, { what: 'the word of it' });
    expect(house.events('incident_closed')).toMatchObject([{ id: opened.id }]);
  });
});
