import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Clock } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import { version } from '../base/version.ts';
import { Connections } from './connections.ts';
import type { Ending, GivenUp } from './deadline.ts';
import { describeFailure, NetworkError, nameOf, type Way } from './networkErrors.ts';
import type { HttpRequest } from './request.ts';

export interface TransportOptions {
  /** Origin and path prefix; a trailing slash makes no difference. */
  readonly baseUrl: string;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** The proxy on the way; none unless given. */
  readonly proxy?: URL | null | undefined;
  readonly clock: Clock;
  /** The way to the cloud; a pool of sockets unless given. */
  readonly dispatcher?: Dispatcher | undefined;
}

/** What the cloud answered, whatever its status. */
export interface Answer {
  readonly status: number;
  /** The body as text. */
  readonly body: string;
  /** Why the body is not all there; null when it is. */
  readonly bodyProblem: NetworkError | null;
  readonly header: (name: string) => string | null;
}

const maxBodyBytes = 16 * 1024 * 1024;
// Where the status says it all, the body is only worth a glance for a message.
const maxGlanceBytes = 64 * 1024;
const maxGlanceMs = 500;

const text = new TextDecoder();
const nothing = Buffer.alloc(0);

const unpackers = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** The way to the cloud: kept-alive connections that all reads share, and one of its own for each change. */
export class Transport {
  readonly #url: URL;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #proxy: URL | null;
  readonly #connectTimeoutMs: number;
  /** Takes the place of all connections. */
  readonly #given: Dispatcher | undefined;
  readonly #shared: Connections;
  readonly #ofChanges = new Set<Connections>();

  constructor({ baseUrl, connections, connectTimeoutMs, proxy = null, clock, dispatcher }: TransportOptions) {
    this.#url = new URL(baseUrl);
    this.#prefix = this.#url.pathname.replace(/\/+$/, '');
    this.#clock = clock;
    this.#proxy = proxy;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#given = dispatcher;
    this.#shared = this.#connections(connections);
  }

