import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connection, ConnectionEvents } from '../../../src/broker/connection.ts';
import { OtherBridges } from '../../../src/health/otherBridges.ts';
import { Topics } from '../../../src/homeassistant/topics.ts';
import { FakeClock } from '../../support/fakeClock.ts';

const other = 'other';
const minuteMs = 60_000;

describe('another bridge below the same base topic', () => {
  let clock: FakeClock;
  let connection: EventEmitter<ConnectionEvents>;
  let others: OtherBridges;
  let greetings: number;
  let earlier: string;
  let later: string;
  beforeEach(() => {
    clock = new FakeClock();
    [earlier = '', later = ''] = [-hour, hour].map((ms) => new Date(clock.now() + ms).toISOString());
    greetings = 0;
    connection = new EventEmitter();
    others = new OtherBridges(
      new Topics('base', 'homeassistant'),
      connection as unknown as Connection,
      clock,
      () => 0.5,
    );
    others.on('greet', () => {
      greetings += 1;
    });
    connection.emit('connected');
  });
  const hour = 3_600_000;
  const say = (topic: string, payload: string, isRetained = false) =>
    connection.emit('message', {
      topic: `base/${topic}`,
      payload,
      isRetained,
      isText: true,
      mayBeStored: null,
      sentAfter: 0,
    });
  const hear = (payload: string, { isRetained = false } = {}) => say('bridge/info', payload, isRetained);
  const stop = () => say('bridge/state', 'offline');
  /** What a bridge says that was started an hour before this one, and has heard those instances. */
  const info = (id: unknown, { heard = [] as readonly string[], startedAt = earlier } = {}) =>
    JSON.stringify({ instance_id: id, heard_instances: heard, started_at: startedAt });
  const answer = (id: string) => info(id, { heard: [others.instanceId] });

  it('runs if it names this one, and is gone after five minutes of silence', async () => {
    hear(answer(other));
    expect(others.problem).toBe(
      'Another bridge uses the topic base/bridge. Valve commands are rejected. Change mqtt.base_topic of one',
    );
    expect([others.isAny, others.heard]).toEqual([true, [other]]);
    await clock.advance(4 * minuteMs);
    hear(answer(other));
    await clock.advance(5 * minuteMs - 1);
    expect(others.problem).not.toBeNull();
    let changes = 0;
    others.on('changed', () => {
      changes += 1;
    });
    await clock.advance(1);
    expect([others.problem, others.isAny, changes > 0]).toEqual([null, false, true]);
    await clock.advance(minuteMs);
    expect(others.heard).toEqual([]);
  });

  it('of an earlier run that is published again is asked, and is in nobody’s way', async () => {
    hear(info(other));
    await clock.advance(0);
    expect([others.problem, greetings]).toEqual([null, 1]);
    hear(info(other));
    hear(info(other, { heard: ['a-1', `${others.instanceId}0`] }));
    expect(others.problem).not.toBeNull();
    await clock.advance(5 * minuteMs);
    expect([others.problem, others.isAny]).toEqual([null, false]);
  });

  it('that is younger than this one stops the valves until it had time to answer', async () => {
    hear(info(other, { startedAt: later }));
    expect(others.problem).not.toBeNull();
    await clock.advance(10_000);
    expect(others.problem).toBeNull();
  });

  it('that has stopped is in nobody’s way, but may come back to what is its own', () => {
    hear(answer(other));
    connection.emit('willPublished');
    expect([others.problem, others.isAny]).toEqual([null, true]);
    for (const end of [stop, () => hear('')]) {
      hear(answer(other));
      expect(others.problem).not.toBeNull();
      end();
      expect([others.problem, others.isAny]).toEqual([null, true]);
    }
    expect(others.heard).toEqual([other]);
  });

  it('must answer each new connection, within ten seconds', async () => {
    const before = others.instanceId;
    hear(answer(other));
    connection.emit('connected');
    expect(others.instanceId).not.toBe(before);
    expect(others.problem).not.toBeNull();
    await clock.advance(10_000);
    expect(others.problem).toBeNull();
    hear(info(other, { heard: [before] }));
    hear(answer(other));
    expect(others.problem).not.toBeNull();
  });

  it('is not taken from one’s own words, nor from what the broker has kept, nor from anything else', () => {
    const own = others.instanceId;
    hear(info(own));
    connection.emit('connected');
    hear(info(own));
    hear(answer(other), { isRetained: true });
    for (const payload of ['', 'null', '{}', '[', '{"instance_id":7,"started_at":7}']) hear(payload);
    expect([others.isAny, others.problem, others.heard]).toEqual([false, null, []]);
  });

  it('is known by its start if its version says no more, as soon as it says something new', () => {
    const old = (requests: number) => JSON.stringify({ started_at: earlier, requests_last_hour: requests });
    hear(old(1));
    hear(old(1));
    expect(others.problem).toBeNull();
    hear(old(2));
    expect(others.problem).not.toBeNull();
  });

  it('is greeted every two seconds at most, then every minute, however many there are', async () => {
    for (let each = 0; each < 100; each++) hear(info(String(each)));
    await clock.advance(1_999);
    for (let each = 0; each < 100; each++) hear(info(String(each)));
    expect([greetings, others.heard.length]).toEqual([1, 20]);
    await clock.advance(1);
    expect(greetings).toBe(2);
    await clock.advance(2 * minuteMs);
    expect(greetings).toBe(4);
    await clock.advance(hour);
    expect([others.heard, greetings < 10]).toEqual([[], true]);
  });
});

describe('a bridge with another base topic that announces devices of this one', () => {
  it('is named until it does so no more', () => {
    const connection = new EventEmitter() as unknown as Connection;
    const others = new OtherBridges(new Topics('base', 'ha'), connection, new FakeClock(), () => 0.5);
    let changes = 0;
    others.on('changed', () => {
      changes += 1;
    });
    others.recordAnnouncers(new Map([...'abc'].map((topic) => [topic, 'trial/bridge/state'])));
    expect([others.isAnnouncing('a'), others.isAnnouncing('d'), others.announcer]).toEqual([
      true,
      false,
      null,
    ]);
    others.recordUnannounced('a');
    expect(others.announcer).toBe('trial/bridge');
    others.recordUnannounced('b');
    others.recordUnannounced('b');
    expect([changes, others.unannouncedCount]).toEqual([3, 2]);
    others.recordAnnouncers(new Map([['b', 'trial/bridge/state']]));
    expect([others.announcer, others.unannouncedCount]).toEqual(['trial/bridge', 1]);
    others.recordAnnouncers(new Map());
    expect([others.announcer, changes]).toEqual([null, 5]);
  });
});
