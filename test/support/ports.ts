import { createServer } from 'node:net';

/** A TCP port of the loopback that was free a moment ago, for programs that cannot pick one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('the listening socket has no port'));
      });
    });
  });
}
