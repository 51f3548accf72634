import { describe, expect, it } from 'vitest';
import { brokerReadiness, cloudReadiness } from '../../../src/health/readiness.ts';
import { byPoll } from '../../../src/model/polls.ts';
import { neverPolled, type PollStatus, type StatusByPoll } from '../../../src/polling/pollStatus.ts';

const polls = (changes: Partial<Record<keyof StatusByPoll, Partial<PollStatus>>> = {}) =>
  byPoll((name) => ({ ...neverPolled, ...changes[name] }));
const failure = { kind: 'unavailable', message: '503', key: '503' } as const;
const read = polls({ properties: { lastSuccessAt: 1 }, sonics: { lastSuccessAt: 5_000 } });
const started = polls({ properties: { lastSuccessAt: 1 } });
const failed = polls({ sonics: { failure } });

const ready = { cloud: null, broker: null };
const works = { isWorking: true, status: 'up', reason: null, workedAt: null };

describe('the cloud', () => {
  it.each([
    ['works while the data is fresh', true, 'ok', null, read, works],
    ['works with a note', true, 'ok', 'a note', read, works],
    [
      'is connecting before any answer',
      ...([false, null, null, polls()] as const),
      { isWorking: false, status: 'connecting', reason: 'Waiting for the cloud to answer', workedAt: null },
    ],
    [
      'is loading once a list came',
      ...([false, null, null, started] as const),
      {
        isWorking: false,
        status: 'loading',
        reason: 'Connected, reading the account for the first time',
        workedAt: null,
      },
    ],
    [
      'is down when data is old, and says why',
      ...([false, 'degraded', 'sonics: 503', read] as const),
      { isWorking: false, status: 'down', reason: 'sonics: 503', workedAt: 5_000 },
    ],
    [
      'is down when data is old, whatever the reason',
      ...([false, 'ok', null, read] as const),
      { isWorking: false, status: 'down', reason: 'No fresh data from the cloud', workedAt: 5_000 },
    ],
    [
      'is down if it was never there',
      ...([false, 'cloud_unreachable', 'no such host', failed] as const),
      { isWorking: false, status: 'down', reason: 'no such host', workedAt: null },
    ],
    [
      'is down while its data is still fresh',
      ...([true, 'cloud_unreachable', '503', read] as const),
      { isWorking: true, status: 'down', reason: '503', workedAt: 5_000 },
    ],
  ] as const)('%s', (_, isCloudFresh, status, cloudReason, records, expected) => {
    expect(cloudReadiness({ isCloudFresh, status, cloudReason, unready: ready }, records)).toEqual(expected);
  });
});

describe('the broker', () => {
  it.each([
    ['works once the devices are there', true, null, null, true, true, works],
    [
      'is connecting before the first attempt has ended',
      ...([false, null, null, false, false] as const),
      { isWorking: false, status: 'connecting', reason: 'not connected to the MQTT broker', workedAt: null },
    ],
    [
      'is down if it was never there',
      ...([false, 'refused', null, false, false] as const),
      { isWorking: false, status: 'down', reason: 'refused', workedAt: null },
    ],
    [
      'is down when the connection has ended',
      ...([false, 'refused', 7_000, true, true] as const),
      { isWorking: false, status: 'down', reason: 'refused', workedAt: 7_000 },
    ],
    [
      'is loading while nothing is known',
      ...([true, null, null, false, false] as const),
      {
        isWorking: false,
        status: 'loading',
        reason: 'Connected, waiting for data from the cloud',
        workedAt: null,
      },
    ],
    [
      'is loading while the devices are on their way',
      ...([true, null, null, true, false] as const),
      { isWorking: false, status: 'loading', reason: 'Connected, publishing devices …', workedAt: null },
    ],
  ] as const)('%s', (_, isConnected, trouble, lostAt, isShowingDevices, hasShownDevices, expected) => {
    const progress = { isShowingDevices, hasShownDevices };
    const health = { brokerLostAt: lostAt, unready: ready };
    expect(brokerReadiness({ isConnected, trouble }, health, progress)).toEqual(expected);
  });
});

it('a side that is connected stays up, but does not work, while health says that it is not ready', () => {
  const unready = { cloud: 'incidents wait', broker: 'messages are rejected' };
  const cloud = { isCloudFresh: true, status: 'degraded', cloudReason: null, unready } as const;
  expect(cloudReadiness(cloud, read)).toMatchObject({
    isWorking: false,
    status: 'up',
    reason: 'incidents wait',
  });
  const connection = { isConnected: true, trouble: null };
  const progress = { isShowingDevices: true, hasShownDevices: true };
  expect(brokerReadiness(connection, { brokerLostAt: null, unready }, progress)).toMatchObject({
    isWorking: false,
    status: 'up',
    reason: 'messages are rejected',
  });
});
