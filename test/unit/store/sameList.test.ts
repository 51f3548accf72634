import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Sonic } from '../../../src/model/records.ts';
import { Store } from '../../../src/store/store.ts';
import type { Reading } from '../../../src/store/table.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { aProperty, aSignal, aSonic } from '../../support/views.ts';

const ids = ['kitchen', 'bath', 'shed'];
const places = ['hub', 'far', 'stray'] as const;
const states = ['open', 'closed', 'opening'] as const;

const anId = fc.constantFrom(...ids);
const aRecord = fc
  .record({ id: anId, signal_id: fc.constantFrom(...places), valve_state: fc.constantFrom(...states) })
  .map((fields) => aSonic(fields));
const aList = fc.uniqueArray(aRecord, { selector: ({ id }) => id, minLength: 1, maxLength: ids.length });

/** Something that is done to a store; `list` is the one that was read last. */
type Deed = (store: Store, list: readonly Sonic[], at: number) => unknown;

const aDeed: fc.Arbitrary<{ list?: Sonic[]; deed: Deed }> = fc.oneof(
  // A reading may have been begun before something that was heard since.
  {
    weight: 4,
    arbitrary: fc.nat(6).map((ago) => ({
      deed: (store: Store, list: readonly Sonic[], at: number) =>
        store.replaceSonics(reading(list, at - ago)),
    })),
  },
  aList.map((list) => ({ list, deed: (store: Store, _: unknown, at: number) => read(store, list, at) })),
  fc.tuple(fc.subarray(ids), fc.boolean()).map(([missing, isComplete]) => ({
    deed: (store: Store, list: readonly Sonic[], at: number) => {
      const records = list.filter(({ id }) => !missing.includes(id));
      return store.replaceSonics({ records, isComplete, startedAt: at });
    },
  })),
  aRecord.map((sonic) => ({ deed: (store: Store, _: unknown, at: number) => store.setSonic(sonic, at) })),
  aRecord.map((sonic) => ({
    deed: (store: Store, _: unknown, at: number) => store.setChangedSonic(sonic.id, sonic, at),
  })),
  fc.tuple(anId, fc.constantFrom('open' as const, 'close' as const)).map(([id, action]) => ({
    deed: (store: Store, _: unknown, at: number) => store.commandAccepted(id, action, at),
  })),
  fc.constant({ deed: (store: Store, _: unknown, at: number) => store.markStale('sonics', at - 20) }),
  fc.constantFrom('Home', 'Barn').map((name) => ({
    deed: (store: Store, _: unknown, at: number) =>
      store.replaceProperties(reading([aProperty({ id: 'home', name })], at)),
  })),
  fc.subarray([...places]).map((signals) => ({
    deed: (store: Store) => store.setOwnedSignals(ownedSignals('home', signals)),
  })),
);

const reading = <T>(records: readonly T[], startedAt: number): Reading<T> => ({
  records,
  isComplete: true,
  startedAt,
});
const read = (store: Store, list: readonly Sonic[], at: number) => store.replaceSonics(reading(list, at));

function eventsOf(store: Store, deed: () => unknown): object[] {
  const events: object[] = [];
  store.on('device', (event) => events.push(event));
  deed();
  store.removeAllListeners('device');
  return events;
}

function furnished(selection: readonly string[]): Store {
  const store = new Store({ selection, clock: new FakeClock(0) });
  store.replaceProperties(reading([aProperty({ id: 'home', name: 'Home' })], 0));
  store.setOwnedSignals(ownedSignals('home', ['hub', 'far']));
  store.replaceSignals(reading([aSignal({ id: 'hub' }), aSignal({ id: 'far' })], 0));
  return store;
}

/** What one does to a store shows so. */
const seen = (store: Store, deed: () => unknown) => ({
  events: eventsOf(store, deed),
  dirty: store.takeDirty(),
  sonics: ids.map((id) => [store.sonicView(id), store.devices.sonic.readAt(id)]),
});

it.each([
  ['all properties', []],
  ['those of a name', ['Home']],
])('a list that is the very same as before is taken in as its copy would be: %s', (_, selection) => {
  fc.assert(
    fc.property(aList, fc.array(aDeed, { maxLength: 12 }), (first, deeds) => {
      const [same, copied] = [furnished(selection), furnished(selection)];
      let list: readonly Sonic[] = first;
      let at = 10;
      for (const { list: next, deed } of [
        { list: first, deed: (each: Store) => read(each, first, 10) },
        ...deeds,
      ]) {
        list = next ?? list;
        at += 5;
        const copy = list.map((sonic) => ({ ...sonic }));
        expect(seen(same, () => deed(same, list, at))).toEqual(seen(copied, () => deed(copied, copy, at)));
      }
    }),
    { numRuns: 1_000 },
  );
});
