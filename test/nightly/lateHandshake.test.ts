import { expect, it } from 'vitest';
import { greetingTimeoutMs } from '../../src/broker/clientOptions.ts';
import { startFaultyBridge } from '../support/faultyBridge.ts';
import { startMosquitto } from '../support/mosquitto.ts';
import { startProgram } from '../support/program.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

it('a computer that sleeps in the middle of TLS handshakes ends no bridge, and their commands are not sent', async () => {
  const timeoutMs = 10_000;
  const { bridge, cloud, sonicIds } = await startFaultyBridge({
    ...{ isSecure: true, sonics: 14, requestTimeoutMs: timeoutMs },
  });
  const paths = sonicIds.map((id) => `sonic/${id}/valve/set`);
  const outcomeOf = (path: string) => bridge.outcomes(path).find(({ status }) => status !== 'sent');
  await cloud.begin({ holdsConnections: true });
  const publishedAt = performance.now();
  await Promise.all(paths.map((path) => bridge.mqtt.publish(`sonic2mqtt/${path}`, 'CLOSE')));
  await waitFor(() => cloud.held >= paths.length, { what: 'the connections of the commands' });
  bridge.program.signal('SIGSTOP');
  cloud.releaseConnections();
  // Their time is not up, so that no timer gives them up before the handshakes end.
  await waitFor(() => performance.now() > publishedAt + 0.95 * timeoutMs, { what: 'the last tenth' });
  bridge.program.signal('SIGCONT');
  await waitFor(() => !bridge.program.isRunning || paths.every(outcomeOf), { what: 'their outcomes' });
  expect(bridge.program.isRunning, bridge.program.output).toBe(true);
  expect(paths.map((path) => outcomeOf(path)?.status)).toEqual(paths.map(() => 'error'));
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
