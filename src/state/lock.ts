import { open, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** The longest path of a socket that the system accepts. Node.js 20 cuts a longer one short without an error. */
const maxPathBytes = 100;

/**
 * Makes this process the only one that uses the folder. The lock is a socket in it on which the holder listens: the
 * system closes it when the holder dies, however that happens, and also across containers that share the folder. A
 * process id in a file shows neither. Resolves to the function that gives the lock up, or to null while another process
 * holds it. Rejects where there can be no socket, as on some network shares.
 */
export async function lockFolder(folder: string): Promise<(() => void) | null> {
  const path = join(folder, 'lock');
  if (Buffer.byteLength(path) <= maxPathBytes) return lockAt(path);
  // Linux has a short name for each open folder.
  const handle = await open(folder);
  const unlock = await lockAt(`/proc/self/fd/${handle.fd}/lock`).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  if (unlock === null) {
    await handle.close();
    return null;
  }
  return () => {
    unlock();
    void handle.close();
  };
}

async function lockAt(path: string): Promise<(() => void) | null> {
  let server = await listen(path);
  if (server === null) {
    if (await isHeld(path)) return null;
    // Its holder has died.
    await rm(path, { force: true });
    server = await listen(path);
  }
  return server && (() => server.close());
}

/** Null where there is such a socket already. */
function listen(path: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    // The lock alone must not keep the process alive.
    server.listen(path, () => resolve(server.unref()));
  });
}

function isHeld(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else reject(error);
    });
  });
}
