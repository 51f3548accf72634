import { EventEmitter } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { HealthMonitor, type HealthParts } from '../../../src/health/healthMonitor.ts';
import { byPoll, type PollName, pollNames } from '../../../src/model/polls.ts';
import { noneRefused } from '../../../src/polling/pollParts.ts';
import { neverPolled, type PollStatus } from '../../../src/polling/pollStatus.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { startClient } from '../../support/clientBench.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';

const good: PollStatus = { ...neverPolled, lastSuccessAt: 1, freshUntil: Number.POSITIVE_INFINITY };
const failing: PollStatus = {
  ...good,
  failure: { kind: 'rejected', message: 'the cloud answered 422', key: 'the cloud answered 422' },
};

/** The lines of the log of a monitor, for a cloud that sent this record once. */
async function startMonitor(record: object) {
  const { client } = await startClient(() => ({ json: { id: 's-1', ...record } }), {
    session: { token: 'kept', since: Date.now() },
  });
  await client.call({ operation: 'read_sonic', params: { sonic_id: 's-1' } });
  const lines = logLines('info');
  const { log } = lines;
  const clock = new FakeClock();
  const state = new StateFile(temporaryFolder(), log, clock);
  await state.open();
  onTestFinished(() => state.close());
  const store = new Store({ selection: [], clock });
  const records = byPoll(() => good);
  const connection = Object.assign(new EventEmitter(), {
    isConnected: true,
    isStandingStill: false,
    trouble: 'refused',
    areStoredUnmarked: false,
    unreadTopic: null,
    refusedEvent: null,
    refusedSubscriptions: null,
  });
  const mirror = Object.assign(new EventEmitter(), { refusal: null });
  const poller = Object.assign(new EventEmitter(), {
    isFirstReading: false,
    refused: noneRefused(),
    statuses: {
      records,
      overdue: [] as PollName[],
      get progress() {
        return pollNames.filter((poll) => records[poll].lastSuccessAt === null);
      },
    },
  });
  const discovery = { replacedTopics: [] };
  const parts = { client, state, store, poller, connection, mirror, discovery, clock, log };
  const monitor = new HealthMonitor(parts as unknown as HealthParts);
  onTestFinished(() => monitor.stop());
  const events: (readonly [event: string, fields: object])[] = [];
  monitor.on('event', (...event) => events.push(event));
  const linesAfter = async (status: PollStatus, isConnected = true, poll: PollName = 'signals') => {
    connection.isConnected = isConnected;
    const before = lines.messages.length;
    records[poll] = status;
    poller.emit('ended', poll);
    await Promise.resolve();
    return lines.messages.slice(before);
  };
  const { overdue } = poller.statuses;
  return { linesAfter, events, overdue, clock, reason: () => monitor.reason };
}

const failed = 'warn: Cannot read hubs: the cloud answered 422. Retrying';

it('logs a problem each time that it comes, and once that everything works again', async () => {
  const { linesAfter } = await startMonitor({});
  expect(await linesAfter(good)).toEqual([]);
  for (let times = 0; times < 3; times++) {
    expect(await linesAfter(failing)).toEqual([failed]);
    expect(await linesAfter(failing)).toEqual([]);
    expect(await linesAfter(good)).toEqual(['info: Everything works']);
    expect(await linesAfter(good)).toEqual([]);
  }
});

it('logs a list of valves that cannot be read once only if the next read fails too', async () => {
  const { linesAfter } = await startMonitor({});
  const failure = { kind: 'unavailable', message: '503', key: '503' } as const;
  const times = (consecutiveFailures: number) => ({ ...good, failure, consecutiveFailures });
  expect(await linesAfter(times(1), true, 'sonics')).toEqual([]);
  expect(await linesAfter(good, true, 'sonics')).toEqual([]);
  expect(await linesAfter(times(2), true, 'sonics')).toEqual(['warn: Cannot read valves: 503. Retrying']);
});

