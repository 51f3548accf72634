import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { atTestEnd } from './childProcess.ts';

/** A way through to a port of the loopback that can fail. */
export interface TcpProxy {
  readonly port: number;
  /** How many came so far. */
  readonly connectionCount: number;
  /** Breaks every connection off, as a pulled cable or a killed process does, and takes no more until told. */
  cut(): void;
  /** Lets connections through again. */
  mend(): void;
  /** Holds everything up in silence, connections and their ends too: neither side can tell. */
  freeze(): void;
  /** Lets pass what was held up, and all that follows. */
  thaw(): void;
  /** Resets every connection, as a machine that has restarted does; new ones are let through. */
  reset(): void;
}

/** Starts a proxy; a connection whose first bytes are not admitted is hung up on. */
export async function startTcpProxy(
  targetPort: number,
  isAdmitted: (firstBytes: Buffer) => boolean = () => true,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const thawed = new Set<() => void>();
  let isCut = false;
  let isFrozen = false;
  let connectionCount = 0;

  const passable = () => (isFrozen ? new Promise<void>((resolve) => thawed.add(resolve)) : undefined);
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const end = (how: 'destroy' | 'resetAndDestroy') => {
    for (const socket of sockets) socket[how]();
  };
  const relay = async (from: Socket, to: Socket) => {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        await passable();
        if (!to.write(chunk)) await once(to, 'drain');
      }
    } catch {
      // One end broke off; the other hears of it below.
    }
    await passable();
    to.destroy();
  };

  const server = createServer(async (visitor) => {
    connectionCount += 1;
    keep(visitor);
    if (isCut) visitor.destroy();
    const [firstBytes] = await once(visitor, 'data').catch(() => []);
    await passable();
    if (firstBytes === undefined || visitor.destroyed) return;
    if (!isAdmitted(firstBytes)) {
      visitor.end();
      return;
    }
    const target = dial(targetPort, '127.0.0.1');
    keep(target);
    visitor.unshift(firstBytes);
    void relay(visitor, target);
    void relay(target, visitor);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const thaw = () => {
    isFrozen = false;
    for (const resolve of thawed) resolve();
    thawed.clear();
  };
  atTestEnd(() => {
    thaw();
    end('destroy');
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get connectionCount() {
      return connectionCount;
    },
    cut() {
      isCut = true;
      end('destroy');
    },
    mend() {
      isCut = false;
    },
    freeze() {
      isFrozen = true;
    },
    thaw,
    reset: () => end('resetAndDestroy'),
  };
}
