import { describe, expect, it } from 'vitest';
import { localDays } from '../../../src/polling/localDays.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { temporaryFolder } from '../../support/program.ts';
import { aProperty, aSignal, aSonic, someSettings } from '../../support/views.ts';

const hourMs = 3_600_000;

/** Watches the midnights of sonics in properties with these time zones; records in UTC when another day began. */
function watch(timezones: string[], clock: FakeClock) {
  const newDays: string[] = [];
  const store = new Store({ selection: [], clock });
  const days = localDays(store, new StateFile(temporaryFolder(), logLines('error').log), 'UTC', clock);
  const at = { isComplete: true, startedAt: 0 };
  /** The properties are listed with these time zones, each with one sonic. */
  const list = (zones: string[]) => {
    for (let reading = 0; reading < 2; reading++) {
      store.replaceProperties({ records: zones.map((id) => aProperty({ id })), ...at });
      for (const id of zones) {
        store.setSettings(id, someSettings({ timezone: id }), 0);
        store.setOwnedSignals(ownedSignals(id, [id]));
      }
      store.replaceSignals({ records: zones.map((id) => aSignal({ id })), ...at });
      store.replaceSonics({ records: zones.map((id) => aSonic({ id, signal_id: id })), ...at });
    }
  };
  list(timezones);
  days.start(() => newDays.push(new Date(clock.now()).toISOString()));
  return { newDays, list, days };
}

describe('midnight', () => {
  it('is noticed at once in each of the time zones in use', () => {
    const clock = new FakeClock(Date.parse('2026-11-20T12:00:30Z'));
    const { newDays } = watch(['Europe/London', 'America/New_York', 'Asia/Kathmandu'], clock);
    clock.advance(24 * hourMs);
    expect(newDays).toEqual([
      '2026-11-20T18:15:00.000Z',
      '2026-11-21T00:00:00.000Z',
      '2026-11-21T05:00:00.000Z',
    ]);
  });

  it.each([
    ['Europe/London', '2026-03-28T12:00:00Z', ['2026-03-29T00:00:00.000Z', '2026-03-29T23:00:00.000Z']],
    ['Europe/London', '2026-10-24T12:00:00Z', ['2026-10-24T23:00:00.000Z', '2026-10-26T00:00:00.000Z']],
    ['America/Santiago', '2026-09-05T12:00:00Z', ['2026-09-06T04:00:00.000Z', '2026-09-07T03:00:00.000Z']],
    ['Africa/Cairo', '2026-04-23T12:00:00Z', ['2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z']],
  ])('in %s is right when clocks are changed (from %s)', (timezone, from, expected) => {
    const clock = new FakeClock(Date.parse(from));
    const { newDays } = watch([timezone], clock);
    clock.advance(2 * 24 * hourMs);
    expect(newDays).toEqual(expected);
  });

  it('is none when a time zone comes into use or goes', () => {
    const clock = new FakeClock(Date.parse('2026-11-20T12:00:00Z'));
    const { newDays, list } = watch([], clock);
    list(['Pacific/Auckland', 'UTC']);
    clock.advance(hourMs);
    list(['UTC']);
    clock.advance(hourMs);
    expect(newDays).toEqual([]);
  });

  it('is noticed within a minute when the wall clock jumps or the machine has slept', () => {
    const clock = new (class extends FakeClock {
      jumpMs = 0;
      override now() {
        return super.now() + this.jumpMs;
      }
    })(Date.parse('2026-11-20T12:00:00Z'));
    const { newDays } = watch(['UTC'], clock);
    clock.jumpMs = 30 * hourMs;
    clock.advance(60_000);
    expect(newDays).toHaveLength(1);
    clock.jumpMs = 0;
    clock.advance(60_000);
    expect(newDays).toHaveLength(2);
  });

  it('is noticed no more once it is stopped', () => {
    const clock = new FakeClock(Date.parse('2026-11-20T12:00:00Z'));
    watch(['UTC'], clock).days.stop();
    expect(clock.waiting).toBe(0);
  });
});

describe('the days of a place', () => {
  it('are the same objects until they end, so that ten thousand places cost one calculation', () => {
    const clock = new FakeClock(Date.parse('2026-11-20T12:00:00Z'));
    const { days } = watch(['Europe/London'], clock);
    const day = days.of('Europe/London');
    expect(day).toMatchObject({ date: '2026-11-20', startedAt: '2026-11-20T00:00:00+00:00' });
    clock.advance(12 * hourMs - 1);
    expect(days.of('Europe/London')).toBe(day);
    clock.advance(1);
    expect(days.of('Europe/London').date).toBe('2026-11-21');
  });
});
