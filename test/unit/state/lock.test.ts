import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockFolder } from '../../../src/state/lock.ts';
import { startProcess } from '../../support/childProcess.ts';
import { temporaryFolder } from '../../support/program.ts';

/** Another process that holds the lock of the folder, at the name of 1.0.0. */
async function holderOf(folder: string) {
  const script = `
    const server = require('node:net').createServer().listen(require('node:path').join(process.argv[1], 'lock'), () => console.log('holds'));
  `;
  const holder = startProcess(process.execPath, ['-e', script, folder]);
  await holder.waitForOutput(/holds/);
  return holder;
}

describe('the lock of a folder', () => {
  it('is held by one at a time, and can be taken once it was given up', async () => {
    const folder = temporaryFolder();
    const unlock = await lockFolder(folder);
    expect(unlock).not.toBeNull();
    expect(await lockFolder(folder)).toBeNull();
    unlock?.();
    expect(readdirSync(folder)).toEqual([]);
    const again = await lockFolder(folder);
    expect(again).not.toBeNull();
    again?.();
  });

  it('of a process that was killed is taken at once, and not before', async () => {
    const folder = temporaryFolder();
    const holder = await holderOf(folder);
    expect(await lockFolder(folder)).toBeNull();
    await holder.stop('SIGKILL');
    expect(readdirSync(folder)).toEqual(['lock']);
    const unlock = await lockFolder(folder);
    expect(unlock).not.toBeNull();
    unlock?.();
  });

  it('of a process that was killed is taken by one of those that start at the same moment', async () => {
    const folder = temporaryFolder();
    const holder = await holderOf(folder);
    await holder.stop('SIGKILL');
    for (let round = 0; round < 4; round++) {
      const locks = await Promise.all(Array.from({ length: 5 }, () => lockFolder(folder)));
      const taken = locks.filter((unlock) => unlock !== null);
      expect(taken).toHaveLength(1);
      taken[0]?.();
    }
  });

  it('is held by one at a time also if the path is too long for a socket', async () => {
    const folder = join(temporaryFolder(), 'x'.repeat(100));
    mkdirSync(folder);
    const unlock = await lockFolder(folder);
    expect(unlock).not.toBeNull();
    expect(readdirSync(folder)).toHaveLength(1);
    expect(await lockFolder(folder)).toBeNull();
    unlock?.();
    expect(readdirSync(folder)).toEqual([]);
    (await lockFolder(folder))?.();
  });

  it('is refused with an error where there can be none', async () => {
    await expect(lockFolder(join(temporaryFolder(), 'missing'))).rejects.toThrow();
  });
});
