import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { atTestEnd, startProcess } from '../support/childProcess.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/** A name with an IPv4 and an IPv6 address, as most have, on a machine that reaches no IPv6 address. */
const names = `
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
const { lookup } = dns;
dns.lookup = (host, options, done) => {
  if (host !== 'far.test') return lookup(host, options, done);
  const addresses = [{ address: '127.0.0.1', family: 4 }, { address: '100::1', family: 6 }];
  return options.all ? done(null, addresses) : done(null, addresses[0].address, 4);
};
dns.promises.lookup = async () => ({ address: '127.0.0.1', family: 4 });
syncBuiltinESMExports();
`;

/** Accepts one connection more than it takes, and answers 503. */
const server = `
const server = require('node:http').createServer((request, response) => response.writeHead(503).end('{}'));
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log('port', server.address().port));
`;

/** A server whose first connections take about a second, since it is held up and the kernel drops what it has no room for. */
async function startFarServer(): Promise<{ port: number; comeNearer: () => void }> {
  const running = startProcess(process.execPath, ['-e', server], { cwd: temporaryFolder(), env: {} });
  await running.waitForOutput(/port \d+/);
  const port = Number(/port (\d+)/.exec(running.stdout)?.[1]);
  running.signal('SIGSTOP');
  const waiting = Array.from({ length: 4 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => {}));
  const leave = () => {
    for (const socket of waiting) socket.destroy();
    running.signal('SIGCONT');
  };
  atTestEnd(leave);
  await waitFor(() => waiting.filter((socket) => !socket.connecting).length >= 2, { what: 'a full queue' });
  return { port, comeNearer: leave };
}

it('an address that takes longer than the 250 ms of Node.js is not given up for one that cannot be reached', async () => {
  const { port, comeNearer } = await startFarServer();
  const folder = temporaryFolder();
  const preload = join(folder, 'names.mjs');
  writeFileSync(preload, names);
  const check = startProgram(['check'], {
    config: {
      cloud: { base_url: `http://far.test:${port}`, email: 'me@example.com', password: 'hush-hush' },
      mqtt: { url: 'mqtt://127.0.0.1:1' },
    },
    env: { NODE_OPTIONS: `--import ${pathToFileURL(preload)}` },
  });
  await check.waitForOutput(/cloud: DNS/);
  await wait(500);
  comeNearer();
  await check.ended();
  expect(check.stdout).toMatch(/^OK {3}cloud: TCP: connected to far\.test:\d+$/m);
  expect(check.stdout).toMatch(/^OK {3}cloud: HTTP: /m);
});
