import { beforeEach, describe, expect, it } from 'vitest';
import { CloudError, type CloudErrorKind } from '../../../src/cloud/errors.ts';
import { withReading } from '../../../src/model/usage.ts';
import { newRun } from '../../../src/polling/pollParts.ts';
import { PressureTestPoll } from '../../../src/polling/pressureTests.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { temporaryFolder } from '../../support/program.ts';
import { sonicPollParts } from '../../support/sonicPolls.ts';
import { aProperty, aSignal, aSonic, someSettings } from '../../support/views.ts';

const hourMs = 3_600_000;
const maxAgeMs = 2 * hourMs;
const id = 'sonic-1';
const tests = { by_day: { '2026-11-19': [{ id: 'a' }], '2026-11-20': [{ id: 'b' }, { id: 'c' }] } };

let clock: FakeClock;
let store: Store;
let state: StateFile;
let pressureTests: PressureTestPoll;
let failure: CloudErrorKind | null;
let read: () => Promise<unknown>;
const shown = () => store.sonicView(id)?.pressureTests;

beforeEach(() => {
  clock = new FakeClock(Date.parse('2026-11-20T12:00:00Z'));
  store = new Store({ selection: [], clock });
  const at = { isComplete: true, startedAt: 0 };
  store.replaceProperties({ records: [aProperty()], ...at });
  store.setSettings('property-1', someSettings({ timezone: 'America/New_York' }), 0);
  store.setOwnedSignals(ownedSignals('property-1', ['signal-1']));
  store.replaceSignals({ records: [aSignal()], ...at });
  store.replaceSonics({ records: [aSonic()], ...at });
  state = new StateFile(temporaryFolder(), logLines('error').log, clock);
  failure = null;
  const { parts, run } = sonicPollParts({
    store,
    state,
    answers: {
      read_pressure_tests: () => {
        if (failure === null) return { ...tests };
        const status = failure === 'notFound' ? 404 : 500;
        throw new CloudError(failure, 'read_pressure_tests', 'a failure', { status });
      },
      read_sonic: () => Promise.reject(new CloudError('notFound', 'read_sonic', 'removed', { status: 404 })),
    },
    maxAgeMs,
    timezone: 'UTC',
    clock,
  });
  pressureTests = new PressureTestPoll(parts);
  read = () => run('pressure_tests', () => pressureTests.poll(newRun())).catch(() => {});
});

describe('the pressure tests of a sonic', () => {
  it('are counted by the calendar of the property', async () => {
    expect(shown()).toBeUndefined();
    await read();
    expect(shown()).toMatchObject({ lastDay: '2026-11-20', todayCount: 2 });
    clock.advance(16 * hourMs);
    pressureTests.refresh();
    expect(shown()).toMatchObject({ todayCount: 2 });
    clock.advance(hourMs);
    pressureTests.refresh();
    expect(shown()).toMatchObject({ lastDay: '2026-11-20', todayCount: 0 });
  });

  it('are counted by the calendar of their water while that of the property is not known', async () => {
    const month = { month: '2026-11', presentMonth: '2026-11', daily: [], readAt: clock.now() };
    state.kept.usage.set(id, withReading(null, { ...month, timezone: 'Pacific/Kiritimati' }));
    store.setSettings('property-1', someSettings({ timezone: null }), clock.monotonic());
    await read();
    expect(shown()).toMatchObject({ todayCount: 0 });
  });

  it('are no news when nothing has changed', async () => {
    await read();
    const before = store.sonicView(id);
    await read();
    pressureTests.refresh();
    expect(store.sonicView(id)).toBe(before);
  });

  it('do not tell of today once they could not be read for too long', async () => {
    failure = 'unavailable';
    await read();
    expect(shown()).toBeUndefined();
    failure = null;
    await read();
    failure = 'unavailable';
    clock.advance(maxAgeMs);
    await read();
    expect(shown()).toMatchObject({ todayCount: 2 });
    clock.advance(1);
    await read();
    expect(shown()).toMatchObject({ todayCount: null, lastDay: '2026-11-20' });
    failure = null;
    await read();
    expect(shown()).toMatchObject({ todayCount: 2 });
  });

  it('are none where the cloud has none, unless it has had some', async () => {
    failure = 'notFound';
    await read();
    expect(shown()).toBeNull();
    failure = null;
    await read();
    failure = 'notFound';
    clock.advance(maxAgeMs + 1);
    await read();
    expect(shown()).toMatchObject({ todayCount: null, lastDay: '2026-11-20' });
  });

  it('go with their sonic', async () => {
    await read();
    for (let reading = 0; reading < 2; reading++) {
      store.replaceSonics({ records: [], isComplete: true, startedAt: 0 });
    }
    pressureTests.refresh();
    store.replaceSonics({ records: [aSonic()], isComplete: true, startedAt: 0 });
    pressureTests.refresh();
    expect(shown()).toBeUndefined();
  });

  it('show the job that was started here last', () => {
    expect(store.sonicView(id)?.pressureTestJobId).toBeNull();
    store.recordPressureTestJob(id, 'job-1');
    store.recordPressureTestJob(id, 'job-2');
    store.recordPressureTestJob('unknown', 'job-3');
    expect(store.sonicView(id)?.pressureTestJobId).toBe('job-2');
  });
});
