import { describe, expect, it } from 'vitest';
import { type Signs, wellbeingOf } from '../../../src/bridge/wellbeing.ts';

const good: Signs = {
  isCloudFresh: true,
  cloudReason: 'usage: 503',
  isConnected: true,
  brokerReason: null,
  isShown: true,
};

describe('the two sides of the bridge', () => {
  it('work while the data is fresh, and the broker has what is known', () => {
    const works = { isWorking: true, reason: null };
    expect(wellbeingOf(good)).toEqual({ cloud: works, broker: works });
  });

  it.each<[string, Partial<Signs>, 'cloud' | 'broker', string]>([
    ['data is old', { isCloudFresh: false }, 'cloud', 'usage: 503'],
    [
      'nothing is known',
      { isCloudFresh: false, cloudReason: null },
      'cloud',
      'the cloud has not answered yet',
    ],
    ['the broker is away', { isConnected: false, brokerReason: 'refused' }, 'broker', 'refused'],
    ['it was never there', { isConnected: false }, 'broker', 'not connected to the MQTT broker yet'],
    ['nothing was shown', { isShown: false }, 'broker', 'connected, but the devices were not shown yet'],
  ])('say which of them does not and why, where %s', (_, changes, side, reason) => {
    const wellbeing = wellbeingOf({ ...good, ...changes });
    expect(wellbeing[side]).toEqual({ isWorking: false, reason });
    expect(wellbeing[side === 'cloud' ? 'broker' : 'cloud'].isWorking).toBe(true);
  });
});
