import { describe, expect, it } from 'vitest';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import { type Home, hourMs, minuteMs, secondMs, startedHome } from './home.ts';

const begins = '2026-03-02T09:00:00Z';
const dateIn = (home: Home, ms: number) => new Date(Date.parse(begins) + home.time.now + ms).toUTCString();

/** The cloud answers nothing but this, and does nothing. */
const limited = (retryAfter: string | null): SimulatedAnswer => ({
  status: 429,
  headers: retryAfter === null ? {} : { 'retry-after': retryAfter },
  text: '{}',
});

/** How long the bridge has said at most that it would wait, in ms; 0 where it never did. */
function longestWaitMs(home: Home, from: number): number {
  const waits = home.published('bridge/health').flatMap(({ at, payload }) => {
    const until = JSON.parse(payload).limited_until;
    return at < from || until === null ? [] : [Date.parse(until) - Date.parse(begins) - at];
  });
  return Math.max(0, ...waits);
}

describe('a cloud that is asked too much', () => {
  it.each<[string, (home: Home) => string | null, number]>([
    ['seconds', () => '20', 20_000],
    ['a fraction of a second', () => '0.5', 500],
    ['a date', (home) => dateIn(home, 30_000), 30_000],
    ['nothing', () => null, 10_000],
    ['nothing sensible', () => 'soon', 10_000],
    ['less than nothing', () => '-5', 0],
    ['a date that is past', (home) => dateIn(home, -hourMs), 0],
    ['a year', () => '31536000', hourMs],
    ['doomsday', () => 'Fri, 31 Dec 9999 23:59:59 GMT', hourMs],
  ])('is left in peace for as long as it says, an hour at most: %s', async (_what, retryAfter, mostMs) => {
    const home = await startedHome({ begins });
    const from = home.time.now;
    home.strike = () => limited(retryAfter(home));
    const isLong = mostMs === hourMs;
    const close = () => home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, 'CLOSE', false);
    if (!isLong) close();
    await home.pass(6 * minuteMs);
    const words = /the cloud (answered 429 \(too many requests\)|requests a wait until)/;
    expect(home.text('bridge/cloud')).toBe('offline');
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(words),
    });
    // It was not carried out, and is not sent again.
    const failed = { status: 'error', reason: expect.stringMatching(words), http_status: 429 };
    expect(home.events('command')).toMatchObject(isLong ? [] : [failed]);
    expect(home.valveCommands.length).toBeLessThanOrEqual(3);
    expect(home.world.valve(home.sonicId)?.settled).toBe('open');
    const commanded = home.valveCommands.length;
    const waitMs = longestWaitMs(home, from);
    expect(waitMs).toBeLessThanOrEqual(mostMs + secondMs);
    expect(waitMs > 0).toBe(mostMs > 0);
    expect(home.linesFrom(from).filter((line) => /limits requests/.test(line)).length).toBeLessThanOrEqual(3);

    home.strike = () => null;
    const polled = home.asked('list_sonics').length;
    if (isLong) {
      // A command is urgent: it is tried, and what it has changed is looked at.
      close();
      await home.pass(3 * minuteMs);
      expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closed');
      expect(home.valveCommands).toHaveLength(commanded + 1);
      expect(home.asked('list_sonics')).toHaveLength(polled);
      // No wish keeps it from the valves and the leaks for longer than ten minutes.
      await home.pass(3 * minuteMs);
      expect(home.asked('list_sonics').length).toBeGreaterThan(polled);
      expect(home.text('bridge/cloud')).toBe('online');
      // Nobody can make it read the rest sooner.
      home.broker.publish('sonic2mqtt/bridge/refresh', 'now', false);
      await home.pass(minuteMs);
      expect(home.asked('read_telemetry').at(-1)?.at).toBeLessThan(home.time.now - 11 * minuteMs);
    }
    await home.pass(mostMs + 6 * minuteMs);
    expect(home.json('bridge/health')).toMatchObject({ status: 'ok', limited_until: null });
    expect(home.asked('list_sonics').length).toBeGreaterThan(polled);
    await home.stop();
  });
});
