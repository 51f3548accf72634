import { beforeEach, describe, expect, it } from 'vitest';
import { bridgeOf } from '../../../src/model/shard.ts';
import { type Reading, Store } from '../../../src/store/store.ts';
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
const incomplete = <T>(records: readonly T[]): Reading<T> => ({ ...complete(records), isComplete: false });

let store: Store;
let crossings: string[];

const sonics = [
  aSonic({ id: 'sink', signal_id: 'hub' }),
  aSonic({ id: 'bath', signal_id: 'far' }),
  aSonic({ id: 'shed', signal_id: 'stray' }),
];
const signals = ['hub', 'far', 'stray'].map((id) => aSignal({ id }));
const atSonic = (id: string, sonic: string) => anIncident({ id, sonic_id: sonic, signal_id: null });

/** The store of the first of two bridges; each has a property with a signal and a sonic, and one signal is in none. */
function furnish(selection: readonly string[] = []): void {
  crossings = [];
  const crossed = (other: string) => void crossings.push(other);
  store = new Store({ selection, shard: { index: 0, count }, crossed, staleAfterMs: 100 }, () => {});
  const named = (id: string) => aProperty({ id, name: id });
  store.replaceProperties(complete([named(ours), named(oursToo), named(theirs)]));
  store.setOwnedSignals(ours, ['hub'], true);
  store.setOwnedSignals(oursToo, [], true);
  store.setOwnedSignals(theirs, ['far'], true);
  store.replaceSignals(complete(signals));
  store.replaceSonics(complete(sonics));
  store.replaceIncidents(complete([atSonic('leak', 'sink'), atSonic('their-leak', 'bath')]));
  store.takeDirty();
}

