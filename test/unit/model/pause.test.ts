import { describe, expect, it } from 'vitest';
import {
  correctedPause,
  newPause,
  noPause,
  pauseFromShown,
  pauseLeftMs,
  pauseShown,
} from '../../../src/model/pause.ts';

const minuteMs = 60_000;

describe('a pause', () => {
  it('ends by the clock that is first at its end', () => {
    const pause = newPause(60, 1_000_000, 5_000);
    expect(pause).toMatchObject({ until: 1_000_000 + 60 * minuteMs, endsAt: 5_000 + 60 * minuteMs });
    const at = (wallMinutes: number, minutes: number) =>
      pauseLeftMs(pause, 1_000_000 + wallMinutes * minuteMs, 5_000 + minutes * minuteMs) / minuteMs;
    expect(at(10, 10)).toBe(50);
    // The wall clock was set forward, and back.
    expect(at(70, 10)).toBe(-10);
    expect(at(-50, 10)).toBe(50);
    expect(at(0, 60)).toBe(0);
  });

  it('has an earlier time once the clock was set back, and the same one if it was corrected a little', () => {
    const pause = newPause(60, 1_000_000, 0);
    for (const backMs of [5_000, minuteMs])
      expect(correctedPause(pause, 1_000_000 + 10 * minuteMs - backMs, 10 * minuteMs)).toBe(pause);
    expect(correctedPause(pause, 1_000_000 - 50 * minuteMs, 10 * minuteMs).until).toBe(1_000_000);
    expect(correctedPause(pause, 1_000_000 + 70 * minuteMs, 10 * minuteMs)).toBe(pause);
  });

  it('is shown once the cloud has accepted it, with every key', () => {
    const pause = newPause(60, Date.parse('2026-03-02T09:00:00Z'), 0);
    const until = '2026-03-02T10:00:00.000Z';
    const shown = { until, minutes: 0, state: 'resuming', reason: null };
    expect([undefined, pause].map(pauseShown)).toEqual([noPause, noPause]);
    const paused = { ...pause, isPending: false };
    expect(pauseShown(paused)).toEqual({ ...shown, minutes: 60, state: 'paused' });
    const over = { ...paused, isOver: true };
    expect(pauseShown(over)).toEqual(shown);
    expect(pauseShown({ ...over, reason: 'why' })).toEqual({ ...shown, state: 'failed', reason: 'why' });
  });
});

describe('a pause on the broker', () => {
  const now = Date.parse('2026-03-02T09:00:00Z');
  const clock = { now: () => now, monotonic: () => 5_000 };
  const shown = { until: '2026-03-02T09:30:00.000Z', minutes: 60, state: 'paused', reason: null };

  it('has its end, its length and its state', () => {
    const until = now + 30 * minuteMs;
    const found = { until, endsAt: 5_000 + 30 * minuteMs, minutes: 60, isPending: false, reason: null };
    expect(pauseFromShown(shown, clock)).toEqual({ ...found, isOver: false });
    for (const state of ['resuming', 'failed'])
      expect(pauseFromShown({ ...shown, state }, clock)).toEqual({ ...found, isOver: true });
    expect(pauseFromShown({ ...noPause }, clock)).toBeNull();
  });

  it.each([
    [{ until: '9999-01-01T00:00:00.000Z' }, 60],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 999_999 }, 1_440],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 'x' }, 1_440],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 1_441 }, 1_440],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 1_440 }, 1_440],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 1 }, 1],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 0 }, 1_440],
    [{ until: '9999-01-01T00:00:00.000Z', minutes: 1.5 }, 1_440],
    [{ until: '1999-01-01T00:00:00.000Z' }, 0],
  ])('that a stranger may have written (%j) ends in %i minutes', (forged, minutes) => {
    expect(pauseFromShown({ ...shown, ...forged }, clock)?.endsAt).toBe(5_000 + minutes * minuteMs);
  });

  it.each([{ until: 'tomorrow' }, { until: null }, { until: 2_050 }, { state: 'x' }, { state: '' }])(
    'says nothing with %j',
    (forged) => {
      expect(pauseFromShown({ ...shown, ...forged }, clock)).toBeUndefined();
    },
  );
});
