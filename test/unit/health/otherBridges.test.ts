import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connection, ConnectionEvents } from '../../../src/broker/connection.ts';
import { OtherBridges } from '../../../src/health/otherBridges.ts';
import { topicsUnder } from '../../../src/homeassistant/topics.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const other = 'other';
const startedAt = '2026-01-01T00:00:00.000Z';
const shard = { index: 0, count: 2 };
const here = 'bridge_0';

describe('another bridge below the same base topic', () => {
  let clock: FakeClock;
  let connection: EventEmitter<ConnectionEvents>;
  let others: OtherBridges;
  let told: string[];
  beforeEach(() => {
    clock = new FakeClock();
    told = [];
    connection = new EventEmitter();
    others = new OtherBridges(
      topicsUnder('base', 'homeassistant', shard),
      shard,
      connection as unknown as Connection,
      clock,
      () => 0.5,
    );
    others.on('met', () => void told.push('met')).on('stopped', () => void told.push('stopped'));
    connection.emit('connected');
  });
  const say = (topic: string, payload: string, isRetained = false) =>
    connection.emit('message', {
      topic: `base/${topic}`,
      payload,
      isRetained,
      isText: true,
      doubt: null,
      sentAfter: 0,
    });
  const hear = (name: string, payload: string, { isRetained = false } = {}) =>
    say(`${name}/info`, payload, isRetained);
  const stop = (name: string) => say(`${name}/state`, 'offline');
  /** All of them were started in one moment. */
  const info = (id: unknown, count: unknown = 2) =>
    JSON.stringify({ instance_id: id, started_at: startedAt, configuration: { shard: { count } } });

  it('of the same name is known as soon as it is heard, and forgotten after an hour of silence', async () => {
    hear(here, info(other));
    hear(here, info(other));
    expect(others.problem).toMatch(
      /^Another bridge uses the topic base\/bridge_0\. Valve commands are rejected\./,
    );
    expect([others.isAny, told]).toEqual([true, ['met']]);
    await clock.advance(59 * 60_000);
    hear(here, info(other));
    await clock.advance(59 * 60_000);
    expect(told).toEqual(['met']);
    await clock.advance(60_000);
    expect([others.isAny, others.problem, told]).toEqual([false, null, ['met', 'stopped']]);
  });

  it('with another number of bridges is known by any name, and one with the same is none', () => {
    hear('bridge_1', info('good'));
    expect([others.isAny, told]).toEqual([false, []]);
    hear('bridge_1', info(other, 3));
    expect(others.problem).toMatch(
      /^bridge_1 has shard\.count 3, this bridge has 2\. Valve commands are rejected\./,
    );
    stop('bridge_1');
    hear('bridge', info('alone', 1));
    expect(others.problem).toMatch(/^bridge has shard\.count 1/);
    expect(told).toEqual(['met', 'stopped', 'met']);
  });

  it('that has stopped is in nobody’s way, but one of the same name may come back to what is its own', () => {
    hear(here, info(other));
    hear('bridge', info('alone', 1));
    stop('bridge_1');
    expect(told).toEqual(['met', 'met']);
    connection.emit('willPublished');
    expect(others.problem).toMatch(/^bridge has/);
    stop('bridge');
    expect([others.problem, others.isAny]).toEqual([null, true]);
    hear(here, info(other));
    expect(others.problem).not.toBeNull();
    hear('bridge', info('alone', 1));
    hear('bridge', '');
    connection.emit('connected');
    expect([others.problem, others.isAny]).toEqual([null, true]);
  });

  it('is not taken from one’s own words, nor from those of an earlier run, nor from anything else', () => {
    hear(here, info(others.instanceId));
    hear(here, info(others.instanceId, 3));
    hear(here, info(others.instanceId), { isRetained: true });
    hear(here, info(other), { isRetained: true });
    hear('bridge', info(other, 1), { isRetained: true });
    for (const payload of ['', 'null', '{}', '[', '{"instance_id":7,"started_at":7}']) hear(here, payload);
    expect([others.isAny, told]).toEqual([false, []]);
  });

  it('is only suspected where the broker has kept its words while this one was away, until it is heard', () => {
    connection.emit('connected');
    hear(here, info(other), { isRetained: true });
    expect([others.isAny, others.problem, told]).toEqual([true, null, []]);
    hear(here, info(other));
    hear(here, info(other), { isRetained: true });
    expect(others.problem).not.toBeNull();
    expect(told).toEqual(['met']);
  });

  it('is known by its start where it is of a version that says no more', () => {
    hear('bridge', JSON.stringify({ started_at: startedAt }));
    expect(others.problem).toMatch(/^bridge has shard\.count 1/);
  });

  it('is answered once, however many of its name there are', () => {
    for (let each = 0; each < 100; each++) hear(here, info(String(each)));
    for (let each = 0; each < 100; each++) hear(here, info(String(each)));
    expect(told).toEqual(['met']);
    connection.emit('willPublished');
    expect(others.problem).toBeNull();
    hear(here, info('new'));
    expect(others.problem).not.toBeNull();
  });
});
