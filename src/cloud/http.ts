import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import { version } from '../base/version.ts';
import { Connections } from './connections.ts';
import { GivenUp, orAborted } from './deadline.ts';
import { describeFailure, NetworkError, nameOf, type Way } from './networkErrors.ts';
import type { HttpRequest } from './request.ts';

export interface HttpOptions {
  /** Origin and path prefix; a trailing slash makes no difference. */
  readonly baseUrl: string;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  /** The proxy on the way; none unless given. */
  readonly proxy?: URL | null | undefined;
  readonly clock: Clock;
  /** Takes the place of all connections. */
  readonly dispatcher?: Dispatcher | undefined;
}

/** What the cloud answered, whatever its status. */
export interface HttpResponse {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly body: Buffer;
  /** Why the body is not all there; null when it is. */
  readonly bodyProblem: NetworkError | null;
}

const maxBodyBytes = 16 * 1024 * 1024;
// Where the status says it all, the body is only worth a glance for a message.
const maxGlanceBytes = 64 * 1024;
const maxGlanceMs = 500;

const unpackers = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** Sends requests over kept-alive connections that all reads share, and over a new one for each change. */
export class Http {
  readonly #options: HttpOptions;
  readonly #way: Way;
  readonly #pathPrefix: string;
  readonly #shared: Connections;
  readonly #ofChanges = new Set<Connections>();

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#way = { url: new URL(options.baseUrl), proxy: options.proxy ?? null };
    this.#pathPrefix = this.#way.url.pathname.replace(/\/+$/, '');
    this.#shared = this.#connect(options.maxConnections);
  }

  /**
   * Sends the request and reads the answer; rejects with a `NetworkError` where there is none. A change that is given up
   * is not delivered any more, unless it has been already: its connection is reset before anything else.
   */
  async send(request: HttpRequest, token: string | null, signal: AbortSignal): Promise<HttpResponse> {
    const { dispatcher } = this.#options;
    if (dispatcher) return this.#exchange(dispatcher, request, token, signal);
    if (!request.isChange) return this.#exchange(this.#shared.dispatcher, request, token, signal);
    const own = this.#connect(1);
    const reset = () => own.reset();
    this.#ofChanges.add(own);
    signal.addEventListener('abort', reset);
    try {
      return await this.#exchange(own.dispatcher, request, token, signal);
    } finally {
      signal.removeEventListener('abort', reset);
      this.#ofChanges.delete(own);
      void own.dispatcher.destroy();
    }
  }

  /** Ends everything that is under way, within milliseconds. */
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
  ): Promise<HttpResponse> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    let isSent = false;
    const onSend = () => {
      isSent = true;
    };
    const failure = (error: unknown, where: string) => {
      if (error instanceof NetworkError) return error;
      if (!(error instanceof GivenUp)) return describeFailure(error, this.#way, isSent);
      const after = describeDuration(clock.monotonic() - startedAt);
      const words = error.timedOut ? `timeout: ${nameOf(this.#way)} ${where} after ${after}` : error.message;
      return new NetworkError(words, { mayHaveActed: isSent, timedOut: error.timedOut, cause: error });
    };

    let response: Dispatcher.ResponseData;
    try {
      signal.throwIfAborted();
      // While it waits for a connection, undici does not listen to the signal.
      response = await orAborted(
        tellingWhenSent(dispatcher, onSend).request({
          origin: this.#way.url.origin,
          method: request.method,
          path: this.#pathPrefix + request.path,
          headers: headersOf(request, token),
          body: request.body,
          signal,
        }),
        signal,
      );
    } catch (error) {
      throw failure(error, isSent ? 'without an answer' : 'while connecting');
    }
    const { statusCode: status, headers } = response;
    const header = (name: string) => {
      const value = headers[name];
      return (Array.isArray(value) ? value[0] : value) ?? null;
    };
    const maxBytes = request.wantsBody && status < 300 ? maxBodyBytes : maxGlanceBytes;
    const { bytes, error } = await readBody(response.body, maxBytes, clock);
    if (error !== null)
      return { status, header, body: bytes, bodyProblem: failure(error, 'within the answer') };
    return { status, header, ...unpack(bytes, header('content-encoding'), maxBytes) };
  }

  #connect(count: number): Connections {
    const { connectTimeoutMs } = this.#options;
    const { url, proxy } = this.#way;
    return new Connections({ origin: url.origin, count, connectTimeoutMs, proxy });
  }
}

/** The dispatcher, telling when a connection is there and the request is about to be written to it. */
function tellingWhenSent(dispatcher: Dispatcher, onSend: () => void): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    const onRequestStart = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      onSend();
      onRequestStart?.(controller, context);
    };
    return dispatch(options, handler);
  });
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

/** What comes of the body, and what ended it before its end; a body that is only worth a glance is not waited for. */
async function readBody(body: Dispatcher.ResponseData['body'], maxBytes: number, clock: Clock) {
  const chunks: Buffer[] = [];
  let size = 0;
  let error: unknown = null;
  const cancelGlance =
    maxBytes === maxGlanceBytes
      ? clock.after(maxGlanceMs, () => body.destroy(cut('it did not end in time')))
      : () => {};
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw cut(`it is larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (cause) {
    error = cause;
  } finally {
    cancelGlance();
  }
  const [first] = chunks;
  return { bytes: chunks.length === 1 && first ? first : Buffer.concat(chunks), error };
}

function cut(why: string): NetworkError {
  return new NetworkError(`the answer was cut off: ${why}`, { kind: 'unreadable', mayHaveActed: true });
}

/** The body's bytes; some proxies pack it although nobody asked for that. */
function unpack(body: Buffer, encoding: string | null, maxOutputLength: number) {
  const coding = encoding?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return { body, bodyProblem: null };
  try {
    const unpacker = unpackers.get(coding);
    if (!unpacker) throw new Error('an unknown encoding');
    return { body: unpacker(body, { maxOutputLength }), bodyProblem: null };
  } catch (cause) {
    const words = `the answer cannot be decompressed (content-encoding ${JSON.stringify(coding.slice(0, 40))})`;
    const problem = new NetworkError(words, { kind: 'unreadable', mayHaveActed: true, cause });
    return { body: Buffer.alloc(0), bodyProblem: problem };
  }
}
