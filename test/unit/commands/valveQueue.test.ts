import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { CloudError, type CloudErrorDetails } from '../../../src/cloud/errors.ts';
import type { Call } from '../../../src/cloud/operations.ts';
import type { ValveCall } from '../../../src/commands/outcome.ts';
import { ValveQueue, type ValveQueueParts } from '../../../src/commands/valveQueue.ts';
import { Store } from '../../../src/store/store.ts';
import { door, startCommands } from '../../support/commandBench.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { aProperty, aSignal, aSonic, topics } from '../../support/views.ts';
import { waitFor } from '../../support/waitFor.ts';

const requestTimeoutMs = 10_000;
const confirmTimeoutMs = 10_000;
const confirmIntervalMs = 2_000;

/** Lets everything run that waits for no clock. */
const settle = () => new Promise<void>((resolve) => void setImmediate(resolve));

const valveCall = (action: 'open' | 'close', sonic_id = 'sonic-1'): ValveCall => ({
  operation: 'command_valve',
  params: { sonic_id },
  body: { action },
});

/** A command as the scripted cloud has received it, to be answered by the test. */
interface Sent {
  readonly call: ValveCall;
  readonly priority: string;
  readonly timeoutMs: number;
  /** Its connection is open, and it passes the gate. */
  readonly fly: () => void;
  readonly accept: () => Promise<void>;
  readonly fail: (kind: CloudError['kind'], details?: CloudErrorDetails) => Promise<void>;
}

/** A queue in a house of one property, before a cloud that does what the test says. */
function startQueue() {
  const clock = new FakeClock();
  clock.advance(1_000_000);
  const store = new Store({ selection: [], clock });
  const complete = <T>(records: readonly T[]) => ({ records, isComplete: true, startedAt: 0 });
  store.replaceProperties(complete([aProperty()]));
  store.setOwnedSignals(ownedSignals('property-1', ['signal-1']));
  store.replaceSignals(complete([aSignal()]));
  store.replaceSonics(complete([aSonic({ valve_state: 'open' })]));
  const sent: Sent[] = [];
  /** Readings of single sonics, and what they find: null, they fail. */
  const readings: Call[] = [];
  const cloud: { valveState: string | null; answeredId?: string; isConnecting: boolean } = {
    valveState: 'open',
    isConnecting: false,
  };
  const outcomes: unknown[][] = [];
  const endedActions: unknown[] = [];
  const failures: unknown[] = [];
  const polled: string[] = [];
  const log = logLines();
  const stopping = new AbortController();
  const callRaw = (
    call: ValveCall,
    options: {
      readonly priority: string;
      readonly timeoutMs: number;
      readonly signal: AbortSignal;
      readonly onAnswer: (status: number) => void;
      readonly mayMove: () => boolean;
      readonly onFlight: (isInFlight: boolean) => void;
    },
  ) =>
    new Promise((resolve, reject) => {
      let mayHaveActed = false;
      const fly = () => {
        if (!options.mayMove() || options.signal.aborted) return;
        mayHaveActed = true;
        options.onFlight(true);
      };
      options.signal.addEventListener('abort', () =>
        reject(
          new CloudError('unavailable', call.operation, options.signal.reason.message, { mayHaveActed }),
        ),
      );
      const accept = () => {
        options.onAnswer(200);
        resolve({ reply: null, sent: null });
        options.onFlight(false);
        return settle();
      };
      const fail: Sent['fail'] = (kind, details = {}) => {
        mayHaveActed = details.mayHaveActed ?? true;
        if (details.status !== undefined) options.onAnswer(details.status);
        if (!mayHaveActed) options.onFlight(false);
        reject(new CloudError(kind, call.operation, `the cloud: ${kind}`, details));
        return settle();
      };
      sent.push({ ...options, call, fly, accept, fail });
      if (!cloud.isConnecting) fly();
    });
  const call = async (reading: Call<'read_sonic'>) => {
    readings.push(reading);
    if (cloud.valveState === null) throw new CloudError('unavailable', 'read_sonic', 'no answer');
    return aSonic({ id: cloud.answeredId ?? reading.params.sonic_id, valve_state: cloud.valveState });
  };
  const connection = { isStandingStill: false };
  const parts = {
    client: { callRaw, call },
    connection,
    store,
    poller: { runNow: async (poll: string) => void polled.push(poll) },
    outcomes: {
      record: (_topic: string, ...ended: unknown[]) => {
        outcomes.push(ended.slice(0, 3));
        endedActions.push(ended[3]);
      },
      noteFailure: (_topic: string, error: unknown) => void failures.push(error),
    },
    stopping: stopping.signal,
    requestTimeoutMs,
    confirmTimeoutMs,
    confirmIntervalMs,
    clock,
    log: log.log,
  };
  const queue = new ValveQueue(parts as unknown as ValveQueueParts);
  const move = async (call: ValveCall, { ageMs = 0, isRetained = false } = {}) => {
    const topic = topics.below('sonic', 'sonic-1', 'valve/set');
    const message = {
      topic,
      payload: '',
      isText: true,
      mayBeStored: null,
      isRetained,
      sentAfter: clock.monotonic() - ageMs,
    };
    queue.move(message, call);
    await settle();
  };
  /** Lets the time pass in small steps, each with what follows from it. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      await settle();
    }
  };
  const shown = () => store.sonicView('sonic-1')?.valve;
  const stop = async () => {
    stopping.abort(new Error('stop'));
    await settle();
  };
  return {
    clock,
    store,
    sent,
    readings,
    cloud,
    connection,
    outcomes,
    endedActions,
    failures,
    polled,
    log,
    queue,
    move,
    pass,
    shown,
    stop,
    /** What has reached the cloud. */
    get actions() {
      return sent.map((each) => each.call.body.action);
    },
  };
}

