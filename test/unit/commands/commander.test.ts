import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { commandFilters } from '../../../src/homeassistant/command.ts';
import type { StubHandler } from '../../support/cloudStub.ts';
import { door, startCommands } from '../../support/commandBench.ts';
import { aSonic, topics } from '../../support/views.ts';
import { waitFor } from '../../support/waitFor.ts';

const valve = topics.below('sonic', 'sonic-1', 'valve/set');
const moved = (action: string) => ['/ape/v1/sonics/sonic-1/valve', { action }];
const statuses = (outcomes: readonly { status: string }[]) => outcomes.map(({ status }) => status);
const superseded = 'a newer command for this valve arrived';

/** What is sent has reached the cloud by then. */
const toReachMs = 20;

/** A payload that each kind of command would take. */
const payloads: Readonly<Record<string, string>> = {
  'valve/set': 'CLOSE',
  'log_level/set': 'debug',
  'settings/set': '{"auto_shut_off":false}',
  'notifications/set': '{"low_temperature":false}',
  set: '{"name":"Attic"}',
  'active/set': 'ON',
  'settings/+/set': 'ON',
  'notifications/+/set': 'OFF',
  'leak_protection/set': 'ON',
  'push/set': 'OFF',
  action: 'resolve',
  'incidents/action': 'resolve',
};

/** One topic and a good payload for each filter that is subscribed to, and how often it changes something. */
const commands = commandFilters(topics).map((filter) => {
  const [, kind = '', ...rest] = filter.split('/');
  const path = (kind === 'bridge' ? rest : rest.slice(1)).join('/');
  const field = path.startsWith('settings') ? 'auto_shut_off' : 'low_temperature';
  const below = path.replace('+', field);
  const topic = kind === 'bridge' ? topics.bridge(path) : `${topics.base}/${kind}/${kind}-1/${below}`;
  // The other incident is the signal's.
  const times = kind === 'property' && path === 'incidents/action' ? 2 : 1;
  return { topic, payload: payloads[path] ?? 'Attic', times };
});

