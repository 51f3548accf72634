import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { StatusSnapshot } from '../../../src/health/snapshots.ts';
import { LiveStatus } from '../../../src/http/liveStatus.ts';
import { pageOf } from '../../../src/http/routes.ts';
import { devicesAPage } from '../../../src/http/status.ts';
import { readEvents } from '../../support/eventStream.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { startHttpServer } from '../../support/httpServer.ts';
import { sonicView } from '../../support/views.ts';
import { waitFor } from '../../support/waitFor.ts';

const up = { isReady: true, status: 'up', reason: null, workedAt: null } as const;
const limits = { readers: 2, lookMs: 20, beatMs: 300 };

/** Two pages of valves whose reason can be changed, and which counts how often it was looked at. */
async function start(clock: Clock = systemClock) {
  const bridge = { reason: 'at first', looks: 0, rows: 0, disconnected: 0 };
  const gather = (): StatusSnapshot => {
    bridge.looks += 1;
    return {
      startedAt: 0,
      status: 'ok',
      reason: bridge.reason,
      readiness: { cloud: up, broker: up },
      progress: [],
      polls: [],
      emptiness: null,
      isWhole: true,
      properties: [],
      signals: [],
      sonics: Array.from({ length: devicesAPage + 1 }, () => sonicView({ reach: 'unread' })),
      incidents: [],
      areIncidentsKnown: true,
      unconfirmedSince: null,
      readAt: () => {
        bridge.rows += 1;
        return null;
      },
    };
  };
  const hide = (text: string) => text;
  const live = new LiveStatus(gather, { of: () => null }, hide, clock, limits);
  const methods = ['GET', 'HEAD'];
  const { url, port } = await startHttpServer(
    [
      {
        path: '/events',
        methods,
        answer: (response, asked) => {
          response.once('close', () => {
            bridge.disconnected += 1;
          });
          live.follow(response, pageOf(asked));
        },
      },
      {
        path: '/status.json',
        methods,
        answer: (response, asked) => void response.end(live.document(pageOf(asked))),
      },
    ],
    {
      limits: {
        headersTimeout: 10_000,
        requestTimeout: 10_000,
        connectionsCheckingInterval: 1_000,
        idleTimeout: 1_000,
        connections: 64,
      },
    },
  );
  const reasons = (stream: Awaited<ReturnType<typeof readEvents>>) =>
    stream.documents.map(({ health }) => health.reason);
  return { bridge, live, url, port, reasons };
}

it('A page is written once for all who ask in that moment, and so is one that there is not', async () => {
  const { bridge, url } = await start();
  const pages = ['-5', '0', '1', '2', '3', '99', 'x', 'Infinity', '1.5'];
  const answers = await Promise.all(pages.map((page) => httpRequest(`${url}/status.json?page=${page}`)));
  const shown = answers.map(({ text }) => JSON.parse(text).status.page.number);
  expect(shown).toEqual([1, 1, 1, 2, 2, 2, 1, 2, 1]);
  expect([bridge.looks, bridge.rows]).toEqual([1, devicesAPage + 1]);
});

it('A search has pages of its own, and one that is too long finds nothing', async () => {
  const { bridge, url } = await start();
  const ask = async (query: string) => {
    const { text } = await httpRequest(`${url}/status.json?page=7&q=${encodeURIComponent(query)}`);
    const { number, of, query: searched, devices } = JSON.parse(text).status.page;
    return [number, of, searched, devices];
  };
  expect(await ask(' kitchen ')).toEqual([2, 2, 'kitchen', devicesAPage + 1]);
  expect(await ask('garden')).toEqual([1, 1, 'garden', 0]);
  expect(await ask('x'.repeat(1_000))).toEqual([1, 1, 'x'.repeat(60), 0]);
  expect(bridge.looks).toBe(1);
});

it('The time of the bridge comes with it', async () => {
  const { url } = await start();
  const { now } = JSON.parse((await httpRequest(`${url}/status.json`)).text);
  expect(Math.abs(now - Date.now())).toBeLessThan(5_000);
});

describe('a live page', () => {
  it('receives everything at first and then what is new, and is not left in silence', async () => {
    const { bridge, url, reasons } = await start();
    const stream = await readEvents(`${url}/events`);
    await waitFor(() => reasons(stream).length === 1, { what: 'the first document' });
    expect(stream.text).toMatch(/^retry: \d+\n\nevent: status\n/);
    bridge.reason = 'second';
    await waitFor(() => reasons(stream).length === 2, { what: 'the second document' });
    await waitFor(() => stream.text.split('event: beat\ndata: {"now":').length >= 3, { what: 'two beats' });
    expect(reasons(stream)).toEqual(['at first', 'second']);
  });

  it('is refused beyond the limit, and has a place again once another has left', async () => {
    const { url } = await start();
    const [first] = [await readEvents(`${url}/events`), await readEvents(`${url}/events`)];
    const refused = await readEvents(`${url}/events`);
    expect([refused.response.statusCode, refused.response.headers['retry-after']]).toEqual([503, '10']);
    first.request.destroy();
    await waitFor(async () => (await readEvents(`${url}/events`)).response.statusCode === 200, {
      what: 'a place',
    });
  });

  it('takes no place with HEAD, which is answered with the headers', async () => {
    const { url } = await start();
    for (let count = 0; count < 5; count++) {
      const { status, headers, text } = await httpRequest(`${url}/events`, { method: 'HEAD' });
      expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream; charset=utf-8', '']);
    }
  });

  it('shares a look at the bridge with the others, and costs nothing once it is closed', async () => {
    const { bridge, url, reasons } = await start();
    const streams = [await readEvents(`${url}/events`), await readEvents(`${url}/events`)];
    await waitFor(() => streams.every((stream) => reasons(stream).length === 1), { what: 'both' });
    expect([bridge.looks, bridge.rows]).toEqual([1, devicesAPage]);
  });

  it('costs nothing once it is closed: no timer, and no look', async () => {
    const clock = new FakeClock();
    const { bridge, url } = await start(clock);
    const { request } = await readEvents(`${url}/events`);
    await waitFor(() => bridge.looks === 1, { what: 'the first document' });
    request.destroy();
    await waitFor(() => bridge.disconnected === 1, { what: 'the end of the connection' });
    await clock.advance(1_000);
    expect([clock.waiting, bridge.looks]).toEqual([0, 1]);
  });

  it('that takes nothing gets no more, and is disconnected', async () => {
    const { bridge, port } = await start();
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.pause();
    // More than the system keeps on the way.
    bridge.reason = 'x'.repeat(30_000_000);
    socket.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => bridge.disconnected === 1, { what: 'the end of the connection' });
    // For a client that takes nothing nobody looks.
    expect(bridge.looks).toBe(1);
  });
});
