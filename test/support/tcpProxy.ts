import { createServer, connect as dial, type Socket } from 'node:net';
import { atTestEnd } from './childProcess.ts';

/** A way through to a port of the loopback that can be cut. */
export interface TcpProxy {
  readonly port: number;
  /** How many came so far. */
  readonly visits: number;
  /** Breaks every connection off, as a pulled cable or a killed process does, and takes no more until told. */
  cut(): void;
  /** Lets connections through again. */
  mend(): void;
}

/** Starts a proxy; a connection whose first bytes are not admitted is hung up on. */
export async function startTcpProxy(
  targetPort: number,
  isAdmitted: (firstBytes: Buffer) => boolean = () => true,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let visits = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((visitor) => {
    visits += 1;
    keep(visitor);
    if (isCut) visitor.destroy();
    visitor.once('data', (firstBytes) => {
      if (!isAdmitted(firstBytes)) {
        visitor.end();
        return;
      }
      const target = dial(targetPort, '127.0.0.1');
      keep(target);
      target.on('close', () => visitor.destroy());
      visitor.on('close', () => target.destroy());
      target.write(firstBytes);
      visitor.pipe(target).pipe(visitor);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get visits() {
      return visits;
    },
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isCut = false;
    },
  };
}
