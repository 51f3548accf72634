import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { byPoll } from '../../../src/model/polls.ts';
import { pollSchedule } from '../../../src/polling/pollSchedule.ts';
import { PollStatuses } from '../../../src/polling/pollStatus.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime } from '../../support/passTime.ts';

/** Runs by a cron expression in London, from that time on, by a clock that can be set. */
async function startInLondon(expression: string, from: string) {
  const time = new FakeClock(Date.parse(from));
  let aheadMs = 0;
  const clock: Clock = {
    now: () => time.now() + aheadMs,
    monotonic: () => time.monotonic(),
    after: (delayMs, callback) => time.after(delayMs, callback),
  };
  const set = (to: string) => {
    aheadMs += Date.parse(to) - clock.now();
  };
  const runs: string[] = [];
  const task = async () => {
    runs.push(new Date(clock.now()).toISOString().slice(2, 19));
    return true;
  };
  const schedule = pollSchedule({ kind: 'cron', expression }, 'Europe/London', clock, () => 0);
  onTestFinished(() => schedule.stop());
  await schedule.start(task);
  return { pass: (ms: number) => passTime(time, ms, 1_000), set, runs };
}

describe('what runs by a cron expression', () => {
  it.each(['2027-10-31T00:29:58Z', '2027-10-31T01:29:58Z'])(
    'also runs in both hours of a clock that is put back (%s)',
    async (from) => {
      const { pass, runs } = await startInLondon('0 30 1 * * *', from);
      await pass(30_000);
      expect(runs).toHaveLength(2);
    },
  );

  it('runs when it is named, on the second, and once', async () => {
    const { pass, runs } = await startInLondon('*/2 30 12 * * *', '2027-06-01T11:29:57.300Z');
    await pass(8_000);
    expect(runs).toEqual(['27-06-01T11:29:57', ...[0, 2, 4].map((second) => `27-06-01T11:30:0${second}`)]);
  });

  it('makes up for nothing that lies between when a clock is set from 1970 to the present, and goes on from there', async () => {
    const { pass, set, runs } = await startInLondon('* * * * *', '1970-01-01T00:00:10Z');
    await pass(60_000);
    set('2027-06-01T11:29:30Z');
    await pass(60_000);
    expect(runs).toEqual(['70-01-01T00:00:10', '70-01-01T00:01:00', '27-06-01T11:30:00']);
  });

  it('runs by a clock that was put back by months, and does not wait for them to pass again', async () => {
    const { pass, set, runs } = await startInLondon('* * * * *', '2027-06-01T11:29:30Z');
    set('2027-01-01T11:29:30Z');
    await pass(60_000);
    expect(runs).toEqual(['27-06-01T11:29:30', '27-01-01T11:30:00']);
  });

  describe('is expected when it is to run', () => {
    function startAt(from: string) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(from) });
      onTestFinished(() => void vi.useRealTimers());
      const clock = new FakeClock(Date.parse(from));
      const start = (timezone: string, expression: string) => {
        const schedule = pollSchedule({ kind: 'cron', expression }, timezone, clock, () => 0);
        onTestFinished(() => schedule.stop());
        return schedule;
      };
      return { clock, start };
    }

    it.each([
      ['after both', 'Europe/London', '30 2 * * *', '2027-10-31T00:30:00Z', 120],
      ['on a day that has no such hour', 'Europe/London', '30 1 * * *', '2027-03-27T12:00:00Z', 36.5 * 60],
    ])('%s', (_, timezone, expression, from, minutes) => {
      const { clock, start } = startAt(from);
      expect(start(timezone, expression).dueAfter(0)).toBeCloseTo(clock.monotonic() + minutes * 60_000);
    });

    it('so its lists are not overdue between two hours', () => {
      const { clock, start } = startAt('2027-06-01T10:00:02Z');
      const schedules = byPoll(() => start('UTC', '0 * * * *'));
      const statuses = new PollStatuses(
        schedules,
        { staleAfterMs: 300_000, requestTimeoutMs: 10_000 },
        clock,
      );
      const overdueAfter = (minutes: number) => {
        clock.advance(minutes * 60_000);
        vi.setSystemTime(clock.now());
        return statuses.overdue;
      };
      for (const poll of ['sonics', 'incidents', 'telemetry'] as const) statuses.end(poll, null);
      expect(overdueAfter(45)).toEqual([]);
      expect(overdueAfter(15.2)).toEqual([]);
      expect(overdueAfter(0.1)).toEqual(['sonics', 'incidents']);
    });
  });
});
