import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { startBridge } from '../support/bridge.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';

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
    // The lock of data_dir is a socket on this machine, too.
    heard: () =>
      [...new Set(lines())]
        .map((line) => JSON.parse(line).join(' '))
        .filter((line) => !/\/lock-\w+$/.test(line))
        .toSorted(),
  };
}

it('the bridge connects to its cloud and its broker, and to nobody else', async () => {
  const bridge = await startBridge({ isStarted: false });
  const { env, heard } = overhearing();
  bridge.start({}, env);
  await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
  await bridge.polls(3);
  expect((await bridge.program.stop()).code).toBe(0);
  const [cloud, broker] = [bridge.cloud.url, bridge.broker.url].map((url) => new URL(url).host);
  expect(heard()).toEqual([`connect ${cloud}`, `connect ${broker}`].toSorted());
});

it('the embedded broker listens for this machine alone', async () => {
  const bridge = await startBridge({ isStarted: false });
  const { env, heard } = overhearing();
  const port = await freePort();
  bridge.start({ mqtt: { url: null, embedded: { enabled: true, port } } }, env);
  await bridge.program.waitForOutput(/MQTT broker: listening on/);
  expect((await bridge.program.stop()).code).toBe(0);
  expect(heard().filter((line) => line.startsWith('listen'))).toEqual([`listen 127.0.0.1:${port}`]);
});
