import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Deadline, GivenUp } from '../../../src/cloud/deadline.ts';
import type { CloudError } from '../../../src/cloud/errors.ts';
import { Http } from '../../../src/cloud/http.ts';
import type { HttpRequest } from '../../../src/cloud/request.ts';
import { certificates } from '../../support/certificates.ts';
import { waitFor } from '../../support/waitFor.ts';

const get: HttpRequest = {
  operation: 'read_sonic',
  method: 'GET',
  path: '/things?page=1',
  body: null,
  wantsBody: true,
  isChange: false,
};
const put: HttpRequest = {
  operation: 'command_valve',
  method: 'PUT',
  path: '/valve',
  body: '{"action":"close"}',
  wantsBody: false,
  isChange: true,
};

/** A server that does as the test says with each connection, and what it heard. */
async function serve(onConnection: (socket: Socket) => void, server: Server = createServer()) {
  const heard = { connections: 0, open: 0, closed: 0, text: '' };
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    heard.connections++;
    heard.open++;
    socket.on('close', () => {
      heard.open--;
      heard.closed++;
    });
    socket.on('error', () => {});
  });
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      heard.text += chunk.toString();
    });
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, heard };
}

/** Answers each request, told by its blank line, with these bytes. */
const answering = (bytes: string) => (socket: Socket) => {
  socket.on('data', () => socket.write(bytes));
};

function reply(head: string, body = ''): string {
  return `HTTP/1.1 ${head}\r\n\r\n${body}`;
}

function connect(baseUrl: string, maxConcurrency = 2, requestTimeoutMs = 300): Http {
  const http = new Http({ baseUrl, maxConcurrency, requestTimeoutMs, clock: systemClock });
  onTestFinished(() => http.close());
  return http;
}

/** Sends with a deadline of so many ms. */
async function send(http: Http, request = get, timeoutMs = 5_000) {
  const deadline = new Deadline(systemClock);
  deadline.set(timeoutMs);
  try {
    const response = await http.send(request, 'secret-token', deadline.signal);
    return { ...response, body: response.body.toString() };
  } finally {
    deadline.dispose();
  }
}

async function failure(sent: Promise<unknown>): Promise<CloudError> {
  return sent.then(
    () => expect.fail('it was answered'),
    (error) => error,
  );
}

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Sends a body with a coding that nobody has asked for. */
async function packed(coding: string, body: Buffer) {
  const { port } = await serve((socket) => {
    socket.once('data', () => {
      socket.write(reply(`200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.length}`));
      socket.write(body);
    });
  });
  return send(connect(`http://127.0.0.1:${port}`));
}

describe('a good answer', () => {
  it('may begin with an interim one', async () => {
    const { port, heard } = await serve(
      answering(reply('103 Early Hints') + reply('200 OK\r\nContent-Length: 2', '{}')),
    );
    const http = connect(`http://127.0.0.1:${port}`, 1);
    for (let count = 0; count < 2; count++) {
      expect(await send(http)).toMatchObject({ status: 200, body: '{}', bodyProblem: null });
    }
    expect(heard.connections).toBe(1);
  });

  it('is unpacked if a gateway has packed it, which nobody asked for', async () => {
    expect(await packed('GZIP', gzipSync('{}'))).toMatchObject({
      status: 200,
      body: '{}',
      bodyProblem: null,
    });
  });
});

describe('no connection', () => {
  it('is reported as refused, and nothing was sent', async () => {
    const port = await closedPort();
    const error = await failure(send(connect(`http://127.0.0.1:${port}`)));
    expect(error.message).toBe(`connection refused by 127.0.0.1:${port}`);
    expect(error).toMatchObject({ kind: 'unavailable', mayHaveActed: false, timedOut: false });
  });

  it('is reported as DNS if the name does not exist', async () => {
    const error = await failure(send(connect('http://no-such-host.invalid')));
    expect(error.message).toMatch(/^DNS: .*no-such-host\.invalid/);
    expect(error.mayHaveActed).toBe(false);
  });

  it('is reported as TLS if the certificate is not trusted', async () => {
    const { port } = await serve(() => {}, createTlsServer(certificates.own));
    const error = await failure(send(connect(`https://localhost:${port}`)));
    expect(error.message).toBe('TLS: self-signed certificate');
    expect(error.mayHaveActed).toBe(false);
  });

  it('is reported as old TLS if the server knows nothing newer', async () => {
    const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    const { port } = await serve(() => {}, createTlsServer({ ...certificates.own, ...old }));
    const error = await failure(send(connect(`https://localhost:${port}`)));
    expect(error.message).toBe('TLS: the server offers only TLS 1.1 or older, which is not secure');
  });
});

