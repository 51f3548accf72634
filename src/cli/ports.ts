import { type AddressInfo, connect as connectTcp, createServer, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { listenMessage } from '../base/systemErrors.ts';
import { silentMessage } from '../broker/errorMessages.ts';

/** Listens for a moment. Resolves to the port (any free one for 0). */
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

/** Why a program cannot listen there; null if it can. */
export async function portProblem(host: string, port: number): Promise<string | null> {
  return tryPort(host, port)
    .then(() => null)
    .catch(({ message }: Error) => message);
}

/** Connects for a moment. The time includes finding the name. */
export function connectOnce(host: string, port: number, timeoutMs: number, isTls = false): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const options = { host, port, timeout: timeoutMs };
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = isTls
      ? connectTls({ ...options, ...servername, rejectUnauthorized: true })
      : connectTcp(options);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      resolve();
      socket.destroy();
    });
    socket.once('timeout', () => {
      const isSilent = !socket.connecting;
      socket.destroy(isSilent ? new Error(silentMessage) : Object.assign(new Error(), { code: 'ETIMEDOUT' }));
    });
    socket.once('error', reject);
  });
}
