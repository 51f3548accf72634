import { beforeEach, describe, expect, it } from 'vitest';
import type { Schedule } from '../../../src/base/schedule.ts';
import { Rhythm } from '../../../src/bridge/rhythm.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const everyMs = 60_000;
const every: Schedule = { kind: 'every', everyMs };
const cron: Schedule = { kind: 'cron', expression: '* * * * *' };
const resting = { pressure: 3_000, water_flow: 0, water_temp: 12, probed_at: 1 };
const flowing = { ...resting, water_flow: 4_000 };
const ids = ['one', 'two'];

let clock: FakeClock;
let isBudgetShort: boolean;
let stirs: number;

beforeEach(() => {
  clock = new FakeClock();
  isBudgetShort = false;
  stirs = 0;
});

function aRhythm(telemetry: Schedule = every): Rhythm {
  return new Rhythm(
    {
      schedules: { sonics: every, telemetry },
      staleAfterMs: 300_000,
      isBudgetShort: () => isBudgetShort,
      onStir: () => {
        stirs += 1;
      },
    },
    clock,
  );
}

/** Lets the rounds come as they are due for so long; says when each sonic was asked. */
function run(
  rhythm: Rhythm,
  ms: number,
  measured: (id: string, at: number) => typeof resting,
): [string, number][] {
  const end = clock.monotonic() + ms;
  const asked: [string, number][] = [];
  let startedAt = clock.monotonic();
  while (startedAt < end) {
    for (const id of rhythm.due(ids)) {
      asked.push([id, startedAt]);
      rhythm.measured(id, measured(id, startedAt));
    }
    const nextAt = rhythm.nextTelemetryAt(startedAt, everyMs);
    expect(nextAt).toBeGreaterThan(startedAt);
    clock.advance(nextAt - startedAt);
    startedAt = nextAt;
  }
  return asked;
}

const timesOf = (asked: readonly [string, number][], id: string) =>
  asked.filter(([each]) => each === id).map(([, at]) => at);
const wobbling = (_: string, at: number) => ({ ...resting, pressure: 3_000 + (at % 7) });

describe('the telemetry of a sonic', () => {
  it('is read once a period where the values change and nothing happens', () => {
    expect(timesOf(run(aRhythm(), 240_000, wobbling), 'one')).toEqual([0, 60_000, 120_000, 180_000]);
  });

  it('is read twice a period for five minutes after something happened to it, and that of the others is not', () => {
    const rhythm = aRhythm();
    run(rhythm, 60_000, wobbling);
    rhythm.stir('two');
    const asked = run(rhythm, 480_000, wobbling);
    expect(timesOf(asked, 'one')).toEqual([60, 120, 180, 240, 300, 360, 420, 480].map((s) => s * 1_000 + 0));
    expect(timesOf(asked, 'two')).toEqual(
      [60, 90, 120, 150, 180, 210, 240, 270, 300, 330, 390, 450, 510].map((s) => s * 1_000),
    );
  });

  it('is read twice a period while water flows, the flowing first', () => {
    const rhythm = aRhythm();
    const asked = run(rhythm, 180_000, (id, at) => (id === 'two' ? flowing : wobbling(id, at)));
    expect(timesOf(asked, 'one')).toEqual([0, 60_000, 120_000]);
    expect(timesOf(asked, 'two')).toEqual([0, 30_000, 60_000, 90_000, 120_000, 150_000]);
    expect(asked.filter(([, at]) => at === 60_000).map(([id]) => id)).toEqual(['two', 'one']);
    expect(stirs).toBe(6);
  });

  it('is read at every second round once nothing has flowed or changed for an hour, until something does', () => {
    const rhythm = aRhythm();
    run(rhythm, 3_600_000, (id, at) => (id === 'one' ? resting : wobbling(id, at)));
    const later = run(rhythm, 360_000, (id, at) => (id === 'one' ? resting : wobbling(id, at)));
    expect(timesOf(later, 'one').map((at) => at - 3_600_000)).toEqual([60_000, 180_000, 300_000]);
    expect(timesOf(later, 'two')).toHaveLength(6);
    const changed = run(rhythm, 360_000, wobbling);
    expect(timesOf(changed, 'one').map((at) => at - 3_960_000)).toEqual([
      60_000, 120_000, 180_000, 240_000, 300_000,
    ]);
  });

  it('is due at once again when it could not be read, and is not calm before another hour', () => {
    const rhythm = aRhythm();
    run(rhythm, 3_720_000, () => resting);
    rhythm.missed('one');
    expect(rhythm.due(ids)).toContain('one');
    rhythm.measured('one', resting);
    const later = run(rhythm, 600_000, () => resting);
    expect(timesOf(later, 'one').length).toBeGreaterThanOrEqual(9);
    expect(timesOf(later, 'two').length).toBeLessThanOrEqual(6);
  });

  it('is due at once of all when that is wanted, and of one that is new', () => {
    const rhythm = aRhythm();
    expect(rhythm.due(ids)).toEqual(ids);
    clock.advance(10_000);
    expect(rhythm.due([...ids, 'three'])).toEqual(['three']);
    rhythm.hurry();
    expect(rhythm.due(ids)).toEqual(ids);
  });

  it('does not wait for one whose radio link is down', () => {
    const rhythm = aRhythm();
    rhythm.due(ids);
    clock.advance(60_000);
    rhythm.due(['two']);
    expect(rhythm.nextTelemetryAt(60_000, everyMs)).toBe(120_000);
    clock.advance(30_000);
    expect(rhythm.nextTelemetryAt(60_000, everyMs)).toBe(120_000);
  });

  it('is read by its cron expression alone', () => {
    const rhythm = aRhythm(cron);
    for (let round = 0; round < 3; round++) {
      clock.advance(1_000);
      expect(rhythm.due(ids)).toEqual(ids);
      for (const id of ids) rhythm.measured(id, flowing);
    }
  });

  it('is not hurried while polls wait for the budget', () => {
    const rhythm = aRhythm();
    rhythm.due(ids);
    rhythm.stir('one');
    isBudgetShort = true;
    expect(rhythm.nextTelemetryAt(0, everyMs)).toBe(60_000);
    clock.advance(30_000);
    expect(rhythm.due(ids)).toEqual([]);
    isBudgetShort = false;
    expect(rhythm.due(ids)).toEqual(['one']);
  });

  it('is forgotten of a sonic that is gone', () => {
    const rhythm = aRhythm();
    rhythm.due(ids);
    rhythm.keepOnly(['one']);
    expect(rhythm.due(ids)).toEqual(['two']);
  });
});

describe('the list of sonics', () => {
  it('is read twice a period for five minutes after anything happened anywhere', () => {
    const rhythm = aRhythm();
    expect(rhythm.nextListAt(0, everyMs)).toBe(60_000);
    rhythm.stir(null);
    expect(rhythm.nextListAt(0, everyMs)).toBe(30_000);
    clock.advance(299_999);
    expect(rhythm.nextListAt(0, everyMs)).toBe(30_000);
    clock.advance(1);
    expect(rhythm.nextListAt(0, everyMs)).toBe(60_000);
  });

  it('is not hurried while polls wait for the budget', () => {
    const rhythm = aRhythm();
    rhythm.stir('one');
    isBudgetShort = true;
    expect(rhythm.nextListAt(0, everyMs)).toBe(60_000);
  });

  it('is never read more seldom, however calm the sonics are', () => {
    const rhythm = aRhythm();
    run(rhythm, 7_200_000, () => resting);
    expect(rhythm.nextListAt(0, everyMs)).toBe(60_000);
  });
});
