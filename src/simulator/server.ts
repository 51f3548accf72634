import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Clock, sleep } from '../base/clock.ts';
import type { OperationName } from '../cloud/operations.ts';
import type { Faults } from './faults.ts';
import { type Answer, denied, jsonAnswer, type RawRequest, splitTarget } from './judge.ts';
import type { RequestLog } from './requestLog.ts';
import { route } from './routes.ts';

const mostBodyBytes = 1_000_000;

/** What stands behind the server. */
export interface Backstage {
  readonly judge: (request: RawRequest) => Answer;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly clock: Clock;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** What happens to a request instead of a judgement: an answer, or silence. */
type Outcome = Answer | 'hang' | 'reset';

/** The cloud's HTTP side: reads requests, lets faults strike, and records what came of each. */
export function createCloudServer(backstage: Backstage): Server {
  return createServer((request, response) => {
    // A client that leaves, or a stop in the middle, needs no answer.
    serve(backstage, request, response).catch(() => response.destroy());
  });
}

async function serve(
  backstage: Backstage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { faults, log, clock, judge, signal } = backstage;
  const method = request.method ?? '';
  const target = request.url ?? '';
  const match = route(method, splitTarget(target).path);
  const operation = match.kind === 'operation' ? match.name : null;
  const text = hasBody(request) ? await readText(request) : '';
  const latencyMs = operation && faults.strike('latency', operation);
  if (latencyMs) await sleep(clock, latencyMs, signal);
  const { authorization, 'content-type': contentType } = request.headers;
  const outcome: Outcome =
    text === null
      ? jsonAnswer(413, { message: 'the body is too large' }, { connection: 'close' })
      : (strike(faults, operation) ?? judge({ method, target, authorization, contentType, text }));
  const status = typeof outcome === 'string' ? null : outcome.status;
  log.add({ at: clock.now(), method, path: target, operation, status, body: readable(text) });
  if (outcome === 'hang') return;
  if (outcome === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  response.writeHead(outcome.status, {
    ...outcome.headers,
    'content-length': Buffer.byteLength(outcome.text),
  });
  response.end(outcome.text);
}

function strike(faults: Faults, operation: OperationName | null): Outcome | null {
  if (operation === null) return null;
  if (faults.strike('hang', operation) !== null) return 'hang';
  if (faults.strike('reset', operation) !== null) return 'reset';
  const retryAfter = faults.retryAfter(operation);
  if (retryAfter !== null) {
    return jsonAnswer(429, { message: 'too many requests' }, { 'retry-after': String(retryAfter) });
  }
  const status = faults.strike('error', operation);
  if (status === 401) return denied;
  if (status !== null) return jsonAnswer(status, { message: 'this error was asked for' });
  if (faults.strike('html', operation) === null) return null;
  const text = '<!doctype html><html><body><h1>Down for maintenance</h1></body></html>\n';
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, text };
}

/** Most requests have none, and need not be waited for. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}

/** The body; null if it is too large, in which case the rest of it is not read. */
async function readText(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readable(text: string | null): unknown {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
