import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDiskBridge } from '../support/diskBridge.ts';
import { temporaryFolder } from '../support/program.ts';

// Half a second is left of the five, which a busy machine may take for itself.
it('a disk that hangs keeps no bridge from stopping within five seconds', { retry: 2 }, async () => {
  const disk = await startDiskBridge();
  const dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir);
  // Who reads a pipe that nobody writes waits for ever, as for a network share that is gone.
  execFileSync('mkfifo', [join(dataDir, 'state.json')]);
  const bridge = disk.start(dataDir);
  await bridge.waitForOutput(/the disk does not answer/);
  const { signal, durationMs } = await bridge.stop('SIGTERM');
  expect(signal).toBe('SIGTERM');
  expect(durationMs).toBeLessThan(5_000);
  await disk.bridge.close();
});
