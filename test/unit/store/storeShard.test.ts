import { beforeEach, describe, expect, it } from 'vitest';
import { bridgeOf } from '../../../src/model/shard.ts';
import { Store } from '../../../src/store/store.ts';
import type { Reading } from '../../../src/store/table.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { anIncident, aProperty, aSignal, aSonic } from '../../support/views.ts';

const count = 2;
/** Ids of which every other belongs to the first bridge. */
const idsFor = (index: number, start: string) =>
  Array.from({ length: 50 }, (_, number) => `${start}-${number}`).filter(
    (id) => bridgeOf(id, count) === index,
  );
const [ours = '', oursToo = ''] = idsFor(0, 'property');
const [theirs = ''] = idsFor(1, 'property');
const [answeredHere = ''] = idsFor(0, 'stranger');
const [answeredThere = ''] = idsFor(1, 'stranger');

let time = 0;
const complete = <T>(records: readonly T[]): Reading<T> => ({ records, isComplete: true, startedAt: time++ });

let store: Store;
const events: { event: string; record: { id: string } }[] = [];
const eventsOf = (deed: () => unknown) => {
  events.length = 0;
  deed();
  return events.map(({ event, record }) => `${event} ${record.id}`);
};

const sonics = [
  aSonic({ id: 'sink', signal_id: 'hub' }),
  aSonic({ id: 'bath', signal_id: 'far' }),
  aSonic({ id: 'shed', signal_id: answeredHere }),
  aSonic({ id: 'barn', signal_id: answeredThere }),
];
const signals = ['hub', 'far', answeredHere, answeredThere].map((id) => aSignal({ id }));
const atSonic = (id: string, sonic: string) => anIncident({ id, sonic_id: sonic, signal_id: null });
const newStore = (selection: readonly string[] = []) =>
  new Store({ selection, shard: { index: 0, count }, clock: new FakeClock() });

/** The store of the first of two bridges; each has a property with a signal and a sonic, and two signals are in none. */
function furnish(selection: readonly string[] = []): void {
  store = newStore(selection);
  store.on('device', (event) => events.push(event));
  store.on('incident', (event) => events.push(event));
  const named = (id: string) => aProperty({ id, name: id });
  store.replaceProperties(complete([named(ours), named(oursToo), named(theirs)]));
  store.setOwnedSignals(ownedSignals(ours, ['hub']));
  store.setOwnedSignals(ownedSignals(oursToo, []));
  store.setOwnedSignals(ownedSignals(theirs, ['far']));
  store.replaceSignals(complete(signals));
  store.replaceSonics(complete(sonics));
  store.replaceIncidents(complete([atSonic('leak', 'sink'), atSonic('their-leak', 'bath')]));
  store.takeDirty();
}

