import { describe, expect, it } from 'vitest';
import { isConnected, isSignalReachable, isSonicReachable } from '../../../src/model/devices.ts';
import { aSignal, aSonic, signalView, sonicView } from '../../support/views.ts';

it.each([
  ['connected', true],
  ['Connected', true],
  ['disconnected', false],
  [' DISCONNECTED', false],
  ['weak', null],
  ['', null],
  [null, null],
])('a link that the cloud calls %s is connected: %s', (link, expected) => {
  expect(isConnected(link)).toBe(expected);
});

it.each([
  ['connected', true],
  ['Connected', true],
  ['disconnected', false],
  ['weak', true],
  ['', true],
  [null, false],
])('a signal whose cloud link is %s is reachable: %s', (link, expected) => {
  const view = signalView({ signal: aSignal({ cloud_connection: link }) });
  expect(isSignalReachable(view)).toBe(expected);
  expect(isSignalReachable({ ...view, isStale: true })).toBe(false);
  // A single reading does not count, but one that says nothing.
  expect(isSignalReachable({ ...view, isFlap: true })).toBe(link !== null);
});

describe('a sonic is reachable', () => {
  it.each([
    ['connected', 'connected', true],
    ['disconnected', 'connected', false],
    ['connected', 'disconnected', false],
    ['disconnected', 'disconnected', false],
    [null, 'connected', false],
    ['connected', null, false],
    [null, null, false],
    [null, 'disconnected', false],
    ['weak', 'online', true],
    ['weak', 'Disconnected', false],
  ])('with its radio link %s and its signal %s: %s', (radio, cloud, expected) => {
    const sonic = aSonic({ radio_connection: radio });
    const signal = aSignal({ cloud_connection: cloud });
    expect(isSonicReachable(sonicView({ sonic, signal }))).toBe(expected);
  });

  it('not as long as its signal could not be read: nothing of that link is known', () => {
    expect(isSonicReachable(sonicView({ signal: 'unknown' }))).toBe(false);
    expect(isSonicReachable(sonicView({ isSignalReachable: null }))).toBe(false);
  });

  it('although a single reading says that a link is down, as it may be a flap', () => {
    const sonic = aSonic({ radio_connection: 'disconnected' });
    const signal = aSignal({ cloud_connection: 'disconnected' });
    expect(isSonicReachable(sonicView({ sonic, isFlap: true }))).toBe(true);
    expect(isSonicReachable(sonicView({ signal, isSignalReachable: true }))).toBe(true);
    expect(isSonicReachable(sonicView({ sonic, signal, isFlap: true }))).toBe(false);
  });

  it('by the link of a Wi-Fi sonic, which may be null', () => {
    const wifi = (radio_connection: string | null) =>
      isSonicReachable(sonicView({ sonic: aSonic({ radio_connection }), isWifi: true, signal: 'none' }));
    expect(['connected', 'disconnected', null].map(wifi)).toEqual([true, false, true]);
  });

  it('by its radio link alone where it has no signal', () => {
    expect(isSonicReachable(sonicView({ signal: 'none' }))).toBe(true);
    expect(isSonicReachable(sonicView({ signal: 'none', isStale: true }))).toBe(false);
    const sonic = aSonic({ radio_connection: 'disconnected' });
    expect(isSonicReachable(sonicView({ sonic, signal: 'none' }))).toBe(false);
  });
});