describe('the deadline', () => {
  it('covers a connection that is never finished, of a request that is then never sent', async () => {
    const sockets: Socket[] = [];
    const { port, heard } = await serve((socket) => void sockets.push(socket));
    const error = await failure(send(connect(`https://127.0.0.1:${port}`), put, 60));
    expect(error.message).toMatch(/^timeout: 127\.0\.0\.1:\d+ while connecting after \d+ ms$/);
    expect(error).toMatchObject({ timedOut: true, mayHaveActed: false });
    await waitFor(() => heard.closed > 0, { what: 'the connection to be closed' });
  });

  it('covers waiting for a connection, and a request that was given up is not sent later', async () => {
    let release = () => {};
    const { port, heard } = await serve((socket) => {
      socket.once('data', () => {
        release = () => socket.write(reply('200 OK\r\nContent-Length: 2', '{}'));
      });
    });
    const http = connect(`http://127.0.0.1:${port}`, 1);
    const first = send(http);
    await waitFor(() => heard.text.includes('GET'), { what: 'the first request' });
    const error = await failure(send(http, { ...get, path: '/second' }, 60));
    expect(error).toMatchObject({ timedOut: true, mayHaveActed: false });
    release();
    expect((await first).status).toBe(200);
    const third = send(http, { ...get, path: '/third' });
    await waitFor(() => heard.text.includes('/third'), { what: 'the third request' });
    release();
    await third.catch(() => {});
    expect(heard.text).not.toContain('/second');
  });

  it('resets the connection of a change, so that the kernel delivers nothing of it later', async () => {
    let code: string | undefined;
    const { port, heard } = await serve((socket) => {
      socket.on('error', (error: NodeJS.ErrnoException) => {
        code = error.code;
      });
    });
    await failure(send(connect(`http://127.0.0.1:${port}`), put, 300));
    await waitFor(() => heard.closed > 0, { what: 'the end of the connection' });
    expect(code).toBe('ECONNRESET');
  });

  it('covers a body that only drips', async () => {
    const { port, heard } = await serve((socket) => {
      socket.once('data', () => {
        socket.write(reply('200 OK\r\nContent-Length: 1000'));
        const drip = setInterval(() => socket.write('x'), 10);
        socket.on('close', () => clearInterval(drip));
      });
    });
    const answer = await send(connect(`http://127.0.0.1:${port}`), get, 120);
    expect(answer.status).toBe(200);
    expect(answer.bodyProblem).toMatchObject({ timedOut: true, kind: 'unavailable' });
    await waitFor(() => heard.closed > 0, { what: 'the connection to be closed' });
  });

  it('leaves no trace when it had passed before', async () => {
    const { port, heard } = await serve(() => {});
    const signal = AbortSignal.abort(new GivenUp('no longer wanted', false));
    const error = await failure(connect(`http://127.0.0.1:${port}`).send(put, null, signal));
    expect(error).toMatchObject({ message: 'no longer wanted', mayHaveActed: false, timedOut: false });
    expect(heard.connections).toBe(0);
  });
});

describe('the gate', () => {
  /** Sends a change by a gate that does what the test says; what it found, and what reached the server. */
  async function through(gate: (giveUp: (reason: GivenUp) => void) => void) {
    const { port, heard } = await serve(answering(reply('200 OK\r\nContent-Length: 2', '{}')));
    const controller = new AbortController();
    const seen: { connections: number; text: string }[] = [];
    const sent = connect(`http://127.0.0.1:${port}`).send(put, null, controller.signal, () => {
      seen.push({ connections: heard.connections, text: heard.text });
      gate((reason) => controller.abort(reason));
    });
    return { sent, heard, seen };
  }

  it('is asked once, when the connection is open and nothing is written', async () => {
    const { sent, heard, seen } = await through(() => {});
    expect((await sent).status).toBe(200);
    expect(seen).toEqual([{ connections: 1, text: '' }]);
    expect(heard.text).toMatch(/^PUT /);
  });

  it.each([
    ['superseded', new GivenUp('a newer one has come', false)],
    ['late', new GivenUp('timed out', true)],
  ])('lets nothing through that is %s, and closes the connection', async (_, reason) => {
    const { sent, heard } = await through((giveUp) => giveUp(reason));
    expect(await failure(sent)).toMatchObject({ mayHaveActed: false, timedOut: reason.timedOut });
    await waitFor(() => heard.closed > 0, { what: 'the end of the connection' });
    expect(heard.text).toBe('');
  });
});

