import {
  createServer as createHttpServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { atTestEnd } from './childProcess.ts';

/** The complete answer of the cloud. */
interface CloudAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A request to the cloud that has reached the proxy. */
export interface CloudRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Forwards the request to the cloud. */
  forward(): Promise<CloudAnswer>;
}

/** A key and its certificate, as PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** What goes wrong between the bridge and the cloud, until it is repaired. */
interface CloudFault {
  /** Whether open connections stay open. By default they are cut. */
  readonly keepsConnections?: boolean;
  /** Whether new connections are accepted, but not read until `releaseConnections`. */
  readonly holdsConnections?: boolean;
  /** For how many ms each new connection is not read, so that its TLS handshake takes this long. */
  readonly handshakeMs?: () => number;
  /** Answers each request. */
  readonly answer?: (visit: CloudRequest) => unknown;
}

/** A proxy in front of the cloud that can fail in many ways. */
export interface FaultyCloud {
  readonly port: number;
  /** The cloud's base URL, to which requests are forwarded. */
  target: string;
  /** The received requests, as `GET /path`. */
  readonly asked: readonly string[];
  readonly connectionCount: number;
  /** How many connections are held. */
  readonly held: number;
  /** Reads all held connections, and holds no more. */
  releaseConnections(): void;
  /** Starts this fault instead of the one before. Resolves once no good answer is on its way. */
  begin(fault: CloudFault): Promise<void>;
  /** Ends the fault. */
  repair(): Promise<void>;
}

/** Starts the proxy on a free port. With a certificate it speaks TLS. */
export async function startFaultyCloud(certificate: Certificate | null = null): Promise<FaultyCloud> {
  let fault: CloudFault = {};
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const underWay = new Set<Promise<unknown>>();
  const held: (() => void)[] = [];
  let connectionCount = 0;

  const http = createHttpServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    const exchange = {
      request: incoming,
      response,
      forward: () => forwardToCloud(incoming),
    };
    const { answer } = fault;
    if (answer) void Promise.resolve(answer(exchange)).catch(() => incoming.socket.destroy());
    else track(answerAsCloud(exchange).catch(() => incoming.socket.destroy()));
  });

  const server = createServer((socket) => {
    connectionCount += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    const { holdsConnections, handshakeMs } = fault;
    const accept = () => {
      if (certificate === null) http.emit('connection', socket);
      else secure(socket, certificate, (stream) => http.emit('connection', stream));
    };
    if (holdsConnections) held.push(accept);
    else if (handshakeMs) setTimeout(accept, handshakeMs());
    else accept();
  });

  async function forwardToCloud(incoming: IncomingMessage): Promise<CloudAnswer> {
    const { host: _, ...headers } = incoming.headers;
    const { method } = incoming;
    const body = await wholeOf(incoming);
    return new Promise((resolve, reject) => {
      const outgoing = request(`${cloud.target}${incoming.url}`, { method, headers }, (answer) => {
        const { statusCode: status = 0 } = answer;
        wholeOf(answer).then((whole) => resolve({ status, headers: answer.headers, body: whole }), reject);
      });
      outgoing.on('error', reject).end(body);
    });
  }

  function track(exchange: Promise<unknown>): void {
    underWay.add(exchange);
    void exchange.finally(() => underWay.delete(exchange));
  }

  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };

  await listen(0);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  atTestEnd(() => {
    cut();
    server.close();
  });
  const cloud: FaultyCloud = {
    port,
    target: '',
    asked,
    get connectionCount() {
      return connectionCount;
    },
    get held() {
      return held.length;
    },
    releaseConnections() {
      fault = { ...fault, holdsConnections: false };
      for (const accept of held.splice(0)) accept();
    },
    async begin(next) {
      await cloud.repair();
      fault = next;
      if (!next.keepsConnections) cut();
      await Promise.all(underWay);
    },
    async repair() {
      fault = {};
    },
  };
  return cloud;
}

/** Forwards a request, and passes the cloud's answer back. */
async function answerAsCloud({
  response,
  forward,
}: Pick<CloudRequest, 'response' | 'forward'>): Promise<void> {
  const { status, headers, body } = await forward();
  response.writeHead(status, headers).end(body);
}

function secure(socket: Socket, certificate: Certificate, use: (stream: TLSSocket) => void): void {
  const stream = new TLSSocket(socket, {
    isServer: true,
    secureContext: createSecureContext({ ...certificate }),
  });
  stream.on('error', () => socket.destroy()).once('secure', () => use(stream));
}

async function wholeOf(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
