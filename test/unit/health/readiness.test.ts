import { describe, expect, it } from 'vitest';
import { evaluateReadiness, type ReadinessInputs } from '../../../src/health/readiness.ts';

const good: ReadinessInputs = {
  cloud: { isFresh: true, status: 'ok', reason: null, isTried: true, isJudged: true, readAt: 5_000 },
  broker: { isConnected: true, trouble: null, lostAt: null, isShown: true, isShowing: true },
};
const untried = { isFresh: false, status: null, isTried: false, isJudged: false, readAt: null };
const old = { isFresh: false, status: 'degraded' } as const;
const none = { isConnected: false, isShown: false, isShowing: false };

const works = { isWorking: true, status: 'up', reason: null, workedAt: null };

describe('the two sides of the bridge', () => {
  it('work while the data is fresh, and the broker has what is known', () => {
    expect(evaluateReadiness(good)).toEqual({ cloud: works, broker: works });
  });

  it.each<[string, Partial<ReadinessInputs['cloud']>, string, string, number | null]>([
    ['nothing has answered', untried, 'connecting', 'the cloud has not answered yet', null],
    [
      'the first lists came',
      { ...untried, isTried: true },
      'loading',
      'Connected, reading the account for the first time',
      null,
    ],
    ['data is old', { ...old, reason: 'sonics: 503' }, 'down', 'sonics: 503', 5_000],
    ['it is silent', old, 'down', 'the cloud has said nothing new for too long', 5_000],
    [
      'it was never there',
      { ...untried, isTried: true, status: 'cloud_unreachable', reason: 'no such host' },
      ...(['down', 'no such host', null] as const),
    ],
  ])('of the cloud is said how it is and why, where %s', (_, changes, status, reason, workedAt) => {
    const { cloud, broker } = evaluateReadiness({ ...good, cloud: { ...good.cloud, ...changes } });
    expect(cloud).toEqual({ isWorking: false, status, reason, workedAt });
    expect(broker).toEqual(works);
  });

  it('count the data of a cloud that has just gone as fresh, and the cloud as down', () => {
    const { cloud } = evaluateReadiness({
      ...good,
      cloud: { ...good.cloud, status: 'cloud_unreachable', reason: '503' },
    });
    expect(cloud).toEqual({ isWorking: true, status: 'down', reason: '503', workedAt: 5_000 });
  });

  it.each<[string, Partial<ReadinessInputs['broker']>, string, string, number | null]>([
    ['it was not tried', none, 'connecting', 'not connected to the MQTT broker yet', null],
    ['it was never there', { ...none, trouble: 'refused' }, 'down', 'refused', null],
    ['it has gone', { isConnected: false, trouble: 'refused', lostAt: 7_000 }, 'down', 'refused', 7_000],
    [
      'nothing is known',
      { isShown: false, isShowing: false },
      ...(['loading', 'Connected, waiting for data from the cloud', null] as const),
    ],
    ['the devices are on their way', { isShown: false }, 'loading', 'Connected, publishing devices …', null],
  ])('of the broker is said how it is and why, where %s', (_, changes, status, reason, workedAt) => {
    const { cloud, broker } = evaluateReadiness({ ...good, broker: { ...good.broker, ...changes } });
    expect(broker).toEqual({ isWorking: false, status, reason, workedAt });
    expect(cloud).toEqual(works);
  });
});
