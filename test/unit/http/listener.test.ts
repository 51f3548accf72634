import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Listener, type ListenerOptions } from '../../../src/http/listener.ts';
import { jsonReply, type Route } from '../../../src/http/routes.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { logLines } from '../../support/logLines.ts';
import { waitFor } from '../../support/waitFor.ts';

const limits = { headersMs: 300, requestMs: 600, checkMs: 50, idleMs: 5_000, connections: 64 };

/** A listener with a route that reads bodies up to ten bytes, and one that fails. */
async function startListener(options: Partial<ListenerOptions> = {}) {
  const lines = logLines();
  const bodies: string[] = [];
  const routes: Route[] = [
    {
      path: '/take/*',
      methods: ['POST', 'PUT'],
      answer: async ({ readBody, rest }) => {
        const body = await readBody(10);
        if (body === null) return jsonReply(413, { status: 'too_large' });
        bodies.push(`${rest}:${body}`);
        return jsonReply(202, { status: 'accepted' });
      },
    },
    { path: '/unread', methods: ['POST'], answer: () => jsonReply(401, { status: 'unread' }) },
    {
      path: '/fail',
      methods: ['GET'],
      answer: () => {
        throw new Error('out of order');
      },
    },
  ];
  const listener = new Listener(
    { host: '127.0.0.1', port: 0, routes, onProblem: () => {}, limits, ...options },
    systemClock,
    Math.random,
    lines.log,
  );
  await listener.start();
  onTestFinished(() => listener.stop());
  return { listener, bodies, lines, url: `http://127.0.0.1:${listener.port}` };
}

