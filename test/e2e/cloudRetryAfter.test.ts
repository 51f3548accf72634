import { beforeAll, describe, expect, it } from 'vitest';
import { answering, inTurn } from '../support/cloudTroubles.ts';
import type { Trouble } from '../support/faultyCloud.ts';
import { quick } from '../support/house.ts';
import {
  expectToStopInTime,
  type FaultyHouse,
  judgeOutage,
  patienceMs,
  startFaultyHouse,
} from '../support/outageJudge.ts';
import { waitFor } from '../support/waitFor.ts';

const words = /the cloud answered 429 \(too many requests\)/;
// What waits its turn has not failed.
const expected = { status: 'degraded', words, command: words, httpStatus: 429, failing: [] } as const;
const hourMs = 3_600_000;

/** The cloud answers nothing but this, and does nothing. */
function limited(retryAfter: string | null): Trouble {
  return answering(429, '{}', retryAfter === null ? {} : { 'retry-after': retryAfter });
}

/** How long the bridge said that it would wait, at most, in ms; 0 where it never did. */
function longestWaitMs({ house }: FaultyHouse, from: number): number {
  const waits = house.watcher.messages.slice(from).flatMap(({ topic, text, atMs }) => {
    const until = topic === 'sonic2mqtt/bridge/health' ? JSON.parse(text).limited_until : null;
    return until === null ? [] : [Date.parse(until) - (performance.timeOrigin + atMs)];
  });
  return Math.max(0, ...waits);
}

/** Of so many ms from the time at which each answer is given. */
function datedFromNow(ms: number): Trouble {
  return { answer: (visit) => limited(new Date(Date.now() + ms).toUTCString()).answer?.(visit) };
}

describe('a cloud that is asked too much', () => {
  let faulty: FaultyHouse;
  beforeAll(async () => {
    // Those that are told to wait take turns, and are told three times each: the fewer, the sooner.
    const schedules = { ...quick, telemetry: '300ms', signals: '1h', properties: '1h' };
    faulty = await startFaultyHouse({ config: { schedules } });
  });

  it.each<[string, Trouble, number]>([
    ['seconds', limited('1'), 1_000],
    ['a fraction of a second', limited('0.5'), 500],
    ['a date', datedFromNow(2_000), 2_000],
    ['nothing, or nothing sensible', inTurn([limited(null), limited(''), limited('soon')]), 2_000],
    ['less than nothing', limited('-5'), 0],
    ['a date that is past', datedFromNow(-hourMs), 0],
  ])(
    'is left in peace for as long as it says, and not longer: %s',
    async (_what, trouble, mostMs) => {
      const from = faulty.house.watcher.messages.length;
      await judgeOutage(faulty, trouble, expected);
      const waitMs = longestWaitMs(faulty, from);
      // The message takes its time, and the clocks are not read at once.
      expect(waitMs).toBeLessThanOrEqual(mostMs + 100);
      expect(waitMs > 0).toBe(mostMs > 0);
    },
    60_000,
  );
});

describe('a cloud that asks to wait for a year, or till doomsday', () => {
  let faulty: FaultyHouse;
  beforeAll(async () => {
    faulty = await startFaultyHouse();
  });

  it('is asked again within the hour, and told commands meanwhile', async () => {
    const { house, cloud, bridge, told } = faulty;
    const from = house.watcher.messages.length;
    await cloud.begin(inTurn([limited('31536000'), limited('Fri, 31 Dec 9999 23:59:59 GMT')]));
    const health = () => house.json('bridge/health');
    await waitFor(() => words.test(health().reason) && health().limited_until, { what: 'words about it' });
    await house.watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'offline', patienceMs);
    const waitMs = longestWaitMs(faulty, from);
    expect(waitMs).toBeGreaterThan(hourMs - 10_000);
    expect(waitMs).toBeLessThanOrEqual(hourMs + 100);
    await cloud.mend();
    const { requests } = house.simulator;
    const polls = requests.count('list_sonics');
    await house.watcher.publish(`sonic2mqtt/sonic/${told}/valve/set`, 'CLOSE');
    await bridge.waitForOutput(/: closed after/);
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${told}`,
      (text) => JSON.parse(text).valve === 'closed',
    );
    expect(requests.count('command_valve')).toBe(1);
    expect(requests.count('list_sonics')).toBe(polls);
    expect(bridge.stderr.match(/asks to wait/g)).toHaveLength(1);
    await expectToStopInTime(faulty);
  }, 60_000);
});