describe('the store of one of several bridges', () => {
  beforeEach(() => furnish());

  it('shows what is in its properties, and of what is in none what its hash gives it', () => {
    expect(store.ids('property')).toEqual([ours, oursToo]);
    expect(store.ids('signal')).toEqual(['hub', answeredHere]);
    expect(store.ids('sonic')).toEqual(['sink', 'shed']);
    expect(store.ids('incident')).toEqual(['leak']);
    expect(store.topology.otherPropertyIds).toEqual([theirs]);
    expect(store.topology.signalsIn(ours)).toEqual(['hub']);
    const left = [
      ['property', theirs],
      ['signal', 'far'],
      ['sonic', 'bath'],
      ['sonic', 'barn'],
      ['incident', 'their-leak'],
    ] as const;
    for (const [kind, id] of left) expect(store.isLeftToOthers(kind, id)).toBe(true);
    for (const kind of ['property', 'signal', 'sonic', 'incident'] as const) {
      for (const id of [...store.ids(kind), 'gone']) expect(store.isLeftToOthers(kind, id)).toBe(false);
    }
  });

  it('asks every property for its signals: what is in another is another bridge’s', () => {
    expect(store.topology.propertyIdsToRead()).toEqual([ours, oursToo, theirs]);
  });

  it('answers for nothing that another shows, and for what nobody has by its id', () => {
    expect(store.answersFor('sonic', 'bath')).toBe(false);
    expect(store.answersFor('incident', 'their-leak')).toBe(false);
    expect(store.answersFor('property', theirs)).toBe(false);
    for (const kind of ['sonic', 'signal', 'property', 'incident'] as const) {
      expect(store.answersFor(kind, answeredHere)).toBe(true);
      expect(store.answersFor(kind, answeredThere)).toBe(false);
    }
  });

  it('names the bridge that moves a valve, however its id is spelled', () => {
    const mover = (id: string) => store.topology.otherMover(id);
    expect(['sink', 'SINK', 'bath', 'BATH'].map(mover)).toEqual([null, null, 'bridge_1', 'bridge_1']);
    expect([answeredHere, answeredThere].map(mover)).toEqual([null, 'bridge_1']);
    // By its own spelling each would be the other bridge's.
    const [here, there] = [answeredThere.toUpperCase(), answeredHere.toUpperCase()];
    const loud = [aSonic({ id: here, signal_id: 'hub' }), aSonic({ id: there, signal_id: 'far' })];
    store.replaceSonics(complete([...sonics, ...loud]));
    expect([answeredThere, answeredHere].map(mover)).toEqual([null, 'bridge_1']);
  });

  /** Its signal may have moved too: only the lists of signals that are read after it tell where it is. */
  const readSignals = (property: string, ids: string[]) =>
    store.setOwnedSignals(ownedSignals(property, ids, true, time++));

  it('lets go of a sonic that has gone to another bridge, and of its incident, which has not closed', () => {
    const gone = aSonic({ id: 'sink', signal_id: 'far' });
    expect(eventsOf(() => store.replaceSonics(complete([gone, ...sonics.slice(1)])))).toEqual([]);
    expect(eventsOf(() => readSignals(theirs, ['far']))).toEqual(['device_removed sink']);
    expect([store.sonicView('sink'), store.incidents.get('leak')]).toEqual([null, null]);
    expect([store.isLeftToOthers('sonic', 'sink'), store.isLeftToOthers('incident', 'leak')]).toEqual([
      true,
      true,
    ]);
    expect(eventsOf(() => store.replaceIncidents(complete([atSonic('leak', 'sink')])))).toEqual([]);
  });

  it('takes over what comes from another bridge: it was there before, and so was its incident', () => {
    const come = sonics.map((each) => (each.id === 'bath' ? aSonic({ id: 'bath', signal_id: 'hub' }) : each));
    expect(eventsOf(() => store.replaceSonics(complete(come)))).toEqual([]);
    expect(eventsOf(() => readSignals(ours, ['hub']))).toEqual([
      'device_added bath',
      'incident_moved their-leak',
    ]);
    const incidents = [atSonic('leak', 'sink'), atSonic('their-leak', 'bath'), atSonic('new-leak', 'bath')];
    expect(eventsOf(() => store.replaceIncidents(complete(incidents)))).toEqual(['incident_opened new-leak']);
  });

  it('leaves to another bridge the incident of a sonic that turns out to be its', () => {
    const id = idsFor(0, 'attic')[0] ?? '';
    store.replaceIncidents(complete([atSonic(id, 'attic')]));
    expect(store.ids('incident')).toEqual([id]);
    const attic = { ...aSonic({ id: 'attic', signal_id: null }), property_id: theirs };
    expect(
      eventsOf(() => store.replaceSonics(complete(sonics), { records: [attic], isComplete: true })),
    ).toEqual([]);
    expect([store.incidents.get(id), store.isLeftToOthers('incident', id)]).toEqual([null, true]);
  });

  it('lets go of a signal with its sonics as soon as its property is another bridge’s', () => {
    expect(eventsOf(() => store.setOwnedSignals(ownedSignals(theirs, ['far', 'hub'])))).toEqual([
      'device_removed hub',
      'device_removed sink',
    ]);
    expect([store.signalView('hub'), store.sonicView('sink')]).toEqual([null, null]);
    expect([store.isLeftToOthers('signal', 'hub'), store.isLeftToOthers('sonic', 'sink')]).toEqual([
      true,
      true,
    ]);
  });

  it('keeps one in its property that a single list of it misses', () => {
    expect(eventsOf(() => store.setOwnedSignals(ownedSignals(ours, [])))).toEqual([]);
    expect(store.sonicView('sink')?.propertyId).toBe(ours);
  });

  it('does not decide of what is in no property before it knows what is in each', () => {
    const fresh = newStore();
    fresh.replaceProperties(complete([aProperty({ id: ours }), aProperty({ id: theirs })]));
    fresh.setOwnedSignals(ownedSignals(ours, []));
    fresh.setOwnedSignals(ownedSignals(theirs, [], false));
    fresh.replaceSignals(complete(signals));
    fresh.takeDirty();
    expect(fresh.ids('signal')).toEqual([]);
    for (const { id } of signals) expect(fresh.isLeftToOthers('signal', id)).toBe(true);
    fresh.setOwnedSignals(ownedSignals(theirs, ['far']));
    const hubs = signals.map(({ id }) => id).filter((id) => id !== 'far' && bridgeOf(id, count) === 0);
    expect(fresh.ids('signal')).toEqual(hubs);
    expect(fresh.takeDirty().signal).toEqual(new Set(hubs));
  });

  it('forgets what is listed no more after two complete readings, and not before', () => {
    const rest = sonics.filter(({ id }) => id !== 'bath');
    store.replaceSonics(complete(rest));
    store.replaceSonics({ ...complete(rest), isComplete: false });
    expect(store.isLeftToOthers('sonic', 'bath')).toBe(true);
    store.replaceSonics(complete(rest));
    expect(store.isLeftToOthers('sonic', 'bath')).toBe(false);
  });

  it('shows an incident that names no device where its id says', () => {
    const nameless = [answeredHere, answeredThere].map((id) =>
      anIncident({ id, sonic_id: null, signal_id: null }),
    );
    store.replaceIncidents(complete(nameless));
    expect(store.ids('incident')).toEqual([answeredHere]);
    // It may be in what is selected.
    furnish([ours]);
    store.replaceIncidents(complete(nameless));
    expect(store.ids('incident')).toEqual([answeredHere]);
    // And each may be at what this bridge shows.
    expect(store.sonicView('sink')?.possibleIncidents).toHaveLength(2);
  });

  it('filters first: a name that another bridge has is not unknown, and what is left out here is refused here', () => {
    furnish([ours, theirs, 'Nowhere']);
    expect(store.ids('property')).toEqual([ours]);
    // What is in no property is not selected.
    expect(store.ids('sonic')).toEqual(['sink']);
    expect(store.filter.unmatched).toEqual(['Nowhere']);
    expect([store.answersFor('property', oursToo), store.answersFor('property', theirs)]).toEqual([
      true,
      false,
    ]);
  });
});

describe('the store of a bridge that is alone', () => {
  it('answers for everything and leaves nothing to others', () => {
    store = new Store({ selection: [ours], clock: new FakeClock() });
    store.replaceProperties(complete([aProperty({ id: ours }), aProperty({ id: theirs })]));
    store.setOwnedSignals(ownedSignals(ours, ['hub']));
    store.replaceSonics(complete(sonics));
    expect([store.answersFor('sonic', 'bath'), store.topology.otherMover('bath')]).toEqual([true, null]);
    expect([store.isLeftToOthers('sonic', 'bath'), store.isLeftToOthers('property', theirs)]).toEqual([
      false,
      false,
    ]);
    expect([store.topology.otherPropertyIds, store.topology.propertyIdsToRead()]).toEqual([[], [ours]]);
  });
});
