import { gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { deferred } from '../base/deferred.ts';
import { describeDuration } from '../base/duration.ts';
import { errorCode } from '../base/systemErrors.ts';
import { version } from '../base/version.ts';
import { type Connections, connectionsTo } from './connections.ts';
import { GivenUp } from './deadline.ts';
import { CloudError } from './errors.ts';
import { describeFailure, noAnswer } from './networkErrors.ts';
import type { HttpRequest } from './request.ts';

export interface HttpOptions {
  /** May have a path. */
  readonly baseUrl: string;
  /** The number of connections that reads share. */
  readonly maxConcurrency: number;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  /** Used instead of own connections. */
  readonly dispatcher?: Dispatcher | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly body: Buffer;
  /** Why part of the body is missing; null if the body is complete. */
  readonly bodyProblem: CloudError | null;
}

const maxBodyBytes = 16 * 1024 * 1024;
// If the status alone decides, at most this much of the body is read, for a message.
const maxGlanceBytes = 64 * 1024;
const maxGlanceMs = 500;

/** All reads share kept-alive connections, and each change has one of its own. */
export class Http {
  readonly #options: HttpOptions;
  readonly #url: URL;
  readonly #pathPrefix: string;
  readonly #shared: Connections;
  readonly #ofChanges = new Set<Connections>();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#url = new URL(options.baseUrl);
    this.#pathPrefix = this.#url.pathname.replace(/\/+$/, '');
    this.#shared = connectionsTo(this.#url, options.maxConcurrency, options.requestTimeoutMs);
  }

  /**
   * Rejects with a `CloudError` if there is no answer. `gate` is called when the connection is open and the first byte is
   * about to be written. If it aborts the signal, nothing is written. If a change is given up later, its connection is
   * reset at once, so that the change is not delivered afterwards.
   */
  async send(
    request: HttpRequest,
    token: string | null,
    signal: AbortSignal,
    gate: () => void = () => {},
  ): Promise<HttpResponse> {
    const { dispatcher } = this.#options;
    const exchange = (way: Dispatcher) => this.#exchange(way, request, token, signal, gate);
    if (dispatcher) return exchange(dispatcher);
    if (!request.isChange) return exchange(this.#shared.dispatcher);
    const own = connectionsTo(this.#url, 1, this.#options.requestTimeoutMs);
    const { reset } = own;
    this.#ofChanges.add(own);
    signal.addEventListener('abort', reset);
    try {
      return await exchange(own.dispatcher);
    } finally {
      signal.removeEventListener('abort', reset);
      this.#ofChanges.delete(own);
      void own.dispatcher.destroy();
    }
  }

  async close(): Promise<void> {
    const all = [this.#shared, ...this.#ofChanges];
    // The dispatchers would wait for connections that are still being opened.
    for (const connections of all) connections.reset();
    await Promise.all(all.map(({ dispatcher }) => dispatcher.destroy()));
    await this.#options.dispatcher?.destroy();
  }

  async #exchange(
    dispatcher: Dispatcher,
    request: HttpRequest,
    token: string | null,
    signal: AbortSignal,
    gate: () => void,
  ): Promise<HttpResponse> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    const { answer, ended, giveUp, handler } = receive(request, clock, gate);
    const onAbort = () => giveUp(signal.reason);
    if (signal.aborted) onAbort();
    else {
      signal.addEventListener('abort', onAbort);
      const path = this.#pathPrefix + request.path;
      const { method, body } = request;
      const headers = headersOf(request, token);
      dispatcher.dispatch({ origin: this.#url.origin, method, path, headers, body }, handler);
    }
    await ended;
    signal.removeEventListener('abort', onAbort);
    const { status, headers, error, isSent, chunks } = answer;
    const failure = (where: string) => {
      if (error instanceof CloudError) return error;
      if (!(error instanceof GivenUp)) return describeFailure(error, this.#url, isSent, request.operation);
      const after = describeDuration(clock.monotonic() - startedAt);
      const { timedOut } = error;
      const message = timedOut ? `timeout: ${this.#url.host} ${where} after ${after}` : error.message;
      const key = timedOut ? noAnswer : message;
      const details = { mayHaveActed: isSent, timedOut, key, cause: error };
      return new CloudError('unavailable', request.operation, message, details);
    };
    if (status === null) throw failure(isSent ? 'without an answer' : 'while connecting');
    const header = (name: string) => [headers[name]].flat()[0] ?? null;
    const coding = header('content-encoding') ?? '';
    const whole = unzipped(request.operation, coding, Buffer.concat(chunks), answer.maxBytes);
    const isWhole = !(whole instanceof CloudError);
    const body = isWhole ? whole : Buffer.alloc(0);
    const problem = isWhole ? null : whole;
    return { status, header, body, bodyProblem: error === null ? problem : failure('within the answer') };
  }
}

function headersOf(request: HttpRequest, token: string | null): Record<string, string> {
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': `sonic2mqtt/${version}`,
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(request.body === null ? {} : { 'content-type': 'application/json' }),
  };
}

/** The body as the cloud wrote it. The request asks for no compression, but some gateways use gzip nevertheless. */
function unzipped(operation: string, coding: string, body: Buffer, maxBytes: number): Buffer | CloudError {
  if (coding.trim().toLowerCase() !== 'gzip' || body.length === 0) return body;
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return tooLarge(operation, maxBytes);
    return cut(operation, 'its compressed data is incomplete or damaged');
  }
}

/** A handler of undici: its `request` is much slower, and has no place for the gate. */
function receive({ operation, wantsBody }: HttpRequest, clock: Clock, gate: () => void) {
  const answer = {
    /** Whether the request has passed the gate. */
    isSent: false,
    /** Null until the headers have come. */
    status: null as number | null,
    headers: {} as Readonly<Record<string, string | string[] | undefined>>,
    chunks: [] as Buffer[],
    error: null as unknown,
    maxBytes: maxBodyBytes,
  };
  let size = 0;
  let controller: Dispatcher.DispatchController | null = null;
  let cancelGlance = () => {};
  const { promise: ended, resolve: end } = deferred();
  const fail = (error: unknown) => {
    answer.error ??= error;
    cancelGlance();
    end();
  };
  // Without a connection, undici cannot cancel the request, so it is cancelled once there is one.
  const giveUp = (reason: unknown) => {
    if (answer.error !== null) return;
    fail(reason);
    controller?.abort(reason as Error);
  };
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (answer.error === null) gate();
      // Nothing is written after this.
      if (answer.error !== null) started.abort(answer.error as Error);
      else answer.isSent = true;
    },
    onResponseStart(_, status, headers) {
      if (status < 200 || answer.error !== null) return;
      Object.assign(answer, { status, headers });
      if (wantsBody && status < 300) return;
      answer.maxBytes = maxGlanceBytes;
      cancelGlance = clock.after(maxGlanceMs, () => giveUp(cut(operation, 'it did not end in time')));
    },
    onResponseData(_, chunk) {
      if (answer.error !== null) return;
      size += chunk.length;
      if (size > answer.maxBytes) giveUp(tooLarge(operation, answer.maxBytes));
      else answer.chunks.push(chunk);
    },
    onResponseEnd() {
      cancelGlance();
      end();
    },
    onResponseError: (_, error) => fail(error),
  };
  return { answer, ended, giveUp, handler };
}

function cut(operation: string, why: string): CloudError {
  return new CloudError('unreadable', operation, `the answer was cut off: ${why}`);
}

function tooLarge(operation: string, maxBytes: number): CloudError {
  return cut(operation, `it is larger than ${maxBytes} bytes`);
}
