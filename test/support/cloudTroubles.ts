import { gzipSync } from 'node:zlib';
import type { CloudAnswer, Trouble, Visit } from './faultyCloud.ts';

const dripEveryMs = 50;
const mebibyte = 1024 * 1024;

/** The cloud answers nothing but this, and does nothing. */
export function answering(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Trouble {
  return {
    answer: ({ request, response }) => {
      request.resume();
      response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
    },
  };
}

/** The cloud answers nothing but JSON of this shape, and does nothing. */
export function answeringJson(value: unknown): Trouble {
  return answering(200, JSON.stringify(value), { 'content-type': 'application/json' });
}

/** What goes out instead of an answer, as it is. */
export function answeringRaw(text: string): Trouble {
  return { answer: ({ socket }) => socket.end(text) };
}

/** The cloud does as it is told, but this becomes of its answer. */
function spoiling(spoil: (answer: CloudAnswer, visit: Visit) => void): Trouble {
  return { answer: async (visit) => spoil(await visit.forward(), visit) };
}

/** Several answers in turn, one a request. */
export function inTurn(troubles: readonly Trouble[]): Trouble {
  let count = 0;
  return { answer: (visit) => troubles[count++ % troubles.length]?.answer?.(visit) };
}

/** Nobody listens. */
export const refused: Trouble = { isRefused: true };

/** Who connects is hung up on before it can ask. */
export const resetAtOnce: Trouble = { meet: (socket) => void socket.resetAndDestroy() };

/** The cloud acts, and the connection breaks before it has said so. */
export const resetAfterRequest = spoiling((_answer, { socket }) => void socket.resetAndDestroy());

/** Connections are made, but nobody reads what they bring. */
export const halfOpen: Trouble = { meet: () => undefined };

/** The other end goes away without a word, in the middle of connections that had worked. */
export const goneSilently: Trouble = { sparesConnections: true, answer: () => undefined };

/** The cloud acts, and never says so. */
export const hung = spoiling(() => undefined);

/** The answer comes byte by byte, from its first. */
export const drippingHead = spoiling((answer, { socket }) => dripTo(socket, headOf(answer)));

/** The answer's status comes at once, its body byte by byte. */
export const drippingBody = spoiling((answer, { socket }) => {
  socket.write(headOf(answer));
  dripTo(socket, answer.body.toString());
});

/** The body ends before it is as long as was promised. */
export const truncated = spoiling((answer, { socket }) => {
  socket.end(`${headOf(answer, { 'content-length': String(answer.body.length + 1_000) })}${answer.body}`);
});

/** The body ends in the middle of a chunk. */
export const cutInChunk = spoiling((answer, { socket }) => {
  const head = headOf(answer, { 'content-length': undefined, 'transfer-encoding': 'chunked' });
  socket.end(`${head}${(answer.body.length + 1_000).toString(16)}\r\n${answer.body}`);
});

/** What is answered of sonics is good, but more than anybody wants to read. */
export const huge = spoiling(({ status, headers, body }, { request, response }) => {
  if (!request.url?.includes('/sonics')) {
    response.writeHead(status, headers).end(body);
    return;
  }
  const padding = Buffer.alloc(17 * mebibyte, ' ');
  response.writeHead(status, { 'content-length': padding.length + body.length });
  response.write(padding);
  response.end(body);
});

/** The answer is good, but its headers never seem to end. */
export const headerFlood = spoiling((answer, { socket }) => {
  const flood = Array.from({ length: 2_000 }, (_, count) => [`x-flood-${count}`, 'x'.repeat(100)]);
  socket.end(`${headOf(answer, Object.fromEntries(flood))}${answer.body}`);
});

/** Small on the wire, and larger than anybody's memory once unpacked. */
export const gzipBomb = answering(200, gzipSync(Buffer.alloc(200 * mebibyte, ' ')), {
  'content-encoding': 'gzip',
});

/** It says that it is packed, and is broken. */
export const brokenGzip = spoiling(({ status, headers, body }, { response }) => {
  const packed = gzipSync(body).fill(0xff, 12);
  response.writeHead(status, { ...headers, 'content-length': packed.length, 'content-encoding': 'gzip' });
  response.end(packed);
});

/** It is packed although nobody has asked for that. */
export const gzipped = spoiling(({ status, headers, body }, { response }) => {
  const packed = gzipSync(body);
  response.writeHead(status, { ...headers, 'content-length': packed.length, 'content-encoding': 'gzip' });
  response.end(packed);
});

/** Interim answers come before the one that counts. */
export const interim = spoiling((answer, { socket }) => {
  const early = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n';
  socket.write(`HTTP/1.1 102 Processing\r\n\r\n${early}${headOf(answer)}${answer.body}`);
});

/** Each connection is closed after its first answer, without a word of warning. */
export const closingAfterEach = spoiling((answer, { socket }) => {
  socket.end(`${headOf(answer)}${answer.body}`);
});

/** JSON that calls itself something else. */
export const mislabelled = spoiling(({ status, headers, body }, { response }) => {
  response.writeHead(status, { ...headers, 'content-type': 'text/html' }).end(body);
});

/** The head of an answer as it goes over the wire. */
function headOf(
  { status, headers }: CloudAnswer,
  changes: Readonly<Record<string, string | undefined>> = {},
): string {
  const all = Object.entries({ ...headers, ...changes });
  const lines = all.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]));
  return `HTTP/1.1 ${status} So\r\n${lines.join('')}\r\n`;
}

function dripTo(socket: Visit['socket'], text: string): void {
  const left = [...text];
  const timer = setInterval(() => {
    const next = left.shift();
    if (next === undefined || socket.destroyed) clearInterval(timer);
    else socket.write(next);
  }, dripEveryMs);
}
