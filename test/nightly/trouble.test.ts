import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import { fault, type House, quick, startHouse } from '../support/house.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const health = (house: House) => house.json('bridge/health');
const untilStatus = (house: House, status: string) =>
  house.watcher.waitForTopic(
    'sonic2mqtt/bridge/health',
    (text) => JSON.parse(text).status === status,
    15_000,
  );

describe('bad data from the cloud', () => {
  it.each([
    ['bad-record', /could not be read|unexpected|skipped|object/i],
    ['unsafe-id', /id/i],
  ])('costs nothing but itself: %s', async (name, words) => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 3, faults: [fault(name)] },
    });
    await untilStatus(house, 'degraded');
    expect(health(house).reason).toMatch(words);
    await waitFor(
      () => house.simulator.world.sonics.ids.filter((id) => house.json(`sonic/${id}`)).length >= 2,
      {
        what: 'the other sonics',
      },
    );
    await waitFor(() => house.bridge.stderr.match(words), { what: 'a line in the log' });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
  });

  it.each(['unknown-enum', 'long-name'])(
    'is shown as it is, and Home Assistant gets what it can take: %s',
    async (name) => {
      const house = await startHouse({
        cloud: { properties: 1, signals: 1, sonics: 2, faults: [fault(name)] },
      });
      const ids = house.simulator.world.sonics.ids;
      await waitFor(() => ids.every((id) => house.json(`sonic/${id}/homeassistant`)), {
        what: 'the sonics',
        timeoutMs: 10_000,
      });
      for (const id of ids) {
        const discovery = house.watcher.last.get(`homeassistant/device/sonic2mqtt_${id}/config`) ?? '';
        expect(discovery.length).toBeGreaterThan(1_000);
        expect(discovery.length).toBeLessThan(64_000);
        expect(['open', 'closed', 'opening', 'closing', null]).toContain(house.json(`sonic/${id}`).valve);
      }
    },
  );

  it('that is HTML instead of JSON changes no value and is said in words', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    const [id] = house.simulator.world.sonics.ids;
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`, () => true, 10_000);
    house.simulator.setFaults([fault('html')]);
    await untilStatus(house, 'degraded');
    expect(health(house).reason).toMatch(/HTML|JSON/);
    expect(house.json(`sonic/${id}`).valve).toBe('open');
  });
});

describe('a cloud that keeps a list to itself', () => {
  it('is not taken to have no incident: whether there is a leak is unknown', async () => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1, faults: [fault('error=403@list_incidents')] },
    });
    const [id] = house.simulator.world.sonics.ids;
    const shown = await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${id}/homeassistant`,
      () => true,
      10_000,
    );
    expect(JSON.parse(shown)).toMatchObject({
      valve: 'open',
      incident_long_flow_alert: null,
      open_incidents: null,
    });
    expect(house.json(`sonic/${id}/incidents`)).toMatchObject({ open_count: null });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    house.simulator.setFaults([]);
    await waitFor(() => house.json(`sonic/${id}/homeassistant`).open_incidents !== null, {
      what: 'the incidents',
      timeoutMs: 10_000,
    });
  });

  it.each([
    ['for the moment', 'error=503@list_property_signals', {}],
    ['from a guest', 'error=403@list_property_signals', {}],
    ['for good', null, { cloud: { routes: { list_property_signals: null } } }],
  ])(
    '%s, that of a property’s signals, leaves unknown whether there is a leak in it',
    async (_, flaw, changes) => {
      // Of two: with one only, what is open in the account is open there.
      const house = await startHouse({ cloud: { properties: 2, signals: 2, sonics: 1 }, isStarted: false });
      const { world } = house.simulator;
      const [property = ''] = world.properties.ids;
      const [sonicId = ''] = world.sonics.ids;
      for (const id of world.incidents.ids) world.closeIncident(id);
      world.openIncident({ type: 'water_presence_detected', sonicId });
      if (flaw !== null) house.simulator.setFaults([fault(flaw)]);
      house.startBridge(changes);
      const shown = await house.watcher.waitForTopic(
        `sonic2mqtt/sonic/${sonicId}/homeassistant`,
        () => true,
        10_000,
      );
      expect(JSON.parse(shown)).toMatchObject({ open_incidents: 1 });
      const states = await house.watcher.waitForTopic(`sonic2mqtt/property/${property}/homeassistant`);
      expect(JSON.parse(states)).toMatchObject({
        problem: null,
        open_incidents: null,
        highest_severity: null,
      });
      expect(house.json(`property/${property}/incidents`)).toMatchObject({ open_count: null });
      const words = 'the cloud does not say which signals (hubs) are in ';
      // The properties are read to the end after their devices are shown.
      await waitFor(() => health(house).reason?.includes(words), { what: 'the reason' });
      expect(health(house).status).toBe(flaw?.includes('503') ? 'degraded' : 'ok');
      if (flaw === null) return;
      house.simulator.setFaults([]);
      await house.watcher.waitForTopic(
        `sonic2mqtt/property/${property}/homeassistant`,
        (text) => JSON.parse(text).problem === 'ON',
        15_000,
      );
      await waitFor(() => health(house).reason === null, { what: 'nothing to be said of it' });
    },
  );

  it('has its devices shown as unavailable once what is known of them is too old', async () => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { stale_after: '1s' },
    });
    const [id] = house.simulator.world.sonics.ids;
    const availability = `sonic2mqtt/sonic/${id}/availability`;
    await house.watcher.waitForTopic(availability, (text) => text === 'online', 10_000);
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}/telemetry`);
    house.simulator.setFaults([fault('error=403@list_sonics'), fault('error=500@read_telemetry')]);
    await house.watcher.waitForTopic(availability, (text) => text === 'offline', 15_000);
    await waitFor(() => house.json(`sonic/${id}/telemetry`).flow_l_min === null, {
      what: 'the telemetry to be unknown',
      timeoutMs: 15_000,
    });
    house.simulator.setFaults([]);
    await house.watcher.waitForTopic(availability, (text) => text === 'online', 15_000);
  });
});

describe('a cloud that is away', () => {
  it('is not called well before it has answered', async () => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1, faults: [fault('hang')] },
      config: { cloud: { request_timeout: '1s' } },
    });
    await untilStatus(house, 'cloud_unreachable');
    const told = house.watcher.messages
      .filter(({ topic, text }) => topic === 'sonic2mqtt/bridge/health' && text !== '')
      .map(({ text }) => JSON.parse(text).status);
    expect(told).not.toContain('ok');
    expect(health(house).schedules).toMatchObject({ telemetry: { last_success: null } });
  });

  it('makes values unavailable after a while, changes none, and is back by itself', async () => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { stale_after: '1500ms', cloud: { request_timeout: '500ms' } },
    });
    const [id] = house.simulator.world.sonics.ids;
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online', 10_000);
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}`);
    house.simulator.setFaults([fault('error=503')]);
    await untilStatus(house, 'cloud_unreachable');
    const isState = (topic: string) => !/^sonic2mqtt\/bridge\/|\/incident$/.test(topic);
    const known = () => [...house.watcher.last].filter(([topic]) => isState(topic));
    const before = known();
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'offline', 10_000);
    // Long enough for each list, and the telemetry, to grow old and to be asked for in vain again.
    await pause(3_000);
    expect(known()).toEqual(before);
    expect(house.json(`sonic/${id}`).valve).toBe('open');
    expect(house.json(`sonic/${id}/incidents`).open_count).toBe(1);
    expect(house.json(`sonic/${id}/telemetry`).flow_l_min).not.toBeNull();
    expect(house.watcher.last.get(`sonic2mqtt/sonic/${id}/availability`)).toBe('online');
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('online');
    house.simulator.setFaults([]);
    await untilStatus(house, 'ok');
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    expect(house.events().map(({ event }) => event)).toEqual(
      expect.arrayContaining(['cloud_online', 'cloud_offline', 'cloud_online']),
    );
    const lines = house.bridge.stderr.split('\n').filter((line) => /503/.test(line));
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(2);
  });

  it('does not keep the bridge from starting', async () => {
    const house = await startHouse({
      config: { cloud: { base_url: `http://127.0.0.1:${await freePort()}` } },
    });
    await untilStatus(house, 'cloud_unreachable');
    expect(health(house).reason).toMatch(/refused/);
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('online');
    expect(house.watcher.last.get('sonic2mqtt/bridge/cloud')).toBe('offline');
    const { code, durationMs } = await house.bridge.stop();
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
  });

  it('that hangs does not keep the bridge from stopping in time', async () => {
    const house = await startHouse({
      cloud: { properties: 1, signals: 1, sonics: 1, faults: [fault('hang')] },
    });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online', 10_000);
    const { code, durationMs } = await house.bridge.stop();
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
    await house.watcher.settle();
    expect(house.watcher.last.get('sonic2mqtt/bridge/state')).toBe('offline');
  });
});