/** A client that says just this, and keeps what it hears. */
async function say(port: number | null, words: string) {
  const socket: Socket = connect(port ?? 0, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const heard = { text: '', isClosed: false, error: null as Error | null, socket };
  socket.setEncoding('utf8').on('data', (text) => {
    heard.text += text;
  });
  socket.on('error', (error) => {
    heard.error = error;
  });
  socket.on('close', () => {
    heard.isClosed = true;
  });
  await new Promise<void>((connected) => socket.once('connect', connected));
  socket.write(words);
  return heard;
}

const post = 'POST /take/x HTTP/1.1\r\nHost: x\r\n';

describe('a body', () => {
  it('is read as it comes, in pieces too', async () => {
    const { listener, bodies, url } = await startListener();
    expect((await httpRequest(`${url}/take/a%2Fb?c`, { method: 'PUT', body: '0123456789' })).status).toBe(
      202,
    );
    const heard = await say(listener.port, `${post}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    heard.socket.write('2\r\nde\r\n0\r\n\r\n');
    await waitFor(() => heard.text.startsWith('HTTP/1.1 202'), { what: 'the answer' });
    expect(bodies).toEqual(['a%2Fb:0123456789', 'x:abcde']);
  });

  it.each([
    ['says so itself', `${post}Content-Length: 11\r\n\r\n`],
    ['does not end', `${post}Transfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n01234567\r\n`],
    ['asks first', `${post}Content-Length: 11\r\nExpect: 100-continue\r\n\r\n`],
  ])('that is too large and %s is refused at once, and its sender hung up on', async (_, words) => {
    const { listener, bodies } = await startListener();
    const heard = await say(listener.port, words);
    await waitFor(() => heard.isClosed, { what: 'the end' });
    expect(heard.text).toMatch(
      /^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n[\s\S]*\{"status":"too_large"\}$/i,
    );
    expect(bodies).toEqual([]);
  });

  it.each([
    ['of a known length', 'Content-Length: 1000000000', Buffer.alloc(1_000_000)],
    [
      'in chunks',
      'Transfer-Encoding: chunked',
      Buffer.concat([Buffer.from('f4240\r\n'), Buffer.alloc(1_000_000), Buffer.from('\r\n')]),
    ],
  ])('that is too large, %s, is not read to its end', async (_, header, piece) => {
    const { listener } = await startListener();
    const heard = await say(listener.port, `${post}${header}\r\n\r\n`);
    let sent = 0;
    const send = () => {
      while (!heard.isClosed && sent < 1_000 && heard.socket.write(piece)) sent += 1;
      if (!heard.isClosed && sent < 1_000) heard.socket.once('drain', send);
    };
    send();
    await waitFor(() => heard.isClosed, { what: 'the end' });
    expect(heard.text).toMatch(/^HTTP\/1\.1 413 /);
    expect(sent).toBeLessThan(50);
  });

  it('that is too large leaves its sender the time to hear so, and to stop', async () => {
    const { listener } = await startListener();
    const heard = await say(listener.port, `${post}Content-Length: 1000000000\r\n\r\n`);
    const piece = Buffer.alloc(100_000);
    const send = () => {
      if (heard.text === '') heard.socket.write(piece, () => setImmediate(send));
    };
    send();
    heard.socket.on('data', () => setTimeout(() => heard.socket.destroy(), 50));
    await waitFor(() => heard.isClosed, { what: 'the end' });
    expect([heard.text.slice(0, 12), heard.error]).toEqual(['HTTP/1.1 413', null]);
  });

  it('that nobody wants to read keeps nobody from the answer', async () => {
    const { listener } = await startListener();
    const heard = await say(
      listener.port,
      `POST /unread HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nabc`,
    );
    await waitFor(() => heard.isClosed, { what: 'the end' });
    expect([heard.text.slice(0, 12), heard.error]).toEqual(['HTTP/1.1 401', null]);
  });

  it('that is wanted is asked for where its sender waits for that', async () => {
    const { listener, bodies } = await startListener();
    const heard = await say(listener.port, `${post}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`);
    await waitFor(() => heard.text.startsWith('HTTP/1.1 100 '), { what: 'the invitation' });
    heard.socket.write('ok');
    await waitFor(() => heard.text.includes('HTTP/1.1 202'), { what: 'the answer' });
    expect(bodies).toEqual(['x:ok']);
  });
});

describe('a client that takes its time', () => {
  it.each([
    ['headers', post],
    ['a body', `${post}Content-Length: 5\r\n\r\nab`],
  ])('over %s is hung up on', async (_, words) => {
    const { listener, bodies } = await startListener();
    const heard = await say(listener.port, words);
    await waitFor(() => heard.isClosed, { what: 'the end' });
    expect(heard.text).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodies).toEqual([]);
  });

  it('makes room where there are too many: first whoever has asked nothing for the longest', async () => {
    const { listener } = await startListener({
      limits: { ...limits, headersMs: 60_000, requestMs: 60_000, connections: 3 },
    });
    const known = await say(listener.port, '');
    const slow = [await say(listener.port, post), await say(listener.port, post)];
    known.socket.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => known.text.startsWith('HTTP/1.1 404'), { what: 'the answer' });
    const another = await say(listener.port, 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => another.text.startsWith('HTTP/1.1 404'), { what: 'the answer to the fourth' });
    await waitFor(() => slow[0]?.isClosed, { what: 'the end of the first that was slow' });
    expect([known, ...slow, another].map(({ isClosed }) => isClosed)).toEqual([false, true, false, false]);
  });

  it('keeps nobody else from an answer, however many they are', async () => {
    const { listener, url } = await startListener({
      limits: { ...limits, headersMs: 60_000, requestMs: 60_000, connections: 4 },
    });
    const slow: Awaited<ReturnType<typeof say>>[] = [];
    for (let each = 0; each < 20; each++) slow.push(await say(listener.port, post));
    expect((await httpRequest(`${url}/nothing`)).status).toBe(404);
    await waitFor(() => slow.filter(({ isClosed }) => isClosed).length === 17, { what: 'room' });
  });

  it('does not take the place of whoever is told news', async () => {
    const stream: Route = {
      path: '/news',
      methods: ['GET'],
      answer: () => ({ status: 200, contentType: 'text/plain', open: (out) => void out.write('first') }),
    };
    const { listener } = await startListener({ routes: [stream], limits: { ...limits, connections: 2 } });
    const told = await say(listener.port, 'GET /news HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => told.text.includes('first'), { what: 'the news' });
    const slow: Awaited<ReturnType<typeof say>>[] = [];
    for (let each = 0; each < 5; each++) slow.push(await say(listener.port, post));
    await waitFor(() => slow.filter(({ isClosed }) => isClosed).length >= 3, { what: 'room' });
    expect(told.isClosed).toBe(false);
  });

  it('and leaves in the middle harms nobody', async () => {
    const { listener, url, lines } = await startListener();
    const heard = await say(listener.port, `${post}Content-Length: 5\r\n\r\nab`);
    heard.socket.destroy();
    await waitFor(() => lines.text.includes('hung up'), { what: 'the notice' });
    expect((await httpRequest(`${url}/nothing`)).status).toBe(404);
    expect(lines.messages.filter((line) => !line.startsWith('debug') && !line.startsWith('info'))).toEqual(
      [],
    );
  });
});

describe('a client that asks on before it has its answer', () => {
  it('is hung up on: hundreds of answers that it never takes are neither made nor kept', async () => {
    let asked = 0;
    const long: Route = {
      path: '/long',
      methods: ['GET'],
      answer: () => {
        asked += 1;
        return jsonReply(200, { text: 'x'.repeat(100_000) });
      },
    };
    const { listener } = await startListener({ routes: [long] });
    const heard = await say(listener.port, 'GET /long HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(500));
    await waitFor(() => heard.isClosed, { what: 'the end' });
    expect(asked).toBe(1);
  });

  it('is not the one that asks again over the same connection once it has', async () => {
    const { listener } = await startListener();
    const heard = await say(listener.port, '');
    for (let times = 1; times <= 50; times++) {
      heard.socket.write(`${post}Content-Length: 2\r\n\r\nok`);
      await waitFor(() => heard.text.split('{"status":"accepted"}').length > times, { what: `${times}` });
    }
    expect(heard.isClosed).toBe(false);
  });
});

describe('a listener', () => {
  it.each(['/where?a=1?b', 'http://bridge.example:8099/where?a=1?b', 'HTTPS://[::1]/where?a=1?b'])(
    'finds what is asked for at %s',
    async (target) => {
      const where: Route = {
        path: '/where',
        methods: ['GET'],
        answer: ({ query }) => jsonReply(200, [...query]),
      };
      const { listener } = await startListener({ routes: [where] });
      const heard = await say(
        listener.port,
        `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      await waitFor(() => heard.isClosed, { what: 'the end' });
      expect(heard.text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n\[\["a","1\?b"\]\]$/);
    },
  );

  it.each([
    ['http://bridge.example', 200],
    ['http://bridge.example?page=2', 200],
    ['http://bridge.example/', 200],
    ['//bridge.example/', 404],
    ['/http://bridge.example/', 404],
    ['ftp://bridge.example/', 404],
    ['*', 404],
  ])('asked for %s answers %d', async (target, status) => {
    const root: Route = { path: '/', methods: ['GET'], answer: () => jsonReply(200, {}) };
    const { listener } = await startListener({ routes: [root] });
    const heard = await say(listener.port, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await waitFor(() => heard.text !== '', { what: 'the answer' });
    expect([target, heard.text.slice(0, 12)]).toEqual([target, `HTTP/1.1 ${status}`]);
  });

  it('answers for a route that fails, and tells the log', async () => {
    const { url, lines } = await startListener();
    expect(await httpRequest(`${url}/fail`)).toMatchObject({ status: 500, text: '{"status":"error"}' });
    expect(lines.messages).toContain('error: HTTP: /fail went wrong');
  });

  it('answers what is no HTTP with an error, and lives', async () => {
    const { listener, url } = await startListener();
    for (const words of [
      '\x16\x03\x01\x02\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n`,
    ]) {
      const heard = await say(listener.port, words);
      await waitFor(() => heard.isClosed, { what: 'the end' });
      expect(heard.text).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
    expect((await httpRequest(`${url}/nothing`)).status).toBe(404);
  });

  it('that is stopped while it waits for its port does not come back', async () => {
    const { listener } = await startListener();
    const problems: (string | null)[] = [];
    const second = await startListener({
      port: listener.port ?? 0,
      onProblem: (words) => void problems.push(words),
    });
    expect(problems).toEqual([
      `http.listen: port ${listener.port} of 127.0.0.1 is in use by another program`,
    ]);
    expect(second.listener.port).toBeNull();
    await second.listener.stop();
    await second.listener.start();
    expect(second.listener.port).toBeNull();
  });
});
