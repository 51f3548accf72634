import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atTestEnd } from './childProcess.ts';

const token = 'aUthTokenOfTheIngress';

/** The path below which Home Assistant shows an app. */
export const ingressPath = `/api/hassio_ingress/${token}`;

/** The headers that Home Assistant removes from an answer. */
const removedHeaders = [
  'transfer-encoding',
  'content-length',
  'content-encoding',
  'connection',
  'keep-alive',
];

/**
 * Stands in for the ingress of Home Assistant, through which an app's page is shown. It removes the path
 * prefix, sends it in a header, and shows the page in a frame at `/`.
 */
export async function startIngress(appUrl: string): Promise<{ readonly url: string }> {
  const pass = (request: IncomingMessage, response: ServerResponse) => {
    const { url = '', method, headers } = request;
    if (!url.startsWith(`${ingressPath}/`)) {
      response.writeHead(url === '/' ? 200 : 404, { 'content-type': 'text/html' });
      response.end(`<title>Home</title><iframe src="${ingressPath}/" width="800" height="600"></iframe>`);
      return;
    }
    // Ingress compresses answers itself, so it does not forward the encodings that the browser accepts.
    const { 'accept-encoding': _, ...passed } = headers;
    const forwarded = httpRequest(
      appUrl + url.slice(ingressPath.length),
      { method, headers: { ...passed, 'x-ingress-path': ingressPath }, agent: false },
      (answer) => {
        const kept = Object.entries(answer.headers).filter(([name]) => !removedHeaders.includes(name));
        response.writeHead(answer.statusCode ?? 502, Object.fromEntries(kept));
        response.flushHeaders();
        answer.pipe(response);
        answer.once('close', () => response.destroy(answer.complete ? undefined : new Error('cut off')));
      },
    );
    forwarded.on('error', () => response.writeHead(502).end());
    response.once('close', () => forwarded.destroy());
    request.pipe(forwarded);
  };
  const server = createServer(pass);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  atTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