const superseded = ['superseded', 'a newer command for this valve arrived', null];
const ok = ['ok', null, 200];
const notExecuted = { mayHaveActed: false };

describe('a message is refused, and the cloud is not asked', () => {
  it('that is retained', async () => {
    const { move, sent, outcomes } = startQueue();
    await move(valveCall('close'), { isRetained: true });
    expect(outcomes).toEqual([
      ['refused', expect.stringMatching(/^the command was sent with the retain flag/), null],
    ]);
    expect(sent).toEqual([]);
  });

  it.each([10_000, 60_000])('that may be %i ms old', async (ageMs) => {
    const { move, sent, outcomes } = startQueue();
    await move(valveCall('close'), { ageMs });
    expect(outcomes).toEqual([
      ['refused', expect.stringContaining('older than cloud.request_timeout'), null],
    ]);
    expect(sent).toEqual([]);
  });

  it('during the stop', async () => {
    const { move, stop, sent, outcomes } = startQueue();
    await stop();
    await move(valveCall('close'));
    expect(outcomes).toEqual([['refused', 'sonic2mqtt is stopping. The command was not sent', null]]);
    expect(sent).toEqual([]);
  });
});

describe('a command', () => {
  it('has what is left of the time that began when it was sent', async () => {
    const { move, sent } = startQueue();
    await move(valveCall('close'), { ageMs: 3_000 });
    expect(sent).toMatchObject([{ timeoutMs: 7_000, priority: 'valve' }]);
  });

  it('that comes twice is two commands, each sent once, one after the other', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.move(valveCall('close'));
    expect(bench.actions).toEqual(['close']);
    await bench.sent[0]?.accept();
    await bench.pass(500);
    expect(bench.actions).toEqual(['close']);
    await bench.pass(500);
    expect(bench.actions).toEqual(['close', 'close']);
    await bench.sent[1]?.accept();
    expect(bench.outcomes).toEqual([ok, ok]);
  });

  it('opens a valve once a second and closes it at once', async () => {
    const bench = startQueue();
    const moveNow = async (action: 'open' | 'close') => {
      const before = bench.sent.length;
      await bench.move(valveCall(action));
      if (bench.sent.length > before) await bench.sent.at(-1)?.accept();
    };
    for (const action of ['open', 'open', 'close', 'open', 'close', 'open'] as const) await moveNow(action);
    expect(bench.actions).toEqual(['open', 'close']);
    expect(bench.outcomes).toEqual([ok, superseded, ok, superseded, superseded]);
    await bench.pass(1_000);
    expect(bench.actions).toEqual(['open', 'close', 'open']);
    await bench.sent.at(-1)?.accept();
    await moveNow('close');
    await moveNow('open');
    await bench.stop();
    expect(bench.actions).toEqual(['open', 'close', 'open', 'close']);
    expect(bench.outcomes.at(-1)).toEqual(['error', expect.stringMatching(/stopping/), null]);
  });

  it('waits for the one before it, and gives way to a newer one', async () => {
    const bench = startQueue();
    for (const action of ['close', 'open', 'close', 'open'] as const) await bench.move(valveCall(action));
    expect(bench.actions).toEqual(['close']);
    expect(bench.outcomes).toEqual([superseded, superseded]);
    await bench.sent[0]?.accept();
    await bench.sent[1]?.accept();
    expect(bench.actions).toEqual(['close', 'open']);
    expect(bench.outcomes).toEqual([superseded, superseded, ok, ok]);
  });

  it('to another valve waits for none', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close', 'sonic-1'));
    await bench.move(valveCall('close', 'sonic-2'));
    expect(bench.actions).toEqual(['close', 'close']);
  });

  it('shares the turn of its valve however the id is spelled', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close', 'sonic-1'));
    await bench.move(valveCall('open', 'SONIC-1'));
    await bench.move(valveCall('close', 'Sonic-1'));
    expect(bench.actions).toEqual(['close']);
    expect(bench.outcomes).toEqual([superseded]);
  });

  it('is no longer waited for once a newer one was accepted, however the id is spelled', async () => {
    const bench = startQueue();
    await bench.move(valveCall('open', 'SONIC-1'));
    await bench.sent[0]?.accept();
    await bench.move(valveCall('close', 'sonic-1'));
    await bench.sent[1]?.accept();
    bench.cloud.valveState = 'closed';
    await bench.pass(confirmTimeoutMs + confirmIntervalMs);
    expect(bench.outcomes).toEqual([ok, ok]);
  });

  it('that waited too long behind another, since the machine slept, is not sent', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.move(valveCall('open'));
    bench.clock.sleep(60_000);
    await bench.sent[0]?.accept();
    const reason = 'timeout: the previous command took too long. This one was not sent';
    expect(bench.outcomes).toEqual([ok, ['error', reason, null]]);
    expect(bench.actions).toEqual(['close']);
  });

  it('that is still connecting gives way at once', async () => {
    const bench = startQueue();
    bench.cloud.isConnecting = true;
    await bench.move(valveCall('open'));
    await bench.pass(500);
    await bench.move(valveCall('close'));
    expect(bench.outcomes).toEqual([superseded]);
    expect(bench.actions).toEqual(['open', 'close']);
    expect(bench.polled).toEqual([]);
    bench.sent[1]?.fly();
    await bench.sent[1]?.accept();
    expect(bench.outcomes).toEqual([superseded, ok]);
  });

  it('that is still connecting when another bridge puts this one out is not sent', async () => {
    const bench = startQueue();
    bench.cloud.isConnecting = true;
    await bench.move(valveCall('open'));
    bench.connection.isStandingStill = true;
    bench.sent[0]?.fly();
    await settle();
    expect(bench.outcomes).toEqual([
      ['error', 'another sonic2mqtt uses this base topic. The command was not sent', null],
    ]);
    expect(bench.polled).toEqual([]);
  });

  it('that is sent and not answered is given up in time for a newer one, and the valve is read', async () => {
    const bench = startQueue();
    await bench.move(valveCall('open'));
    await bench.pass(1_000);
    await bench.move(valveCall('close'), { ageMs: 2_000 });
    await bench.move(valveCall('close'));
    await bench.pass(1_500);
    expect(bench.actions).toEqual(['open']);
    await bench.pass(500);
    expect(bench.actions).toEqual(['open', 'close']);
    expect(bench.outcomes).toEqual([
      superseded,
      ['error', expect.stringMatching(/^no answer before a newer/), null],
    ]);
    expect(bench.sent[1]?.timeoutMs).toBe(8_000);
    expect(bench.polled).toEqual(['sonics']);
    await bench.sent[1]?.accept();
    await bench.pass(60_000);
    expect(bench.actions).toEqual(['open', 'close']);
  });

  it('that is answered in time is not given up for a newer one, nor is that', async () => {
    const bench = startQueue();
    await bench.move(valveCall('open'));
    await bench.move(valveCall('close'));
    await bench.pass(2_000);
    await bench.sent[0]?.accept();
    await bench.pass(2_000);
    await bench.sent[1]?.accept();
    expect(bench.outcomes).toEqual([ok, ok]);
    expect(bench.clock.waiting).toBe(1);
  });

  it('that the cloud plainly did not carry out gives way to a newer one', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.move(valveCall('open'));
    await bench.sent[0]?.fail('rateLimited', { ...notExecuted, status: 429 });
    expect(bench.outcomes).toEqual([superseded]);
    expect(bench.actions).toEqual(['close', 'open']);
    expect(bench.polled).toEqual([]);
  });

  it('that the cloud plainly did not carry out is an error where no newer one has come', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.sent[0]?.fail('unavailable', notExecuted);
    expect(bench.outcomes).toEqual([['error', 'the cloud: unavailable', null]]);
    expect(bench.polled).toEqual([]);
  });

  it('whose answer was lost is not sent again, be there a newer one or not, and the sonics are read', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.move(valveCall('open'));
    await bench.sent[0]?.fail('unavailable', { mayHaveActed: true });
    expect(bench.outcomes).toEqual([['error', 'the cloud: unavailable', null]]);
    expect(bench.polled).toEqual(['sonics']);
    await bench.sent[1]?.fail('unavailable', { mayHaveActed: true });
    await bench.pass(60_000);
    expect(bench.actions).toEqual(['close', 'open']);
    expect(bench.outcomes).toHaveLength(2);
  });

  it('whose answer was lost is read until it shows, as the cloud may carry it out; no one has to confirm it', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.sent[0]?.fail('unavailable', { mayHaveActed: true, status: 503 });
    expect(bench.shown()).toBe('open');
    await bench.pass(3_500);
    bench.cloud.valveState = 'closed';
    await bench.pass(500);
    expect(bench.shown()).toBe('closed');
    const count = bench.readings.length;
    await bench.pass(60_000);
    expect(bench.readings).toHaveLength(count);
    expect(bench.outcomes).toEqual([['error', 'the cloud: unavailable', 503]]);
  });

  it('whose answer was lost ends no wait for one that was accepted', async () => {
    const bench = startQueue();
    await bench.move(valveCall('open'));
    await bench.sent[0]?.accept();
    await bench.move(valveCall('close'));
    await bench.sent[1]?.fail('unavailable', { mayHaveActed: true });
    bench.cloud.valveState = 'closed';
    await bench.pass(60_000);
    expect(bench.shown()).toBe('closed');
    expect(bench.outcomes).toEqual([
      ok,
      ['error', 'the cloud: unavailable', null],
      ['error', 'not_confirmed', null],
    ]);
  });

  it('that the cloud refuses ends so, with its status, and is neither confirmed nor looked after', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.sent[0]?.fail('rejected', { ...notExecuted, status: 422 });
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([['error', 'the cloud: rejected', 422]]);
    expect(bench.endedActions).toEqual(['close']);
    expect([...bench.readings, ...bench.polled]).toEqual([]);
    expect(bench.failures).toHaveLength(1);
    expect(bench.shown()).toBe('open');
  });

  it('that is under way at a stop ends, what waits behind it is not sent, and nothing is read any more', async () => {
    const bench = startQueue();
    await bench.move(valveCall('close'));
    await bench.move(valveCall('open'));
    await bench.stop();
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([
      ['error', 'stop', null],
      ['error', 'sonic2mqtt is stopping. The command was not sent', null],
    ]);
    expect(bench.actions).toEqual(['close']);
    expect([...bench.readings, ...bench.polled]).toEqual([]);
  });
});