  /**
   * Sends the request and reads the answer. It can be ended wherever it is: undici itself would ignore a signal while
   * it waits for a connection. A request that was given up before it was sent is never sent, and a change that was given
   * up later is not delivered any more either, unless it has been already.
   */
  async send(request: HttpRequest, token: string | null, ending: Ending): Promise<Received> {
    if (!request.isChange || this.#given) return this.#exchange(this.#shared, request, token, ending);
    const own = this.#connections(1);
    this.#ofChanges.add(own);
    try {
      return await this.#exchange(own, request, token, ending);
    } finally {
      this.#ofChanges.delete(own);
      void own.dispatcher.destroy();
    }
  }

  #exchange(
    connections: Connections,
    request: HttpRequest,
    token: string | null,
    ending: Ending,
  ): Promise<Received> {
    return new Promise((resolve, reject) => {
      let letGo = () => {};
      const exchange = new Exchange(
        request,
        { url: this.#url, proxy: this.#proxy },
        this.#clock,
        (outcome) => {
          letGo();
          if (outcome instanceof NetworkError) reject(outcome);
          else resolve(outcome);
        },
      );
      letGo = ending.onEnd((reason) => {
        if (request.isChange) connections.reset();
        exchange.giveUp(reason);
      });
      if (ending.reason) return;
      try {
        (this.#given ?? connections.dispatcher).dispatch(
          {
            origin: this.#url.origin,
            method: request.method,
            path: this.#prefix + request.path,
            headers: headersOf(request, token),
            body: request.body,
          },
          exchange,
        );
      } catch (error) {
        exchange.fail(error);
      }
    });
  }

  /** Ends everything that is under way, within milliseconds. */
  async close(): Promise<void> {
    const all = [this.#shared, ...this.#ofChanges];
    // The dispatchers would wait for connections that are still being opened.
    for (const connections of all) connections.reset();
    await Promise.all(all.map(({ dispatcher }) => dispatcher.destroy()));
    await this.#given?.destroy();
  }

  #connections(count: number): Connections {
    const { origin } = this.#url;
    return new Connections({
      origin,
      count,
      connectTimeoutMs: this.#connectTimeoutMs,
      proxy: this.#proxy,
    });
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

/** An answer as it came: its body is made text when somebody wants to read it. */
export class Received implements Answer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly bytes: Buffer;
  readonly bodyProblem: NetworkError | null;
  #text: string | undefined;

  constructor(
    status: number,
    header: (name: string) => string | null,
    bytes: Buffer,
    bodyProblem: NetworkError | null,
  ) {
    this.status = status;
    this.header = header;
    this.bytes = bytes;
    this.bodyProblem = bodyProblem;
  }

  get body(): string {
    this.#text ??= text.decode(this.bytes);
    return this.#text;
  }
}

/** One request and its answer, as undici tells of them; settles exactly once. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #way: Way;
  readonly #clock: Clock;
  readonly #settle: (outcome: Received | NetworkError) => void;
  readonly #startedAt: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #head: Pick<Answer, 'status' | 'header'> | undefined;
  #isSettled = false;
  #cancelGlance = () => {};

  constructor(
    request: HttpRequest,
    way: Way,
    clock: Clock,
    settle: (outcome: Received | NetworkError) => void,
  ) {
    this.#request = request;
    this.#way = way;
    this.#clock = clock;
    this.#settle = settle;
    this.#startedAt = clock.monotonic();
  }

  /** Called when a connection is there and the request is about to be written to it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) controller.abort(new Error('given up before it was sent'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    const header = (name: string) => {
      const value = headers[name];
      return (Array.isArray(value) ? value[0] : value) ?? null;
    };
    this.#head = { status, header };
    if (!this.#isBodyWanted()) {
      this.#cancelGlance = this.#clock.after(maxGlanceMs, () => this.#cut('it was not waited for'));
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    const maxBytes = this.#isBodyWanted() ? maxBodyBytes : maxGlanceBytes;
    if (this.#bytes > maxBytes) this.#cut(`it is larger than ${maxBytes} bytes`);
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end(null);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(error);
  }

  /** Ends it because of an error: without a status there is no answer, with one the body is incomplete. */
  fail(error: unknown): void {
    this.#end(describeFailure(error, this.#way, this.#controller !== undefined));
  }

  /** Ends it from outside. */
  giveUp(reason: GivenUp): void {
    const { message, timedOut } = reason;
    const where = this.#head
      ? 'within the answer'
      : this.#controller
        ? 'without an answer'
        : 'while connecting';
    const after = describeDuration(this.#clock.monotonic() - this.#startedAt);
    this.#end(
      new NetworkError(timedOut ? `timeout: ${nameOf(this.#way)} ${where} after ${after}` : message, {
        mayHaveActed: this.#controller !== undefined,
        timedOut,
        cause: reason,
      }),
    );
    this.#abort();
  }

  /** The body's bytes; some proxies pack it although nobody asked for that. */
  #body(problem: NetworkError | null): Pick<Received, 'bytes' | 'bodyProblem'> {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    const coding = this.#head?.header('content-encoding')?.trim().toLowerCase() ?? 'identity';
    const isPacked = coding !== 'identity' && coding !== '';
    if (!isPacked || problem !== null) {
      return { bytes: isPacked ? nothing : bytes, bodyProblem: problem };
    }
    try {
      const unpack = unpackers.get(coding);
      if (!unpack) throw new Error('an unknown packing');
      const limit = { maxOutputLength: this.#isBodyWanted() ? maxBodyBytes : maxGlanceBytes };
      return { bytes: unpack(bytes, limit), bodyProblem: null };
    } catch (cause) {
      const words = `the answer's body is packed (content-encoding ${JSON.stringify(coding.slice(0, 40))}) and cannot be unpacked`;
      return {
        bytes: nothing,
        bodyProblem: new NetworkError(words, { kind: 'unreadable', mayHaveActed: true, cause }),
      };
    }
  }

  #isBodyWanted(): boolean {
    return this.#request.wantsBody && this.#head !== undefined && this.#head.status < 300;
  }

  #cut(why: string): void {
    this.#end(
      new NetworkError(`the answer's body was cut: ${why}`, { kind: 'unreadable', mayHaveActed: true }),
    );
    this.#abort();
  }

  #abort(): void {
    this.#controller?.abort(new Error('given up'));
  }

  #end(problem: NetworkError | null): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#cancelGlance();
    if (this.#head) {
      const { status, header } = this.#head;
      const { bytes, bodyProblem } = this.#body(problem);
      this.#settle(new Received(status, header, bytes, bodyProblem));
    } else {
      this.#settle(problem ?? new NetworkError('the answer has no status', { mayHaveActed: true }));
    }
  }
}