describe('a wrong password', () => {
  it('is said in words, is tried a few times only, and works as soon as its file is right', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'wrong\n');
    const house = await startHouse({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 1 } });
    house.startBridge({ cloud: { password: undefined, password_file: file } });
    await untilStatus(house, 'auth_failed');
    expect(health(house).reason).toMatch(/password/);
    await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
    await waitFor(() => house.simulator.requests.count('sign_in') >= 2, { what: 'a second attempt' });
    for (let times = 0; times < 5; times++) await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
    await waitFor(() => house.events('command').length === 6, { what: 'all refreshes' });
    expect(house.simulator.requests.count('sign_in')).toBeLessThanOrEqual(3);
    expect(house.bridge.isRunning).toBe(true);
    expect(house.bridge.stderr).not.toContain('wrong');
  });

  it('that was changed while the bridge runs is told as an event', async () => {
    const house = await startHouse({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    await untilStatus(house, 'ok');
    house.simulator.rejectPassword();
    await untilStatus(house, 'auth_failed');
    expect(house.events('auth_failed')).toHaveLength(1);
  });

  it('in a file that is corrected is tried at once', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'wrong\n');
    const house = await startHouse({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 1 } });
    house.startBridge({ cloud: { password: undefined, password_file: file } });
    await untilStatus(house, 'auth_failed');
    writeFileSync(file, 'demo\n');
    await untilStatus(house, 'ok');
  });
});

