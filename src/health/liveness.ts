import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/** The status while the bridge starts. */
export const startingUp = 'starting';

/**
 * Sends the status to each client that connects to this name, until the process stops. A process can do so only if its
 * event loop works. Linux only; rejects if another process uses the name.
 */
export async function serveLiveness(
  name: string,
  status: () => string,
  stopping: AbortSignal,
): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.unref().end(status());
  });
  server.listen(abstractAddress(name)).unref();
  await once(server, 'listening');
  stopping.addEventListener('abort', () => server.close(), { once: true });
}

/** The status of the process that serves this name; rejects if no process answers within the time limit. */
export async function probeLiveness(name: string, timeoutMs = 3_000): Promise<string> {
  const socket = connect(abstractAddress(name));
  const deadline = AbortSignal.timeout(timeoutMs);
  deadline.addEventListener('abort', () => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)));
  try {
    return await text(socket);
  } finally {
    socket.destroy();
  }
}

// An abstract socket needs no file, no port and no rights, so it works with a read-only root and for any user.
// Containers on the host's network share these names. So the name contains the mount namespace, which differs between
// containers.
function abstractAddress(name: string): string {
  return `\0${name} ${readlinkSync('/proc/self/ns/mnt')}`;
}
