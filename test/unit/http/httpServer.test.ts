import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Route, send, sendJson } from '../../../src/http/httpServer.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { openSocket, startHttpServer, untilClosed } from '../../support/httpServer.ts';
import { waitFor } from '../../support/waitFor.ts';

/** As usual, in less time. */
const limits = {
  headersTimeout: 300,
  requestTimeout: 600,
  connectionsCheckingInterval: 50,
  idleTimeout: 500,
  connections: 64,
};
const patient = { ...limits, headersTimeout: 60_000, requestTimeout: 60_000, idleTimeout: 60_000 };

/** More than the system keeps on the way. */
const long = 'x'.repeat(30_000_000);

const routes: readonly Route[] = [
  { path: '/', methods: ['GET', 'HEAD'], answer: (response) => sendJson(response, 200, { is: 'root' }) },
  {
    path: '/below/*',
    methods: ['POST', 'PUT'],
    isSecret: true,
    answer: (response, { pathname, search }) => sendJson(response, 202, { pathname, search }),
  },
  {
    path: '/fail',
    methods: ['GET'],
    answer: () => {
      throw new Error('out of order');
    },
  },
  {
    path: '/long',
    methods: ['GET'],
    answer: (response) => send(response, 200, 'text/plain', long),
  },
];

const start = (options: Parameters<typeof startHttpServer>[1] = {}) =>
  startHttpServer(routes, { limits, ...options });

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const post = 'POST /below/x HTTP/1.1\r\nHost: x\r\n';

describe('a request', () => {
  it.each([
    ['GET', '/', 200],
    ['GET', '/?page=2', 200],
    ['GET', 'http://bridge.example', 200],
    ['GET', 'HTTPS://[::1]/?page=2', 200],
    ['GET', '//bridge.example/', 404],
    ['GET', '/http://bridge.example/', 404],
    ['GET', '/nothing', 404],
    ['GET', '*', 404],
    ['POST', '/', 405],
    ['DELETE', '/below/x', 404],
    ['GET', '/below/', 404],
    ['PUT', '/below/x', 202],
  ])('%s %s is answered with %d', async (method, target, status) => {
    const { port } = await start();
    const client = await openSocket(port, `${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await client.until(/\}$/);
    expect(client.text.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
  });

  it('reaches its route as it was sent, and HEAD gets the headers alone', async () => {
    const { url } = await start();
    const sent = await httpRequest(`${url}/below/a%2Fb?c=1`, { method: 'POST', body: 'ignored' });
    expect(JSON.parse(sent.text)).toEqual({ pathname: '/below/a%2Fb', search: '?c=1' });
    const head = await httpRequest(`${url}/`, { method: 'HEAD' });
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '13']);
  });

  it('that its route cannot answer gets 500, and the log says why', async () => {
    const { url, lines } = await start();
    expect(await httpRequest(`${url}/fail`)).toMatchObject({ status: 500, text: '{"status":"error"}' });
    expect(lines.messages).toContain('error: Internal error: HTTP /fail failed');
  });

  it('that is not HTTP gets an error, and harms nobody', async () => {
    const { port, url } = await start();
    for (const words of [
      '\x16\x03\x01\x02\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n`,
    ]) {
      const client = await openSocket(port, words);
      await untilClosed(client);
      expect(client.text).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
    expect((await httpRequest(`${url}/`)).status).toBe(200);
  });

  it('after another on the same connection is answered too', async () => {
    const { port } = await start();
    const client = await openSocket(port, '');
    for (let times = 1; times <= 20; times++) {
      client.socket.write(`${post}Content-Length: 2\r\n\r\nok`);
      await waitFor(() => client.text.split('HTTP/1.1 202').length > times, { what: `answer ${times}` });
    }
    expect(client.isClosed).toBe(false);
  });
});

