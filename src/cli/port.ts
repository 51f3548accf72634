import { createServer } from 'node:net';
import { listenProblem } from '../base/listenProblem.ts';

/** Why nothing could listen at this address of the machine, in words; null if something could. */
export function portProblem(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(listenProblem(error, host, port)));
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}
