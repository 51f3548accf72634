import { describe, expect, it } from 'vitest';
import type { HealthReport } from '../../../src/health/health.ts';
import { brokerSide, cloudSide } from '../../../src/health/sides.ts';
import type { HealthStatus } from '../../../src/model/devices.ts';
import { byPoll } from '../../../src/model/polls.ts';
import { neverPolled, type PollStatus, type StatusByPoll } from '../../../src/polling/pollStatus.ts';
import { bad } from '../../support/healthFacts.ts';

const polls = (changes: Partial<Record<keyof StatusByPoll, Partial<PollStatus>>> = {}) =>
  byPoll((name) => ({ ...neverPolled, ...changes[name] }));
const read = polls({ properties: { lastSuccessAt: 1 }, sonics: { lastSuccessAt: 5_000 } });
const started = polls({ properties: { lastSuccessAt: 1 } });
const failed = polls({ sonics: { failure: bad('unavailable').failure } });

/** A report with one problem of the cloud. */
const report = (status: HealthStatus, message?: string, stops?: 'cloud' | 'broker'): HealthReport => ({
  status,
  problems: message === undefined ? [] : [{ source: 'cloud', status, message, key: message, stops }],
});

const ready = ['up', true, null, null] as const;

describe('the cloud', () => {
  it.each([
    ['works while the data is fresh', report('ok'), true, read, ready],
    ['works with a note', report('ok', 'a note'), true, read, ready],
    [
      'is up but not ready where a problem stops it',
      report('degraded', 'late', 'cloud'),
      true,
      read,
      ['up', false, 'late', null],
    ],
    ['is not stopped by a problem of the broker', report('degraded', 'refused', 'broker'), true, read, ready],
    [
      'is connecting before any answer',
      ...([null, false, polls(), ['connecting', false, 'Waiting for the cloud to answer', null]] as const),
    ],
    [
      'is loading once a list came',
      ...([
        null,
        false,
        started,
        ['loading', false, 'Connected, reading the account for the first time', null],
      ] as const),
    ],
    [
      'is down when data is old, and says why',
      report('degraded', '503'),
      false,
      read,
      ['down', false, '503', 5_000],
    ],
    [
      'is down when data is old, whatever the reason',
      ...([report('ok'), false, read, ['down', false, 'No fresh data from the cloud', 5_000]] as const),
    ],
    [
      'is down if it was never there',
      report('cloud_unreachable', '503'),
      false,
      failed,
      ['down', false, '503', null],
    ],
    [
      'is down while its data is still fresh',
      report('cloud_unreachable', '503'),
      true,
      read,
      ['down', true, '503', 5_000],
    ],
  ] as const)('%s', (_, health, isFresh, records, [status, isReady, reason, workedAt]) => {
    expect(cloudSide(health, isFresh, records)).toEqual({ status, isReady, reason, workedAt });
  });
});

describe('the broker', () => {
  const away = 'not connected to the MQTT broker';
  it.each([
    ['works once the devices are there', true, null, null, 'shown', ready],
    [
      'is connecting before the first attempt has ended',
      false,
      null,
      null,
      'none',
      ['connecting', false, away, null],
    ],
    ['is down if it was never there', false, 'refused', null, 'none', ['down', false, 'refused', null]],
    [
      'is down when the connection has ended',
      false,
      'refused',
      7_000,
      'shown',
      ['down', false, 'refused', 7_000],
    ],
    [
      'is loading while nothing is known',
      ...([
        true,
        null,
        null,
        'none',
        ['loading', false, 'Connected, waiting for data from the cloud', null],
      ] as const),
    ],
    [
      'is loading while the devices are on their way',
      ...([true, null, null, 'some', ['loading', false, 'Connected, publishing devices …', null]] as const),
    ],
  ] as const)('%s', (_, isConnected, trouble, lostAt, shown, [status, isReady, reason, workedAt]) => {
    const progress = { isShowingDevices: shown !== 'none', hasShownDevices: shown === 'shown' };
    const side = brokerSide(null, { isConnected, trouble }, lostAt, progress);
    expect(side).toEqual({ status, isReady, reason, workedAt });
  });

  it('is up but not ready where a problem stops it', () => {
    const shown = { isShowingDevices: true, hasShownDevices: true };
    const health = report('degraded', 'messages are rejected', 'broker');
    const side = brokerSide(health, { isConnected: true, trouble: null }, null, shown);
    expect(side).toEqual({ status: 'up', isReady: false, reason: 'messages are rejected', workedAt: null });
  });
});
