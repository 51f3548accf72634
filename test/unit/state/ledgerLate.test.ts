import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Disk, systemDisk } from '../../../src/state/disk.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';

const account = { baseUrl: 'https://cloud.example', email: 'me@example.com' };

it('what a slow disk has written after all is not taken for another bridge, however often', async () => {
  const directory = temporaryFolder();
  let isSlow = false;
  const disk: Disk = {
    ...systemDisk,
    async write(path, text) {
      await systemDisk.write(path, text);
      if (isSlow)
        throw Object.assign(new Error('ETIMEDOUT: the disk does not answer'), { code: 'ETIMEDOUT' });
    },
  };
  const lines = logLines();
  const ledger = new Ledger(directory, account, lines.log, new FakeClock(), disk);
  await ledger.open();
  for (const id of ['one', 'two', 'three']) {
    isSlow = true;
    await ledger.noteAnnounced([id]);
    expect(ledger.problem).toContain('ETIMEDOUT');
    isSlow = false;
    ledger.forgetAnnounced(id);
    await ledger.noteAnnounced([]);
    expect(ledger.problem).toBe(null);
  }
  expect(lines.text).not.toMatch(/something else|another bridge/);
  const kept = () => JSON.parse(readFileSync(join(directory, 'ledger.json'), 'utf8')).announced;
  // What it had forgotten meanwhile does not come back.
  expect([ledger.announced(), kept()]).toEqual([[], []]);
});
