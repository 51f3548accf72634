import { describe, expect, it } from 'vitest';
import type { CloudClient } from '../../../src/cloud/client.ts';
import { type Load, overload, requestNeeds } from '../../../src/health/requestNeeds.ts';
import type { PollName } from '../../../src/model/polls.ts';

const minuteMs = 60_000;

const intervals: Readonly<Record<PollName, number>> = {
  incidents: 0.5 * minuteMs,
  sonics: minuteMs,
  telemetry: minuteMs,
  signals: 5 * minuteMs,
  usage: 15 * minuteMs,
  pressure_tests: 60 * minuteMs,
  properties: 60 * minuteMs,
};

const home: Load = {
  ...{ properties: 40, signals: 40, sonics: 160 },
  intervalMs: (poll) => intervals[poll],
};

function client(budget: number, meanMs: number): CloudClient {
  const traffic = () => ({ budget, meanMs });
  return { maxConcurrency: 4, traffic, isOffered: () => true } as unknown as CloudClient;
}

const all = { isOffered: () => true };

describe('what the schedules need', () => {
  it('is the sum of all polls, of which a tenth may not be read device by device', () => {
    // 160 + 160 / 15 + 160 / 60 of single valves in a minute, and some 21 of lists.
    expect(requestNeeds(home, all)).toEqual({ perMinute: 195, largest: 'telemetry' });
    expect(requestNeeds({ ...home, properties: 1, signals: 1 }, all).perMinute).toBe(193);
  });

  it('is less where the cloud offers no measurements', () => {
    const isOffered = (name: string) => name !== 'read_telemetry';
    expect(requestNeeds(home, { isOffered })).toEqual({ perMinute: 35, largest: 'sonics' });
  });

  it('is told where the budget is too small, with what it means and which option to change', () => {
    expect(overload(home, client(300, 200), false)).toBeNull();
    expect(overload(home, client(195, 200), true)).toBeNull();
    expect(overload(home, client(60, 200), false)).toBe(
      'The schedules need 195 requests per minute, and cloud.max_requests_per_minute allows 60. The measurements are read about every 3 min. Increase cloud.max_requests_per_minute or schedules.telemetry',
    );
  });

  it('is told where the cloud is too slow, as soon as a poll is late', () => {
    expect(overload(home, client(300, 0), true)).toBeNull();
    expect(overload(home, client(300, 900), true)).toBeNull();
    expect(overload(home, client(300, 1_500), false)).toBeNull();
    expect(overload(home, client(300, 1_500), true)).toBe(
      'The schedules need 195 requests per minute, and the cloud answers about 120 (1.5 s each). The measurements are read about every 98 s. Increase cloud.max_concurrency or schedules.telemetry',
    );
  });
});
