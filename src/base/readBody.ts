import type { IncomingMessage } from 'node:http';

/** The body of a request; null if it is longer than `maxBytes`. Rejects if the client closes the connection. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  if (Number(request.headers['content-length']) > maxBytes) return null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    // The rest is read but not kept. Ending the loop would close the connection before the answer is sent.
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes > maxBytes ? null : Buffer.concat(chunks);
}
