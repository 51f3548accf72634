import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CloudError, type CloudErrorKind } from '../../../src/cloud/errors.ts';
import type { DailyUsage } from '../../../src/model/records.ts';
import { newRun } from '../../../src/polling/pollParts.ts';
import { UsagePoll } from '../../../src/polling/usage.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { temporaryFolder } from '../../support/program.ts';
import { monthIn, sonicPollParts } from '../../support/sonicPolls.ts';
import { aProperty, aSignal, aSonic, someSettings } from '../../support/views.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const maxAgeMs = 30 * minuteMs;
const id = 'sonic-1';

/** The store, the state file and the poll of one run, and a cloud that is a table of litres. */
interface Bench {
  readonly usage: UsagePoll;
  readonly store: Store;
  readonly state: StateFile;
  read(): Promise<void>;
  shown(): ReturnType<typeof sonicUsage>;
}

const sonicUsage = (store: Store) => store.sonicView(id)?.usage;

let clock: FakeClock;
let directory: string;
/** Litres by date. */
let cloud: Map<string, number>;
/** The months that were asked for. */
let asked: string[];
/** What the cloud says instead, by month or for all. */
let failures: Map<string, CloudErrorKind>;
/** Called before each answer. */
let onAsked: () => void;

beforeEach(() => {
  clock = new FakeClock(Date.parse('2026-11-20T12:00:00Z'));
  directory = temporaryFolder();
  cloud = new Map([
    ['2026-10-31', 30],
    ['2026-11-19', 100.5],
    ['2026-11-20', 7.25],
  ]);
  asked = [];
  failures = new Map();
  onAsked = () => {};
});

async function answer(month: string): Promise<DailyUsage> {
  asked.push(month);
  onAsked();
  const kind = failures.get(month) ?? failures.get('all');
  if (kind)
    throw new CloudError(
      kind,
      'read_daily_usage',
      `${kind} in words`,
      kind === 'notFound' ? { status: 404 } : {},
    );
  const days = [...cloud].filter(([date]) => date.startsWith(month));
  return { daily: days.map(([date, liters]) => ({ date, liters })) };
}

/** Starts a bridge on the folder, as after a restart. */
async function start(): Promise<Bench> {
  const store = new Store({ selection: [], clock });
  // Its own clock stands still: the disk is a real one, for which no time passes.
  const state = new StateFile(directory, logLines('error').log, new FakeClock());
  await state.open();
  onTestFinished(() => state.close());
  const at = { isComplete: true, startedAt: clock.monotonic() };
  store.replaceProperties({ records: [aProperty()], ...at });
  store.setSettings('property-1', someSettings({ timezone: 'Europe/London' }), clock.monotonic());
  store.setOwnedSignals(ownedSignals('property-1', ['signal-1']));
  store.replaceSignals({ records: [aSignal()], ...at });
  store.replaceSonics({ records: [aSonic()], ...at });
  const { parts, run } = sonicPollParts({
    store,
    state,
    answers: {
      read_daily_usage: ({ query }) => answer(monthIn(query)),
      read_sonic: () => Promise.reject(new CloudError('notFound', 'read_sonic', 'removed', { status: 404 })),
    },
    maxAgeMs,
    timezone: 'America/New_York',
    clock,
  });
  const usage = new UsagePoll(parts);
  usage.refresh();
  return {
    usage,
    store,
    state,
    read: async () => {
      asked = [];
      await run('usage', () => usage.poll(newRun()));
    },
    shown: () => sonicUsage(store),
  };
}

/** What is shown of the present of a sonic that this run has not read. */
const ofNothingRead = { todayL: null, yesterdayL: null, monthL: null };

describe('the usage of a sonic', () => {
  it('does not go down where a crash has lost the last litres of a month', async () => {
    clock.advance(Date.parse('2026-11-30T23:50:00Z') - clock.now());
    const crashed = await start();
    await crashed.read();
    // It writes the water so far, too.
    await crashed.state.kept.usage.saved();
    cloud.set('2026-11-30', 25);
    await crashed.read();
    const before = crashed.shown()?.totalL;
    clock.advance(11 * minuteMs);
    const { read, shown } = await start();
    const meanwhile: unknown[] = [];
    onAsked = () => meanwhile.push(shown()?.totalL);
    await read();
    expect(new Set(meanwhile)).toEqual(new Set([null]));
    await read();
    expect([before, shown()?.totalL]).toEqual([162.75, 162.75]);
  });

  it('has no sum after a crash before all is read that may be behind, whichever month fails', async () => {
    const crashed = await start();
    await crashed.read();
    // It writes the water so far, too.
    await crashed.state.kept.usage.saved();
    cloud.set('2026-10-31', 40);
    cloud.set('2026-11-20', 9.25);
    clock.advance(dayMs);
    await crashed.read();
    expect(crashed.shown()?.totalL).toBe(149.75);
    for (const failing of ['2026-10', '2026-11']) {
      const { read, shown } = await start();
      failures.set(failing, 'unreadable');
      await read().catch(() => {});
      expect(shown()?.totalL).toBeNull();
      failures.clear();
      await read();
      expect(shown()?.totalL).toBe(149.75);
    }
  });

  it.each([
    ['2027-02-02', 'of a house that is known', true],
    ['2027-11-24', 'of a house that is known', true],
    ['2027-02-02', 'of a new house', false],
  ])('is right again once a clock is back that said %s, %s', async (wrong, _, isKnown) => {
    const right = clock;
    if (isKnown) {
      const before = await start();
      await before.read();
      await before.state.close();
    }
    clock = new FakeClock(Date.parse(`${wrong}T12:00:00Z`));
    const ahead = await start();
    for (let round = 0; round < 6; round++) await ahead.read();
    await ahead.state.close();
    clock = right;
    const { read, shown, state } = await start();
    await read();
    const now = { todayL: 7.25, yesterdayL: 100.5, monthL: 107.75 };
    expect(shown()).toMatchObject(isKnown ? { ...now, totalL: 137.75 } : now);
    await state.close();
    expect((await start()).shown()).toEqual({ ...shown(), ...ofNothingRead });
  });
});