describe('a broker that is away', () => {
  it('is waited for', async () => {
    const port = await freePort();
    const house = await startHouse({ isStarted: false });
    const bridge = house.startBridge({ mqtt: { url: `mqtt://127.0.0.1:${port}` } });
    await bridge.waitForOutput(/connection refused/, 10_000);
    const broker = new EmbeddedBroker({ host: '127.0.0.1', port, username: undefined, password: undefined });
    await broker.start();
    const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/#');
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online', 15_000);
    await waitFor(
      () => house.simulator.world.sonics.ids.every((id) => watcher.last.has(`sonic2mqtt/sonic/${id}`)),
      {
        what: 'the sonics',
      },
    );
    await broker.stop();
  });

  it.skipIf(!mosquittoAvailable())('and whose password is wrong is said in words', async () => {
    const broker = await startMosquitto({ password: { user: 'bridge', password: 'right' } });
    const house = await startHouse({ isStarted: false });
    const bridge = house.startBridge({
      mqtt: { url: broker.url, username: 'bridge', password: 'wrong-one' },
    });
    await bridge.waitForOutput(/mqtt\.username and mqtt\.password/, 10_000);
    expect(bridge.isRunning).toBe(true);
    expect(bridge.stderr).not.toContain('wrong-one');
    expect((await bridge.stop()).code).toBe(0);
  });
});

describe.skipIf(!mosquittoAvailable())('Mosquitto', () => {
  it('that hangs does not keep the bridge from stopping in time', async () => {
    const broker = await startMosquitto();
    const house = await startHouse({ isStarted: false });
    const bridge = house.startBridge({ mqtt: { url: broker.url } });
    await bridge.waitForOutput(/Found/, 10_000);
    await broker.kill('SIGSTOP');
    const { code, durationMs } = await bridge.stop();
    await broker.kill('SIGCONT');
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
  });

  it.each([
    ['MQTT 5', {}, { protocol_version: 5 }, 'MQTT 5'],
    ['MQTT 3.1.1', {}, { protocol_version: 4 }, 'MQTT 3.1.1'],
    ['a password', { password: { user: 'bridge', password: 'quite secret' } }, {}, 'MQTT 5'],
    ['TLS under an own authority', { tls: true }, {}, 'MQTT 5'],
    ['WebSocket', { websocket: true }, {}, 'MQTT 5'],
  ])('works with %s', async (_name, broker, mqtt, protocol) => {
    const house = await startHouse({
      broker,
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { mqtt },
    });
    const [id] = house.simulator.world.sonics.ids;
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}/homeassistant`, () => true, 10_000);
    expect(house.bridge.stderr).toContain(`(${protocol})`);
    expect(house.bridge.stderr).not.toContain('quite secret');
    await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE');
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${id}`,
      (text) => JSON.parse(text).valve === 'closed',
      10_000,
    );
  });

  it('with a certificate of an unknown authority is not trusted', async () => {
    const broker = await startMosquitto({ tls: true });
    const bridge = startProgram(['run'], {
      config: {
        cloud: { base_url: 'http://127.0.0.1:9', email: 'a@example.com', password: 'secret' },
        mqtt: { url: broker.url },
        schedules: quick,
      },
    });
    await bridge.waitForOutput(/certificate/i, 10_000);
    expect((await bridge.stop()).code).toBe(0);
  });

  it('that is given new certificates, as every year, is trusted by the authority that is in the file by then', async () => {
    const broker = await startMosquitto({ tls: true });
    const bridge = startProgram(['run'], {
      config: {
        cloud: { base_url: 'http://127.0.0.1:9', email: 'a@example.com', password: 'secret' },
        mqtt: { url: broker.url, ca_file: broker.caFile },
        schedules: quick,
      },
    });
    await bridge.waitForOutput(/Connected to the MQTT broker/, 10_000);
    broker.renewCertificates();
    await broker.restart();
    await bridge.waitForOutput(/MQTT broker .*: works again after/, 20_000);
    expect((await bridge.stop()).code).toBe(0);
  });
});
