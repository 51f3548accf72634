import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { openConnection } from '../../support/brokers.ts';
import { certificates } from '../../support/certificates.ts';
import { waitFor } from '../../support/waitFor.ts';

type Packet = { cmd: string; [key: string]: unknown };

/** The packets of MQTT in bytes, by the library that mqtt.js uses too. */
const { generate, parser } = createRequire(createRequire(import.meta.url).resolve('mqtt'))('mqtt-packet') as {
  generate(packet: object, options?: object): Buffer;
  parser(options?: object): {
    on(event: 'packet', heard: (packet: Packet) => void): void;
    parse(bytes: Buffer): void;
  };
};

type Scheme = 'mqtt' | 'mqtts' | 'ws' | 'wss';

/** One connection as the broker sees it. */
interface Peer {
  readonly raw: Socket;
  readonly version: 4 | 5;
  readonly send: (packet: object) => void;
  /** Ends the WebSocket with this code. */
  readonly close: (code: number) => void;
}

interface Ending {
  /** The answer to the request for a WebSocket. */
  readonly status?: number;
  /** Before TLS. */
  readonly alert?: number;
  /** In place of the answer to CONNECT. */
  readonly atConnect?: (peer: Peer) => void;
  /** After the answer to SUBSCRIBE. */
  readonly later?: (peer: Peer) => void;
}

const tls = { key: certificates.own.key, cert: certificates.own.cert };

function serve(stream: Duplex, raw: Socket, close: Peer['close'], { atConnect, later }: Ending): void {
  const reader = parser();
  let peer: Peer | null = null;
  stream.on('error', () => undefined).on('data', (bytes: Buffer) => reader.parse(bytes));
  reader.on('packet', ({ cmd, protocolVersion, messageId, subscriptions }) => {
    const version = protocolVersion === 5 || peer?.version === 5 ? 5 : 4;
    const send = (packet: object) => void stream.write(generate(packet, { protocolVersion: version }));
    peer ??= { raw, version, send, close };
    if (cmd === 'connect' && atConnect) atConnect(peer);
    else if (cmd === 'connect') send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
    else if (cmd === 'pingreq') send({ cmd: 'pingresp' });
    else if (cmd === 'subscribe') {
      send({ cmd: 'suback', messageId, granted: (subscriptions as unknown[]).map(() => 0) });
      later?.(peer);
    }
  });
}