it('logs the end of an outage only once the cloud has answered a vital list', async () => {
  const { linesAfter } = await startMonitor({});
  const failedBy = (kind: 'unavailable' | 'rateLimited') =>
    ({ ...good, failure: { kind, message: kind, key: kind }, consecutiveFailures: 2 }) as const;
  await linesAfter(failedBy('unavailable'), true, 'sonics');
  expect(await linesAfter(failedBy('unavailable'), true, 'incidents')).toEqual([
    'warn: Cloud: unavailable. Retrying',
  ]);
  expect(await linesAfter(failedBy('rateLimited'), true, 'incidents')).toEqual([
    'warn: Cannot read incidents: rateLimited. Retrying',
  ]);
  expect(await linesAfter(good, true, 'incidents')).toEqual([
    'info: Cloud: works again after 0 ms (1 failed attempts)',
  ]);
});

it.each([
  ['503', 'unavailable', ': 503'],
  ['page 2 could not be read', 'incomplete', ''],
] as const)('tells why entities become unavailable, where a read has failed: %s', async (...given) => {
  const [message, kind, told] = given;
  const { linesAfter, events } = await startMonitor({});
  await linesAfter(good, true, 'sonics');
  const failure = { kind, message, key: message };
  const old = { ...good, freshUntil: Number.NEGATIVE_INFINITY, failure, consecutiveFailures: 9 };
  expect(await linesAfter(old, true, 'sonics')).toContain(
    `warn: No fresh data from the cloud${told}. Entities are now unavailable`,
  );
  expect(events.at(-1)).toEqual(['cloud_offline', { reason: `No fresh data from the cloud${told}` }]);
});

it('tells of what began without the broker once it is connected, if it still holds', async () => {
  const { linesAfter, events } = await startMonitor({});
  const rejected = { kind: 'auth', message: 'rejected', key: 'rejected' } as const;
  const old = { ...good, freshUntil: Number.NEGATIVE_INFINITY };
  await linesAfter(good, false, 'sonics');
  await linesAfter(old, false, 'sonics');
  await linesAfter({ ...old, failure: rejected }, false, 'incidents');
  await linesAfter({ ...old, failure: rejected }, false, 'sonics');
  expect(events).toEqual([]);
  await linesAfter(good);
  expect(events).toEqual([['auth_failed', { reason: 'No data from the cloud: rejected. Retrying' }]]);
});

it('reports within ten seconds what has stopped, though no poll ends', async () => {
  const { linesAfter, overdue, clock, reason } = await startMonitor({});
  await linesAfter(good);
  expect(reason()).toBeNull();
  overdue.push('incidents');
  clock.advance(10_000);
  expect(reason()).toMatch(/incidents/);
});

it('reports unexpected data, which the client has logged', async () => {
  const { linesAfter, reason } = await startMonitor({ valve_state: 'ajar' });
  expect(await linesAfter(good)).toEqual([]);
  expect(reason()).toMatch(
    /^Unexpected data from the cloud: read_sonic: unknown value of valve_state: "ajar"/,
  );
});

it('logs that everything works only once the broker is there and everything was read', async () => {
  const { linesAfter } = await startMonitor({});
  expect(await linesAfter(failing)).toEqual([failed]);
  expect(await linesAfter(good, false)).toEqual([]);
  expect(await linesAfter(neverPolled)).toEqual([]);
  expect(await linesAfter(good)).toEqual(['info: Everything works']);
  // The connection itself logs that the broker is offline.
  expect(await linesAfter(good, false)).toEqual([]);
  expect(await linesAfter(good)).toEqual([]);
});

it('shows another start once the clock was set, and not each time that two clocks differ a little', () => {
  let now = 0;
  const clock = { now: () => now, monotonic: () => 0 };
  const emitter = new EventEmitter();
  const parts = {
    store: emitter,
    poller: emitter,
    connection: emitter,
    mirror: emitter,
    discovery: { replacedTopics: [] },
    clock,
  };
  const monitor = new HealthMonitor(parts as unknown as HealthParts);
  for (const offMs of [1, -1, 59_000, -59_000]) {
    now = offMs;
    expect(monitor.startedAt).toBe(0);
  }
  now = 1_700_000_000_000;
  expect(monitor.startedAt).toBe(now);
});
