import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { atTestEnd } from './childProcess.ts';

/** A TCP proxy to a port of this machine that can fail. */
export interface TcpProxy {
  readonly port: number;
  /** How many connections were made. */
  readonly connectionCount: number;
  /** Breaks every connection, like a pulled cable or a killed process, and accepts no more until `repair`. */
  cut(): void;
  /** Accepts connections again. */
  repair(): void;
  /** Forwards nothing any more, not even the end of a connection. Neither side can notice it. */
  freeze(): void;
  /** Forwards everything that was held, and everything that follows. */
  thaw(): void;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
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
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  const relay = async (from: Socket, to: Socket) => {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        await passable();
        if (!to.write(chunk)) await once(to, 'drain');
      }
    } catch {
      // One end was closed. The other end is closed below.
    }
    await passable();
    to.destroy();
  };

  const server = createServer(async (client) => {
    connectionCount += 1;
    keep(client);
    if (isCut) client.destroy();
    await passable();
    if (client.destroyed) return;
    const target = dial(targetPort, '127.0.0.1');
    keep(target);
    void relay(client, target);
    void relay(target, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const thaw = () => {
    isFrozen = false;
    for (const resolve of thawed) resolve();
    thawed.clear();
  };
  atTestEnd(() => {
    thaw();
    end();
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
      end();
    },
    repair() {
      isCut = false;
    },
    freeze() {
      isFrozen = true;
    },
    thaw,
  };
}