describe('a reading of usage that fails', () => {
  it('leaves what is shown until it is too old', async () => {
    const { read, shown } = await start();
    await read();
    failures.set('all', 'unavailable');
    clock.advance(maxAgeMs);
    await expect(read()).rejects.toThrow('unavailable in words');
    expect(asked).toEqual(['2026-11']);
    expect(shown()).toMatchObject({ todayL: 7.25 });
    clock.advance(1);
    await expect(read()).rejects.toThrow('unavailable in words');
    expect(shown()).toMatchObject({ todayL: null, yesterdayL: null, monthL: null, totalL: 137.75 });
    failures.clear();
    await read();
    expect(shown()).toMatchObject({ todayL: 7.25 });
  });

  it('of one month leaves the others be read, and is said', async () => {
    const { read, shown } = await start();
    failures.set('2026-10', 'rejected');
    await expect(read()).rejects.toThrow('rejected in words');
    expect(shown()).toMatchObject({ todayL: 7.25, totalL: null });
    await expect(read()).rejects.toThrow('rejected in words');
    expect(asked).toEqual(['2026-11', '2026-10']);
    failures.clear();
    await read();
    expect(shown()).toMatchObject({ totalL: 137.75 });
  });

  it('of the present month does not keep the one before from being read', async () => {
    const { read, shown } = await start();
    failures.set('2026-11', 'unreadable');
    await expect(read()).rejects.toThrow('unreadable in words');
    expect(shown()).toMatchObject({ todayL: null, totalL: null });
  });

  it('is none where the cloud does not know a month that has not begun', async () => {
    const { read, shown } = await start();
    await read();
    clock.advance(Date.parse('2026-12-01T00:10:00Z') - clock.now());
    failures.set('2026-12', 'notFound');
    await read();
    expect(asked).toEqual(['2026-12', '2026-10', '2026-11']);
    expect(shown()).toMatchObject({ todayL: 0, monthL: 0, totalL: 137.75 });
    // Nothing ran on the first either.
    clock.advance(24 * hourMs);
    await read();
    expect(asked).toEqual(['2026-12', '2026-11']);
    clock.advance(15 * minuteMs);
    await read();
    expect(asked).toEqual(['2026-12']);
    clock.advance(maxAgeMs);
    await read();
    expect(shown()).toMatchObject({ todayL: 0 });
  });

  it.each([
    ['with water', 7.25, 137.75],
    ['without', 0, 30],
  ])('is unknown if the cloud no longer has a month that it had before, %s', async (_, todayL, totalL) => {
    const { read, shown } = await start();
    if (todayL === 0) for (const date of ['2026-11-19', '2026-11-20']) cloud.delete(date);
    await read();
    expect(shown()).toMatchObject({ todayL });
    failures.set('all', 'notFound');
    clock.advance(maxAgeMs + 1);
    await expect(read()).rejects.toThrow('notFound in words');
    expect(asked).toEqual(['2026-11']);
    expect(shown()).toMatchObject({ todayL: null, totalL });
  });

  it('is none where the cloud does not know the month before the sonic came', async () => {
    const { read, shown } = await start();
    cloud.delete('2026-10-31');
    failures.set('2026-10', 'notFound');
    await read();
    expect(shown()).toMatchObject({ todayL: 7.25, totalL: 107.75 });
  });

  it('says that a sonic has no usage where the cloud knows none of its months', async () => {
    const { read, shown, state } = await start();
    failures.set('all', 'notFound');
    await expect(read()).rejects.toThrow('notFound in words');
    expect(asked).toEqual(['2026-11', '2026-10']);
    expect(shown()).toBeNull();
    expect(state.kept.usage.has(id)).toBe(false);
  });
});

describe('what is kept', () => {
  it('of a sonic that is gone lasts 90 days, should it come back', async () => {
    const { usage, read, store, state, shown } = await start();
    await read();
    const at = () => ({ isComplete: true, startedAt: clock.monotonic() });
    store.replaceIncidents({ records: [], ...at() });
    for (let reading = 0; reading < 2; reading++) store.replaceSonics({ records: [], ...at() });
    expect(store.areListsComplete).toBe(true);
    clock.advance(90 * dayMs);
    usage.refresh();
    expect(state.kept.usage.has(id)).toBe(true);
    store.replaceSonics({ records: [aSonic()], ...at() });
    usage.refresh();
    expect(shown()).toMatchObject({ totalL: 137.75, todayL: null });
    for (let reading = 0; reading < 2; reading++) store.replaceSonics({ records: [], ...at() });
    clock.advance(1);
    usage.refresh();
    expect(state.kept.usage.has(id)).toBe(false);
  });

  it('of a sonic that is there is never forgotten, nor of any as long as not all are known', async () => {
    const { usage, read, store, state } = await start();
    await read();
    state.kept.usage.set('unknown', { ...recordIn(state), readAt: 0 });
    clock.advance(1_000 * dayMs);
    usage.refresh();
    expect(state.kept.usage.size).toBe(2);
    store.replaceIncidents({ records: [], isComplete: true, startedAt: clock.monotonic() });
    usage.refresh();
    expect([...state.kept.usage.keys()]).toEqual([id]);
  });
});

function recordIn(state: StateFile) {
  const record = state.kept.usage.get(id);
  if (!record) throw new Error('nothing is kept');
  return record;
}
