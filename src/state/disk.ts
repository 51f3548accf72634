import { copyFile, mkdir, open, readFile, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../base/systemErrors.ts';
import { lockFolder } from './lock.ts';

/** Where the state outlives the process: the machine's disk, or a simulated one. Everything fails with the system's own errors. */
export interface Disk {
  read(path: string): Promise<string>;
  /**
   * Puts the text in place of the file, whole or not at all, for its owner only; makes the folder. If the path is a
   * symbolic link, the file that it names is replaced. Once this has resolved, a power cut does not undo it.
   */
  write(path: string, text: string): Promise<void>;
  /** Keeps the file under another name. The next write replaces it. */
  rename(from: string, to: string): Promise<void>;
  /** See `lockFolder`; makes the folder. */
  lock(folder: string): Promise<(() => void) | null>;
}

/** The machine's disk. */
export const systemDisk: Disk = {
  read: (path) => readFile(path, 'utf8'),
  async write(path, text) {
    await makeFolder(dirname(path));
    const target = await linkTarget(path);
    // What a process that was killed has left half-written is replaced.
    const temporary = `${target}.tmp`;
    await rm(temporary, { force: true });
    try {
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(text);
        const { size } = await file.stat();
        if (size !== Buffer.byteLength(text)) throw new Error('the disk stored only a part of the file');
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
  async rename(from, to) {
    if ((await linkTarget(from)) === from) await rename(from, to);
    else await copyFile(from, to);
  },
  async lock(folder) {
    await makeFolder(folder);
    return lockFolder(folder);
  },
};

/** Why the disk failed, in words, without the names of files. */
export function describeDiskError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, \w+( '.*)?$/s, '');
}

/** Makes the folder and those above it. Node's own way never ends where the system makes no folders, as in /proc. */
async function makeFolder(path: string): Promise<void> {
  const make = () => mkdir(path, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && dirname(path) !== path) {
      await makeFolder(dirname(path));
      await make();
    } else if (!(await stat(path).catch(() => null))?.isDirectory()) throw error;
  }
}

/** The file that a symbolic link names, whether or not there is one; the path itself if it is no link. */
async function linkTarget(path: string): Promise<string> {
  const link = await readlink(path).catch(() => null);
  if (link === null) return path;
  return realpath(path).catch(() => resolve(dirname(path), link));
}

/** Without this a power cut may undo the rename. Some network shares cannot do it. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