describe('an accepted command', () => {
  /** A command to close that the cloud has accepted. */
  const accepted = async (bench: ReturnType<typeof startQueue>, call = valveCall('close')) => {
    await bench.move(call);
    await bench.sent.at(-1)?.accept();
  };
  const notConfirmed = ['error', 'not_confirmed', null];

  it('is shown as a movement, and as the cloud says when it is there; then nothing is read any more', async () => {
    const bench = startQueue();
    await accepted(bench);
    expect(bench.shown()).toBe('closing');
    await bench.pass(3_500);
    bench.cloud.valveState = 'closed';
    await bench.pass(500);
    expect(bench.shown()).toBe('closed');
    expect(bench.store.sonicView('sonic-1')?.travelTimeS).toBe(4);
    const count = bench.readings.length;
    expect(count).toBe(2);
    await bench.pass(60_000);
    expect(bench.readings).toHaveLength(count);
    expect(bench.outcomes).toEqual([ok]);
    expect(bench.actions).toEqual(['close']);
  });

  it('that does not show in time ends a second time, and the word of the cloud stands', async () => {
    const bench = startQueue();
    await accepted(bench);
    await bench.pass(confirmTimeoutMs - 500);
    expect(bench.outcomes).toEqual([ok]);
    expect(bench.shown()).toBe('closing');
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([ok, notConfirmed]);
    expect(bench.shown()).toBe('open');
    expect(bench.actions).toEqual(['close']);
  });

  it('is read again where a reading fails', async () => {
    const bench = startQueue();
    await accepted(bench);
    bench.cloud.valveState = null;
    await bench.pass(3_000);
    bench.cloud.valveState = 'closed';
    await bench.pass(2_000);
    expect(bench.shown()).toBe('closed');
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([ok]);
  });

  it('is not confirmed by what was read before it', async () => {
    const bench = startQueue();
    bench.cloud.valveState = null;
    bench.store.setSonic(aSonic({ valve_state: 'closed' }), bench.clock.monotonic() - 1);
    await accepted(bench);
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([ok, notConfirmed]);
  });

  it('is confirmed by a list where the valve itself cannot be read', async () => {
    const bench = startQueue();
    bench.cloud.valveState = null;
    await accepted(bench);
    const records = [aSonic({ valve_state: 'closed' })];
    bench.store.replaceSonics({ records, isComplete: true, startedAt: bench.clock.monotonic() });
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([ok]);
    expect(bench.store.sonicView('sonic-1')?.travelTimeS).toBe(2);
  });

  it('to many valves is confirmed by one list that is read for all of them', async () => {
    const bench = startQueue();
    const ids = ['sonic-1', 'sonic-2', 'sonic-3', 'sonic-4', 'sonic-5'];
    const list = (valve_state: string) =>
      bench.store.replaceSonics({
        records: ids.map((id) => aSonic({ id, valve_state })),
        isComplete: true,
        startedAt: bench.clock.monotonic(),
      });
    list('open');
    for (const id of ids.slice(1)) await accepted(bench, valveCall('close', id));
    await bench.pass(confirmIntervalMs);
    expect([bench.readings.length, bench.polled]).toEqual([4, []]);
    await accepted(bench, valveCall('close'));
    await bench.pass(2 * confirmIntervalMs);
    expect([bench.readings.length, bench.polled]).toEqual([4, ['sonics', 'sonics']]);
    bench.cloud.valveState = null;
    list('closed');
    await bench.pass(confirmIntervalMs);
    expect(ids.map((id) => bench.store.sonicView(id)?.valveRecord.command?.status)).toEqual(
      ids.map(() => 'confirmed'),
    );
  });

  it('is awaited no more when a newer one was accepted', async () => {
    const bench = startQueue();
    await accepted(bench);
    await bench.pass(confirmTimeoutMs - 1_000);
    await accepted(bench, valveCall('open'));
    expect(bench.shown()).toBe('opening');
    await bench.pass(60_000);
    // It is there already, by the word of the cloud.
    expect(bench.outcomes).toEqual([ok, ok]);
  });

  it('that takes back another is shown on its way: where the valve was before both, it may have left', async () => {
    const bench = startQueue();
    bench.cloud.valveState = null;
    await accepted(bench);
    await accepted(bench, valveCall('open'));
    expect(bench.store.sonicView('sonic-1')).toMatchObject({
      valve: 'opening',
      sonic: { valve_state: 'open' },
    });
  });

  it('is shown on its way although a reading begun before it came while it was sent', async () => {
    const bench = startQueue();
    const before = bench.clock.monotonic();
    bench.store.setSonic(aSonic({ valve_state: 'opening' }), before);
    bench.clock.advance(1);
    await bench.move(valveCall('close'));
    bench.store.setSonic(aSonic({ valve_state: 'open' }), before);
    bench.clock.advance(1);
    await bench.sent[0]?.accept();
    expect(bench.shown()).toBe('closing');
  });

  it('is awaited no more after a stop', async () => {
    const bench = startQueue();
    await accepted(bench);
    await bench.stop();
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([ok]);
    expect(bench.readings).toEqual([]);
  });

  it.each<[string, ValveCall, readonly Partial<Call>[]]>([
    [
      'of a sonic that is not shown is read as it was told',
      { operation: 'command_wifi_valve', params: { sonic_id: 'x' }, body: { action: 'close' } },
      [{ operation: 'read_wifi_sonic', params: { sonic_id: 'x' } }],
    ],
  ])('to %s', async (_, call, readings) => {
    const bench = startQueue();
    await accepted(bench, call);
    bench.cloud.valveState = 'closed';
    await bench.pass(confirmIntervalMs);
    expect(bench.readings).toEqual(readings);
    await bench.pass(60_000);
    expect(bench.outcomes).toEqual([ok]);
  });

  it.each([
    ['SONIC-9', [ok]],
    ['sonic-8', [ok, notConfirmed]],
  ])(
    'to sonic-9, which is not shown, is judged by what the cloud says of it: it says so of %s',
    async (id, ends) => {
      const bench = startQueue();
      bench.cloud.answeredId = id;
      bench.cloud.valveState = 'closed';
      await accepted(bench, valveCall('close', 'sonic-9'));
      await bench.pass(60_000);
      expect(bench.outcomes).toEqual(ends);
    },
  );
});