describe.each(commands)('a command on $topic', ({ topic, payload, times }) => {
  it('is carried out once where it is live, and refused where it is retained', async () => {
    const bench = await startCommands();
    bench.take(topic, payload, { isRetained: true });
    const reason = expect.stringMatching(/^a retained command /);
    expect(bench.outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    expect([...bench.orders, ...bench.stub.requests]).toEqual([]);
    bench.take(topic, payload);
    await bench.told(2);
    expect(bench.orders.length + bench.changes.length).toBe(times);
  });

  it('that was refused as retained is not carried out when it is deleted, not even without MQTT 5', async () => {
    const bench = await startCommands();
    bench.take(topic, payload, { isRetained: true });
    bench.take(topic, '');
    expect(bench.outcomes).toHaveLength(1);
    expect([...bench.orders, ...bench.stub.requests]).toEqual([]);
    bench.take(topic, payload);
    await bench.told(2);
    expect(bench.orders.length + bench.changes.length).toBe(times);
  });

  it('that is deleted from the broker is none, and one that comes during the stop is not sent', async () => {
    const { take, stop, outcomes, orders, stub } = await startCommands();
    take(topic, '', { isRetained: true });
    expect(outcomes).toEqual([]);
    stop();
    take(topic, payload);
    const reason = 'the bridge is stopping: it was not sent';
    expect(outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    await pause(toReachMs);
    expect([...orders, ...stub.requests]).toEqual([]);
  });
});

describe.each(commands)('a message on $topic', ({ topic }) => {
  it('is refused where it is no text, or far too long', async () => {
    const { take, outcomes, orders, stub } = await startCommands();
    take(topic, 'Atti\ufffd', { isText: false });
    take(topic, 'CLOSE'.repeat(20_000));
    expect(outcomes).toEqual([
      { topic, status: 'refused', reason: 'the payload is not UTF-8', http_status: null },
      {
        topic,
        status: 'refused',
        reason: 'the payload is larger than 64 KiB',
        http_status: null,
      },
    ]);
    await pause(toReachMs);
    expect([...orders, ...stub.requests]).toEqual([]);
  });

  it('is refused where it may have been under way for as long as a command may take', async () => {
    const { take, outcomes, orders, stub } = await startCommands();
    take(topic, 'CLOSE', { ageMs: 1_000 });
    const reason = expect.stringContaining('may be older than cloud.request_timeout');
    expect(outcomes).toEqual([{ topic, status: 'refused', reason, http_status: null }]);
    await pause(toReachMs);
    expect([...orders, ...stub.requests]).toEqual([]);
  });
});

describe('commands to one valve', () => {
  it('run one at a time, and of those that wait the newest wins', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler);
    for (const payload of ['CLOSE', 'OPEN', 'CLOSE', 'OPEN']) bench.take(valve, payload);
    await bench.reached(1);
    expect(bench.outcomes).toMatchObject([
      { status: 'superseded', reason: superseded },
      { status: 'superseded', reason: superseded },
    ]);
    expect(bench.changes).toEqual([moved('close')]);
    open();
    await bench.told(4);
    expect(statuses(bench.outcomes)).toEqual(['superseded', 'superseded', 'ok', 'ok']);
    expect(bench.changes).toEqual([moved('close'), moved('open')]);
  });

  it('share a lane however its id is spelled, since a cloud may take both for one valve', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler);
    const ask = (sonic_id: string, action: string) =>
      bench.take(
        'sonic2mqtt/bridge/request/command_valve',
        JSON.stringify({ params: { sonic_id }, body: { action } }),
      );
    bench.take(valve, 'CLOSE');
    ask('SONIC-1', 'open');
    ask('Sonic-1', 'close');
    expect(bench.outcomes).toMatchObject([{ status: 'superseded', reason: superseded }]);
    await bench.reached(1);
    expect(bench.changes).toEqual([moved('close')]);
    open();
    await bench.told(3);
    expect(bench.changes.map(([path]) => path.split('/').at(-2))).toEqual(['sonic-1', 'Sonic-1']);
  });

  it('end one that the cloud put off as soon as a newer one has come', async () => {
    const answers = [{ status: 429 }, {}];
    const bench = await startCommands(({ method }) =>
      method === 'GET' ? { json: aSonic() } : answers.shift(),
    );
    bench.take(valve, 'OPEN');
    await bench.reached(1);
    bench.take(valve, 'CLOSE');
    await bench.told(2);
    bench.clock.advance(999);
    expect(bench.outcomes).toMatchObject([{ status: 'superseded', reason: superseded }, { status: 'ok' }]);
    expect(bench.changes).toEqual([moved('open'), moved('close')]);
  });

  it('give up waiting for a new session as soon as a newer one has come', async () => {
    const { open, opened } = door();
    const bench = await startCommands(() => ({ json: aSonic() }));
    bench.stub.tokens.clear();
    bench.stub.sessionHandler = async () => {
      await opened;
      return undefined;
    };
    bench.take(valve, 'OPEN');
    await waitFor(() => bench.stub.sessionRequests.length === 1, { what: 'a renewal' });
    bench.take(valve, 'CLOSE');
    await bench.told(1);
    expect(bench.outcomes).toMatchObject([{ status: 'superseded', reason: superseded, http_status: null }]);
    open();
    await bench.told(2);
    expect(bench.outcomes[1]).toMatchObject({ status: 'ok' });
    const sent = (action: string) => bench.changes.filter(([, body]) => isDeepStrictEqual(body, { action }));
    expect(sent('open')).toHaveLength(1);
    expect(bench.changes.at(-1)).toEqual(moved('close'));
  });

  it('give up waiting for their turn as soon as a newer one has come', async () => {
    const { open, opened } = door();
    const handler: StubHandler = async ({ method, path }) => {
      if (method === 'GET' && path.endsWith('/signals')) await opened;
      return { json: aSonic() };
    };
    const bench = await startCommands(handler, {}, { maxConcurrency: 1 });
    bench.take('sonic2mqtt/bridge/request/list_signals', '{}');
    await waitFor(() => bench.stub.requests.length === 1, { what: 'the only slot to be taken' });
    bench.take(valve, 'OPEN');
    bench.take(valve, 'CLOSE');
    await bench.told(1);
    expect(bench.outcomes).toMatchObject([{ topic: valve, status: 'superseded', reason: superseded }]);
    open();
    await waitFor(() => bench.outcomes.some((each) => each.topic === valve && each.status === 'ok'), {
      what: 'the newer one to be sent',
    });
    expect(bench.changes).toEqual([moved('close')]);
  });

  it('are not sent with too little of their time left', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler);
    bench.take(valve, 'CLOSE');
    bench.take(valve, 'OPEN');
    await bench.reached(1);
    bench.clock.advance(950);
    open();
    await bench.told(2);
    expect(bench.outcomes).toMatchObject([
      { status: 'ok' },
      {
        status: 'error',
        reason: 'timeout: the command before it took too long; it was not sent',
        http_status: null,
      },
    ]);
    expect(bench.changes).toEqual([moved('close')]);
  });

  it('end when the bridge stops, and those that wait are not sent', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler);
    bench.take(valve, 'CLOSE');
    bench.take(valve, 'OPEN');
    await bench.reached(1);
    bench.stop();
    await bench.told(2);
    open();
    expect(bench.outcomes).toMatchObject([
      { status: 'error', reason: expect.stringMatching(/may still be carried out$/) },
      { status: 'error' },
    ]);
    expect(bench.changes).toEqual([moved('close')]);
  });
});

