import { expect, it } from 'vitest';
import { accountProblems } from '../../../src/health/accountProblems.ts';
import type { PropertySettings } from '../../../src/model/records.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { aProperty, aSignal, aSonic } from '../../support/views.ts';

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
    `ok: Unknown time zone of Home: "Europe/Londn". Days begin by the last known time zone, or else by schedules.timezone. Correct it in the vendor's app`,
  ]);
});

it('does not deny a hub that is in a property which the filter leaves out', () => {
  const store = new Store({ selection: ['Home'], clock: new FakeClock(0) });
  const complete = { isComplete: true, startedAt: 0 };
  const [home, other] = [aProperty({ id: 'property-1', name: 'Home' }), aProperty({ id: 'property-2' })];
  store.replaceProperties({ records: [home, other], ...complete });
  store.replaceSignals({ records: [aSignal()], ...complete });
  store.setOwnedSignals(
    new Map([
      ['property-1', { records: [], ...complete }],
      ['property-2', { records: [aSignal()], ...complete }],
    ]),
  );
  store.replaceSonics({ records: [], ...complete });
  store.replaceIncidents({ records: [], ...complete });
  expect(accountProblems(store, true)).toEqual([
    { message: 'The selected properties have no hub, and others have. Correct filters.properties' },
  ]);
});

it('names the properties without a hub, unless a hub is in no list of a property', () => {
  const found = (listedAt: string | null) => {
    const store = new Store({ selection: [], clock: new FakeClock(0) });
    const complete = { isComplete: true, startedAt: 0 };
    const ids = ['property-1', 'property-2'];
    store.replaceProperties({ records: ids.map((id) => aProperty({ id, name: id })), ...complete });
    store.replaceSignals({ records: [aSignal()], ...complete });
    const lists = ids.map(
      (id) => [id, { records: id === listedAt ? [aSignal()] : [], ...complete }] as const,
    );
    store.setOwnedSignals(new Map(lists));
    store.replaceSonics({ records: [aSonic()], ...complete });
    store.replaceIncidents({ records: [], ...complete });
    return accountProblems(store, true).map(({ message }) => message);
  };
  expect(found('property-1')).toEqual(['No hub in property-2']);
  expect(found(null)).toEqual([]);
});

it('names a property that has left the account by its name', () => {
  const store = new Store({ selection: [], clock: new FakeClock(0) });
  const list = (records: Parameters<Store['replaceProperties']>[0]['records'], startedAt: number) =>
    store.replaceProperties({ records, isComplete: true, startedAt });
  list([aProperty({ id: 'property-1', name: 'Home' })], 0);
  list([], 1);
  list([], 2);
  expect(store.has('property', 'property-1')).toBe(false);
  expect(store.label('property', 'property-1')).toBe('"Home"');
});