describe('the store of one of several bridges', () => {
  beforeEach(() => furnish());

  it('shows its own part, and knows what is in the others', () => {
    expect(store.counts()).toEqual({ properties: 2, signals: 1, sonics: 1, open_incidents: 1 });
    expect(store.neighbourhood.unshownPropertyIds()).toEqual([theirs]);
    expect(store.ownedSignalIds()).toEqual(['hub']);
    expect([
      store.neighbourhood.isElsewhere('sonic', 'bath'),
      store.neighbourhood.isElsewhere('sonic', 'shed'),
    ]).toEqual([true, false]);
    expect([
      store.neighbourhood.isElsewhere('incident', 'their-leak'),
      store.neighbourhood.isElsewhere('property', theirs),
    ]).toEqual([true, true]);
    expect(store.neighbourhood.leftOut).toBe(1);
    expect(crossings).toEqual([]);
  });

  it('answers for nothing that another shows, and for what nobody has by its id', () => {
    expect(store.neighbourhood.answersFor('sonic', 'bath')).toBe(false);
    expect(store.neighbourhood.answersFor('incident', 'their-leak')).toBe(false);
    expect(store.neighbourhood.answersFor('property', theirs)).toBe(false);
    for (const kind of ['sonic', 'signal', 'property', 'incident'] as const) {
      expect(store.neighbourhood.answersFor(kind, answeredHere)).toBe(true);
      expect(store.neighbourhood.answersFor(kind, answeredThere)).toBe(false);
    }
  });

  it('names the bridge that moves a valve, however its id is spelled', () => {
    expect(store.neighbourhood.otherMover('sink')).toBeNull();
    expect(store.neighbourhood.otherMover('SINK')).toBeNull();
    expect([store.neighbourhood.otherMover('bath'), store.neighbourhood.otherMover('BATH')]).toEqual([
      'bridge_1',
      'bridge_1',
    ]);
    expect([
      store.neighbourhood.otherMover(answeredHere),
      store.neighbourhood.otherMover(answeredThere),
    ]).toEqual([null, 'bridge_1']);
    // By its own spelling each would be the other bridge's.
    const [here, there] = [answeredThere.toUpperCase(), answeredHere.toUpperCase()];
    const loud = [aSonic({ id: here, signal_id: 'hub' }), aSonic({ id: there, signal_id: 'far' })];
    store.replaceSonics(complete([...sonics, ...loud]));
    expect([
      store.neighbourhood.otherMover(answeredThere),
      store.neighbourhood.otherMover(answeredHere),
    ]).toEqual([null, 'bridge_1']);
  });

  it('goes by what the broker keeps, as long as the cloud was not read', () => {
    const fresh = new Store({ selection: [], shard: { index: 0, count }, staleAfterMs: 100 }, () => {});
    fresh.neighbourhood.remember(
      new Map([
        [`sonic/${answeredHere}`, theirs],
        [`sonic/${answeredThere}`, ours],
      ]),
    );
    expect([
      fresh.neighbourhood.answersFor('sonic', answeredHere),
      fresh.neighbourhood.answersFor('sonic', answeredThere),
    ]).toEqual([false, true]);
    store.neighbourhood.remember(new Map([[`sonic/${answeredHere}`, theirs]]));
    expect(store.neighbourhood.answersFor('sonic', answeredHere)).toBe(true);
  });

  it('lets go at once of a sonic that has gone to another bridge, tells that one, and deletes nothing', () => {
    const gone = aSonic({ id: 'sink', signal_id: 'far' });
    const told = store.replaceSonics(complete([gone, ...sonics.slice(1)]));
    expect(told).toMatchObject([{ event: 'device_removed', record: { id: 'sink' } }]);
    expect(store.sonicView('sink')).toBeNull();
    expect(store.neighbourhood.mayBeTakenOver('sonic', 'sink')).toBe(true);
    expect(crossings).toEqual(['bridge_1']);
    // Its incident goes with it: it has not closed.
    expect(store.replaceIncidents(complete([atSonic('leak', 'sink')]))).toEqual([]);
    expect(store.incident('leak')).toBeNull();
    expect(store.neighbourhood.mayBeTakenOver('incident', 'leak')).toBe(true);
  });

  it('takes over what comes from another bridge: it was there before, and so was its incident', () => {
    const come = aSonic({ id: 'bath', signal_id: 'hub' });
    const told = store.replaceSonics(complete([sonics[0] ?? come, come]));
    expect(told).toMatchObject([{ event: 'device_added', record: { id: 'bath' } }]);
    expect(crossings).toEqual(['bridge_1']);
    const incidents = [atSonic('leak', 'sink'), atSonic('their-leak', 'bath'), atSonic('new-leak', 'bath')];
    expect(store.replaceIncidents(complete(incidents)).map(({ event }) => event)).toEqual([
      'incident_moved',
      'incident_opened',
    ]);
  });

  it('leaves to another bridge the incident of a sonic that turns out to be its', () => {
    store.replaceIncidents(complete([atSonic('leak', 'sink'), atSonic('barn-leak', 'barn')]));
    expect(store.neighbourhood.isElsewhere('incident', 'barn-leak')).toBe(false);
    const barn = { ...aSonic({ id: 'barn', signal_id: null }), property_id: theirs };
    store.replaceSonics(complete(sonics), { records: [barn], isComplete: true });
    expect(store.incident('barn-leak')).toBeNull();
    expect(store.neighbourhood.isElsewhere('incident', 'barn-leak')).toBe(true);
  });

  it('takes over the incident with the sonic that comes from another bridge, and tells of it once', () => {
    store.replaceSonics(complete([...sonics, aSonic({ id: 'bath', signal_id: 'hub' })]));
    expect(store.incident('their-leak')).not.toBeNull();
    const incidents = [atSonic('leak', 'sink'), atSonic('their-leak', 'bath')];
    expect(store.replaceIncidents(complete(incidents))).toMatchObject([
      { event: 'incident_moved', record: { id: 'their-leak' } },
    ]);
    expect(store.replaceIncidents(complete(incidents))).toEqual([]);
  });

  it('lets go of a signal with its sonics as soon as its property is another bridge’s', () => {
    store.setOwnedSignals(theirs, ['far', 'hub'], true);
    expect([store.signalView('hub'), store.sonicView('sink')]).toEqual([null, null]);
    expect(crossings).toEqual(['bridge_1', 'bridge_1']);
    expect(store.replaceSignals(complete(signals))).toMatchObject([{ event: 'device_removed' }]);
  });

  it('waits with one that is in no property for the moment, and does not show it anew', () => {
    store.setOwnedSignals(ours, [], true);
    expect([
      store.neighbourhood.isUnsettled('signal', 'hub'),
      store.neighbourhood.isUnsettled('sonic', 'sink'),
    ]).toEqual([true, true]);
    expect([
      store.neighbourhood.isAnyUnsettledIn(ours),
      store.neighbourhood.isAnyUnsettledIn(oursToo),
    ]).toEqual([true, false]);
    store.takeDirty();
    expect(store.setOwnedSignals(ours, ['hub'], true)).toBe(true);
    expect(store.neighbourhood.isUnsettled('sonic', 'sink')).toBe(false);
    // What has changed meanwhile was not shown.
    expect(store.takeDirty()).toMatchObject({ signal: new Set(['hub']), sonic: new Set(['sink']) });
    for (const _ of [1, 2]) store.setOwnedSignals(ours, [], true);
    for (const _ of [1, 2]) store.replaceSonics(complete(sonics));
    expect(store.sonicView('sink')).toBeNull();
    expect([
      store.neighbourhood.mayBeTakenOver('sonic', 'sink'),
      store.neighbourhood.isElsewhere('sonic', 'sink'),
    ]).toEqual([true, false]);
  });

  it('says of none that is shown that no bridge shows it, where it was in no property for a while', () => {
    const noteLeftOut = () => {
      store.replaceSonics(complete(sonics));
      return store.neighbourhood.leftOut;
    };
    for (let list = 0; list < 2; list++) store.setOwnedSignals(ours, [], true);
    expect(noteLeftOut()).toBe(2);
    store.setOwnedSignals(ours, ['hub'], true);
    expect(noteLeftOut()).toBe(1);
    expect(store.neighbourhood.mayBeTakenOver('sonic', 'sink')).toBe(false);
  });

  it.each([
    ['was in no property, and is in one again', () => store.replaceSonics(complete(sonics))],
    ['was in none when it was listed last', () => {}],
  ])('removes one that %s after two complete readings without it', (_, comeBack) => {
    const rest = sonics.filter(({ id }) => id !== 'sink');
    for (let list = 0; list < 2; list++) store.setOwnedSignals(ours, [], true);
    store.replaceSonics(incomplete(sonics));
    store.setOwnedSignals(ours, ['hub'], true);
    comeBack();
    expect(store.replaceSonics(complete(rest))).toEqual([]);
    expect(store.replaceSonics(complete(rest))).toMatchObject([{ event: 'device_removed' }]);
  });

  it('takes what is in no known property for another’s while a property could not be read completely', () => {
    const fresh = new Store({ selection: [], shard: { index: 0, count }, staleAfterMs: 100 }, () => {});
    fresh.replaceProperties(complete([aProperty({ id: ours }), aProperty({ id: theirs })]));
    fresh.setOwnedSignals(ours, [], true);
    fresh.setOwnedSignals(theirs, [], false);
    fresh.replaceSignals(complete(signals));
    expect(fresh.neighbourhood.isElsewhere('signal', 'hub')).toBe(true);
    fresh.setOwnedSignals(theirs, [], true);
    // It was listed when that was not known.
    expect(fresh.neighbourhood.isElsewhere('signal', 'hub')).toBe(true);
    fresh.replaceSignals(complete(signals));
    expect(fresh.neighbourhood.isElsewhere('signal', 'hub')).toBe(false);
  });

  it('forgets what is listed no more after two complete readings, and not before', () => {
    const rest = sonics.filter(({ id }) => id !== 'bath');
    store.replaceSonics(complete(rest));
    store.replaceSonics(incomplete(rest));
    expect(store.neighbourhood.isElsewhere('sonic', 'bath')).toBe(true);
    store.replaceSonics(complete(rest));
    expect(store.neighbourhood.isElsewhere('sonic', 'bath')).toBe(false);
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
  });

  it('filters first: a name that another bridge has is not unknown, and what is left out here is refused here', () => {
    furnish([ours, theirs, 'Nowhere']);
    expect(store.ids('property')).toEqual([ours]);
    expect(store.unmatchedSelection()).toEqual(['Nowhere']);
    expect([
      store.neighbourhood.answersFor('property', oursToo),
      store.neighbourhood.answersFor('property', theirs),
    ]).toEqual([true, false]);
  });
});

describe('the store of a bridge that is alone', () => {
  it('answers for everything and leaves nothing to others', () => {
    store = new Store({ selection: [ours], staleAfterMs: 100 }, () => {});
    store.replaceProperties(complete([aProperty({ id: ours }), aProperty({ id: theirs })]));
    store.replaceSonics(complete(sonics));
    expect([
      store.neighbourhood.answersFor('sonic', 'bath'),
      store.neighbourhood.otherMover('bath'),
      store.neighbourhood.leftOut,
    ]).toEqual([true, null, 0]);
    expect([
      store.neighbourhood.mayBeTakenOver('sonic', 'bath'),
      store.neighbourhood.isElsewhere('property', theirs),
    ]).toEqual([false, false]);
    expect(store.neighbourhood.unshownPropertyIds()).toEqual([]);
  });
});