describe('a broken connection', () => {
  it.each([
    ['without an answer', ''],
    ['in the middle of the headers', 'HTTP/1.1 200 OK\r\nContent-'],
  ])('%s may have acted', async (_, bytes) => {
    const { port } = await serve((socket) => {
      socket.once('data', () => socket.end(bytes));
    });
    const error = await failure(send(connect(`http://127.0.0.1:${port}`), put));
    expect(error.message).toMatch(
      /^the connection to 127\.0\.0\.1:\d+ broke before the answer was complete$/,
    );
    expect(error).toMatchObject({ kind: 'unavailable', mayHaveActed: true });
  });
});

describe('a body that does not matter', () => {
  it('is not waited for: the status has come', async () => {
    const { port, heard } = await serve(answering(reply('200 OK\r\nContent-Length: 1000', 'never the rest')));
    const answer = await send(connect(`http://127.0.0.1:${port}`), put);
    expect(answer).toMatchObject({ status: 200, body: 'never the rest' });
    await waitFor(() => heard.closed > 0, { what: 'the connection to be closed' });
  });
});

describe('nonsense', () => {
  it('is reported if it is not HTTP', async () => {
    const { port } = await serve(answering('220 mail.example.com ESMTP\r\n'));
    const error = await failure(send(connect(`http://127.0.0.1:${port}`)));
    expect(error.message).toMatch(/^the answer from 127\.0\.0\.1:\d+ is not HTTP/);
    expect(error.kind).toBe('unreadable');
  });

  it.each([
    ['gzip', Buffer.from('{}'), 'the answer was cut off: its compressed data is incomplete or damaged'],
    [
      'gzip',
      gzipSync('{"data":[]}').subarray(0, -9),
      'the answer was cut off: its compressed data is incomplete or damaged',
    ],
  ])('is reported if its packing cannot be undone: %s %#', async (coding, bytes, message) => {
    const { status, body, bodyProblem } = await packed(coding, bytes);
    expect([status, body]).toEqual([200, '']);
    expect(bodyProblem).toMatchObject({ kind: 'unreadable', message });
  });

  it('is cut where it would be huge once it is unpacked', async () => {
    const { body, bodyProblem } = await packed('gzip', gzipSync(Buffer.alloc(16 * 1024 * 1024 + 1)));
    expect(body).toBe('');
    expect(bodyProblem?.message).toBe('the answer was cut off: it is larger than 16777216 bytes');
  });

  it('is reported if its headers are too long', async () => {
    const { port } = await serve(answering(reply(`200 OK\r\nX-Long: ${'x'.repeat(20_000)}`)));
    const error = await failure(send(connect(`http://127.0.0.1:${port}`)));
    expect(error.message).toBe(`the answer from 127.0.0.1:${port} has too long headers`);
    expect(error.kind).toBe('unreadable');
  });
});

describe('closing', () => {
  it('ends what hangs, connected or not, within milliseconds', async () => {
    const plain = await serve(() => {});
    const silent = await serve(() => {});
    // Longer than the test may take: nothing ends by its time limit.
    const clients = [
      connect(`http://127.0.0.1:${plain.port}`, 1, 600_000),
      connect(`https://127.0.0.1:${silent.port}`, 1, 600_000),
    ];
    const failures = clients.map((http) => failure(send(http)));
    await waitFor(() => plain.heard.open + silent.heard.open === 2, { what: 'both connections' });
    await Promise.all(clients.map((http) => http.close()));
    await Promise.all(failures);
    await waitFor(() => plain.heard.open + silent.heard.open === 0, { what: 'all connections to be closed' });
    await Promise.all(clients.map((http) => http.close()));
  });
});
