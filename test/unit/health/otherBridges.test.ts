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
  let said: { readonly id: string; readonly to?: string }[];
  beforeEach(() => {
    clock = new FakeClock();
    said = [];
    const publish = (topic: string, payload: string, { retain }: { readonly retain: boolean }) => {
      expect([topic, retain]).toEqual(['base/bridge/hello', false]);
      said.push(JSON.parse(payload));
      return Promise.resolve();
    };
    connection = Object.assign(new EventEmitter<ConnectionEvents>(), { publish });
    others = new OtherBridges(
      new Topics('base', 'homeassistant'),
      connection as unknown as Connection,
      clock,
      () => 0.5,
    );
    connection.emit('connected');
  });
  const hearText = (payload: string, isRetained = false) =>
    connection.emit('message', {
      topic: 'base/bridge/hello',
      payload,
      isRetained,
      isText: true,
      mayBeStored: null,
      sentAfter: 0,
    });
  const hear = (id: string, to?: string) => hearText(JSON.stringify({ id, to }));
  const answer = (id = other) => hear(id, others.instanceId);

  it('is asked at each connection, and answered', () => {
    expect(said).toEqual([{ id: others.instanceId }]);
    hear(other);
    expect(said.slice(1)).toEqual([{ id: others.instanceId, to: other }]);
    connection.emit('connected');
    expect(said.at(-1)).toEqual({ id: others.instanceId });
    expect(others.instanceId).not.toBe(said[0]?.id);
  });

  it('runs if it answers this connection, and then knows of this bridge, too', async () => {
    answer();
    expect(others.problem).toBe(
      'Another bridge uses the topic base/bridge. Valve commands are rejected. Change mqtt.base_topic of one',
    );
    expect(said.at(-1)).toEqual({ id: others.instanceId, to: other });
    const { length } = said;
    answer();
    expect(said).toHaveLength(length);
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(minuteMs);
      expect(said.at(-1)).toEqual({ id: others.instanceId });
      answer();
    }
    expect(others.problem).not.toBeNull();
  });

  it('that does not answer for two and a half minutes has stopped', async () => {
    answer();
    await clock.advance(2.5 * minuteMs - 1);
    expect(others.problem).not.toBeNull();
    let changes = 0;
    others.on('changed', () => {
      changes += 1;
    });
    await clock.advance(1);
    expect([others.problem, changes]).toEqual([null, 1]);
  });

  it('that was published again by others, or is one’s own, is in nobody’s way', () => {
    const [own = { id: '' }] = said;
    hear(other);
    hear(other, 'an earlier connection');
    hear(own.id, own.id);
    connection.emit('connected');
    hear(other, own.id);
    hearText(JSON.stringify({ id: other, to: others.instanceId }), true);
    for (const payload of ['', 'null', '{}', '[', '{"id":7}']) hearText(payload);
    expect(others.problem).toBeNull();
  });

  it('that has stopped is in nobody’s way at once, and asked whether it still runs', () => {
    answer();
    connection.emit('willPublished');
    expect(others.problem).toBeNull();
    expect(said.at(-1)).toEqual({ id: others.instanceId });
    answer();
    expect(others.problem).not.toBeNull();
  });

  it('must answer each new connection, within ten seconds', async () => {
    answer();
    connection.emit('connected');
    expect(others.problem).not.toBeNull();
    await clock.advance(10_000);
    expect(others.problem).toBeNull();
  });

  it('is one of twenty at most', async () => {
    for (let each = 0; each < 100; each++) answer(String(each));
    // An answer to each of the twenty, and to nobody else.
    expect(said).toHaveLength(21);
    await clock.advance(10 * minuteMs);
    expect(others.problem).toBeNull();
  });

  it('hears nothing of a bridge that stops', () => {
    others.stop();
    const { length } = said;
    connection.emit('willPublished');
    hear(other);
    answer();
    expect([said.length, others.problem]).toEqual([length, null]);
  });
});
