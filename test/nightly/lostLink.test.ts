import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { atTestEnd, startProcess } from '../support/childProcess.ts';
import { waitFor } from '../support/waitFor.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/install.md', import.meta.url)), 'utf8');
/** The settings that the page tells people to make. */
const settings = [...page.matchAll(/^(net\.[\w.]+) = (\d+)$/gm)];

const ip = (...args: string[]) => execFileSync('ip', args, { encoding: 'utf8' });
const [namespace, near, far] = ['sonic2mqtt-lost', '10.213.0.2', '10.213.0.1'];

/** Two words: the first arrives. At the end of its input the link is lost, and the second stays in the kernel. */
const client = `
const socket = require('node:net').connect(process.argv[1], '${far}', () => socket.write('first '));
process.on('SIGUSR2', () => socket.write('second', () => console.log('written')));
`;

/** Whether this machine lets tests make networks of their own. */
function canMakeNetworks(): boolean {
  const { status } = spawnSync('ip', ['netns', 'add', namespace]);
  if (status === 0) ip('netns', 'del', namespace);
  return status === 0;
}

/** A client behind a link that can be lost without either end noticing, and what it has sent. */
async function startBehindLink() {
  ip('netns', 'add', namespace);
  atTestEnd(() => ip('netns', 'del', namespace));
  ip('link', 'add', 's2mfar', 'type', 'veth', 'peer', 'name', 's2mnear', 'netns', namespace);
  ip('addr', 'add', `${far}/24`, 'dev', 's2mfar');
  ip('link', 'set', 's2mfar', 'up');
  ip('-n', namespace, 'addr', 'add', `${near}/24`, 'dev', 's2mnear');
  ip('-n', namespace, 'link', 'set', 's2mnear', 'up');
  const inside = (...command: string[]) =>
    execFileSync('ip', ['netns', 'exec', namespace, ...command], { encoding: 'utf8' });
  for (const [, name, value] of settings) inside('sysctl', '-qw', `${name}=${value}`);
  const heard = { text: '' };
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        heard.text += chunk;
      });
  });
  await new Promise<void>((resolve) => server.listen(0, far, resolve));
  atTestEnd(() => server.close());
  const { port } = server.address() as AddressInfo;
  const running = startProcess('ip', ['netns', 'exec', namespace, process.execPath, '-e', client, `${port}`]);
  await waitFor(() => heard.text === 'first ', { what: 'the first word' });
  const [mac = ''] = /[0-9a-f:]{17}/.exec(ip('link', 'show', 's2mfar')) ?? [];
  const sendTo = (address: string) =>
    ip('-n', namespace, 'neigh', 'replace', far, 'lladdr', address, 'dev', 's2mnear', 'nud', 'permanent');
  return {
    running,
    heard,
    // Packets to a wrong address are dropped at the other end.
    lose: () => sendTo('02:00:00:00:00:01'),
    repair: () => sendTo(mac),
    /** Whether the kernel still has a connection. */
    isKept: () => inside('ss', '-Htn').includes(`:${port}`),
  };
}

it.for(['SIGKILL', 'SIGSTOP'] as const)(
  'what a program leaves to the kernel at %s, behind a lost link, is not delivered later with the settings of compose.yaml',
  { timeout: 120_000 },
  async (signal, { skip }) => {
    skip(!canMakeNetworks(), 'it needs rights for namespaces');
    const link = await startBehindLink();
    link.lose();
    link.running.signal('SIGUSR2');
    await link.running.waitForOutput(/written/);
    link.running.signal(signal);
    await waitFor(() => !link.isKept(), { what: 'the kernel to give up', timeoutMs: 40_000 });
    link.repair();
    expect(link.heard.text).toBe('first ');
  },
);
