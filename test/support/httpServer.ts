import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { HttpServer, type HttpServerParts, type Route } from '../../src/http/httpServer.ts';
import { logLines } from './logLines.ts';
import { waitFor } from './waitFor.ts';

/** Starts an HTTP server with these routes on a port of its own. It ends with the test. */
export async function startHttpServer(routes: readonly Route[], options: Partial<HttpServerParts> = {}) {
  const lines = logLines();
  const problems: (string | null)[] = [];
  const address = { option: 'http.listen', host: '127.0.0.1', port: 0, onlyFrom: [], ...options };
  const parts = { routes, clock: systemClock, random: Math.random, log: lines.log };
  const server = new HttpServer({ ...address, ...parts });
  server.on('problem', (words) => void problems.push(words));
  await server.start();
  onTestFinished(() => server.stop());
  const port = server.port ?? 0;
  return { server, lines, problems, port, url: `http://127.0.0.1:${port}` };
}

/** A client that sends exactly these bytes, and keeps everything that it receives. */
export async function openSocket(port: number, words: string) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const client = { socket, text: '', isClosed: false, error: null as Error | null, until };
  socket.setEncoding('utf8').on('data', (text) => {
    client.text += text;
  });
  socket.on('error', (error) => {
    client.error = error;
  });
  socket.on('close', () => {
    client.isClosed = true;
  });
  await new Promise<void>((connected) => socket.once('connect', connected));
  socket.write(words);
  return client;

  function until(words: string | RegExp): Promise<unknown> {
    return waitFor(() => client.text.match(words), { what: `"${words}"` });
  }
}

/** Resolves when the server has closed the connection. */
export function untilClosed(client: { readonly isClosed: boolean }): Promise<unknown> {
  return waitFor(() => client.isClosed, { what: 'the end of the connection' });
}
