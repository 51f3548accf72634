import { expect, it } from 'vitest';
import { accountWarnings, outdatedFilterWarnings } from '../../../src/health/accountWarnings.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { aProperty } from '../../support/views.ts';

it('says which names in the filter are of no property, once all properties are known, and which are old', () => {
  const selection = ['Home', 'Nowhere'];
  const store = new Store({ selection, clock: new FakeClock(0) });
  const list = (name: string, isComplete: boolean) => {
    store.replaceProperties({ records: [aProperty({ id: 'home', name })], isComplete, startedAt: 0 });
  };
  list('Home', false);
  expect(accountWarnings(store, false)).toEqual([]);
  list('Home', true);
  expect(accountWarnings(store, false)).toEqual(['filters.properties: the account has no property Nowhere']);
  expect(outdatedFilterWarnings(store)).toEqual([]);
  list('Cottage', true);
  expect(outdatedFilterWarnings(store)).toEqual([
    expect.stringContaining(
      'no property Home any more: before the next start write its new name there, Cottage,',
    ),
  ]);
});
