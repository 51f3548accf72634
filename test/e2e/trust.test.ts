import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { startBridge } from '../support/bridge.ts';
import { runProgram } from '../support/callProgram.ts';
import { certificates } from '../support/certificates.ts';
import { atTestEnd } from '../support/childProcess.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { startProgram } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/** What would switch off every check of a certificate that is not asked for by name. */
const careless = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };

/** A stranger in the place of the cloud: anybody's certificate, and an ear for passwords. */
async function startStranger(): Promise<{ url: string; visits: () => number; heard: string[] }> {
  const heard: string[] = [];
  let visits = 0;
  const server: Server = createServer(certificates.own, (request, response) => {
    heard.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  server.on('connection', () => {
    visits += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, visits: () => visits, heard };
}

const cloudAt = (base_url: string) => ({ base_url, email: 'me@example.com', password: 'hush-hush' });

it('the cloud with a certificate of its own gets no password, whatever the environment allows', async () => {
  const stranger = await startStranger();
  const bridge = await startBridge({ config: { cloud: cloudAt(stranger.url) }, isStarted: false });
  bridge.start({}, careless);
  await bridge.program.waitForOutput(/TLS: self-signed certificate/);
  await waitFor(() => stranger.visits() > 1, { what: 'another attempt' });
  const check = startProgram(['check'], { config: bridge.config, env: careless });
  expect((await check.ended()).code).toBe(1);
  expect(check.stdout).toMatch(/^FAIL cloud: TLS: self-signed certificate$/m);
  expect(stranger.heard).toEqual([]);
});

it.runIf(mosquittoAvailable())(
  'a broker with a certificate of its own is used with mqtt.reject_unauthorized: false only, which run and check warn of',
  async () => {
    const bridge = await startBridge({ broker: { tls: true }, isStarted: false });
    const { url } = bridge.broker;
    bridge.start({ mqtt: { url, ca_file: null } }, careless);
    await bridge.program.waitForOutput(/MQTT broker .*: self-signed certificate/);
    expect(bridge.mqtt.last.has('sonic2mqtt/bridge/state')).toBe(false);
    await bridge.program.stop();
    const mqtt = { url, ca_file: null, reject_unauthorized: false };
    bridge.start({ mqtt });
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    const words =
      'mqtt.reject_unauthorized is false. Anyone on the network could control your valves. Set mqtt.ca_file instead';
    expect(bridge.program.stderr.split(words)).toHaveLength(2);
    const { code, stdout } = await runProgram(['check'], { config: { ...bridge.config, mqtt } });
    expect(code).toBe(0);
    expect(stdout).toContain(`\nWARN configuration: ${words}\n`);
  },
);
