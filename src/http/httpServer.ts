import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { listenMessage } from '../base/systemErrors.ts';

export interface Route {
  /** The path, for example `/healthz`. `/webhook/*` matches everything under `/webhook/`. */
  readonly path: string;
  readonly methods: readonly string[];
  /** Whether another method is answered 404 and not 405, so that nobody learns that the route exists. */
  readonly isSecret?: boolean;
  readonly answer: (response: ServerResponse, url: URL, request: IncomingMessage) => void | Promise<void>;
}

/** The address to listen on, what to serve there, and the limits for clients. */
export interface HttpServerParts {
  /** The option with the address, for messages. */
  readonly option: string;
  readonly host: string;
  /** With 0, the system chooses a port. */
  readonly port: number;
  /** Addresses and networks that may connect; all if it is empty. */
  readonly onlyFrom: readonly string[];
  readonly limits?: typeof usualLimits;
  readonly routes: readonly Route[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The limits after which Node.js disconnects slow clients, in ms, and the number of connections. */
const usualLimits = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_500,
  /** How long a connection may be idle. This disconnects a client that does not take its answer. */
  idleTimeout: 30_000,
  connections: 64,
};

/** The waits before listening is tried again, in ms. A port in use may become free. */
const listenBackoff: Backoff = { firstMs: 5_000, longestMs: 300_000 };

/** A page may load only our own files. Only pages of the same origin, such as Home Assistant's, may frame it. */
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

const commonHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': Object.entries(sources)
    .map((each) => each.join(' '))
    .join('; '),
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface HttpServerEvents {
  /** Why the server does not listen; null if it listens again. */
  readonly problem: [message: string | null];
}

/** If it cannot listen, it reports that and tries again, because everything else works without it. */
export class HttpServer extends EventEmitter<HttpServerEvents> {
  readonly #parts: HttpServerParts;
  #server: Server | null = null;
  #failures = 0;
  #isStopped = false;
  /** The oldest first. */
  readonly #connections = new Set<Socket>();
  #cancelRetry: () => void = () => {};

  constructor(parts: HttpServerParts) {
    super();
    this.#parts = parts;
  }

  get port(): number | null {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : null;
  }

  /** Resolves when the server listens, or when the first attempt has failed; never rejects. */
  async start(): Promise<void> {
    const { option, host, port, log } = this.#parts;
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
    server.on('error', (error) => log.warn(`HTTP: ${error.message}`));
    this.#server = server.unref();
    if (this.#failures > 0) this.emit('problem', null);
    this.#failures = 0;
    const address = host.includes(':') ? `[${host}]` : host;
    log.info(`HTTP: listening on http://${address}:${this.port}`);
  }

  /** Closes the port, and all connections at once. */
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
    const { clock, random, log } = this.#parts;
    this.#failures += 1;
    if (this.#failures === 1) log.warn(`${problem}. The page is unavailable. Retrying`);
    else log.debug(problem);
    if (this.#isStopped) return;
    this.emit('problem', problem);
    const delayMs = backoffMs(listenBackoff, this.#failures, random);
    this.#cancelRetry = clock.after(delayMs, () => void this.start());
  }

  #createServer(): Server {
    const { limits = usualLimits, onlyFrom, log } = this.#parts;
    const isAllowed = addressFilter(onlyFrom);
    const server = createServer(limits, (request, response) => void this.#serve(request, response));
    server.timeout = limits.idleTimeout;
    server.on('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? '';
      if (!isAllowed(address)) {
        log.debug(`HTTP: disconnected ${address}, which is not in http.only_from`);
        socket.destroy();
        return;
      }
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
      // Closes the oldest connection. Node's maxConnections would reject the new one, so clients that reconnect at once
      // could keep all others out.
      const [oldest] = this.#connections;
      if (!oldest || this.#connections.size <= limits.connections) return;
      this.#connections.delete(oldest);
      oldest.destroy();
    });
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The previous answer is not sent yet. A client that keeps asking without reading the answers would fill the
    // memory.
    if (response.socket === null) {
      request.socket.destroy();
      return;
    }
    const url = urlOf(request);
    const route = url && this.#parts.routes.find(({ path }) => matches(path, url.pathname));
    const isAllowed = route?.methods.includes(request.method ?? '');
    if (!route || (!isAllowed && route.isSecret)) sendJson(response, 404, { status: 'not_found' });
    else if (!isAllowed) {
      sendJson(response, 405, { status: 'method_not_allowed' }, { allow: route.methods.join(', ') });
    } else await this.#answer(route, url, request, response);
  }

  async #answer(route: Route, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await route.answer(response, url, request);
    } catch (error) {
      // The client has closed the connection and needs no answer.
      if (response.destroyed) return;
      this.#parts.log.error({ err: error }, `Internal error: HTTP ${route.path} failed`);
      sendJson(response, 500, { status: 'error' });
    }
  }
}

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

export function sendJson(
  response: ServerResponse,
  status: number,
  value: object,
  headers?: Readonly<Record<string, string>>,
): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(value), headers);
}

/** By addresses and networks such as `192.168.1.0/24`. An empty list allows all. */
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

/** The requested URL; null if the request has no valid path. */
function urlOf({ url = '' }: IncomingMessage): URL | null {
  // Some clients send the host before the path. It is ignored.
  const path = url.replace(/^https?:\/\/[^/?]*\/?/i, '/');
  const address = `http://bridge${path}`;
  return path.startsWith('/') && URL.canParse(address) ? new URL(address) : null;
}

function matches(path: string, asked: string): boolean {
  return path.endsWith('/*') ? asked.startsWith(path.slice(0, -1)) : asked === path;
}
