import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { atTestEnd } from './childProcess.ts';

/** A proxy of the kind that HTTPS_PROXY names. */
export interface ConnectProxy {
  /** Whether what is too long for one read waits unread. */
  isHolding: boolean;
  /** Reads on where it holds something. */
  letThrough(): void;
  readonly url: string;
  /** Where its visitors wanted to go, as `host:port`, and how they identified themselves. */
  readonly asked: readonly { readonly target: string; readonly authorization: string | undefined }[];
}

/** Longer than any request of a test, but for those that are to be held. */
const largeBytes = 10_000;

/** Starts one on the loopback that leads to this port, whatever host it is asked for; a status refuses everybody. */
export async function startConnectProxy(
  targetPort: number,
  refusal: number | null = null,
): Promise<ConnectProxy> {
  const asked: { target: string; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', ({ url = '', headers }, visitor: Socket) => {
    asked.push({ target: url, authorization: headers['proxy-authorization'] });
    if (refusal !== null) {
      visitor.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const target = connect(targetPort, '127.0.0.1', () => {
      visitor.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(visitor);
      visitor.on('data', (chunk: Buffer) => {
        target.write(chunk);
        if (proxy.isHolding && chunk.length > largeBytes) visitor.pause();
      });
    });
    // A reset that comes while nothing is read may be seen as an end.
    visitor.on('end', () => target.end()).on('close', () => target.destroy());
    target.on('close', () => visitor.destroy());
    for (const socket of [visitor, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const proxy: ConnectProxy = {
    url: `http://127.0.0.1:${port}`,
    asked,
    isHolding: false,
    letThrough() {
      proxy.isHolding = false;
      for (const socket of sockets) socket.resume();
    },
  };
  return proxy;
}
