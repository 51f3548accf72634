import { describe, expect, it } from 'vitest';
import { type Home, hourMs, minuteMs, startedHome } from './home.ts';
import { tell } from './words.ts';

const silent = new WeakSet<Home>();

tell(
  import.meta.url,
  {
    /** The cloud has no new measurements from now on. Else a valve measures when it is moved, and then never again. */
    silence: (home) => {
      const { world } = home;
      const telemetry = world.telemetry.bind(world);
      const since = world.now / 1_000;
      silent.add(home);
      world.telemetry = (id) => {
        const measured = telemetry(id);
        return measured && silent.has(home) ? { ...measured, probed_at: since } : measured;
      };
    },
    measure: (home) => void silent.delete(home),
    failures: (home) => {
      const { sonics, incidents } = home.json('bridge/health').schedules;
      return sonics.consecutive_failures + incidents.consecutive_failures > 0
        ? 'has failed'
        : 'has not failed';
    },
    lose: ({ disk: { files } }) => files.clear(),
  },
  {
    /** Each line of the log, whatever it says. */
    lines: (home) => home.lines.map(() => 'a line of the log'),
    blames: (home) => home.linesFrom(0).filter((text) => /password|credential|rejected/i.test(text)),
    about: (home) =>
      home.linesFrom(0).filter((text) => /No new measurements from|Everything works/.test(text)),
  },
);

describe('10: a minute times a dozen endpoints burns the quota of a day, and nobody sees why', () => {
  it('all schedules share one budget, each has its turn in it, and the count is shown', async () => {
    const budget = 3;
    const home = await startedHome({
      cloud: { sonics: 3 },
      config: { cloud: { max_requests_per_minute: budget }, schedules: {} },
    });
    // The first burst of a minute's worth is over.
    await home.pass(10 * minuteMs);
    const from = home.time.now;
    const perHour: number[] = [];
    for (let hour = 0; hour < 2; hour++) {
      const before = home.requests.length;
      await home.pass(hourMs);
      perHour.push(home.requests.length - before);
    }
    // Wanted is more than twice as much. Of the vital lists each is asked for once a minute, whatever the budget.
    const vital = 3;
    expect(Math.max(...perHour)).toBeLessThanOrEqual(60 * (budget + vital));
    for (const operation of [
      'list_incidents',
      'list_sonics',
      'read_telemetry',
      'list_signals',
      'read_daily_usage',
    ]) {
      const times = home.asked(operation).map((request) => request.at);
      expect(times.filter((time) => time > from + hourMs).length, operation).toBeGreaterThan(0);
    }
    const shown = Number(home.entity('bridge', 'sensor_requests_last_hour').state);
    expect(Math.abs(shown - (perHour.at(-1) ?? 0))).toBeLessThanOrEqual(budget * 2);
  });
});
