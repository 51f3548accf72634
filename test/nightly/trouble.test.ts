import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import { fault, quick, startBridge, type TestBridge } from '../support/bridge.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const health = (bridge: TestBridge) => bridge.json('bridge/health');
const untilStatus = (bridge: TestBridge, status: string) =>
  bridge.mqtt.waitForTopic('sonic2mqtt/bridge/health', (text) => JSON.parse(text).status === status);

describe('bad data from the cloud', () => {
  it.each([
    ['bad-record', /could not be read|unexpected|skipped|object/i],
    ['unsafe-id', /id/i],
  ])('costs nothing but itself: %s', async (name, words) => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 3, faults: [fault(name)] },
      isAwaited: false,
    });
    await untilStatus(bridge, 'degraded');
    expect(health(bridge).reason).toMatch(words);
    await waitFor(
      () => bridge.cloud.world.sonics.ids.filter((id) => bridge.json(`sonic/${id}`)).length >= 2,
      {
        what: 'the other sonics',
      },
    );
    await waitFor(() => bridge.program.stderr.match(words), { what: 'a line in the log' });
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
  });

  it.each(['unknown-enum', 'long-name'])(
    'is shown as it is, and Home Assistant gets what it can take: %s',
    async (name) => {
      const bridge = await startBridge({
        cloud: { properties: 1, signals: 1, sonics: 2, faults: [fault(name)] },
        isAwaited: false,
      });
      const ids = bridge.cloud.world.sonics.ids;
      await waitFor(() => ids.every((id) => bridge.json(`sonic/${id}/homeassistant`)), {
        what: 'the sonics',
      });
      for (const id of ids) {
        const discovery = bridge.mqtt.last.get(`homeassistant/device/sonic2mqtt_${id}/config`) ?? '';
        expect(discovery.length).toBeGreaterThan(1_000);
        expect(discovery.length).toBeLessThan(64_000);
        expect(['open', 'closed', 'opening', 'closing', null]).toContain(bridge.json(`sonic/${id}`).valve);
      }
    },
  );

  it('that is HTML instead of JSON changes no value and is said in words', async () => {
    const bridge = await startBridge({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    const [id] = bridge.cloud.world.sonics.ids;
    await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}`);
    bridge.cloud.setFaults([fault('html')]);
    await untilStatus(bridge, 'degraded');
    expect(health(bridge).reason).toMatch(/HTML|JSON/);
    expect(bridge.json(`sonic/${id}`).valve).toBe('open');
  });
});

describe('a cloud that keeps a list to itself', () => {
  it('is not taken to have no incident: whether there is a leak is unknown', async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 1, faults: [fault('error=403@list_incidents')] },
      isAwaited: false,
    });
    const [id] = bridge.cloud.world.sonics.ids;
    const shown = await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}/homeassistant`);
    expect(JSON.parse(shown)).toMatchObject({
      valve: 'open',
      incident_long_flow_alert: null,
      open_incidents: null,
    });
    expect(bridge.json(`sonic/${id}/incidents`)).toMatchObject({ open_count: null });
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    bridge.cloud.setFaults([]);
    await waitFor(() => bridge.json(`sonic/${id}/homeassistant`).open_incidents !== null, {
      what: 'the incidents',
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
      const bridge = await startBridge({ cloud: { properties: 2, signals: 2, sonics: 1 }, isStarted: false });
      const { world } = bridge.cloud;
      const [property = ''] = world.properties.ids;
      const [sonicId = ''] = world.sonics.ids;
      for (const id of world.incidents.ids) world.closeIncident(id);
      world.openIncident({ type: 'water_presence_detected', sonicId });
      if (flaw !== null) bridge.cloud.setFaults([fault(flaw)]);
      bridge.start(changes);
      const shown = await bridge.mqtt.waitForTopic(
        `sonic2mqtt/sonic/${sonicId}/homeassistant`,
        () => true,
        10_000,
      );
      expect(JSON.parse(shown)).toMatchObject({ open_incidents: 1 });
      const states = await bridge.mqtt.waitForTopic(`sonic2mqtt/property/${property}/homeassistant`);
      expect(JSON.parse(states)).toMatchObject({
        problem: null,
        open_incidents: null,
        highest_severity: null,
      });
      expect(bridge.json(`property/${property}/incidents`)).toMatchObject({ open_count: null });
      const words = 'The cloud does not list the hubs of ';
      // The properties are read to the end after their devices are shown.
      await waitFor(() => health(bridge).reason?.includes(words), { what: 'the reason' });
      expect(health(bridge).status).toBe(flaw?.includes('503') ? 'degraded' : 'ok');
      if (flaw === null) return;
      bridge.cloud.setFaults([]);
      await bridge.mqtt.waitForTopic(
        `sonic2mqtt/property/${property}/homeassistant`,
        (text) => JSON.parse(text).problem === 'ON',
        15_000,
      );
      await waitFor(() => health(bridge).reason === null, { what: 'nothing to be said of it' });
    },
  );

  it('has its devices shown as unavailable once what is known of them is too old', async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { stale_after: '1s' },
    });
    const [id] = bridge.cloud.world.sonics.ids;
    const availability = `sonic2mqtt/sonic/${id}/availability`;
    await bridge.mqtt.waitForTopic(availability, (text) => text === 'online');
    await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}/telemetry`);
    bridge.cloud.setFaults([fault('error=403@list_sonics'), fault('error=500@read_telemetry')]);
    await bridge.mqtt.waitForTopic(availability, (text) => text === 'offline');
    await waitFor(() => bridge.json(`sonic/${id}/telemetry`).flow_l_min === null, {
      what: 'the telemetry to be unknown',
    });
    bridge.cloud.setFaults([]);
    await bridge.mqtt.waitForTopic(availability, (text) => text === 'online');
  });
});

describe('a cloud that is away', () => {
  it('is not called well before it has answered', async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 1, faults: [fault('hang')] },
      isAwaited: false,
      config: { cloud: { request_timeout: '1s' } },
    });
    await untilStatus(bridge, 'cloud_unreachable');
    const told = bridge.mqtt.messages
      .filter(({ topic, text }) => topic === 'sonic2mqtt/bridge/health' && text !== '')
      .map(({ text }) => JSON.parse(text).status);
    expect(told).not.toContain('ok');
    expect(health(bridge).schedules).toMatchObject({ telemetry: { last_success: null } });
  });

  it('makes values unavailable after a while, changes none, and is back by itself', async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { stale_after: '1500ms', cloud: { request_timeout: '500ms' } },
    });
    const [id] = bridge.cloud.world.sonics.ids;
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}`);
    bridge.cloud.setFaults([fault('error=503')]);
    await untilStatus(bridge, 'cloud_unreachable');
    const isState = (topic: string) => !/^sonic2mqtt\/bridge\/|\/incident$/.test(topic);
    const known = () => [...bridge.mqtt.last].filter(([topic]) => isState(topic));
    const before = known();
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'offline');
    // Long enough for each list, and the telemetry, to grow old and to be asked for in vain again.
    await pause(3_000);
    expect(known()).toEqual(before);
    expect(bridge.json(`sonic/${id}`).valve).toBe('open');
    expect(bridge.json(`sonic/${id}/incidents`).open_count).toBe(1);
    expect(bridge.json(`sonic/${id}/telemetry`).flow_l_min).not.toBeNull();
    expect(bridge.mqtt.last.get(`sonic2mqtt/sonic/${id}/availability`)).toBe('online');
    expect(bridge.mqtt.last.get('sonic2mqtt/bridge/state')).toBe('online');
    bridge.cloud.setFaults([]);
    await untilStatus(bridge, 'ok');
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    expect(bridge.events().map(({ event }) => event)).toEqual(
      expect.arrayContaining(['cloud_online', 'cloud_offline', 'cloud_online']),
    );
    const lines = bridge.program.stderr.split('\n').filter((line) => /503/.test(line));
    expect(lines.length, lines.join('\n')).toBeLessThanOrEqual(2);
  });

  it('does not keep the bridge from starting', async () => {
    const bridge = await startBridge({
      config: { cloud: { base_url: `http://127.0.0.1:${await freePort()}` } },
      isAwaited: false,
    });
    await untilStatus(bridge, 'cloud_unreachable');
    expect(health(bridge).reason).toMatch(/refused/);
    expect(bridge.mqtt.last.get('sonic2mqtt/bridge/state')).toBe('online');
    expect(bridge.mqtt.last.get('sonic2mqtt/bridge/cloud')).toBe('offline');
    const { code, durationMs } = await bridge.program.stop();
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
  });

  it('that hangs does not keep the bridge from stopping in time', async () => {
    const bridge = await startBridge({
      cloud: { properties: 1, signals: 1, sonics: 1, faults: [fault('hang')] },
      isAwaited: false,
    });
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    const { code, durationMs } = await bridge.program.stop();
    expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
    await bridge.mqtt.settle();
    expect(bridge.mqtt.last.get('sonic2mqtt/bridge/state')).toBe('offline');
  });
});

