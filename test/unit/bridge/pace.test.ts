import { describe, expect, it } from 'vitest';
import { Pace } from '../../../src/bridge/pace.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { passTime, settle } from '../../support/passTime.ts';

/** Begins a round of so many questions that take no time; says when each was asked, in ms. */
function ask(pace: Pace, clock: FakeClock, count: number, periodMs: number): number[] {
  const startedAt = clock.monotonic();
  const askedAt: number[] = [];
  pace.begin(count, periodMs);
  const next = async () => {
    for (; askedAt.length < count; ) {
      await pace.turn();
      if (askedAt.length < count) askedAt.push(clock.monotonic() - startedAt);
    }
  };
  for (let worker = 0; worker < 2; worker++) void next();
  return askedAt;
}

/** A pace of which the first round is over. */
async function started() {
  const clock = new FakeClock();
  const pace = new Pace(clock);
  const first = ask(pace, clock, 3, 60_000);
  await settle();
  return { clock, pace, first };
}

describe('the pace of a round', () => {
  it('is quick at first', async () => {
    expect((await started()).first).toEqual([0, 0, 0]);
  });

  it('spreads many questions over the period, and is done before the next is due', async () => {
    const { clock, pace } = await started();
    const askedAt = ask(pace, clock, 1_000, 900_000);
    await passTime(clock, 900_000, 405);
    expect(askedAt).toHaveLength(1_000);
    const gaps = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
    expect(new Set(gaps.map(Math.round))).toEqual(new Set([810]));
  });

  it('does not make few wait for long', async () => {
    const { clock, pace } = await started();
    const askedAt = ask(pace, clock, 3, 3_600_000);
    await passTime(clock, 10_000, 500);
    expect(askedAt).toEqual([0, 2_000, 4_000]);
  });

  it('leaves a round quick that has few questions anyway, where that is told', async () => {
    const clock = new FakeClock();
    const pace = new Pace(clock, 20);
    ask(pace, clock, 1, 60_000);
    await settle();
    const few = ask(pace, clock, 19, 60_000);
    await settle();
    expect(few).toEqual(Array.from({ length: 19 }, () => 0));
    const many = ask(pace, clock, 100, 60_000);
    await passTime(clock, 60_000, 270);
    expect(many).toHaveLength(100);
    expect(many.at(-1)).toBeGreaterThan(53_000);
    expect(many.at(-1)).toBeLessThan(54_000);
  });

  it('does not catch up in a burst on questions that were answered late', async () => {
    const { clock, pace } = await started();
    pace.begin(10, 3_600_000);
    await pace.turn();
    clock.advance(60_000);
    await pace.turn();
    const turn = pace.turn().then(() => clock.monotonic());
    await passTime(clock, 10_000, 500);
    expect(await turn).toBe(62_000);
  });

  it('can be hurried: what waits comes at once, and so do the rest and the next round', async () => {
    const { clock, pace } = await started();
    const askedAt = ask(pace, clock, 5, 3_600_000);
    await passTime(clock, 2_500, 500);
    expect(askedAt).toEqual([0, 2_000]);
    pace.hurry();
    await settle();
    expect(askedAt).toEqual([0, 2_000, 2_500, 2_500, 2_500]);
    const again = ask(pace, clock, 3, 3_600_000);
    await settle();
    expect(again).toEqual([0, 0, 0]);
    const later = ask(pace, clock, 3, 3_600_000);
    await settle();
    expect(later).toEqual([0]);
  });

  it('leaves no timer behind when it is hurried', async () => {
    const { clock, pace } = await started();
    ask(pace, clock, 5, 3_600_000);
    await settle();
    expect(clock.waiting).toBeGreaterThan(0);
    pace.hurry();
    expect(clock.waiting).toBe(0);
  });
});
