import { beforeEach, describe, expect, it } from 'vitest';
import { withReading } from '../../../src/model/usage.ts';
import { LocalDays } from '../../../src/polling/localDays.ts';
import { PressureTestBook } from '../../../src/polling/pressureTestBook.ts';
import { SonicDays } from '../../../src/polling/sonicDays.ts';
import { Ledger } from '../../../src/state/ledger.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { temporaryFolder } from '../../support/program.ts';
import { aProperty, aSignal, aSonic, someSettings } from '../../support/views.ts';

const hourMs = 3_600_000;
const allowedMs = 2 * hourMs;
const id = 'sonic-1';
const tests = { by_day: { '2026-11-19': [{ id: 'a' }], '2026-11-20': [{ id: 'b' }, { id: 'c' }] } };

let clock: FakeClock;
let store: Store;
let ledger: Ledger;
let book: PressureTestBook;
let touched: number;
const shown = () => store.sonicView(id)?.pressureTests;

beforeEach(() => {
  clock = new FakeClock(Date.parse('2026-11-20T12:00:00Z'));
  touched = 0;
  store = new Store({ selection: [], staleAfterMs: 300_000 }, () => touched++);
  const at = { isComplete: true, startedAt: 0 };
  store.replaceProperties({ records: [aProperty()], ...at });
  store.setPropertyDetails('property-1', someSettings({ timezone: 'America/New_York' }), null, 0);
  store.setOwnedSignals('property-1', ['signal-1'], true);
  store.replaceSignals({ records: [aSignal()], ...at });
  store.replaceSonics({ records: [aSonic()], ...at });
  ledger = new Ledger(temporaryFolder(), { baseUrl: 'x', email: 'y' }, logLines('error').log, clock);
  const days = new SonicDays(store, ledger, new LocalDays(clock), 'UTC');
  book = new PressureTestBook(store, days, () => allowedMs, clock);
});

describe('the pressure tests of a sonic', () => {
  it('are counted by the calendar of the property', () => {
    expect(shown()).toBeUndefined();
    book.take(id, tests);
    expect(shown()).toMatchObject({ lastDay: '2026-11-20', todayCount: 2 });
    clock.advance(16 * hourMs);
    book.refresh();
    expect(shown()).toMatchObject({ todayCount: 2 });
    clock.advance(hourMs);
    book.refresh();
    expect(shown()).toMatchObject({ lastDay: '2026-11-20', todayCount: 0 });
  });

  it('are counted by the calendar of their water while that of the property is not known', () => {
    const month = { month: '2026-11', presentMonth: '2026-11', daily: [], readAt: clock.now() };
    ledger.keepUsage(id, withReading(null, { ...month, timezone: 'Pacific/Kiritimati' }), false);
    for (let list = 0; list < 2; list++) store.setOwnedSignals('property-1', [], true);
    book.take(id, tests);
    expect(shown()).toMatchObject({ todayCount: 0 });
  });

  it('are no news when nothing has changed', () => {
    book.take(id, tests);
    const before = touched;
    book.take(id, { ...tests });
    book.refresh();
    expect(touched).toBe(before);
  });

  it('do not tell of today once they could not be read for too long', () => {
    book.missed(id, clock.monotonic());
    expect(shown()).toBeUndefined();
    book.take(id, tests);
    clock.advance(allowedMs);
    book.missed(id, clock.monotonic());
    expect(shown()).toMatchObject({ todayCount: 2 });
    clock.advance(1);
    book.missed(id, clock.monotonic());
    expect(shown()).toMatchObject({ todayCount: null, lastDay: '2026-11-20' });
    book.take(id, tests);
    expect(shown()).toMatchObject({ todayCount: 2 });
  });

  it('are none where the cloud has none, unless it has had some', () => {
    book.without(id, clock.monotonic());
    expect(shown()).toBeNull();
    book.take(id, tests);
    clock.advance(allowedMs + 1);
    book.without(id, clock.monotonic());
    expect(shown()).toMatchObject({ todayCount: null, lastDay: '2026-11-20' });
  });

  it('go with their sonic', () => {
    book.take(id, tests);
    for (let reading = 0; reading < 2; reading++) {
      store.replaceSonics({ records: [], isComplete: true, startedAt: 0 });
    }
    book.refresh();
    store.replaceSonics({ records: [aSonic()], isComplete: true, startedAt: 0 });
    book.refresh();
    expect(shown()).toBeUndefined();
  });

  it('show the job that was started here last', () => {
    expect(store.sonicView(id)?.pressureTestJobId).toBeNull();
    store.notePressureTestJob(id, 'job-1');
    store.notePressureTestJob(id, 'job-2');
    store.notePressureTestJob('unknown', 'job-3');
    expect(store.sonicView(id)?.pressureTestJobId).toBe('job-2');
  });
});
