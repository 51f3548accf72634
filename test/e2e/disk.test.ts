import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { denyAccess, startDiskBridge, whyAccessCannotBeDenied } from '../support/diskBridge.ts';
import { temporaryFolder } from '../support/program.ts';

/** Makes the next command the first process of a namespace, as in a container. */
const asFirstProcess = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const canUnshare = spawnSync(asFirstProcess[0] ?? '', [...asFirstProcess.slice(1), 'true']).status === 0;

// A second is left of the five, which a busy machine may take for itself.
it.for([
  { what: 'bridge', before: [] },
  { what: 'first process of a container', before: asFirstProcess },
])(
  'a disk that hangs keeps no $what from stopping within five seconds, with status 0',
  { retry: 2 },
  async ({ before }, { skip }) => {
    skip(before.length > 0 && !canUnshare, 'it needs rights for namespaces');
    const disk = await startDiskBridge();
    const dataDir = join(temporaryFolder(), 'data');
    mkdirSync(dataDir);
    // Who reads a pipe that nobody writes waits for ever, as for a network share that is gone.
    execFileSync('mkfifo', [join(dataDir, 'sonic2mqtt.json')]);
    const bridge = disk.start(dataDir, before);
    await bridge.waitForOutput(/the disk does not answer/);
    const pid = before.length > 0 ? childOf(bridge.pid) : bridge.pid;
    process.kill(pid, 'SIGTERM');
    const { code, durationMs } = await bridge.ended();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(5_000);
    await disk.bridge.close();
  },
);

const forbidding = whyAccessCannotBeDenied();

it.skipIf(forbidding !== null)(
  'a data folder that is not its own is said in words, and all else works',
  async () => {
    const { bridge, sonicId, start, untilHealth } = await startDiskBridge();
    const dataDir = temporaryFolder();
    denyAccess(dataDir);
    const program = start(dataDir);
    await untilHealth(/cannot write to the folder/);
    expect(program.output).toContain(dataDir);
    await bridge.mqtt.waitForTopic(
      `sonic2mqtt/sonic/${sonicId}`,
      (text) => JSON.parse(text).valve === 'open',
    );
    await bridge.mqtt.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'CLOSE');
    await bridge.mqtt.waitForTopic(
      `sonic2mqtt/sonic/${sonicId}`,
      (text) => JSON.parse(text).valve === 'closed',
    );
    expect((await program.stop('SIGTERM')).code).toBe(0);
  },
);

it('the signals for programs of Node.js neither open a debugger nor end the bridge', async () => {
  const disk = await startDiskBridge();
  const bridge = disk.start(join(temporaryFolder(), 'data'));
  await bridge.waitForOutput(/Connected to the MQTT broker/);
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) bridge.signal(signal);
  expect((await bridge.stop('SIGTERM')).code).toBe(0);
  expect(bridge.output).not.toMatch(/debugger/i);
});

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
