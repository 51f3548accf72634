import {
  copyFile,
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
import { dirname, resolve } from 'node:path';
import { errorCode } from '../base/systemErrors.ts';

/** Where the state is stored: the machine's disk, or a simulated one. All methods fail with the system's own errors. */
export interface Disk {
  read(path: string): Promise<string>;
  /** The names of the files in a folder. */
  names(folder: string): Promise<readonly string[]>;
  /**
   * Replaces the file by the text, completely or not at all, readable by its owner only; makes the folder. If the path
   * is a symbolic link, the file that it points to is replaced. Once the promise has resolved, a power cut does not
   * undo the write.
   */
  write(path: string, text: string): Promise<void>;
  /** Keeps the file under another name. The next write creates it again. */
  rename(from: string, to: string): Promise<void>;
}

export const systemDisk: Disk = {
  read: (path) => readFile(path, 'utf8'),
  names: (folder) => readdir(folder),
  async write(path, text) {
    await makeFolder(dirname(path));
    const target = await linkTarget(path);
    // If the process was killed during a write, a half-written file is left here. It is deleted.
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
};

/** The reason why the disk failed, without the names of files. */
export function describeDiskError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.replace(/, \w+( '.*)?$/s, '');
}

/** Node's own recursive mkdir never ends if the system makes no folders, as in /proc. */
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

/** The file that a symbolic link points to, even if that file does not exist; the path itself if it is no link. */
async function linkTarget(path: string): Promise<string> {
  const link = await readlink(path).catch(() => null);
  if (link === null) return path;
  return realpath(path).catch(() => resolve(dirname(path), link));
}

/** Without this, a power cut may undo the rename. Some network shares do not support it, so errors are ignored. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