describe('a wrong password', () => {
  it('is said in words, is tried a few times only, and works as soon as its file is right', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'wrong\n');
    const bridge = await startBridge({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 1 } });
    bridge.start({ cloud: { password: undefined, password_file: file } });
    await untilStatus(bridge, 'auth_failed');
    expect(health(bridge).reason).toMatch(/password/);
    await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'PRESS');
    await waitFor(() => bridge.cloud.requests.count('sign_in') >= 2, { what: 'a second attempt' });
    for (let times = 0; times < 5; times++) await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'PRESS');
    await waitFor(() => bridge.events('command').length === 6, { what: 'all refreshes' });
    expect(bridge.cloud.requests.count('sign_in')).toBeLessThanOrEqual(3);
    expect(bridge.program.isRunning).toBe(true);
    expect(bridge.program.stderr).not.toContain('wrong');
  });

  it('that was changed while the bridge runs is told as an event', async () => {
    const bridge = await startBridge({ cloud: { properties: 1, signals: 1, sonics: 1 } });
    await untilStatus(bridge, 'ok');
    bridge.cloud.setPassword(null);
    await untilStatus(bridge, 'auth_failed');
    expect(bridge.events('auth_failed')).toHaveLength(1);
  });

  it('in a file that is corrected is tried at once', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'wrong\n');
    const bridge = await startBridge({ isStarted: false, cloud: { properties: 1, signals: 1, sonics: 1 } });
    bridge.start({ cloud: { password: undefined, password_file: file } });
    await untilStatus(bridge, 'auth_failed');
    writeFileSync(file, 'demo\n');
    await untilStatus(bridge, 'ok');
  });
});

