import { type AddressInfo, createServer } from 'node:net';
import { listenMessage } from '../base/systemErrors.ts';

/** Listens at an address for a moment. Resolves to the port (any free one for 0). Rejects with an error for people. */
export function tryPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => reject(new Error(listenMessage(error, host, port))));
    server.listen(port, host, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}

/** Why a program cannot listen at this address of the machine; null if it can. */
export function portProblem(host: string, port: number): Promise<string | null> {
  return tryPort(host, port).then(
    () => null,
    ({ message }: Error) => message,
  );
}
