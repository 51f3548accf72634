import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemDisk } from '../../../src/state/disk.ts';
import { temporaryFolder } from '../../support/program.ts';

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('a file that is written', () => {
  it('is for its owner only, as are the folders made for it', async () => {
    const top = join(temporaryFolder(), 'new');
    const file = join(top, 'folder', 'state.json');
    await systemDisk.write(file, 'text');
    expect(await systemDisk.read(file)).toBe('text');
    expect([modeOf(file), modeOf(top), modeOf(join(top, 'folder'))]).toEqual([0o600, 0o700, 0o700]);
  });

  it.runIf(process.platform === 'linux')('fails in words where the system makes no folders', async () => {
    await expect(systemDisk.write('/proc/nope/state.json', 'text')).rejects.toThrow(
      'no such file or directory',
    );
  });

  it('replaces one that was for everybody, and one that was left half-written, and leaves nothing else', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'state.json');
    for (const each of [file, `${file}.tmp`]) {
      writeFileSync(each, 'before');
      chmodSync(each, 0o666);
    }
    await systemDisk.write(file, 'ä'.repeat(1_000_000));
    expect(modeOf(file)).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toHaveLength(1_000_000);
    expect(readdirSync(folder)).toEqual(['state.json']);
  });

  it('is not begun in its own place: where it cannot be put there, what is there stays, and nothing else', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'state.json');
    mkdirSync(file);
    await expect(systemDisk.write(file, 'text')).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/);
    expect(readdirSync(folder)).toEqual(['state.json']);
  });
});