describe('a broker that is away', () => {
  it('is waited for', async () => {
    const port = await freePort();
    const bridge = await startBridge({ isStarted: false });
    const program = bridge.start({ mqtt: { url: `mqtt://127.0.0.1:${port}` } });
    await program.waitForOutput(/connection refused/);
    const broker = new EmbeddedBroker({
      host: '127.0.0.1',
      port,
      username: undefined,
      password: undefined,
      unreadMs: 2_500,
    });
    await broker.start();
    const watcher = await watchTopics(`mqtt://127.0.0.1:${port}`, 'sonic2mqtt/#');
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    await waitFor(
      () => bridge.cloud.world.sonics.ids.every((id) => watcher.last.has(`sonic2mqtt/sonic/${id}`)),
      {
        what: 'the sonics',
      },
    );
    await broker.stop();
  });

  it.skipIf(!mosquittoAvailable())('and whose password is wrong is said in words', async () => {
    const broker = await startMosquitto({ password: { user: 'bridge', password: 'right' } });
    const bridge = await startBridge({ isStarted: false });
    const program = bridge.start({
      mqtt: { url: broker.url, username: 'bridge', password: 'wrong-one' },
    });
    await program.waitForOutput(/mqtt\.username and mqtt\.password/);
    expect(program.isRunning).toBe(true);
    expect(program.stderr).not.toContain('wrong-one');
    expect((await program.stop()).code).toBe(0);
  });
});

describe.skipIf(!mosquittoAvailable())('Mosquitto', () => {
  it('that hangs does not keep the bridge from stopping in time', async () => {
    const broker = await startMosquitto();
    const bridge = await startBridge({ isStarted: false });
    const program = bridge.start({ mqtt: { url: broker.url } });
    await program.waitForOutput(/Found/);
    await broker.kill('SIGSTOP');
    const { code, durationMs } = await program.stop();
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
    const bridge = await startBridge({
      broker,
      cloud: { properties: 1, signals: 1, sonics: 1 },
      config: { mqtt },
    });
    const [id] = bridge.cloud.world.sonics.ids;
    await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}/homeassistant`);
    expect(bridge.program.stderr).toContain(`(${protocol})`);
    expect(bridge.program.stderr).not.toContain('quite secret');
    await bridge.mqtt.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE');
    await bridge.mqtt.waitForTopic(
      `sonic2mqtt/sonic/${id}`,
      (text) => JSON.parse(text).valve === 'closed',
      10_000,
    );
  });

  it('with a certificate of an unknown authority is not trusted', async () => {
    const broker = await startMosquitto({ tls: true });
    const program = startProgram(['run'], {
      config: {
        cloud: { base_url: 'http://127.0.0.1:9', email: 'a@example.com', password: 'secret' },
        mqtt: { url: broker.url },
        schedules: quick,
      },
    });
    await program.waitForOutput(/certificate/i);
    expect((await program.stop()).code).toBe(0);
  });

  it('that is given new certificates, as every year, is trusted by the authority that is in the file by then', async () => {
    const broker = await startMosquitto({ tls: true });
    const program = startProgram(['run'], {
      config: {
        cloud: { base_url: 'http://127.0.0.1:9', email: 'a@example.com', password: 'secret' },
        mqtt: { url: broker.url, ca_file: broker.caFile },
        schedules: quick,
      },
    });
    await program.waitForOutput(/Connected to the MQTT broker/);
    broker.renewCertificates();
    await broker.restart();
    await program.waitForOutput(/MQTT broker .*: works again after/);
    expect((await program.stop()).code).toBe(0);
  });
});
