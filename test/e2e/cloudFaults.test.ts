import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { authorities, certificates } from '../support/certificates.ts';
import { type FaultyBridge, startFaultyBridge, untilHealthy } from '../support/faultyBridge.ts';
import { type CloudFault, startFaultyCloud } from '../support/faultyCloud.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

// What is expected of the bridge in each kind of outage is told by the stories; here it is seen on sockets.

/** The cloud acts, and the connection breaks before it has said so. */
const resetAfterRequest: CloudFault = {
  answer: async ({ forward, socket }) => {
    await forward();
    socket.resetAndDestroy();
  },
};

/** Connections are made, but nobody reads what they bring. */
const halfOpen: CloudFault = { onConnection: () => undefined };

async function untilTold({ bridge }: FaultyBridge, words: RegExp): Promise<void> {
  await bridge.mqtt.waitForTopic(
    'sonic2mqtt/bridge/health',
    (text) => JSON.parse(text).status === 'cloud_unreachable' && words.test(text),
    20_000,
  );
}

/** Ends the bridge as a service manager does. */
async function expectToStopInTime({ bridge }: FaultyBridge): Promise<void> {
  const { code, durationMs } = await bridge.program.stop();
  expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
  await bridge.mqtt.settle();
  expect(bridge.mqtt.last.get('sonic2mqtt/bridge/state')).toBe('offline');
}

it('a network that breaks once the cloud has acted is told as that, and no command is sent twice', async () => {
  const faulty = await startFaultyBridge();
  const { bridge, cloud, sonicId } = faulty;
  const { cloud: simulator, mqtt } = bridge;
  const broke = /broke before the answer was complete/;
  await cloud.begin(resetAfterRequest);
  await mqtt.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE');
  await waitFor(() => bridge.events('command').length > 0, { what: 'the outcome of the command' });
  await untilTold(faulty, broke);
  expect(bridge.json(`sonic/${sonicId}`).valve).toBe('open');
  await cloud.repair();
  await untilHealthy(faulty);
  expect(simulator.world.valve(sonicId)?.settled).toBe('closed');
  expect(simulator.requests.count('command_valve')).toBe(1);
  expect(bridge.events('command')).toMatchObject([
    { status: 'error', reason: expect.stringMatching(broke), http_status: null },
  ]);
  await cloud.begin(halfOpen);
  await untilTold(faulty, /timeout/);
  await expectToStopInTime(faulty);
});

it('a certificate that is not to be trusted is told as that, and recovered from', async () => {
  const authorityFile = join(temporaryFolder(), 'authorities.pem');
  writeFileSync(authorityFile, authorities);
  const faulty = await startFaultyBridge({
    cloud: await startFaultyCloud(certificates.own),
    baseUrl: (port) => `https://127.0.0.1:${port}`,
    env: { NODE_EXTRA_CA_CERTS: authorityFile },
  });
  const { cloud, bridge } = faulty;
  for (const [certificate, words] of [
    [certificates.stranger, /TLS: self-signed certificate/],
    [certificates.elsewhere, /TLS: .*not in the cert/],
    [certificates.expired, /TLS: certificate has expired/],
  ] as const) {
    await cloud.begin({ certificate });
    const asked = cloud.asked.length;
    await untilTold(faulty, words);
    expect(cloud.asked).toHaveLength(asked);
    await cloud.repair();
    await untilHealthy(faulty);
  }
  await cloud.begin(halfOpen);
  const check = startProgram(['check'], {
    config: {
      cloud: {
        base_url: `https://127.0.0.1:${cloud.port}`,
        email: 'me@example.com',
        password: 'x',
        request_timeout: '1s',
      },
      mqtt: { url: 'mqtt://127.0.0.1:1' },
    },
  });
  await check.ended();
  expect(check.stdout).toMatch(
    /^FAIL cloud: TLS: no answer from 127\.0\.0\.1:\d+: the server accepts connections but does not answer$/m,
  );
  await expectToStopInTime(faulty);
  const everything = [faulty.bridge.program.output, ...bridge.mqtt.messages.map(({ text }) => text)].join(
    '\n',
  );
  expect(cloud.tokens.size).toBeGreaterThan(0);
  for (const token of cloud.tokens) expect(everything).not.toContain(token);
});
