import { describe, expect, it } from 'vitest';
import { Deliveries } from '../../../src/bridge/deliveries.ts';
import type { Happening } from '../../../src/bridge/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { anIncident } from '../../support/views.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** What comes of deliveries, and the polls that they lead to. */
function start(staleAfterMs = 5 * minute) {
  const clock = new FakeClock();
  const lines = logLines();
  const polledAt: number[] = [];
  let hastened = 0;
  const deliveries = new Deliveries(
    staleAfterMs,
    { poll: () => void polledAt.push(clock.monotonic()), hasten: () => void hastened++ },
    clock,
    lines.log,
  );
  /** A poll of all incidents that finds this. */
  const poll = (...events: Happening['event'][]) => {
    deliveries.found(events.map((event) => ({ event, record: anIncident({}) }) as Happening));
    deliveries.polled();
  };
  const periodMs = (everyMs = 30_000) => deliveries.incidentsPeriodMs(everyMs);
  /** The webhook tells of an incident, the polls find it, and a minute later there is no more. */
  const prove = () => {
    poll();
    deliveries.take();
    poll('incident_opened');
    clock.advance(minute);
    poll();
  };
  return { clock, lines, deliveries, polledAt, poll, prove, periodMs, hastened: () => hastened };
}

describe('a delivery', () => {
  it('leads to a poll at once', () => {
    const { deliveries, polledAt } = start();
    deliveries.take();
    expect(polledAt).toEqual([0]);
  });

  it('within five seconds of a poll leads to one after them, however many there are', () => {
    const { clock, deliveries, polledAt } = start();
    deliveries.take();
    clock.advance(1);
    for (let each = 0; each < 50; each++) deliveries.take();
    clock.advance(4_998);
    expect(polledAt).toEqual([0]);
    clock.advance(60_000);
    expect(polledAt).toEqual([0, 5_000]);
    deliveries.take();
    expect(polledAt).toEqual([0, 5_000, clock.monotonic()]);
  });

  it('in the moment of that poll is not lost either', () => {
    const { clock, deliveries, polledAt } = start();
    deliveries.take();
    clock.advance(3_000);
    deliveries.take();
    clock.advance(2_000);
    deliveries.take();
    clock.advance(60_000);
    expect(polledAt).toEqual([0, 5_000, 10_000]);
  });

  it('leads to nothing any more once the bridge stops', () => {
    const { clock, deliveries, polledAt } = start();
    deliveries.take();
    deliveries.take();
    deliveries.stop();
    deliveries.take();
    clock.advance(60_000);
    expect(polledAt).toEqual([0]);
    expect(clock.waiting).toBe(0);
  });
});

describe('the polls of incidents', () => {
  it('go by their schedule until they have found what the webhook told of, and less often for a day from then on', () => {
    const { clock, poll, prove, periodMs } = start();
    expect(periodMs()).toBe(30_000);
    prove();
    expect(periodMs()).toBe(120_000);
    clock.advance(day - minute - 1);
    poll();
    expect(periodMs()).toBe(120_000);
    clock.advance(1);
    expect(periodMs()).toBe(30_000);
  });

  it('go by their schedule however often somebody calls, or tries it out, as long as nothing comes of it', () => {
    const { clock, lines, deliveries, poll, periodMs } = start();
    poll();
    for (let each = 0; each < 10; each++) {
      deliveries.take();
      poll();
      clock.advance(5 * minute);
      poll();
      expect([periodMs(), deliveries.isTrusted]).toEqual([30_000, false]);
    }
    expect(lines.messages).toEqual([]);
  });

  it('go by their schedule for a minute after each call, as it may come before the cloud lists the incident', () => {
    const { clock, deliveries, poll, prove, periodMs } = start();
    prove();
    deliveries.take();
    poll();
    expect(periodMs()).toBe(30_000);
    clock.advance(30_000);
    poll('incident_opened');
    expect(periodMs()).toBe(30_000);
    clock.advance(30_000);
    poll();
    expect(periodMs()).toBe(120_000);
  });

  it('go by their schedule while the list is never complete: nobody could see then that a call is missing', () => {
    const { clock, deliveries, periodMs } = start();
    for (let each = 0; each < 5; each++) {
      deliveries.take();
      deliveries.found([{ event: 'incident_opened', record: anIncident({}) }]);
      clock.advance(10 * minute);
    }
    expect(periodMs()).toBe(30_000);
  });

  it('are often enough to be renewed twice before they are stale, and never more often than scheduled', () => {
    const { prove, periodMs } = start(3 * minute);
    prove();
    expect(periodMs(30_000)).toBe(90_000);
    expect(periodMs(100_000)).toBe(100_000);
  });

  it('stay few while each delivery comes before or soon after what they find', () => {
    const { clock, deliveries, poll, prove, periodMs } = start();
    prove();
    clock.advance(120_000);
    poll('incident_changed');
    poll('incident_closed');
    clock.advance(59_000);
    deliveries.take();
    clock.advance(10 * minute);
    poll();
    expect(periodMs()).toBe(120_000);
  });

  it.each(['incident_opened', 'incident_closed'] as const)(
    'are as often as scheduled for a day once one finds an %s of which no delivery tells',
    (event) => {
      const { clock, lines, poll, prove, periodMs, hastened } = start();
      prove();
      clock.advance(10 * minute);
      poll();
      clock.advance(2 * minute);
      poll(event);
      clock.advance(59_999);
      expect([periodMs(), hastened()]).toEqual([120_000, 0]);
      clock.advance(1);
      expect([periodMs(), hastened()]).toEqual([30_000, 1]);
      expect(lines.messages.at(-1)).toMatch(
        /^warn: A poll has found news of an incident that the webhook did not/,
      );
      // One that calls again is watched for a while first.
      prove();
      expect(periodMs()).toBe(30_000);
      clock.advance(day);
      prove();
      expect(periodMs()).toBe(120_000);
    },
  );

  it('do not hold against the webhook what the first one finds, or what is no news to it', () => {
    const { clock, poll, prove, periodMs } = start();
    poll('incident_opened');
    clock.advance(10 * minute);
    prove();
    clock.advance(10 * minute);
    poll('incident_changed', 'incident_moved', 'device_added');
    clock.advance(10 * minute);
    expect(periodMs()).toBe(120_000);
  });
});
