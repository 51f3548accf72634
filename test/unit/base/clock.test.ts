import { beforeEach, describe, expect, it } from 'vitest';
import { countingSleep, sleep, systemClock } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/fakeClock.ts';

describe('sleeping', () => {
  it('ends when the time is up, and not before', async () => {
    const clock = new FakeClock();
    let isAwake = false;
    const slept = sleep(clock, 100).then(() => {
      isAwake = true;
    });
    clock.advance(99);
    await Promise.resolve();
    expect(isAwake).toBe(false);
    clock.advance(1);
    await slept;
    expect(isAwake).toBe(true);
  });

  it('ends at once when it is aborted, with the reason, and leaves no timer', async () => {
    const clock = new FakeClock();
    const stopping = new AbortController();
    const slept = sleep(clock, 100, stopping.signal);
    expect(clock.waiting).toBe(1);
    stopping.abort(new Error('enough'));
    await expect(slept).rejects.toThrow('enough');
    expect(clock.waiting).toBe(0);
  });

  it('does not begin when it was aborted before', async () => {
    const clock = new FakeClock();
    await expect(sleep(clock, 100, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect(clock.waiting).toBe(0);
  });

  it('is not disturbed by an abort that comes after it, and lets go of the signal', async () => {
    const clock = new FakeClock();
    const stopping = new AbortController();
    const slept = sleep(clock, 100, stopping.signal);
    clock.advance(100);
    await expect(slept).resolves.toBeUndefined();
    stopping.abort();
    await expect(slept).resolves.toBeUndefined();
  });
});

describe('a clock on a machine that sleeps', () => {
  let awakeMs: number;
  let sleptMs: number;
  let heldUpMs: number;
  /** By how much somebody has set the wall clock. */
  let setMs: number;
  /** How far the uptime is from the truth; null if it cannot be read. */
  let wrongMs: number | null;
  let monotonic: () => number;
  beforeEach(() => {
    awakeMs = 5_000;
    sleptMs = 0;
    heldUpMs = 0;
    setMs = 0;
    wrongMs = 0;
    const bootedMs = 700_000;
    monotonic = countingSleep(
      () => awakeMs,
      () => {
        awakeMs += heldUpMs;
        if (wrongMs === null) throw new Error('uv_uptime returned EIO');
        return bootedMs + wrongMs + Math.floor((awakeMs + sleptMs) / 10) * 10;
      },
      () => 1_700_000_000_000 + awakeMs + sleptMs + setMs,
    );
  });

  it('has counted each night, as soon as it is looked at again', () => {
    const before = monotonic();
    for (const night of [1, 2, 3]) {
      awakeMs += 57_600_000 + 1;
      sleptMs += 28_800_000;
      expect(Math.abs(monotonic() - before - night * 86_400_001)).toBeLessThanOrEqual(20);
    }
  });

  it('has counted a sleep at the very next look, however soon after the last one', () => {
    const before = monotonic();
    awakeMs += 5;
    sleptMs += 30_000;
    expect(Math.abs(monotonic() - before - 30_005)).toBeLessThanOrEqual(20);
  });

  it('counts nothing where somebody only sets the wall clock', () => {
    const before = monotonic();
    for (const jumpMs of [3_600_000, -7_200_000]) {
      setMs += jumpMs;
      awakeMs += 5;
      monotonic();
    }
    expect(monotonic() - before).toBe(10);
  });

  it('takes no pause of the program for a sleep, and misses no sleep for it', () => {
    const before = monotonic();
    awakeMs += 1_000;
    heldUpMs = 5_000;
    monotonic();
    heldUpMs = 0;
    expect(monotonic() - before).toBe(6_000);
    sleptMs += 60_000;
    heldUpMs = 5_000;
    awakeMs += 1_000;
    monotonic();
    heldUpMs = 0;
    expect(Math.abs(monotonic() - before - 72_000)).toBeLessThanOrEqual(20);
  });

  it.each([1, 3, 500])('counts nothing where a container reads the uptime of its host %s times', (times) => {
    const before = monotonic();
    for (const wrong of [0, 86_400_000, 0, -600_000, 0]) {
      wrongMs = wrong;
      for (let time = 0; time < times; time += 1) {
        awakeMs += 200;
        monotonic();
      }
    }
    expect(monotonic() - before).toBe(times * 1_000);
  });

  it('counts a sleep, and only that, while the uptime is that of the host', () => {
    const before = monotonic();
    wrongMs = 86_400_000;
    awakeMs += 200;
    sleptMs += 60_000;
    expect(Math.abs(monotonic() - before - 60_200)).toBeLessThanOrEqual(20);
    awakeMs += 200;
    sleptMs += 60_000;
    expect(Math.abs(monotonic() - before - 120_400)).toBeLessThanOrEqual(20);
  });

  it('goes on while the uptime cannot be read, and counts a sleep once it can', () => {
    const before = monotonic();
    wrongMs = null;
    awakeMs += 200;
    sleptMs += 60_000;
    expect(monotonic() - before).toBe(200);
    awakeMs += 200;
    wrongMs = 0;
    expect(Math.abs(monotonic() - before - 60_400)).toBeLessThanOrEqual(20);
  });

  it('is that of the machine while it is awake, to the last digit', () => {
    const passed = [0.25, 3, 99, 101, 4_000.5].map((ms) => {
      awakeMs += ms;
      return monotonic() === awakeMs;
    });
    expect(passed).toEqual([true, true, true, true, true]);
  });

  it('never goes back, whatever becomes of the uptime', () => {
    sleptMs = 60_000;
    awakeMs += 1_000;
    const before = monotonic();
    sleptMs = -300_000;
    awakeMs += 1_000;
    expect(monotonic() - before).toBe(1_000);
    sleptMs += 60_000;
    awakeMs += 1_000;
    expect(Math.abs(monotonic() - before - 62_000)).toBeLessThanOrEqual(20);
  });
});

describe('the machine’s clock', () => {
  it('shows the time, and the passing of time', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
    const before = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(before);
  });

  it.each([2.2, 2.9, 3, 4.7])('calls back once %s ms are up, and never sooner', async (ms) => {
    for (let time = 0; time < 5; time += 1) {
      const before = systemClock.monotonic();
      await sleep(systemClock, ms);
      expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(ms);
    }
  });

  it('does not call back when that was cancelled', async () => {
    const called: string[] = [];
    systemClock.after(1, () => called.push('cancelled'))();
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    expect(called).toEqual([]);
  });

  it('does not fire at once for a delay that the runtime cannot hold', async () => {
    const called: string[] = [];
    const cancel = systemClock.after(2 ** 31, () => called.push('too early'));
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    cancel();
    expect(called).toEqual([]);
  });
});
