import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Clock, sleep } from '../base/clock.ts';
import { jsonIn } from '../base/json.ts';
import type { OperationName } from '../cloud/operations.ts';
import { type CloudRequest, denied, findOperation, jsonAnswer, type SimulatedAnswer } from './answers.ts';
import type { Faults } from './faults.ts';

const maxBodyBytes = 1_000_000;
const maxLoggedRequests = 2_000;

export interface LoggedRequest {
  /** Ms since 1970. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  /** Null if there is no such path, or if it does not have the method. */
  readonly operation: OperationName | null;
  /** Null until the request is answered. */
  readonly status: number | null;
  /** The body of the request: JSON if it can be read, else its text; null if there is none. */
  readonly body: unknown;
}

export class RequestLog {
  #entries: LoggedRequest[] = [];
  readonly #counts = new Map<OperationName | null, number>();

  /** At least the newest 2,000 requests, the oldest first. */
  get entries(): readonly LoggedRequest[] {
    return this.#entries;
  }

  add(request: LoggedRequest): void {
    this.#entries.push(request);
    if (this.#entries.length > 2 * maxLoggedRequests) this.#entries.splice(0, maxLoggedRequests);
    this.#counts.set(request.operation, (this.#counts.get(request.operation) ?? 0) + 1);
  }

  count(operation?: OperationName): number {
    if (operation) return this.#counts.get(operation) ?? 0;
    return [...this.#counts.values()].reduce((sum, each) => sum + each, 0);
  }

  clear(): void {
    this.#entries = [];
    this.#counts.clear();
  }
}

interface ServerOptions {
  readonly answer: (request: CloudRequest) => SimulatedAnswer;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export function createCloudServer(options: ServerOptions): Server {
  return createServer((request, response) => {
    // After a stop, or if the client has left, no answer is needed.
    serve(options, request, response).catch(() => response.destroy());
  });
}

async function serve(
  { answer, faults, log, clock, signal }: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url: target = '', headers } = request;
  const match = findOperation(method, target);
  const operation = match.kind === 'operation' ? match.name : null;
  const text = await readText(request);
  const seen = {
    at: clock.now(),
    method,
    path: target,
    operation,
    body: text ? (jsonIn(text) ?? text) : null,
  };
  const logged: LoggedRequest & { status: number | null } = { ...seen, status: null };
  log.add(logged);
  const latencyMs = operation && faults.strike('latency', operation);
  if (latencyMs) await sleep(clock, latencyMs, signal);
  const { authorization, 'content-type': contentType } = headers;
  const outcome =
    text === null
      ? jsonAnswer(413, { message: 'the body is too large' }, { connection: 'close' })
      : ((operation && strike(faults, operation)) ??
        answer({ method, target, authorization, contentType, text }));
  if (outcome === 'hang') return;
  if (outcome === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  logged.status = outcome.status;
  const length = Buffer.byteLength(outcome.text);
  response.writeHead(outcome.status, { ...outcome.headers, 'content-length': length });
  response.end(outcome.text);
}

/** What a fault does instead of the cloud's answer; null if no fault strikes. */
function strike(faults: Faults, operation: OperationName): SimulatedAnswer | 'hang' | 'reset' | null {
  if (faults.strike('hang', operation) !== null) return 'hang';
  if (faults.strike('reset', operation) !== null) return 'reset';
  const retryAfter = faults.retryAfter(operation);
  if (retryAfter !== null) {
    return jsonAnswer(429, { message: 'too many requests' }, { 'retry-after': String(retryAfter) });
  }
  const status = faults.strike('error', operation);
  if (status === 401) return denied;
  if (status !== null) return jsonAnswer(status, { message: 'requested error' });
  if (faults.strike('html', operation) === null) return null;
  const text = '<!doctype html><html><body><h1>Down for maintenance</h1></body></html>\n';
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, text };
}

/** The body; null if it is too large. The rest of a body that is too large is not read. */
async function readText(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
