import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { atTestEnd } from './childProcess.ts';

/** A proxy like those that HTTPS_PROXY names. */
export interface ConnectProxy {
  /** While true, the proxy stops reading after a large chunk. */
  isHolding: boolean;
  /** Continues to read. */
  letThrough(): void;
  readonly url: string;
  /** The targets that clients asked for, as `host:port`, and their credentials. */
  readonly asked: readonly { readonly target: string; readonly authorization: string | undefined }[];
}

/** Longer than any request of a test, except those that are to be held. */
const largeBytes = 10_000;

/**
 * Starts a proxy that connects every client to this port, whatever host it asks for. With `refusal`, it
 * rejects every client with this status.
 */
export async function startConnectProxy(
  targetPort: number,
  refusal: number | null = null,
): Promise<ConnectProxy> {
  const asked: { target: string; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', ({ url = '', headers }, client: Socket) => {
    asked.push({ target: url, authorization: headers['proxy-authorization'] });
    if (refusal !== null) {
      client.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const target = connect(targetPort, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.pipe(client);
      client.on('data', (chunk: Buffer) => {
        target.write(chunk);
        if (proxy.isHolding && chunk.length > largeBytes) client.pause();
      });
    });
    // While nothing is read, a reset may look like a normal end.
    client.on('end', () => target.end()).on('close', () => target.destroy());
    target.on('close', () => client.destroy());
    for (const socket of [client, target]) {
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
