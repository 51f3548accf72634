import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { greetingTimeoutMs } from '../../src/broker/clientOptions.ts';
import { authorities, certificates } from '../support/certificates.ts';
import { startFaultyBridge } from '../support/faultyBridge.ts';
import { startFaultyCloud } from '../support/faultyCloud.ts';
import { startMosquitto } from '../support/mosquitto.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

it('a computer that sleeps in the middle of a TLS handshake ends no bridge, and its command is not sent', async () => {
  const authorityFile = join(temporaryFolder(), 'authorities.pem');
  writeFileSync(authorityFile, authorities);
  const cloud = await startFaultyCloud(certificates.own);
  const requestTimeout = 2_000;
  const { bridge, sonicId } = await startFaultyBridge({
    cloud,
    baseUrl: (port) => `https://127.0.0.1:${port}`,
    env: { NODE_EXTRA_CA_CERTS: authorityFile },
    requestTimeout: `${requestTimeout}ms`,
  });
  const topic = `sonic/${sonicId}/valve/set`;
  await cloud.begin({ keepsConnections: true, holdsConnections: true });
  await bridge.mqtt.publish(`sonic2mqtt/${topic}`, 'OPEN');
  await waitFor(() => cloud.held > 0, { what: 'the connection of the command' });
  bridge.program.signal('SIGSTOP');
  const stoppedAt = performance.now();
  cloud.releaseConnections();
  await waitFor(() => performance.now() > stoppedAt + requestTimeout, { what: 'the end of its time' });
  bridge.program.signal('SIGCONT');
  await waitFor(() => !bridge.program.isRunning || bridge.outcomes(topic).length > 0, {
    what: 'its outcome',
  });
  expect(bridge.program.isRunning, bridge.program.output).toBe(true);
  expect(bridge.outcomes(topic)).toMatchObject([{ status: 'error' }]);
  expect(cloud.asked.filter((line) => line.startsWith('PUT'))).toEqual([]);
});

it('a TLS handshake of the broker that ends at any tenth of its time limit ends no bridge', async () => {
  const mosquitto = await startMosquitto({ tls: true });
  const shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
  const outcomes = shares.map(async (share) => {
    const proxy = await startTcpProxy(mosquitto.port);
    proxy.freeze();
    const bridge = startProgram(['run'], {
      config: {
        cloud: { base_url: 'http://127.0.0.1:1', email: 'me@example.com', password: 'hush-hush' },
        mqtt: {
          url: `mqtts://localhost:${proxy.port}`,
          ca_file: mosquitto.caFile,
          client_id: `at-${share}`,
          base_topic: `at-${share}`,
        },
      },
    });
    await waitFor(() => proxy.connectionCount > 0, { what: 'its connection' });
    setTimeout(proxy.thaw, share * greetingTimeoutMs);
    await bridge.waitForOutput(/Connected to the MQTT broker/, 60_000);
    return bridge.stop('SIGTERM');
  });
  for (const ending of await Promise.all(outcomes)) expect(ending).toMatchObject({ code: 0 });
});
