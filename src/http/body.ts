import type { IncomingMessage } from 'node:http';

/** Reads the body up to so many bytes; null as soon as it is known to be larger. Rejects when the client hangs up. */
export function readBody(request: IncomingMessage, mostBytes: number): Promise<Buffer | null> {
  if (Number(request.headers['content-length']) > mostBytes) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= mostBytes) chunks.push(chunk);
      else {
        request.off('data', take).pause();
        resolve(null);
      }
    };
    request.on('data', take);
    request.once('end', () => resolve(Buffer.concat(chunks)));
    const hangUp = () => reject(new Error('the client hung up'));
    request.once('error', hangUp);
    request.once('close', hangUp);
  });
}

/** Whether the request says that a body follows its headers. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
