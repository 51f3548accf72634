import { open, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** The longest path of a socket that the system accepts. Node.js 20 cuts a longer one short without an error. */
const maxPathBytes = 100;

/**
 * Makes this process the only one that uses the folder. The lock is a socket in the folder, on which its holder
 * listens. The system closes the socket when the holder dies in any way. The lock also works across containers that
 * share the folder. A file with a process id can do neither. Resolves to the function that gives the lock up, or to
 * null if another process holds the lock. Rejects if the folder cannot have a socket, as on some network shares.
 */
export async function lockFolder(folder: string): Promise<(() => void) | null> {
  const path = join(folder, 'lock');
  if (Buffer.byteLength(path) <= maxPathBytes) return lockAt(path);
  // Linux offers a short path to each open folder.
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
    // The holder of this socket has died.
    await rm(path, { force: true });
    server = await listen(path);
  }
  return server && (() => server.close());
}

/** Listens on a socket at the path; null if there is one already. */
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
