import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createWebSocketStream, type RawData, WebSocketServer } from 'ws';
import { codec } from '../../simulation/wire.ts';
import { connected, openConnection } from '../../support/brokers.ts';
import { certificates } from '../../support/certificates.ts';
import { waitFor } from '../../support/waitFor.ts';

type Scheme = 'mqtt' | 'mqtts' | 'ws' | 'wss';

/** One connection as the broker sees it. */
interface Peer {
  readonly raw: Socket;
  readonly version: 4 | 5;
  readonly send: (packet: object) => void;
  /** Ends the WebSocket with this code. */
  readonly close: (code: number) => void;
}

/** What a server does otherwise than a good broker. */
interface Ending {
  /** The answer to the request for a WebSocket. */
  readonly status?: number;
  /** What it sends after the first bytes, before TLS. */
  readonly instead?: string | Buffer;
  /** In place of the answer to CONNECT. */
  readonly atConnect?: (peer: Peer) => void;
  /** After the answer to SUBSCRIBE. */
  readonly later?: (peer: Peer) => void;
  /** Is told the path of a request for a WebSocket, the lengths of its frames, and the messages. */
  readonly tell?: (what: unknown) => void;
}

const tls = { key: certificates.own.key, cert: certificates.own.cert };

function serve(stream: Duplex, raw: Socket, close: Peer['close'], ending: Ending): void {
  const reader = codec.parser({});
  let peer: Peer | null = null;
  stream.on('error', () => undefined).on('data', (bytes: Buffer) => reader.parse(bytes));
  reader.on('packet', (packet) => {
    const isV5 = packet.cmd === 'connect' && packet.protocolVersion === 5;
    const version = isV5 || peer?.version === 5 ? 5 : 4;
    const send = (answer: object) => void stream.write(codec.generate(answer, { protocolVersion: version }));
    peer ??= { raw, version, send, close };
    if (packet.cmd === 'connect' && ending.atConnect) ending.atConnect(peer);
    else if (packet.cmd === 'connect')
      send({ cmd: 'connack', returnCode: 0, reasonCode: 0, sessionPresent: false });
    else if (packet.cmd === 'pingreq') send({ cmd: 'pingresp' });
    else if (packet.cmd === 'publish') {
      ending.tell?.([packet.topic, packet.payload.length]);
      send({ cmd: 'puback', messageId: packet.messageId });
    } else if (packet.cmd === 'subscribe') {
      send({ cmd: 'suback', messageId: packet.messageId, granted: packet.subscriptions.map(() => 0) });
      ending.later?.(peer);
    }
  });
}

