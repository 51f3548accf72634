import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fault, startBridge } from '../support/bridge.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
const command: readonly string[] = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '');

it.runIf(process.platform === 'linux')(
  'the health check of the image passes while the process works, and fails a minute after it stood still',
  async () => {
    const memory = temporaryFolder();
    const [shell = '', ...args] = command.map((word) => word.replaceAll('/dev/shm', memory));
    const isHealthy = () => spawnSync(shell, args).status === 0;
    const file = join(memory, 'sonic2mqtt');
    const age = (seconds: number) => utimesSync(file, new Date(), Date.now() / 1_000 - seconds);
    expect(isHealthy()).toBe(false);
    const bridge = await startBridge({ isStarted: false });
    bridge.start({}, { HEARTBEAT_FILE: file });
    await waitFor(isHealthy, { what: 'the first time stamp' });

    bridge.cloud.setFaults([fault('error=503')]);
    await bridge.untilJson('bridge/health', ({ status }) => status === 'cloud_unreachable');
    age(70);
    await waitFor(isHealthy, { what: 'the next time stamp' });
    bridge.program.signal('SIGSTOP');
    age(50);
    expect(isHealthy()).toBe(true);
    age(70);
    expect(isHealthy()).toBe(false);
    bridge.program.signal('SIGCONT');
    // If nothing can be written there, nothing is known.
    rmSync(memory, { recursive: true });
    expect(isHealthy()).toBe(true);
  },
);
