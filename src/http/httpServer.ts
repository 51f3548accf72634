import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { listenMessage } from '../base/systemErrors.ts';

/** One row of the routing table. */
export interface Route {
  /** As in `/healthz`; `/webhook/*` matches everything below `/webhook/`. */
  readonly path: string;
  readonly methods: readonly string[];
  /** Whether another method gets 404 instead of 405: then nobody learns that there is something. */
  readonly isSecret?: boolean;
  readonly answer: (response: ServerResponse, url: URL, request: IncomingMessage) => void | Promise<void>;
}

/** Where to listen, and what clients may take. */
export interface HttpServerOptions {
  /** What the address comes from, for messages. */
  readonly option: string;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Addresses and networks that may connect; empty: all. */
  readonly onlyFrom: readonly string[];
  readonly limits?: typeof usualLimits;
}

/** Node's own limits, in ms, by which it disconnects slow clients; and how many connections there may be. */
const usualLimits = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_500,
  /** How long nothing may come or go: a client that does not take its answer. */
  idleTimeout: 30_000,
  /** Besides live pages, which have a limit of their own. */
  connections: 64,
};

/** A port that is taken may be free later. */
const listenBackoff: Backoff = { firstMs: 5_000, longestMs: 300_000 };

/** Nothing but our own files is loaded, and only pages of the same origin, as Home Assistant is, may frame the page. */
const sources = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'manifest-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'self'",
};

/** The headers of every answer. */
export const commonHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': Object.entries(sources)
    .map((each) => each.join(' '))
    .join('; '),
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface HttpServerEvents {
  /** Why it does not listen; null once it does. */
  readonly problem: [message: string | null];
}

/** Serves the routes at one address. If it cannot listen it says so and tries again: everything else works without. */
export class HttpServer extends EventEmitter<HttpServerEvents> {
  readonly #options: HttpServerOptions;
  readonly #routes: readonly Route[];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  #server: Server | null = null;
  #failures = 0;
  #isStopped = false;
  /** All connections but those of live pages, the oldest first. */
  readonly #connections = new Set<Socket>();
  #cancelRetry: () => void = () => {};

  constructor(options: HttpServerOptions, routes: readonly Route[], clock: Clock, random: Random, log: Log) {
    super();
    this.#options = options;
    this.#routes = routes;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
  }

  /** The port that it listens on; null while it does not. */
  get port(): number | null {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : null;
  }

  /** Resolves when it listens, or when the first attempt has failed; never rejects. */
  async start(): Promise<void> {
    const { option, host, port } = this.#options;
    const server = this.#createServer();
    try {
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    } catch (error) {
      this.#onFailed(`${option}: ${listenMessage(error, host, port)}`);
      return;
    }
    if (this.#isStopped) {
      server.close();
      return;
    }
    server.on('error', (error) => this.#log.warn(`HTTP: ${error.message}`));
    this.#server = server.unref();
    if (this.#failures > 0) this.emit('problem', null);
    this.#failures = 0;
    const address = host.includes(':') ? `[${host}]` : host;
    this.#log.info(`HTTP: listening on http://${address}:${this.port}`);
  }

  /** Closes the port and all connections at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry();
    const server = this.#server;
    this.#server = null;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  #onFailed(problem: string): void {
    this.#failures += 1;
    if (this.#failures === 1) this.#log.warn(`${problem}. The page is unavailable. Retrying`);
    else this.#log.debug(problem);
    if (this.#isStopped) return;
    this.emit('problem', problem);
    const delayMs = backoffMs(listenBackoff, this.#failures, this.#random);
    this.#cancelRetry = this.#clock.after(delayMs, () => void this.start());
  }

  #createServer(): Server {
    const { limits = usualLimits, onlyFrom } = this.#options;
    const isAllowed = addressFilter(onlyFrom);
    const server = createServer(limits, (request, response) => void this.#serve(request, response));
    server.timeout = limits.idleTimeout;
    server.on('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? '';
      if (!isAllowed(address)) {
        this.#log.debug(`HTTP: disconnected ${address}, which is not in http.only_from`);
        socket.destroy();
        return;
      }
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      // Node's maxConnections would reject new connections: clients that reconnect at once would keep all others out.
      const [oldest] = this.#connections;
      if (!oldest || this.#connections.size <= limits.connections) return;
      this.#connections.delete(oldest);
      oldest.destroy();
    });
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The answer before is still on its way: answers to a client that asks on and takes none would fill the memory.
    if (response.socket === null) {
      request.socket.destroy();
      return;
    }
    const url = urlOf(request);
    const route = url && this.#routes.find(({ path }) => matches(path, url.pathname));
    const isAllowed = route?.methods.includes(request.method ?? '');
    if (!route || (!isAllowed && route.isSecret)) sendJson(response, 404, { status: 'not_found' });
    else if (!isAllowed) {
      sendJson(response, 405, { status: 'method_not_allowed' }, { allow: route.methods.join(', ') });
    } else await this.#answer(route, url, request, response);
  }

  async #answer(route: Route, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await route.answer(response, url, request);
      // Of a stream, too, the headers are all that was asked for.
      if (request.method === 'HEAD') response.end();
      if (!response.writableEnded) this.#connections.delete(request.socket);
    } catch (error) {
      // A client that left needs no answer.
      if (response.destroyed) return;
      this.#log.error({ err: error }, `Internal error: HTTP ${route.path} failed`);
      sendJson(response, 500, { status: 'error' });
    }
  }
}

/** Answers with a text, or with the bytes of a picture. */
export function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  text: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const contentLength = Buffer.byteLength(text);
  const described = { ...headers, 'content-type': contentType, 'content-length': contentLength };
  response.writeHead(status, { ...commonHeaders, ...described }).end(text);
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: object,
  headers?: Readonly<Record<string, string>>,
): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(value), headers);
}

/** Whether an address is one of these or in one of these networks, as `192.168.1.0/24` is; any is if there are none. */
function addressFilter(networks: readonly string[]): (address: string) => boolean {
  const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) =>
    networks.length === 0 || (isIP(address) !== 0 && list.check(address, familyOf(address)));
}

/** What is asked for; null if that is no path. */
function urlOf({ url = '' }: IncomingMessage): URL | null {
  // A host before the path makes no difference.
  const path = url.replace(/^https?:\/\/[^/?]*\/?/i, '/');
  const address = `http://bridge${path}`;
  return path.startsWith('/') && URL.canParse(address) ? new URL(address) : null;
}

function matches(path: string, asked: string): boolean {
  return path.endsWith('/*') ? asked.startsWith(path.slice(0, -1)) : asked === path;
}
