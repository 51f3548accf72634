import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Disk, isAbsent, isBeyondReading, patient, systemDisk } from '../../../src/state/disk.ts';
import { temporaryFolder } from '../../support/program.ts';

const isRoot = process.getuid?.() === 0;
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('a file that is written', () => {
  it('is for its owner only, as are the folders made for it', async () => {
    const top = join(temporaryFolder(), 'new');
    const file = join(top, 'folder', 'ledger.json');
    await systemDisk.write(file, 'text');
    expect(await systemDisk.read(file)).toBe('text');
    expect([modeOf(file), modeOf(top), modeOf(join(top, 'folder'))]).toEqual([0o600, 0o700, 0o700]);
  });

  it('becomes so although it was for everybody, and leaves nothing else behind', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'ledger.json');
    writeFileSync(file, 'before', { mode: 0o666 });
    chmodSync(file, 0o666);
    await systemDisk.write(file, 'x'.repeat(3_000_000));
    expect(modeOf(file)).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toHaveLength(3_000_000);
    expect(readdirSync(folder)).toEqual(['ledger.json']);
  });

  it('is not begun in its own place: where it cannot be put there, what is there stays, and nothing else', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'ledger.json');
    mkdirSync(file);
    await expect(systemDisk.write(file, 'text')).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/);
    expect(readdirSync(folder)).toEqual(['ledger.json']);
    expect(lstatSync(file).isDirectory()).toBe(true);
  });

  it('is the one that a link points to', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'ledger.json');
    mkdirSync(join(folder, 'elsewhere'));
    symlinkSync(join('elsewhere', 'kept.json'), file);
    for (const text of ['first', 'second']) {
      await systemDisk.write(file, text);
      expect(readFileSync(join(folder, 'elsewhere', 'kept.json'), 'utf8')).toBe(text);
      expect(lstatSync(file).isSymbolicLink()).toBe(true);
    }
  });

  it('waits for the disk that a link points to, rather than take the place of the link', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'ledger.json');
    symlinkSync(join(folder, 'unmounted', 'kept.json'), file);
    await expect(systemDisk.write(file, 'text')).rejects.toThrow('ENOENT');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(existsSync(join(folder, 'unmounted'))).toBe(false);
  });

  it.skipIf(!isRoot)(
    'belongs to the owner of the folder, or of the file, also where root writes it',
    async () => {
      const folder = temporaryFolder();
      const file = join(folder, 'ledger.json');
      chownSync(folder, 1234, 1235);
      await systemDisk.write(file, 'text');
      expect([statSync(file).uid, statSync(file).gid]).toEqual([1234, 1235]);
      chownSync(file, 4321, 4322);
      await systemDisk.write(file, 'text');
      expect([statSync(file).uid, statSync(file).gid]).toEqual([4321, 4322]);
    },
  );

  it('clears away what killed processes have left half-written, and nothing else', async () => {
    const folder = temporaryFolder();
    const old = new Date(Date.now() - 3_600_000);
    // The clock of that run was wrong.
    const future = new Date(Date.now() + 3_600_000);
    const make = (name: string, time: Date) => {
      writeFileSync(join(folder, name), 'half');
      utimesSync(join(folder, name), time, time);
    };
    make('ledger.json.0123456789ab.tmp', old);
    make('ledger.json.ba9876543210.tmp', future);
    make('ledger.json.3141592653', old);
    const others = ['ledger.json.bak', 'ledger.json.unreadable', 'ledger.json.mine', 'other.json.123', '123'];
    for (const name of others) make(name, old);
    make('ledger.json.aaaaaaaaaaaa.tmp', new Date());
    await systemDisk.write(join(folder, 'ledger.json'), 'text');
    expect(readdirSync(folder).toSorted()).toEqual(
      [...others, 'ledger.json', 'ledger.json.aaaaaaaaaaaa.tmp'].toSorted(),
    );
  });
});

describe('what is no file to be read', () => {
  const reading = async (path: string): Promise<unknown> => {
    try {
      return await systemDisk.read(path);
    } catch (error) {
      return error;
    }
  };

  it.each<[string, (path: string) => void, RegExp]>([
    ['a folder', mkdirSync, /^EISDIR: it is a folder$/],
    ['a pipe, which is not waited for', (path) => execFileSync('mkfifo', [path]), /^EFTYPE: it is no file$/],
    ['a device', (path) => symlinkSync('/dev/zero', path), /^EFTYPE/],
    ['a link to itself', (path) => symlinkSync(path, path), /^ELOOP/],
    [
      'a file of 200 MB',
      (path) => {
        writeFileSync(path, '');
        truncateSync(path, 200_000_000);
      },
      /^EFBIG: it is larger than 64 MiB$/,
    ],
  ])('is refused, and can be put aside: %s', async (_, make, words) => {
    const path = join(temporaryFolder(), 'ledger.json');
    make(path);
    const error = await reading(path);
    expect(error).toMatchObject({ message: expect.stringMatching(words) });
    expect(isBeyondReading(error)).toBe(true);
    await systemDisk.putAside(path, `${path}.aside`);
    expect(isAbsent(await reading(path))).toBe(true);
    expect(lstatSync(`${path}.aside`)).toBeDefined();
  });

  it('keeps its mode as a folder, and is for its owner only as a file', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'inner'));
    writeFileSync(join(folder, 'file'), 'secret');
    chmodSync(join(folder, 'inner'), 0o755);
    chmodSync(join(folder, 'file'), 0o644);
    for (const name of ['inner', 'file'])
      await systemDisk.putAside(join(folder, name), join(folder, `${name}.aside`));
    expect(modeOf(join(folder, 'inner.aside'))).toBe(0o755);
    expect(modeOf(join(folder, 'file.aside'))).toBe(0o600);
  });

  it('leaves the mode of a file that it is only a link to', async () => {
    const folder = temporaryFolder();
    const theirs = join(folder, 'theirs');
    writeFileSync(theirs, 'not ours');
    chmodSync(theirs, 0o644);
    symlinkSync(theirs, join(folder, 'ledger.json'));
    await systemDisk.putAside(join(folder, 'ledger.json'), join(folder, 'aside'));
    expect(modeOf(theirs)).toBe(0o644);
  });

  it('is not what cannot be read at the moment', () => {
    for (const code of ['EACCES', 'EMFILE', 'ESTALE', 'ETIMEDOUT']) {
      const error = Object.assign(new Error(code), { code });
      expect(isBeyondReading(error) || isAbsent(error)).toBe(false);
    }
  });
});

describe('a disk that hangs', () => {
  it('fails in words, and so does all that comes before it has answered after all', async () => {
    let answer: (text: string) => void = () => {};
    let writes = 0;
    const hanging: Disk = {
      read: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      list: () => [],
      write: async () => {
        writes += 1;
      },
      putAside: () => {},
    };
    const disk = patient(hanging, 20);
    await expect(disk.read('x')).rejects.toThrow('ETIMEDOUT: the disk does not answer');
    await expect(disk.write('x', 'text')).rejects.toThrow('ETIMEDOUT: the disk does not answer');
    expect(writes).toBe(0);
    answer('late');
    await new Promise((resolve) => setImmediate(resolve));
    await disk.write('x', 'text');
    expect(writes).toBe(1);
  });

  it('is waited for as long as it takes its time only', async () => {
    const slow: Disk = { ...systemDisk, read: async () => 'text' };
    expect(await patient(slow, 20).read('x')).toBe('text');
    const failing: Disk = { ...systemDisk, read: () => Promise.reject(new Error('EIO: i/o error')) };
    await expect(patient(failing, 20).read('x')).rejects.toThrow('EIO');
  });
});