describe('a slow client is disconnected', () => {
  it.each([
    ['that sends nothing', '', /408/],
    ['over its headers', post, /408/],
    // Nobody reads the body of this route: it is answered, and what still comes is thrown away.
    ['over a body', `${post}Content-Length: 5\r\n\r\nab`, /202[\s\S]*408/],
  ])('%s', async (_, words, answers) => {
    const { port } = await start();
    const client = await openSocket(port, words);
    await untilClosed(client);
    expect(client.text).toMatch(answers);
  });

  it('over a body that never ends, however much comes', async () => {
    const { port } = await start();
    const client = await openSocket(port, `${post}Transfer-Encoding: chunked\r\n\r\n`);
    const timer = setInterval(() => client.socket.write('1\r\nx\r\n'), 20);
    onTestFinished(() => clearInterval(timer));
    await untilClosed(client);
    expect(client.text).toMatch(/^HTTP\/1\.1 202/);
  });

  it('over its answer', async () => {
    let isEnded = false;
    const answer: Route['answer'] = (response) => {
      response.once('close', () => {
        isEnded = true;
      });
      send(response, 200, 'text/plain', long);
    };
    const { port } = await startHttpServer([{ path: '/slow', methods: ['GET'], answer }], { limits });
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.pause().write(get('/slow'));
    await waitFor(() => isEnded, { what: 'the end of the connection' });
  });

  it('that asks again and again before it takes an answer: answers do not pile up', async () => {
    const { port } = await start({ limits: patient });
    const client = await openSocket(port, get('/long').repeat(500));
    await untilClosed(client);
    expect(client.text.split('HTTP/1.1 200').length).toBeLessThanOrEqual(2);
  });
});

describe('more connections than may be', () => {
  it('cost the oldest its place, not the next', async () => {
    const { port } = await start({ limits: { ...patient, connections: 2 } });
    const clients = [await openSocket(port, post), await openSocket(port, post)];
    const next = await openSocket(port, get('/'));
    await next.until('HTTP/1.1 200');
    await waitFor(() => clients[0]?.isClosed, { what: 'the end of the oldest' });
    expect([...clients, next].map(({ isClosed }) => isClosed)).toEqual([true, false, false]);
  });

  it('keep nobody from an answer, even if strangers come back at once for as long as they like', async () => {
    const { port, url } = await start({ limits: { ...limits, connections: 16 } });
    let returns = 0;
    let isOver = false;
    onTestFinished(() => {
      isOver = true;
    });
    const stranger = () => {
      if (isOver) return;
      returns += 1;
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {}).resume();
      socket.on('connect', () => socket.write(post)).on('close', () => setImmediate(stranger));
    };
    for (let each = 0; each < 32; each++) stranger();
    for (let times = 0; times < 50; times++) expect((await httpRequest(`${url}/`)).status).toBe(200);
    expect(returns).toBeGreaterThan(100);
  });
});

describe('http.only_from', () => {
  it.each([
    [[], true],
    [['127.0.0.1'], true],
    [['192.0.2.0/24', '127.0.0.0/8'], true],
    [['192.0.2.1', '::1'], false],
    [['127.0.0.2/32', 'fd00::/8'], false],
  ])('of %j: 127.0.0.1 is answered: %s', async (onlyFrom, isAnswered) => {
    const { url } = await start({ onlyFrom });
    const status = await httpRequest(`${url}/`).then(
      (answer) => answer.status,
      () => null,
    );
    expect(status).toBe(isAnswered ? 200 : null);
  });

  it('knows an IPv4 address that came over IPv6', async () => {
    const { port } = await start({ host: '::', onlyFrom: ['127.0.0.1'] });
    expect((await httpRequest(`http://127.0.0.1:${port}/`)).status).toBe(200);
    await expect(httpRequest(`http://[::1]:${port}/`)).rejects.toThrow();
  });
});

it('A port that is taken is named, and is not taken later by a server that was stopped', async () => {
  const { port } = await start();
  const second = await start({ port });
  const words = `http.listen: port ${port} of 127.0.0.1 is in use by another program`;
  expect(second.problems).toEqual([words]);
  expect(second.lines.messages).toContain(`warn: ${words}. The page is unavailable. Retrying`);
  await second.server.stop();
  await second.server.start();
  expect(second.server.port).toBeNull();
});
