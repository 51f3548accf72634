import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import type { Simulator } from '../../src/simulator/simulator.ts';
import { atTestEnd } from './childProcess.ts';

/** A cloud that says back whatever it has been told, in everything that it says. */
export interface EchoingCloud {
  readonly url: string;
  /** Said in every answer besides the request's own token and body. */
  readonly gossip: string[];
  /** Tokens that it has given. */
  readonly tokens: Set<string>;
}

/** Starts it in front of a simulated cloud. */
export async function startEchoingCloud(simulator: Simulator): Promise<EchoingCloud> {
  const gossip: string[] = [];
  const tokens = new Set<string>();
  const server = createServer(async (request, response) => {
    const { method = '', url: target = '', headers } = request;
    const text = await readAll(request);
    const { authorization, 'content-type': contentType } = headers;
    const good = simulator.answer({ method, target, authorization, contentType, text });
    const token = /"token_details":"([^"]+)"/.exec(good.text)?.[1];
    if (token !== undefined) tokens.add(token);
    const heard = [...gossip, ...tokens, authorization ?? '', text].join(' | ');
    const isOfSession = token !== undefined;
    response.writeHead(good.status, good.headers);
    response.end(isOfSession ? good.text : talking(good.text, heard));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, gossip, tokens };
}

/** The answer with what was heard in its words, its records, their names and their keys; text where it is no JSON. */
function talking(body: string, heard: string): string {
  const said = { heard, [heard]: true, battery: heard, message: heard };
  try {
    const value = JSON.parse(body);
    const record = (each: object) => ({
      ...each,
      ...said,
      name: `Named ${heard}`,
      webhook_url: `https://x.example/${heard}`,
    });
    return JSON.stringify(
      Array.isArray(value.data) ? { ...value, data: value.data.map(record) } : record(value),
    );
  } catch {
    return `${body} ${heard}`;
  }
}
