import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { atTestEnd } from './childProcess.ts';

/**
 * A cloud that repeats everything that it has received in its answers. Tests use it to find secrets that the
 * bridge publishes.
 */
export interface EchoingCloud {
  readonly url: string;
  /** Texts that every answer contains, besides the token and body of its request. */
  readonly extraTexts: string[];
  /** Tokens that it has issued. */
  readonly tokens: Set<string>;
}

export async function startEchoingCloud(simulator: Simulator): Promise<EchoingCloud> {
  const extraTexts: string[] = [];
  const tokens = new Set<string>();
  const server = createServer(async (request, response) => {
    const { method = '', url: target = '', headers } = request;
    const text = await readAll(request);
    const { authorization, 'content-type': contentType } = headers;
    const good = simulator.answer({ method, target, authorization, contentType, text });
    const token = /"token_details":"([^"]+)"/.exec(good.text)?.[1];
    if (token !== undefined) tokens.add(token);
    const received = [...extraTexts, ...tokens, authorization ?? '', text].join(' | ');
    const isOfSession = token !== undefined;
    response.writeHead(good.status, good.headers);
    response.end(isOfSession ? good.text : withEcho(good.text, received));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, extraTexts, tokens };
}

/**
 * Adds the received texts to an answer: to its values, names and keys. If the answer is no JSON, appends
 * them.
 */
function withEcho(body: string, received: string): string {
  const added = { received, [received]: true, battery: received, message: received };
  try {
    const value = JSON.parse(body);
    const record = (each: object) => ({
      ...each,
      ...added,
      name: `Named ${received}`,
      webhook_url: `https://x.example/${received}`,
    });
    return JSON.stringify(
      Array.isArray(value.data) ? { ...value, data: value.data.map(record) } : record(value),
    );
  } catch {
    return `${body} ${received}`;
  }
}
