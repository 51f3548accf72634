import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { atTestEnd } from '../support/childProcess.ts';
import { startHouse } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { startProgram } from '../support/program.ts';
import { selfSigned } from '../support/selfSigned.ts';
import { waitFor } from '../support/waitFor.ts';

/** What would switch off every check of a certificate that is not asked for by name. */
const careless = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };

/** A stranger in the place of the cloud: anybody's certificate, and an ear for passwords. */
async function startStranger(): Promise<{ url: string; visits: () => number; heard: string[] }> {
  const heard: string[] = [];
  let visits = 0;
  const server: Server = createServer(selfSigned, (request, response) => {
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

describe('a stranger in the place of the cloud', () => {
  it('hears no password, whatever the environment says of certificates', async () => {
    const stranger = await startStranger();
    const house = await startHouse({ config: { cloud: cloudAt(stranger.url) }, isStarted: false });
    const bridge = startProgram(['run'], { config: house.config, env: careless });
    await bridge.waitForOutput(/TLS: self-signed certificate/);
    await waitFor(() => stranger.visits() > 1, { what: 'another attempt' });
    expect(stranger.heard).toEqual([]);
  });

  it('is told as such by check', async () => {
    const stranger = await startStranger();
    const house = await startHouse({ config: { cloud: cloudAt(stranger.url) }, isStarted: false });
    const check = startProgram(['check'], { config: house.config, env: careless });
    expect((await check.ended()).code).toBe(1);
    expect(check.stdout).toMatch(/^FAIL cloud: TLS: self-signed certificate$/m);
    expect(stranger.heard).toEqual([]);
  });
});

describe.skipIf(!mosquittoAvailable())('a stranger in the place of the broker', () => {
  it('is not spoken to, whatever the environment says of certificates', async () => {
    const house = await startHouse({ broker: { tls: true }, isStarted: false });
    const config = { ...house.config, mqtt: { url: house.broker.url } };
    const bridge = startProgram(['run'], { config, env: careless });
    await bridge.waitForOutput(/MQTT broker .*: self-signed certificate/);
    expect(house.watcher.last.has('sonic2mqtt/bridge/state')).toBe(false);
  });

  it('is let in by mqtt.reject_unauthorized: false alone, which run and check say each time', async () => {
    const house = await startHouse({ broker: { tls: true }, isStarted: false });
    const config = { ...house.config, mqtt: { url: house.broker.url, reject_unauthorized: false } };
    const bridge = startProgram(['run'], { config });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    const words = 'mqtt.reject_unauthorized is false: anybody on the way can read and command the valves';
    expect(bridge.stderr.split(words)).toHaveLength(2);
    const check = startProgram(['check'], { config });
    expect((await check.ended()).code).toBe(0);
    expect(check.stdout).toContain(`\nWARN configuration: ${words}\n`);
  });
});
