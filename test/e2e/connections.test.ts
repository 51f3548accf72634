import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startEmbedded } from '../support/brokers.ts';
import { startHouse } from '../support/house.ts';
import { freePort } from '../support/ports.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/** Writes down whatever a program connects to, looks up, sends a datagram to or listens on, a line of JSON each. */
const eavesdropper = `
import { appendFileSync } from 'node:fs';
import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';

function overhear(kind, owner, name, told) {
  const original = owner[name];
  owner[name] = function (...args) {
    appendFileSync(process.env.OVERHEARD, JSON.stringify([kind, told(args)]) + '\\n');
    return original.apply(this, args);
  };
}
const target = ([first, second]) => {
  const options = Array.isArray(first) ? first[0] : first;
  return typeof options === 'object' ? (options.path ?? \`\${options.host}:\${options.port}\`) : \`\${second}:\${options}\`;
};
overhear('connect', net.Socket.prototype, 'connect', target);
overhear('listen', net.Server.prototype, 'listen', target);
overhear('datagram', dgram, 'createSocket', ([options]) => options.type ?? options);
for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6', 'resolveTxt']) {
  overhear('look up', dns, name, ([host]) => host);
  overhear('look up', dns.promises, name, ([host]) => host);
}
`;

/** How to start a program that is overheard, and what was heard so far, each once. */
function overhearing(): { env: Record<string, string>; heard: () => string[] } {
  const folder = temporaryFolder();
  const [script, record] = [join(folder, 'eavesdropper.mjs'), join(folder, 'overheard')];
  writeFileSync(script, eavesdropper);
  const lines = () => (existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : []);
  return {
    env: { NODE_OPTIONS: `--import ${pathToFileURL(script).href}`, OVERHEARD: record },
    heard: () => [...new Set(lines())].map((line) => JSON.parse(line).join(' ')).toSorted(),
  };
}

describe('a bridge', () => {
  it('speaks to its cloud and its broker, and to nobody else', async () => {
    const house = await startHouse({ isStarted: false });
    const { env, heard } = overhearing();
    const bridge = startProgram(['run'], { config: house.config, env });
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/health',
      (text) => JSON.parse(text).status === 'ok',
      10_000,
    );
    const polls = house.simulator.requests.count('read_telemetry');
    const sonics = house.simulator.world.sonics.ids.length;
    await waitFor(() => house.simulator.requests.count('read_telemetry') >= polls + 2 * sonics, {
      what: 'two more rounds of polls',
      timeoutMs: 10_000,
    });
    expect((await bridge.stop()).code).toBe(0);
    const [cloud, broker] = [house.simulator.url, house.broker.url].map((url) => new URL(url).host);
    expect(heard()).toEqual([`connect ${cloud}`, `connect ${broker}`].toSorted());
  });

  it('with a broker of its own listens there, for this machine alone', async () => {
    const house = await startHouse({ isStarted: false });
    const { env, heard } = overhearing();
    const port = await freePort();
    const mqtt = { embedded: { enabled: true, port } };
    const bridge = startProgram(['run'], { config: { ...house.config, mqtt }, env });
    await bridge.waitForOutput(/embedded MQTT broker listens on/);
    expect((await bridge.stop()).code).toBe(0);
    expect(heard().filter((line) => line.startsWith('listen'))).toEqual([`listen 127.0.0.1:${port}`]);
  });

  it('with a broker of its own does not start where the port is taken, and names the option', async () => {
    const house = await startHouse({ isStarted: false });
    const { port } = await startEmbedded();
    const mqtt = { embedded: { enabled: true, port } };
    const bridge = startProgram(['run'], { config: { ...house.config, mqtt } });
    expect((await bridge.ended()).code).toBe(1);
    expect(bridge.stderr).toContain(
      `The bridge cannot start: mqtt.embedded: port ${port} of 127.0.0.1 is in use by another program`,
    );
  });
});