async function startServer(scheme: Scheme, ending: Ending): Promise<string> {
  const sockets = new Set<Socket>();
  const { status, alert } = ending;
  let server: Server | HttpServer;
  const below = ({ remotePort }: Socket) =>
    [...sockets].find((each) => each.remotePort === remotePort) as Socket;
  if (alert !== undefined)
    server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, alert])));
    });
  else if (scheme.startsWith('mqtt')) {
    const handle = (socket: Socket) => serve(socket, below(socket), () => undefined, ending);
    server = scheme === 'mqtt' ? createTcpServer(handle) : createTlsServer(tls, handle);
  } else {
    const web = scheme === 'ws' ? createHttpServer() : createHttpsServer(tls);
    if (status !== undefined)
      web.on('upgrade', (_request, socket) =>
        socket.end(`HTTP/1.1 ${status} No\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n`),
      );
    else
      new WebSocketServer({ server: web }).on('connection', (socket, request) =>
        serve(createWebSocketStream(socket), below(request.socket), (code) => socket.close(code), ending),
      );
    server = web;
  }
  server.prependListener('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The words of the log about the end of the first connection, or of the first attempt, in both versions of MQTT. */
async function wordsOf(scheme: Scheme, protocolVersion: 4 | 5, ending: Ending): Promise<string> {
  const url = await startServer(scheme, ending);
  const trust = { ca: certificates.own.cert, cert: undefined, key: undefined, rejectUnauthorized: true };
  const options = { protocolVersion, subscriptions: ['a/set'], tls: async () => trust };
  const { connection, lines } = openConnection(url, options);
  await waitFor(() => lines.text.includes('Retrying'), { what: `the end of ${url}` });
  await connection.stop([]);
  const said = lines.messages.find((line) => line.includes('Retrying')) ?? '';
  return said.replace(`warn: MQTT broker ${url}: `, '').replace('. Retrying', '');
}

const closed = 'the connection was closed';
const wasReset = 'the connection was reset';
const unanswered = 'before any answer. Check';
const cut = ({ raw }: Peer) => raw.destroy();
const reset = ({ raw }: Peer) => raw.resetAndDestroy();
const answer =
  (cmd: string, code: number) =>
  ({ send }: Peer) =>
    send({ cmd, returnCode: code, reasonCode: code, sessionPresent: false });

type Row = readonly [name: string, ending: Ending, words: string];

const ofWebSockets: readonly Row[] = [
  [
    '301',
    { status: 301 },
    'the server redirects to another address (HTTP 301). Enter that address in mqtt.url',
  ],
  ['401', { status: 401 }, 'the server does not permit the WebSocket (HTTP 401). A proxy may want a sign-in'],
  ['403', { status: 403 }, 'the server does not permit the WebSocket (HTTP 403). A proxy may want a sign-in'],
  ['502', { status: 502 }, 'the server has a fault (HTTP 502). Check the broker, and the proxy before it'],
  ...[1000, 1001, 1008, 1011].flatMap((code): Row[] => [
    [`${code} at CONNECT`, { atConnect: ({ close }) => close(code) }, `${closed} ${unanswered}`],
    [`${code}`, { later: ({ close }) => close(code) }, closed],
  ]),
];

const ofTls: readonly Row[] = [
  ['handshake failure', { alert: 40 }, 'the TLS handshake failed: alert handshake failure'],
  ['unrecognized name', { alert: 112 }, 'the TLS handshake failed: unrecognized name'],
  ['certificate required', { alert: 116 }, 'the broker needs a client certificate. Set mqtt.cert_file'],
];

const rejections: Readonly<Record<4 | 5, Readonly<Record<number, string>>>> = {
  4: {
    2: 'the broker rejects the connection: Identifier rejected',
    3: 'the broker rejects the connection: Server unavailable',
    4: 'wrong user name or password',
    5: 'not authorized. Check mqtt.username and mqtt.password',
  },
  5: {
    128: 'the broker rejects the connection: Unspecified error',
    134: 'wrong user name or password',
    135: 'not authorized. Check mqtt.username and mqtt.password',
    137: 'the broker rejects the connection: Server busy',
    156: 'the broker rejects the connection: Use another server',
  },
};

/** Some of the reasons at the end of a connection. mqtt.js has their words from the standard. */
const disconnects: Readonly<Record<number, string>> = {
  0: 'no reason given',
  128: 'Unspecified error',
  139: 'Server shutting down',
};

function rowsOf(scheme: Scheme, version: 4 | 5): readonly Row[] {
  const hasWebSocket = scheme.startsWith('ws');
  // The library reads the reset of the socket below a WebSocket as its end.
  const afterReset = hasWebSocket ? closed : wasReset;
  return [
    ...(hasWebSocket ? ofWebSockets : []),
    ...(scheme === 'mqtts' || scheme === 'wss' ? ofTls : []),
    ['cut at CONNECT', { atConnect: cut }, `${closed} ${unanswered}`],
    ['reset at CONNECT', { atConnect: reset }, `${afterReset} ${unanswered}`],
    ['cut', { later: cut }, closed],
    // Which of both is noticed first depends on what the bridge writes at that moment.
    ['reset', { later: reset }, 'the connection was '],
    ...Object.entries(rejections[version]).map(([code, words]): Row => {
      return [`CONNACK ${code}`, { atConnect: answer('connack', Number(code)) }, words];
    }),
    ...Object.entries(version === 5 ? disconnects : {}).map(([code, words]): Row => {
      const said = `the broker closed the connection: ${words}`;
      return [`DISCONNECT ${code}`, { later: answer('disconnect', Number(code)) }, said];
    }),
  ];
}

describe.each(['mqtt', 'mqtts', 'ws', 'wss'] as const)('the end of a connection over %s', (scheme) => {
  it.each([5, 4] as const)(
    'with version %i of MQTT is told as it was, and is no end of the process',
    async (version) => {
      const rows = rowsOf(scheme, version);
      const said = await Promise.all(
        rows.map(async ([name, ending, words]) => {
          return [name, (await wordsOf(scheme, version, ending)).slice(0, words.length)];
        }),
      );
      expect(said).toEqual(rows.map(([name, , words]) => [name, words]));
    },
  );
});