async function startServer(scheme: Scheme, ending: Ending): Promise<string> {
  const sockets = new Set<Socket>();
  const { status, instead, tell = () => {} } = ending;
  let server: Server | HttpServer;
  const below = ({ remotePort }: Socket) =>
    [...sockets].find((each) => each.remotePort === remotePort) as Socket;
  if (instead !== undefined)
    server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => (instead === '' ? socket.resetAndDestroy() : socket.end(instead)));
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
      new WebSocketServer({ server: web }).on('connection', (socket, request) => {
        tell(request.url);
        socket.on('message', (bytes: RawData) => tell((bytes as Buffer).length));
        const stream = createWebSocketStream(socket);
        serve(stream, below(request.socket), (code) => socket.close(code), ending);
      });
    server = web;
  }
  server.prependListener('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const trust = { ca: certificates.own.cert, cert: undefined, key: undefined, rejectUnauthorized: true };

/** The words of the log about the end of the first connection, or of the first attempt. */
async function wordsOf(url: string, protocolVersion: 4 | 5 = 5, own: object = {}): Promise<string> {
  const options = { protocolVersion, subscriptions: ['a/set'], tls: async () => ({ ...trust, ...own }) };
  const { connection, lines } = openConnection(url, options);
  await waitFor(() => lines.text.includes('Retrying'), { what: `the end of ${url}` });
  await connection.stop([]);
  const said = lines.messages.find((line) => line.includes('Retrying')) ?? '';
  return said.replace(/^warn: MQTT broker \S+: /, '').replace('. Retrying', '');
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
  [
    '404',
    { status: 404 },
    'the server has no WebSocket for MQTT at this path (HTTP 404). Check the path and the port in mqtt.url',
  ],
  ['502', { status: 502 }, 'the server has a fault (HTTP 502). Check the broker, and the proxy before it'],
  ...[1000, 1001, 1008, 1011].flatMap((code): Row[] => [
    [`${code} at CONNECT`, { atConnect: ({ close }) => close(code) }, `${closed} ${unanswered}`],
    [`${code}`, { later: ({ close }) => close(code) }, closed],
  ]),
];

const alert = (code: number): Ending => ({ instead: Buffer.from([21, 3, 3, 0, 2, 2, code]) });

const ofTls: readonly Row[] = [
  ['handshake failure', alert(40), 'the TLS handshake failed: alert handshake failure'],
  ['unrecognized name', alert(112), 'the TLS handshake failed: unrecognized name'],
  ['certificate required', alert(116), 'the broker needs a client certificate. Set mqtt.cert_file'],
  ['no TLS', { instead: 'no TLS\r\n' }, 'the server does not use TLS. Use mqtt:// or another port'],
  // As Mosquitto does where it is spoken to with TLS on its plain port.
  ['reset at the first bytes', { instead: '' }, `${wasReset} ${unanswered}`],
];

// The words for the codes of MQTT are told by the stories of `wired`.
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
    ['CONNACK', { atConnect: answer('connack', version === 5 ? 134 : 4) }, 'wrong user name or password'],
    ...(version === 5
      ? ([
          ['DISCONNECT', { later: answer('disconnect', 139) }, 'the broker closed the connection: Ser'],
        ] as const)
      : []),
  ];
}

describe.each(['mqtt', 'mqtts', 'ws', 'wss'] as const)('the end of a connection over %s', (scheme) => {
  it.each([5, 4] as const)(
    'with version %i of MQTT is told as it was, and is no end of the process',
    async (version) => {
      const rows = rowsOf(scheme, version);
      const said = await Promise.all(
        rows.map(async ([name, ending, words]) => {
          const told = await wordsOf(await startServer(scheme, ending), version);
          return [name, told.slice(0, words.length)];
        }),
      );
      expect(said).toEqual(rows.map(([name, , words]) => [name, words]));
    },
  );
});

describe('an address without such a broker is explained in a sentence', () => {
  it('where it speaks TLS', async () => {
    const url = await startServer('mqtts', {});
    expect(await wordsOf(url.replace('127.0.0.1', '127.0.0.2'))).toMatch(/does not match certificate/);
    expect(await wordsOf(url, 5, { ca: certificates.stranger.cert })).toMatch(
      /self[- ]signed certificate\. Check mqtt\.ca_file/,
    );
    expect(await wordsOf(url.replace('mqtts', 'mqtt'))).toMatch(
      /does not use MQTT|the connection was (reset|closed) before any answer\. Check the port/,
    );
  });

  it('where there is no such host', async () => {
    const words = await wordsOf('mqtt://no-such-host.invalid:1');
    expect(words).toMatch(/^(no such host|the name server does not answer)$/);
  });
});

it('a WebSocket is asked for with the path and the query of its address, and gets no empty frame', async () => {
  const told: unknown[] = [];
  const url = await startServer('ws', { tell: (what) => told.push(what) });
  const { connection, lines } = await connected(`${url}/mqtt?token=hush-hush&v=1`, { protocolVersion: 4 });
  const sent = [200_000, 0, 1, 0, 0];
  await Promise.all(sent.map((length) => connection.publish('kept', 'x'.repeat(length), { retain: true })));
  expect(told[0]).toBe('/mqtt?token=hush-hush&v=1');
  expect(told.filter(Array.isArray)).toEqual(sent.map((length) => ['kept', length]));
  // Mosquitto 2.1.2 ends the connection at one.
  expect(told).not.toContain(0);
  expect(lines.text).not.toContain('hush');
});
