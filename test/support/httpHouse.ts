import { request as httpRequest } from 'node:http';
import { type House, startHouse } from './house.ts';

/** A house whose bridge listens for HTTP on a free port. */
export async function startHttpHouse(
  http: object = {},
  options: Parameters<typeof startHouse>[0] = {},
): Promise<{ readonly house: House; readonly port: number; readonly url: string }> {
  const config = { http: { listen: '127.0.0.1:0', ...http }, ...options.config };
  const house = await startHouse({ ...options, config });
  const port = await portOf(house);
  return { house, port, url: `http://127.0.0.1:${port}` };
}

/** The port on which the bridge of the house says that it listens. */
export async function portOf(house: House): Promise<number> {
  const [, port] = await house.bridge.waitForOutput(/HTTP: listening on http:\/\/127\.0\.0\.1:(\d+)/);
  return Number(port);
}

/** What was answered. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Asks once, over a connection of its own. */
export function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<HttpAnswer> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
      response.on('error', reject);
    });
    // Who is refused while still sending has the answer all the same.
    request.on('error', reject);
    request.end(body);
  });
}