describe('an accepted command', () => {
  const unreadable: StubHandler = ({ method }) => (method === 'GET' ? { status: 503 } : {});

  it('is not confirmed by what was read before it', async () => {
    const bench = await startCommands(unreadable);
    bench.store.setSonic(aSonic({ valve_state: 'closed' }), 0);
    bench.clock.advance(1);
    bench.take(valve, 'CLOSE');
    const isOver = () => {
      bench.clock.advance(100);
      return bench.outcomes.length === 2;
    };
    await waitFor(isOver, { what: 'the end of the watch' });
    expect(bench.outcomes).toMatchObject([{ status: 'ok' }, { status: 'error', reason: 'not_confirmed' }]);
  });

  it.each([
    ['sonic-9', ['ok']],
    ['SONIC-9', ['ok']],
    ['sonic-8', ['ok', 'error']],
  ])(
    'to a valve that is not shown is confirmed by what the cloud says of it: asked for sonic-9, of %s',
    async (id, ends) => {
      const bench = await startCommands(({ method }) =>
        method === 'GET' ? { json: aSonic({ id, valve_state: 'closed' }) } : {},
      );
      const request = { params: { sonic_id: 'sonic-9' }, body: { action: 'close' } };
      bench.take('sonic2mqtt/bridge/request/command_valve', JSON.stringify(request));
      await bench.told(1);
      for (let ms = 0; ms < 6_000; ms += 100) {
        bench.clock.advance(100);
        await pause(1);
      }
      expect(statuses(bench.outcomes)).toEqual(ends);
    },
  );

  it('is confirmed by a list where the valve itself cannot be read', async () => {
    const bench = await startCommands(unreadable);
    bench.take(valve, 'CLOSE');
    await bench.told(1);
    const startedAt = bench.clock.monotonic();
    bench.store.replaceSonics({
      records: [aSonic({ valve_state: 'closed' })],
      isComplete: true,
      startedAt,
    });
    const isConfirmed = () => {
      bench.clock.advance(100);
      return bench.store.sonicView('sonic-1')?.travelTimeS !== null;
    };
    await waitFor(isConfirmed, { what: 'the confirmation' });
    expect(bench.outcomes).toMatchObject([{ status: 'ok' }]);
  });

  it('is shown on its way although a reading begun before it came while it was sent', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler);
    bench.store.setSonic(aSonic({ valve_state: 'opening' }), 0);
    bench.take(valve, 'CLOSE');
    await bench.reached(1);
    bench.store.setSonic(aSonic({ valve_state: 'open' }), 0);
    bench.clock.advance(1);
    open();
    await bench.told(1);
    expect(bench.store.sonicView('sonic-1')?.valve).toBe('closing');
  });

  it('that takes back another is shown on its way: where the valve was before both, it may have left', async () => {
    const bench = await startCommands(unreadable);
    bench.take(valve, 'CLOSE');
    await bench.told(1);
    bench.take(valve, 'OPEN');
    await bench.told(2);
    expect(bench.store.sonicView('sonic-1')).toMatchObject({
      valve: 'opening',
      sonic: { valve_state: 'open' },
    });
  });
});

describe('a valve command that fails', () => {
  it.each([
    ['is looked after where the cloud may have taken it', { fault: 'cut' }, ['sonics']],
    ['is not where the cloud refused it', { status: 422 }, []],
  ] as const)('%s', async (_, answer, polledEarly) => {
    const bench = await startCommands(() => answer);
    bench.take(valve, 'CLOSE');
    await bench.told(1);
    expect(bench.outcomes).toMatchObject([{ status: 'error' }]);
    expect(bench.polledEarly).toEqual(polledEarly);
  });
});

describe('a command to what nobody knows', () => {
  it.each([
    ['sonic/sonic-2/valve/set', 'CLOSE', 'there is no sonic sonic-2'],
    ['sonic/SONIC-1/valve/set', 'CLOSE', 'there is no sonic SONIC-1'],
    ['sonic//valve/set', 'CLOSE', 'there is no sonic '],
    ['sonic/__proto__/valve/set', 'CLOSE', 'there is no sonic __proto__'],
    ['signal/sonic-1/name/set', 'Attic', 'there is no signal sonic-1'],
    ['property/signal-1/settings/auto_shut_off/set', 'ON', 'there is no property signal-1'],
    ['incident/incident 3/action', 'resolve', 'there is no incident incident 3'],
  ])('on %s is refused', async (path, payload, reason) => {
    const { take, outcomes, orders, stub } = await startCommands();
    take(`sonic2mqtt/${path}`, payload);
    expect(outcomes).toMatchObject([{ status: 'refused', reason }]);
    expect([...orders, ...stub.requests]).toEqual([]);
  });

  it.each([
    'sonic/sonic-1/valve',
    'sonic/sonic-1/valve/set/',
    'sonic/sonic-1/Valve/set',
    'sonic/sonic-1',
    'x',
  ])('on %s is none', async (path) => {
    const { take, outcomes, orders, stub } = await startCommands();
    take(`sonic2mqtt/${path}`, 'CLOSE');
    expect([...outcomes, ...orders, ...stub.requests]).toEqual([]);
  });
});
