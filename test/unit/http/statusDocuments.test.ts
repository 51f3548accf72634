import { expect, it } from 'vitest';
import type { StatusSnapshot } from '../../../src/health/snapshots.ts';
import { devicesAPage } from '../../../src/http/status.ts';
import { statusDocuments } from '../../../src/http/statusDocuments.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { sonicView } from '../../support/views.ts';

const up = { isReady: true, status: 'up', reason: null, workedAt: null } as const;

/** Two pages of valves whose reason can be changed, and which count how often they were looked at. */
function start() {
  const bridge = { reason: 'at first', looks: 0 };
  const gather = (): StatusSnapshot => {
    bridge.looks += 1;
    return {
      ...{ startedAt: 0, status: 'ok', reason: bridge.reason, readiness: { cloud: up, broker: up } },
      ...{
        progress: [],
        polls: [],
        emptiness: null,
        isComplete: true,
        isWatchOnly: false,
        properties: [],
        signals: [],
      },
      ...{ sonics: Array.from({ length: devicesAPage + 1 }, () => sonicView()), incidents: [] },
      ...{ areIncidentsFresh: true, unconfirmedSince: null, readAt: () => null },
    };
  };
  const clock = new FakeClock();
  return { bridge, clock, documentOf: statusDocuments(gather, (text) => text, clock) };
}

it('a page is written once for all who ask in that moment, and so is one that there is not', () => {
  const { bridge, documentOf } = start();
  const numberOf = (wanted: number) => JSON.parse(documentOf(wanted).text).page.number;
  expect([-5, 0, 1, 2, 3, 99, Number.NaN, 1.5].map(numberOf)).toEqual([1, 1, 1, 2, 2, 2, 1, 1]);
  expect(bridge.looks).toBe(1);
});

it('has the same tag until something changes, and costs nothing while nobody asks', async () => {
  const { bridge, clock, documentOf } = start();
  const { tag } = documentOf(1);
  await clock.advance(600);
  expect(documentOf(1).tag).toBe(tag);
  expect(documentOf(2).tag).not.toBe(tag);
  bridge.reason = 'second';
  await clock.advance(600);
  expect(documentOf(1).tag).not.toBe(tag);
  await clock.advance(600);
  expect([clock.waiting, bridge.looks]).toEqual([0, 3]);
});
