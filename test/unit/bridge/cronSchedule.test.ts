import { describe, expect, it, onTestFinished } from 'vitest';
import { Recurring } from '../../../src/bridge/schedule.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime } from '../../support/passTime.ts';

/** Runs by a cron expression in London, from that time on; node-cron itself goes by another clock, and stays silent. */
async function startInLondon(expression: string, from: string) {
  const clock = new FakeClock(Date.parse(from));
  const runs: string[] = [];
  const task = async () => {
    runs.push(new Date(clock.now()).toISOString().slice(11, 19));
    return true;
  };
  const recurring = new Recurring(task, { kind: 'cron', expression }, 'Europe/London', clock, () => 0);
  onTestFinished(() => recurring.stop());
  await recurring.start();
  return { clock, runs, recurring };
}

describe('what runs by a cron expression', () => {
  it.each(['2027-10-31T00:29:58Z', '2027-10-31T01:29:58Z'])(
    'also runs in both hours of a clock that is put back (%s)',
    async (from) => {
      const { clock, runs } = await startInLondon('0 30 1 * * *', from);
      await passTime(clock, 30_000, 1_000);
      expect(runs).toHaveLength(2);
    },
  );

  it('does not run again for a time at which it ran', async () => {
    const { clock, runs, recurring } = await startInLondon('0 30 12 * * *', '2027-06-01T11:29:58Z');
    clock.advance(2_000);
    await recurring.run();
    await passTime(clock, 30_000, 1_000);
    expect(runs).toEqual(['11:29:58', '11:30:00']);
  });
});
