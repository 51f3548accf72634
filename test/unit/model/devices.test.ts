import { describe, expect, it } from 'vitest';
import { isConnected, isSignalReachable, isSonicReachable } from '../../../src/model/devices.ts';
import { aSignal, aSonic, sonicView } from '../../support/views.ts';

it.each([
  ['connected', true],
  ['disconnected', false],
  ['poor', false],
  ['', false],
  [null, null],
])('a link that the cloud calls %s is connected: %s', (link, expected) => {
  expect(isConnected(link)).toBe(expected);
});

it.each([
  ['connected', true],
  ['disconnected', false],
  [null, true],
])('a signal whose cloud link is %s is reachable: %s', (link, expected) => {
  expect(isSignalReachable(aSignal({ cloud_connection: link }))).toBe(expected);
});

describe('a sonic is reachable', () => {
  it.each([
    ['connected', 'connected', true],
    ['disconnected', 'connected', false],
    ['connected', 'disconnected', false],
    ['disconnected', 'disconnected', false],
    [null, 'connected', true],
    ['connected', null, true],
    [null, null, true],
    [null, 'disconnected', false],
  ])('with its radio link %s and its signal %s: %s', (radio, cloud, expected) => {
    const sonic = aSonic({ radio_connection: radio });
    const signal = aSignal({ cloud_connection: cloud });
    expect(isSonicReachable(sonicView({ sonic, signal }))).toBe(expected);
  });

  it('or not, as long as its signal could not be read, unless its radio link is down', () => {
    expect(isSonicReachable(sonicView({ signal: undefined }))).toBeUndefined();
    const sonic = aSonic({ radio_connection: 'disconnected' });
    expect(isSonicReachable(sonicView({ sonic, signal: undefined }))).toBe(false);
    expect(isSonicReachable(sonicView({ signal: undefined, isUnread: true }))).toBe(false);
  });

  it('by its radio link alone where its signal is in no list', () => {
    expect(isSonicReachable(sonicView({ signal: null }))).toBe(true);
    expect(isSonicReachable(sonicView({ signal: null, isUnread: true }))).toBe(false);
    const sonic = aSonic({ radio_connection: 'disconnected' });
    expect(isSonicReachable(sonicView({ sonic, signal: null }))).toBe(false);
  });
});
