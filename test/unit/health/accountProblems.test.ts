import { expect, it } from 'vitest';
import { accountProblems } from '../../../src/health/accountProblems.ts';
import type { PropertySettings } from '../../../src/model/records.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { aProperty } from '../../support/views.ts';

it('names the entries of the filter that match no property, once all properties are known, and the old ones', () => {
  const selection = ['Home', 'Nowhere'];
  const store = new Store({ selection, clock: new FakeClock(0) });
  const list = (name: string, isComplete: boolean) => {
    store.replaceProperties({ records: [aProperty({ id: 'property-1', name })], isComplete, startedAt: 0 });
  };
  const found = () =>
    accountProblems(store, false).map(({ status = 'degraded', message }) => `${status}: ${message}`);
  list('Home', false);
  expect(found()).toEqual([]);
  list('Home', true);
  const unmatched = 'ok: filters.properties: the account has no property Nowhere. Check the name';
  expect(found()).toEqual([unmatched]);
  list('Cottage', true);
  expect(found()).toEqual([
    'degraded: filters.properties: Home is now called Cottage. Correct the name before the next restart',
  ]);
});

it('names a property with a time zone that does not exist', () => {
  const store = new Store({ selection: [], clock: new FakeClock(0) });
  store.replaceProperties({
    records: [aProperty({ id: 'property-1', name: 'Home' })],
    isComplete: true,
    startedAt: 0,
  });
  const found = () =>
    accountProblems(store, false).map(({ status = 'degraded', message }) => `${status}: ${message}`);
  for (const timezone of [null, 'Europe/London']) {
    store.setSettings('property-1', { timezone } as PropertySettings, 1);
    expect(found()).toEqual([]);
  }
  store.setSettings('property-1', { timezone: 'Europe/Londn' } as PropertySettings, 2);
  expect(found()).toEqual([
    `ok: Unknown time zone of Home: "Europe/Londn". Its days begin by schedules.timezone. Correct it in the vendor's app`,
  ]);
});
