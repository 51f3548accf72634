import { describe, expect, it } from 'vitest';
import { fault, quick, startBridge } from '../support/bridge.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { freePort } from '../support/ports.ts';
import { startProgram } from '../support/program.ts';

describe('a cloud that is away', () => {
  it('does not keep the bridge from starting', async () => {
    const bridge = await startBridge({
      config: { cloud: { base_url: `http://127.0.0.1:${await freePort()}` } },
      isAwaited: false,
    });
    await bridge.untilJson(
      'bridge/health',
      ({ status, reason }) => status === 'cloud_unreachable' && /refused/.test(reason),
    );
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
