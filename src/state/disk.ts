import { randomBytes } from 'node:crypto';
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

/** Where files outlive the process. Everything fails with the system's own errors. */
export interface Disk {
  read(path: string): string | Promise<string>;
  /** The names of what is in a folder. */
  list(folder: string): readonly string[] | Promise<readonly string[]>;
  /**
   * Puts the text in place of the file, whole or not at all, for its owner only; makes the folder. Once this has
   * resolved, a power cut does not undo it.
   */
  write(path: string, text: string): Promise<void>;
  /** Gives the file another name, still for its owner only. */
  putAside(path: string, aside: string): void | Promise<void>;
}

/** Many times what ten thousand sonics need; what is larger would only fill the memory of a small machine. */
const mostBytes = 64 * 1024 * 1024;

/** A file that was begun so long ago is not being written any more. */
const leftoverAfterMs = 60_000;

/** A disk may take its time, but the news of a leak does not wait for one that hangs. */
const patienceMs = 10_000;

/** The machine's disk. */
export const systemDisk: Disk = patient({
  async read(path) {
    // Looked at before it is opened: a pipe would wait for somebody who writes to it.
    const found = await stat(path);
    if (found.isDirectory()) throw failure('EISDIR', 'it is a folder');
    if (!found.isFile()) throw failure('EFTYPE', 'it is no file');
    if (found.size > mostBytes) throw failure('EFBIG', `it is larger than ${mostBytes / 1_048_576} MiB`);
    return readFile(path, 'utf8');
  },
  list: (folder) => readdir(folder),
  async write(path, text) {
    await makeFolder(dirname(path));
    const target = await targetOf(path);
    await removeLeftovers(target);
    const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      const file = await open(temporary, 'wx', 0o600);
      try {
        // Not in one write: a disk that gets full takes a part of it, and says so only to the next.
        await file.writeFile(text);
        await giveAway(file, target);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw error;
    }
    await syncFolder(dirname(target));
  },
  async putAside(path, aside) {
    await rename(path, aside);
    // Not of what a link leads to: that may be somebody else's.
    const isFile = (await lstat(aside).catch(() => null))?.isFile();
    // A file of another user has the mode that its owner gave it.
    if (isFile) await chmod(aside, 0o600).catch(() => {});
  },
});

/** The disk, but what takes too long fails, and so does all that comes before that has ended after all. */
export function patient(disk: Disk, withinMs = patienceMs): Disk {
  let isStuck = false;
  async function inTime<T>(begin: () => T | Promise<T>): Promise<T> {
    const refusal = failure('ETIMEDOUT', 'the disk does not answer');
    if (isStuck) throw refusal;
    const work = Promise.resolve(begin()).finally(() => {
      isStuck = false;
    });
    let timer: NodeJS.Timeout | undefined;
    const giveUp = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isStuck = true;
        reject(refusal);
      }, withinMs);
    });
    return Promise.race([work, giveUp]).finally(() => clearTimeout(timer));
  }
  return {
    read: (path) => inTime(() => disk.read(path)),
    list: (folder) => inTime(() => disk.list(folder)),
    write: (path, text) => inTime(() => disk.write(path, text)),
    putAside: (path, aside) => inTime(() => disk.putAside(path, aside)),
  };
}

/** Whether there is no such file. */
export function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

/** Whether there is something that will not be read however often it is tried: no file, or one on a bad sector. */
export function isBeyondReading(error: unknown): boolean {
  return ['EISDIR', 'EFTYPE', 'EFBIG', 'ELOOP', 'EIO'].includes(codeOf(error));
}

/** Not by mkdir's own recursion, which never ends where the system makes no folders, as in /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 });
  }
}

/** A link is followed, also one whose target is not there: it may be on a disk that is not mounted yet. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const link = await readlink(path).catch(() => null);
    return link === null ? path : resolve(dirname(path), link);
  }
}

/** What a process that was killed has left half-written; a disk must not fill up with it. */
async function removeLeftovers(target: string): Promise<void> {
  const folder = dirname(target);
  const isLeftover = (name: string) =>
    name.startsWith(basename(target)) &&
    /^\.([0-9a-f]{12}\.tmp|\d+)$/.test(name.slice(basename(target).length));
  // Nothing depends on it, and where it cannot be done the write says why.
  const names = await readdir(folder).catch(() => []);
  for (const path of names.filter(isLeftover).map((name) => join(folder, name))) {
    const found = await stat(path).catch(() => null);
    // Either way: the clock may have been wrong when it was begun.
    if (!found || Math.abs(Date.now() - found.mtimeMs) < leftoverAfterMs) continue;
    await rm(path, { force: true }).catch(() => {});
  }
}

/** What root writes once must not lock out the user whose file or folder it is. */
async function giveAway(file: FileHandle, target: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(target).catch(() => stat(dirname(target)));
  // Not every file system has owners, and not every root may give files away.
  await file.chown(uid, gid).catch(() => {});
}

/** Else a power cut may undo the rename. Where no folder can be synced, as on some network shares, that stands. */
async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | null = null;
  try {
    folder = await open(path, 'r');
    await folder.sync();
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'ENOSYS', 'EISDIR', 'EPERM', 'EACCES'].includes(codeOf(error))) throw error;
  } finally {
    await folder?.close();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function failure(code: string, words: string): Error {
  return Object.assign(new Error(`${code}: ${words}`), { code });
}
