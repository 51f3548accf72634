import {
  createServer as createHttpServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { atTestEnd } from './childProcess.ts';

/** What the cloud answered, all of it. */
interface CloudAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A request on its way to the cloud. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The bridge's end of the connection. */
  readonly socket: Socket;
  /** Lets the cloud answer it. */
  forward(): Promise<CloudAnswer>;
}

/** A key and its certificate, as PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** What goes wrong between the bridge and the cloud, as long as it lasts. */
export interface Trouble {
  /** Connections that are open when it begins stay open; else they are cut. */
  readonly sparesConnections?: boolean;
  /** New connections are accepted, and go no further until they are let in. */
  readonly holdsConnections?: boolean;
  /** What becomes of each new connection; it is not read. */
  readonly meet?: (socket: Socket) => void;
  /** Shown instead of the right one. */
  readonly certificate?: Certificate;
  /** What becomes of each request. */
  readonly answer?: (visit: Visit) => unknown;
}

/** A way to the cloud on which anything can go wrong. */
export interface FaultyCloud {
  readonly port: number;
  /** Where requests go on to: the cloud's own base URL. */
  target: string;
  /** The requests that came, as `GET /path`. */
  readonly asked: readonly string[];
  /** The tokens that came with them. */
  readonly tokens: ReadonlySet<string>;
  /** How many connections were made. */
  readonly connectionCount: number;
  /** How many connections are held. */
  readonly held: number;
  /** Lets all connections in that are held, and holds no more. */
  letIn(): void;
  /** Lets this go wrong from now on, instead of what went wrong before; resolves once no good answer is on its way. */
  begin(trouble: Trouble): Promise<void>;
  /** Lets all go well again. */
  mend(): Promise<void>;
}

/** Starts on a free port of the loopback; with a certificate, it speaks TLS. */
export async function startFaultyCloud(certificate: Certificate | null = null): Promise<FaultyCloud> {
  let trouble: Trouble = {};
  const asked: string[] = [];
  const tokens = new Set<string>();
  const sockets = new Set<Socket>();
  const underWay = new Set<Promise<unknown>>();
  const held: (() => void)[] = [];
  let connectionCount = 0;

  const http = createHttpServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    const token = /^Bearer (\S+)$/.exec(incoming.headers.authorization ?? '')?.[1];
    if (token !== undefined) tokens.add(token);
    const visit = { request: incoming, response, socket: incoming.socket, forward: () => pass(incoming) };
    const { answer } = trouble;
    if (answer) void Promise.resolve(answer(visit)).catch(() => incoming.socket.destroy());
    else keep(hand(visit).catch(() => incoming.socket.destroy()));
  });

  const server = createServer((socket) => {
    connectionCount += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    const { meet, holdsConnections } = trouble;
    const shown = trouble.certificate ?? certificate;
    const letIn = () => {
      if (shown === null) http.emit('connection', socket);
      else secure(socket, shown, (stream) => http.emit('connection', stream));
    };
    if (meet) meet(socket);
    else if (holdsConnections) held.push(letIn);
    else letIn();
  });

  async function pass(incoming: IncomingMessage): Promise<CloudAnswer> {
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

  function keep(visit: Promise<unknown>): void {
    underWay.add(visit);
    void visit.finally(() => underWay.delete(visit));
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
    tokens,
    get connectionCount() {
      return connectionCount;
    },
    get held() {
      return held.length;
    },
    letIn() {
      trouble = { ...trouble, holdsConnections: false };
      for (const letIn of held.splice(0)) letIn();
    },
    async begin(next) {
      await cloud.mend();
      trouble = next;
      if (!next.sparesConnections) cut();
      await Promise.all(underWay);
    },
    async mend() {
      trouble = {};
    },
  };
  return cloud;
}

/** Answers as the cloud does. */
async function hand({ response, forward }: Pick<Visit, 'response' | 'forward'>): Promise<void> {
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
