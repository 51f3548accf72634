import { describe, expect, it } from 'vitest';
import {
  isAvailable,
  isConnected,
  linkWord,
  type Reach,
  signalReach,
  sonicReach,
} from '../../../src/model/reach.ts';
import { aSignal, aSonic } from '../../support/views.ts';

it.each([
  ['connected', true],
  ['Connected', true],
  ['disconnected', false],
  [' DISCONNECTED', false],
  ['offline', null],
  ['lost', null],
  ['', null],
  [null, null],
])('a link that the cloud calls %s is connected: %s', (link, expected) => {
  expect(isConnected(link)).toBe(expected);
});

it('only a sonic on Wi-Fi needs no link', () => {
  const sonic = aSonic({ radio_connection: null });
  expect([linkWord(sonic, true), linkWord(sonic, false)]).toEqual([undefined, null]);
  expect(linkWord(aSonic({ radio_connection: 'lost' }), true)).toBe('lost');
  expect(linkWord(aSignal({ cloud_connection: null }), false)).toBeNull();
});

it.each<[link: boolean | null, isStale: boolean, isCloudLost: boolean, Reach]>([
  [true, false, false, 'up'],
  [false, false, false, 'offline'],
  [null, false, false, 'unknown'],
  [true, false, true, 'offline'],
  [null, false, true, 'offline'],
  [true, true, false, 'stale'],
  [false, true, true, 'stale'],
])(
  'a signal with link %s, stale %s, lost by an incident %s is %s',
  (link, isStale, isCloudLost, expected) => {
    expect(signalReach(link, isStale, isCloudLost)).toBe(expected);
  },
);

describe('a sonic', () => {
  it.each<[link: boolean | null, hub: Reach | null, Reach]>([
    [true, 'up', 'up'],
    [true, 'unknown', 'unknown'],
    [true, 'offline', 'hub_offline'],
    [true, 'stale', 'hub_unread'],
    [true, null, 'hub_unread'],
    [false, 'up', 'offline'],
    [false, 'unknown', 'offline'],
    [false, 'offline', 'hub_offline'],
    [false, 'stale', 'offline'],
    [false, null, 'offline'],
    [null, 'up', 'unknown'],
    [null, 'unknown', 'unknown'],
    [null, 'offline', 'hub_offline'],
    [null, 'stale', 'hub_unread'],
  ])('with link %s and a hub that is %s is %s', (link, hub, expected) => {
    expect(sonicReach(link, false, hub)).toBe(expected);
    expect(sonicReach(link, true, hub)).toBe('stale');
  });

  it('stays available with an unknown link', () => {
    const reaches: readonly Reach[] = ['up', 'unknown', 'offline', 'hub_offline', 'hub_unread', 'stale'];
    expect(reaches.map(isAvailable)).toEqual([true, true, false, false, false, false]);
  });
});
