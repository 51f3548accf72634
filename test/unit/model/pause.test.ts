import { describe, expect, it } from 'vitest';
import {
  correctedPause,
  newPause,
  nextPhase,
  noPause,
  type PauseEvent,
  type PausePhase,
  pauseLeftMs,
  pauseShown,
} from '../../../src/model/pause.ts';

const minuteMs = 60_000;
const phases: readonly PausePhase[] = ['none', 'pausing', 'paused', 'resuming', 'failed'];
const events: readonly PauseEvent[] = [
  ...([
    'accepted',
    'rejected',
    'unanswered',
    'ended',
    'due',
    'turned_on',
    'seen_on',
    'not_confirmed',
  ] as const),
];

describe('a pause', () => {
  it.each<[PausePhase, PauseEvent, PausePhase]>([
    ['pausing', 'accepted', 'paused'],
    ['pausing', 'rejected', 'none'],
    ['pausing', 'unanswered', 'resuming'],
    ['paused', 'ended', 'resuming'],
    ['paused', 'due', 'resuming'],
    ['paused', 'seen_on', 'resuming'],
    ['resuming', 'seen_on', 'none'],
    ['resuming', 'not_confirmed', 'failed'],
    ['failed', 'seen_on', 'none'],
    ['failed', 'turned_on', 'resuming'],
  ])('that is %s is, by %s, %s', (phase, event, next) => {
    expect(nextPhase(phase, event)).toBe(next);
  });

  it('is not forgotten before the shut-off is seen on, or was certainly never off', () => {
    const ways = phases.flatMap((phase) =>
      events
        .filter((event) => phase !== 'none' && nextPhase(phase, event) === 'none')
        .map((event) => [phase, event]),
    );
    expect(ways).toEqual([
      ['pausing', 'rejected'],
      ['resuming', 'seen_on'],
      ['failed', 'seen_on'],
    ]);
  });

  it('that has ended is not begun again by any event but the end of its debt', () => {
    for (const phase of ['resuming', 'failed'] as const)
      for (const event of events) expect(['resuming', 'failed', 'none']).toContain(nextPhase(phase, event));
  });

  it('ends by the clock that is first at its end', () => {
    const pause = newPause(60, 1_000_000, 5_000);
    expect(pause).toEqual({ until: 1_000_000 + 60 * minuteMs, endsAt: 5_000 + 60 * minuteMs, isOver: false });
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
    expect(correctedPause(pause, 1_000_000 + 10 * minuteMs - 5_000, 10 * minuteMs)).toBe(pause);
    expect(correctedPause(pause, 1_000_000 - 50 * minuteMs, 10 * minuteMs).until).toBe(1_000_000);
    expect(correctedPause(pause, 1_000_000 + 70 * minuteMs, 10 * minuteMs)).toBe(pause);
  });

  it('is shown once the cloud has accepted it, with every key', () => {
    const pause = newPause(60, Date.parse('2026-03-02T09:00:00Z'), 0);
    const until = '2026-03-02T10:00:00.000Z';
    expect(pauseShown('none', pause, null)).toEqual(noPause);
    expect(pauseShown('pausing', pause, null)).toEqual(noPause);
    expect(pauseShown('paused', pause, null)).toEqual({ until, state: 'paused', reason: null });
    expect(pauseShown('failed', pause, 'why')).toEqual({ until, state: 'failed', reason: 'why' });
  });
});
