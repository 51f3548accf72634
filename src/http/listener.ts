import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Backoff, backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { listenProblem } from '../base/listenProblem.ts';
import type { Log } from '../base/log.ts';
import { hasBody, readBody } from './body.ts';
import {
  findRoute,
  jsonReply,
  notFound,
  type Question,
  type Reply,
  type Route,
  type Stream,
} from './routes.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly routes: readonly Route[];
  /** Told what is wrong with the address, in words, and null once it listens. */
  readonly onProblem: (words: string | null) => void;
  /** Whether somebody at this address is answered; everybody is unless given. */
  readonly isWelcome?: ((address: string) => boolean) | undefined;
  readonly limits?: Limits;
}

/** What a stranger may take. */
export interface Limits {
  /** Until the headers are there, in ms. */
  readonly headersMs: number;
  /** Until the body is there, in ms. */
  readonly requestMs: number;
  /** How often the two are looked at, in ms. */
  readonly checkMs: number;
  /** How long nothing may come or go, in ms. */
  readonly idleMs: number;
  /** How many there may be besides those that are told news. */
  readonly connections: number;
}

const usualLimits: Limits = {
  headersMs: 10_000,
  requestMs: 15_000,
  checkMs: 2_500,
  idleMs: 30_000,
  connections: 64,
};

/** An address that is taken now may be free later. */
const again: Backoff = { firstMs: 5_000, longestMs: 300_000 };

/** A client that still sends must have the time to see the answer before the socket is cut. */
const lingerMs = 500;

const commonHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/**
 * Serves the routes at one address. Where it cannot listen it says so, and tries again until it can: the bridge does
 * its work without.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  #server: Server | null = null;
  #failures = 0;
  #isStopped = false;
  /** Connections but those that are told news, by when something was last asked there: the longest ago comes first. */
  readonly #guests = new Set<Socket>();
  #cancelRetry: () => void = () => {};

  constructor(options: ListenerOptions, clock: Clock, random: Random, log: Log) {
    this.#options = options;
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
    const { host, port, onProblem } = this.#options;
    const server = this.#createServer();
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, resolve);
      });
    } catch (error) {
      this.#failures += 1;
      const problem = `http.listen: ${listenProblem(error, host, port)}`;
      if (this.#failures === 1) this.#log.warn(`${problem}. The bridge works without it, and tries again`);
      else this.#log.debug(problem);
      if (this.#isStopped) return;
      onProblem(problem);
      const delayMs = backoffMs(again, this.#failures, this.#random);
      this.#cancelRetry = this.#clock.after(delayMs, () => void this.start());
      return;
    }
    if (this.#isStopped) {
      server.close();
      return;
    }
    server.on('error', (error) => this.#log.warn(`HTTP: ${error.message}`));
    this.#server = server.unref();
    if (this.#failures > 0) onProblem(null);
    this.#failures = 0;
    const address = host.includes(':') ? `[${host}]` : host;
    this.#log.info(`HTTP: listening on http://${address}:${this.port}`);
  }

  /** Hangs up on everybody, at once. */
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

  #createServer(): Server {
    const { limits = usualLimits, isWelcome } = this.#options;
    const server = createServer({
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.checkMs,
    });
    server.timeout = limits.idleMs;
    server.on('connection', (socket: Socket) => {
      const address = socket.remoteAddress ?? '';
      if (isWelcome && !isWelcome(address)) {
        this.#log.debug(`HTTP: hung up on ${address}, which is not in http.only_from`);
        socket.destroy();
        return;
      }
      socket.once('close', () => this.#guests.delete(socket));
      this.#seat(socket, limits.connections);
    });
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      // Another answer is still on its way there: of one who asks on and on and takes nothing they would pile up.
      if (response.socket === null) {
        request.socket.destroy();
        return;
      }
      this.#seat(request.socket, limits.connections);
      this.#serve(request, response).catch((error) => {
        // A client that leaves needs no answer.
        this.#log.debug(`HTTP: ${String(error)}`);
        response.destroy();
      });
    };
    server.on('request', serve);
    // Whoever asks first whether a body is wanted may be told that it is not.
    server.on('checkContinue', serve);
    return server;
  }

  /** Puts it behind all others. Where there are too many the first makes room: the slow keep nobody out. */
  #seat(socket: Socket, most: number): void {
    this.#guests.delete(socket);
    this.#guests.add(socket);
    const [first] = this.#guests;
    if (this.#guests.size <= most || !first) return;
    this.#guests.delete(first);
    first.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    const reply = await this.#replyTo(request, response);
    if ('open' in reply) {
      response.writeHead(reply.status, {
        ...commonHeaders,
        ...reply.headers,
        'content-type': reply.contentType,
        // Nothing is asked there any more, so it is no guest that may come back.
        connection: 'close',
      });
      if (request.method === 'HEAD') {
        response.end();
        return;
      }
      this.#guests.delete(request.socket);
      reply.open(response);
      return;
    }
    const isUnread = hasBody(request) && !request.complete;
    response.writeHead(reply.status, {
      ...commonHeaders,
      ...reply.headers,
      'content-type': reply.contentType,
      'content-length': Buffer.byteLength(reply.text),
      ...(isUnread && { connection: 'close' }),
    });
    if (!isUnread) {
      response.end(reply.text);
      return;
    }
    // Ended now, the socket would be cut while it is written to, and the answer lost; nothing more is read of it.
    response.write(reply.text);
    const cancel = this.#clock.after(lingerMs, () => response.end());
    response.once('close', cancel);
  }

  async #replyTo(request: IncomingMessage, response: ServerResponse): Promise<Reply | Stream> {
    const { method = '', url = '', headers } = request;
    const match = findRoute(this.#options.routes, method, url);
    if (match.kind === 'nowhere') return notFound;
    if (match.kind === 'otherMethods') {
      return jsonReply(405, { status: 'method_not_allowed' }, { allow: match.allow });
    }
    const isAsked = headers.expect?.toLowerCase() === '100-continue';
    const question: Question = {
      rest: match.rest,
      query: match.query,
      headers,
      readBody: (mostBytes) => {
        if (isAsked && !(Number(headers['content-length']) > mostBytes)) response.writeContinue();
        return readBody(request, mostBytes);
      },
    };
    try {
      return await match.route.answer(question);
    } catch (error) {
      if (request.destroyed && !request.complete) throw error;
      this.#log.error({ err: error }, `HTTP: ${match.route.path} went wrong`);
      return jsonReply(500, { status: 'error' });
    }
  }
}