describe('at a cloud that is asked over HTTP, commands to one valve', () => {
  const valve = topics.below('sonic', 'sonic-1', 'valve/set');
  const moved = (action: string) => ['/ape/v1/sonics/sonic-1/valve', { action }];
  const overtaken = { status: 'superseded', reason: 'a newer command for this valve arrived' };

  it('end one that the cloud put off as soon as a newer one has come', async () => {
    const answers = [{ status: 429 }, {}];
    const bench = await startCommands(({ method }) =>
      method === 'GET' ? { json: aSonic() } : answers.shift(),
    );
    bench.take(valve, 'OPEN');
    await bench.untilChanges(1);
    bench.take(valve, 'CLOSE');
    await bench.untilOutcomes(2);
    bench.clock.advance(999);
    expect(bench.outcomes).toMatchObject([overtaken, { status: 'ok' }]);
    expect(bench.changes).toEqual([moved('open'), moved('close')]);
  });

  it('end one that the cloud puts off after a newer one has come', async () => {
    const { open, opened } = door();
    const answers = [{ status: 429 }, {}];
    const bench = await startCommands(async ({ method }) => {
      if (method === 'GET') return { json: aSonic() };
      await opened;
      return answers.shift();
    });
    bench.take(valve, 'OPEN');
    await bench.untilChanges(1);
    bench.take(valve, 'CLOSE');
    open();
    await bench.untilOutcomes(2);
    expect(bench.outcomes).toMatchObject([overtaken, { status: 'ok' }]);
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
    await bench.untilOutcomes(1);
    expect(bench.outcomes).toMatchObject([overtaken]);
    open();
    await bench.untilOutcomes(2);
    expect(bench.outcomes[1]).toMatchObject({ status: 'ok' });
    const sent = (action: string) => bench.changes.filter(([, body]) => isDeepStrictEqual(body, { action }));
    expect(sent('open')).toHaveLength(1);
    expect(bench.changes.at(-1)).toEqual(moved('close'));
  });

  it('end when the bridge stops, and those that wait are not sent', async () => {
    const { open, handler } = door();
    const bench = await startCommands(handler);
    bench.take(valve, 'CLOSE');
    await bench.untilChanges(1);
    bench.take(valve, 'OPEN');
    bench.stop();
    await bench.untilOutcomes(2);
    open();
    expect(bench.outcomes).toMatchObject([
      { status: 'error', reason: expect.stringMatching(/may still be carried out$/) },
      { status: 'error' },
    ]);
    expect(bench.changes).toEqual([moved('close')]);
  });
});
