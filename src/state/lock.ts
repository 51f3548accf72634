import { randomUUID } from 'node:crypto';
import { open, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** The longest path of a socket that the system accepts. Node.js 20 cuts a longer one short without an error. */
const maxPathBytes = 100;

/** How often the lock is tried, if others try at the same moment, and the longest wait in between, in ms. */
const maxAttempts = 12;
const maxWaitMs = 100;

/** Whether a file in a data directory is a lock, also one of version 1.0.0. */
function isLock(name: string): boolean {
  return /^lock(-[0-9a-f]{8})?$/.test(name);
}

/**
 * Makes this process the only one that uses the folder. The lock is a socket in the folder, on which its holder
 * listens. The system closes the socket when the holder dies in any way. The lock also works across containers that
 * share the folder. A file with a process id can do neither.
 *
 * Each process listens at a name of its own first, and then looks for others. So of two that start together, at least
 * one sees the other and gives way. As no name is used twice, nobody deletes the socket of a holder for that of a dead
 * one.
 *
 * Resolves to the function that gives the lock up, or to null if another process holds the lock. Rejects if the folder
 * cannot have a socket, as on some network shares.
 */
export async function lockFolder(folder: string): Promise<(() => void) | null> {
  // Linux offers a short path to each open folder.
  const handle = Buffer.byteLength(join(folder, newName())) > maxPathBytes ? await open(folder) : null;
  const path = handle ? `/proc/self/fd/${handle.fd}` : folder;
  let server: Server | null = null;
  try {
    for (let attempts = 0; server === null && attempts < maxAttempts; attempts++) {
      if (attempts > 0) await wait(maxWaitMs * Math.random());
      server = await takeLock(path);
    }
  } finally {
    if (server === null) await handle?.close();
  }
  return server && (() => server.close(() => void handle?.close()));
}

function newName(): string {
  return `lock-${randomUUID().slice(0, 8)}`;
}

/** Listens in the folder; null if another process does so, too. */
async function takeLock(folder: string): Promise<Server | null> {
  const own = newName();
  const server = await listen(join(folder, own));
  let isFree = false;
  try {
    const names = await readdir(folder);
    const others = names.filter((name) => isLock(name) && name !== own);
    const areAlive = await Promise.all(others.map((name) => isAlive(join(folder, name))));
    for (const [index, name] of others.entries()) {
      if (!areAlive[index]) await rm(join(folder, name), { force: true });
    }
    // Another process may have deleted the socket in the moment before this one listened on it.
    isFree = names.includes(own) && !areAlive.includes(true);
  } finally {
    if (!isFree) server.close();
  }
  return isFree ? server : null;
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    // The lock alone must not keep the process alive.
    server.listen(path, () => resolve(server.unref()));
  });
}

/** Errors of a socket on which nobody listens, or nobody any more. */
const deadCodes: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT']);

function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (deadCodes.has(error.code)) resolve(false);
      // It has not accepted earlier connections yet.
      else if (error.code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}
