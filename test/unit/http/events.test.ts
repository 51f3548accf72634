import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { StatusSnapshot } from '../../../src/health/statusSnapshot.ts';
import { Board } from '../../../src/http/board.ts';
import { Events } from '../../../src/http/events.ts';
import { Listener } from '../../../src/http/listener.ts';
import type { Stream } from '../../../src/http/routes.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { waitFor } from '../../support/waitFor.ts';

const up = { isWorking: true, status: 'up', reason: null, workedAt: null } as const;
const empty: StatusSnapshot = {
  startedAt: 0,
  status: 'ok',
  reason: null,
  readiness: { cloud: up, broker: up },
  progress: [],
  polls: [],
  emptiness: null,
  isWhole: true,
  properties: [],
  signals: [],
  sonics: [],
  incidents: [],
  areIncidentsKnown: true,
  incidentsReadAt: null,
  readAt: () => null,
};

/** Streams of a bridge whose words can be changed, and which counts how often it was looked at. */
function start() {
  const clock = new FakeClock();
  const bridge = { reason: 'at first', looks: 0 };
  const gather = () => {
    bridge.looks += 1;
    return { ...empty, reason: bridge.reason };
  };
  const limits = { readers: 2, lookMs: 1_000, beatMs: 5_000, patienceMs: 10_000 };
  const events = new Events(new Board(gather, (text) => text, clock), clock, limits);
  /** A reader that takes all that comes, or nothing at all. */
  const add = (isTaking = true) => {
    const out = new PassThrough({ highWaterMark: 16 });
    const reader = { out, text: '' };
    if (isTaking) {
      out.setEncoding('utf8').on('data', (text: string) => {
        reader.text += text;
      });
    }
    events.add(out, 1);
    return reader;
  };
  const told = ({ text }: { text: string }) =>
    [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data = '']) => {
      return name === 'beat' ? 'beat' : JSON.parse(data).status.health.reason;
    });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      await clock.advance(500);
      await new Promise((next) => setImmediate(next));
    }
  };
  return { clock, bridge, events, add, told, pass };
}

describe('a reader', () => {
  it('is told all at first, then what is new, at most once a second, and is not left in silence', async () => {
    const { bridge, add, told, pass } = start();
    const reader = add();
    await pass(2_000);
    expect(told(reader)).toEqual(['at first']);
    expect(reader.text).toMatch(/^retry: \d+\n\n/);
    for (const reason of ['skipped', 'skipped too', 'second']) bridge.reason = reason;
    await pass(1_000);
    expect(told(reader)).toEqual(['at first', 'second']);
    await pass(11_000);
    expect(told(reader)).toEqual(['at first', 'second', 'beat', 'beat']);
  });

  it('that takes nothing is not told more and more, but hung up on', async () => {
    const { bridge, add, pass, events } = start();
    const reader = add(false);
    add();
    const waiting: number[] = [];
    for (let second = 0; second < 9; second += 1) {
      bridge.reason = `${second}`;
      await pass(1_000);
      waiting.push(reader.out.readableLength + reader.out.writableLength);
    }
    expect(reader.out.destroyed).toBe(false);
    expect(waiting.at(-1)).toBe(waiting.at(1));
    await pass(3_000);
    expect(reader.out.destroyed).toBe(true);
    expect(events.isFull).toBe(false);
  });

  it('that was slow for a while is told the newest', async () => {
    const { bridge, add, told, pass } = start();
    const reader = add(false);
    for (const reason of ['missed', 'newest']) {
      bridge.reason = reason;
      await pass(2_000);
    }
    reader.out.setEncoding('utf8').on('data', (text: string) => {
      reader.text += text;
    });
    await pass(2_000);
    expect(told(reader)).toEqual(['at first', 'newest']);
  });
});

describe('a reader at the other end of a connection', () => {
  it('that stops reading is hung up on, and what it has not taken is not kept', async () => {
    let looks = 0;
    const gather = () => {
      looks += 1;
      // More than the system keeps on the way.
      return { ...empty, reason: String(looks).repeat(8_000_000) };
    };
    const limits = { readers: 1, lookMs: 50, beatMs: 1_000, patienceMs: 500 };
    const events = new Events(new Board(gather, (text) => text, systemClock), systemClock, limits);
    const stream: Stream = {
      status: 200,
      contentType: 'text/event-stream',
      open: (out) => events.add(out, 1),
    };
    const routes = [{ path: '/events', methods: ['GET'], answer: () => stream }];
    const listener = new Listener(
      { host: '127.0.0.1', port: 0, routes, onProblem: () => {} },
      ...([systemClock, Math.random, logLines().log] as const),
    );
    await listener.start();
    onTestFinished(() => listener.stop());
    const socket = connect(listener.port ?? 0, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(() => events.isFull, { what: 'the stream' });
    await waitFor(() => !events.isFull, { what: 'the end of it' });
    expect(looks).toBe(1);
  });
});

describe('the streams', () => {
  it('are no more than may be', async () => {
    const { events, add, pass } = start();
    const first = add();
    expect(events.isFull).toBe(false);
    add();
    expect(events.isFull).toBe(true);
    first.out.destroy();
    await pass(500);
    expect(events.isFull).toBe(false);
  });

  it('are no more than may be, however many ask in the moment in which there is a place', async () => {
    const { events, add, told, pass } = start();
    const readers = [add(), add(), add(), add()];
    await pass(1_000);
    expect(readers.map(({ out }) => out.writableEnded)).toEqual([false, false, true, true]);
    expect(readers.map((reader) => told(reader).length)).toEqual([1, 1, 0, 0]);
    readers[2]?.out.destroy();
    await pass(500);
    expect(events.isFull).toBe(true);
  });

  it('share one look at the bridge', async () => {
    const { bridge, add, pass } = start();
    add();
    add();
    expect(bridge.looks).toBe(1);
    await pass(10_000);
    expect(bridge.looks).toBeLessThanOrEqual(11);
  });

  it('cost nothing while nobody reads: no timer, and no look', async () => {
    const { clock, bridge, add, pass } = start();
    expect(clock.waiting).toBe(0);
    const reader = add();
    await pass(3_000);
    reader.out.destroy();
    await pass(2_000);
    const { looks } = bridge;
    expect(clock.waiting).toBe(0);
    await pass(60_000);
    expect(bridge.looks).toBe(looks);
  });
});
