import { closeSync, openSync, readSync } from 'node:fs';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
};

/** Many times what anybody writes by hand; a device that never ends would fill the memory. */
const mostBytes = 1_048_576;

/**
 * The text of a file, without the byte order mark that Windows puts before it; throws an error that says in words which file
 * cannot be read, and why.
 */
export function readTextFile(path: string): string {
  const bytes = readBytes(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    // A password in another encoding would only be rejected by the cloud.
    throw new Error(`cannot read ${path}: it is not UTF-8`, { cause });
  }
}

/** What is in a file; throws as `readTextFile` does. */
export function readBytes(path: string): Buffer {
  let bytes: Buffer | null;
  try {
    bytes = readUpTo(path, mostBytes);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new Error(`cannot read ${path}: ${reasons[code] ?? code}`, { cause });
  }
  if (bytes === null) throw new Error(`cannot read ${path}: it is larger than ${mostBytes} bytes`);
  return bytes;
}

/** What is in what may be a pipe, so that nobody knows its size before it ends; null where that is beyond the limit. */
function readUpTo(path: string, limit: number): Buffer | null {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const length = readSync(file, chunk);
      if (length === 0) return Buffer.concat(chunks);
      bytes += length;
      if (bytes > limit) return null;
      chunks.push(chunk.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}
