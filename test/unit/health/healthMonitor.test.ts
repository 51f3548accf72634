import { EventEmitter } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { HealthMonitor, type HealthParts } from '../../../src/health/healthMonitor.ts';
import { neverPolled, type PollName, type PollStatus, pollNames } from '../../../src/polling/pollStatus.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';
import { startBench } from '../../support/testClient.ts';

const good: PollStatus = { ...neverPolled, lastSuccessAt: 1, freshUntil: Number.POSITIVE_INFINITY };
const failing: PollStatus = {
  ...good,
  failure: { kind: 'rejected', message: 'the cloud answered 422', key: 'the cloud answered 422' },
};

/** What the log says of how a bridge fares, whose cloud says something that is worth a note and nothing more. */
async function startMonitor(notes: object) {
  const { client } = await startBench(() => ({ json: { id: 's-1', ...notes } }), {
    session: { token: 'kept', since: Date.now() },
  });
  await client.call({ operation: 'read_sonic', params: { sonic_id: 's-1' } });
  const lines = logLines('info');
  const { log } = lines;
  const clock = new FakeClock();
  const state = new StateFile(temporaryFolder(), { baseUrl: 'x', email: 'y' }, log, clock);
  await state.open();
  onTestFinished(() => state.close());
  const store = new Store({ selection: [], clock });
  const records = Object.fromEntries(pollNames.map((slice) => [slice, good])) as Record<PollName, PollStatus>;
  const connection = Object.assign(new EventEmitter(), { isConnected: true, trouble: 'refused' });
  const poller = Object.assign(new EventEmitter(), {
    statuses: {
      records,
      get progress() {
        return pollNames.filter((slice) => records[slice].lastSuccessAt === null);
      },
    },
  });
  const otherBridges = Object.assign(new EventEmitter(), { problem: null });
  const parts = { client, state, store, poller, connection, otherBridges, clock, log };
  const monitor = new HealthMonitor(parts as unknown as HealthParts);
  onTestFinished(() => monitor.stop());
  const said = (record: PollStatus, isConnected = true) => {
    connection.isConnected = isConnected;
    const before = lines.messages.length;
    records.signals = record;
    poller.emit('ended');
    return lines.messages.slice(before);
  };
  return { said };
}

it.each([
  ['', {}, []],
  [
    '; read_sonic: valve_state says "ajar"',
    { valve_state: 'ajar' },
    ['info: Everything works; read_sonic: valve_state says "ajar"'],
  ],
])(
  'the log tells of a problem each time that it comes, and that all is well again%s',
  async (note, notes, first) => {
    const { said } = await startMonitor(notes);
    expect(said(good)).toEqual(first);
    for (let times = 0; times < 3; times++) {
      expect(said(failing)).toEqual([`warn: Not all is well: signals: the cloud answered 422${note}`]);
      expect(said(failing)).toEqual([]);
      expect(said(good)).toEqual([`info: Everything works${note}`]);
      expect(said(good)).toEqual([]);
    }
  },
);

it('the log says that everything works only once the broker is there and everything was read', async () => {
  const { said } = await startMonitor({});
  expect(said(failing)).toEqual(['warn: Not all is well: signals: the cloud answered 422']);
  expect(said(good, false)).toEqual([]);
  expect(said(neverPolled)).toEqual([]);
  expect(said(good)).toEqual(['info: Everything works']);
  // Of the broker the connection tells.
  expect(said(good, false)).toEqual([]);
  expect(said(good)).toEqual([]);
});

it('tells another start once the clock was set, and not each time that two clocks differ a little', () => {
  let now = 0;
  const clock = { now: () => now, monotonic: () => 0 };
  const emitter = new EventEmitter();
  const parts = { poller: emitter, connection: emitter, otherBridges: emitter, clock };
  const monitor = new HealthMonitor(parts as unknown as HealthParts);
  for (const offMs of [1, -1, 59_000, -59_000]) {
    now = offMs;
    expect(monitor.startedAt).toBe(0);
  }
  now = 1_700_000_000_000;
  expect(monitor.startedAt).toBe(now);
});
