import { beforeEach, describe, expect, it } from 'vitest';
import { Namesakes } from '../../../src/bridge/namesakes.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const own = 'own';
const other = 'other';
const startedAt = '2026-01-01T00:00:00.000Z';

describe('another bridge at the same topics', () => {
  let clock: FakeClock;
  let namesakes: Namesakes;
  let told: string[];
  beforeEach(() => {
    clock = new FakeClock();
    told = [];
    const events = { came: () => told.push('came'), gone: () => told.push('gone') };
    namesakes = new Namesakes((id) => id === own, events, clock);
  });
  const hear = (payload: string, { isRetained = false, isFirst = false } = {}) =>
    namesakes.take({ topic: 'info', payload, isRetained, isText: true, sentAfter: 0 }, isFirst);
  /** All of them were started in one moment. */
  const info = (id: unknown) => JSON.stringify({ instance_id: id, started_at: startedAt });

  it('is known as soon as it is heard, and forgotten after an hour of silence', async () => {
    hear(info(other));
    hear(info(other));
    expect([namesakes.isAny, namesakes.isSure, told]).toEqual([true, true, ['came']]);
    await clock.advance(59 * 60_000);
    hear(info(other));
    await clock.advance(59 * 60_000);
    expect(told).toEqual(['came']);
    await clock.advance(60_000);
    expect([namesakes.isAny, namesakes.isSure, told]).toEqual([false, false, ['came', 'gone']]);
  });

  it('is not taken from one’s own words, nor from those of an earlier run, nor from anything else', () => {
    hear(info(own));
    hear(info(own), { isRetained: true });
    hear(info(other), { isRetained: true, isFirst: true });
    for (const payload of ['', 'null', '{}', '[', '{"instance_id":7,"started_at":7}']) hear(payload);
    expect([namesakes.isAny, told]).toEqual([false, []]);
  });

  it('is only suspected where the broker has kept its words while this one was away, until it is heard', () => {
    hear(info(other), { isRetained: true });
    expect([namesakes.isAny, namesakes.isSure, told]).toEqual([true, false, []]);
    hear(info(other));
    hear(info(other), { isRetained: true });
    expect([namesakes.isSure, told]).toEqual([true, ['came']]);
  });

  it('is known by its start where it is of a version that says no more', () => {
    hear(JSON.stringify({ started_at: startedAt }));
    expect(namesakes.isSure).toBe(true);
  });

  it('is answered once, however many there are, and fills no memory', () => {
    for (let each = 0; each < 100; each++) hear(info(String(each)));
    for (let each = 0; each < 100; each++) hear(info(String(each)));
    expect(told).toHaveLength(20);
  });
});
