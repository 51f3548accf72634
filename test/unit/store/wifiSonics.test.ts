import { describe, expect, it } from 'vitest';
import type { Sonic } from '../../../src/model/records.ts';
import type { DeviceEvent } from '../../../src/store/store.ts';
import { Store } from '../../../src/store/store.ts';
import type { Reading } from '../../../src/store/table.ts';
import { changedViews } from '../../support/changedViews.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { anIncident, aProperty, aSignal, aSonic, someSettings, someTelemetry } from '../../support/views.ts';

let time = 0;
const complete = <T>(records: readonly T[]): Reading<T> => ({ records, isComplete: true, startedAt: time++ });
const incomplete = <T>(records: readonly T[]): Reading<T> => ({ ...complete(records), isComplete: false });

const kitchen = aSonic({ id: 'kitchen', signal_id: 'hub' });
const barn = aSonic({ id: 'barn', signal_id: null });
const inProperty = (id: string, property_id: unknown): Sonic =>
  ({ ...aSonic({ id, signal_id: null }), property_id }) as Sonic;

/** A store that knows a home with a hub, a sonic on it, and what is given as Wi-Fi sonics. */
function storeWith(wifi: readonly Sonic[], selection: readonly string[] = []): Store {
  const store = new Store({ selection, clock: new FakeClock(0) });
  store.replaceProperties(complete([aProperty({ id: 'home' }), aProperty({ id: 'farm' })]));
  store.setSettings('farm', someSettings({ timezone: 'Asia/Tokyo' }), time++);
  store.setOwnedSignals(ownedSignals('home', ['hub']));
  store.setOwnedSignals(ownedSignals('farm', []));
  store.replaceSignals(complete([aSignal({ id: 'hub' })]));
  store.replaceSonics(complete([kitchen]), complete(wifi));
  store.replaceIncidents(complete([]));
  changedViews(store);
  return store;
}

describe('the two lists of sonics', () => {
  it('make one set, in which each is of one kind', () => {
    const store = storeWith([barn]);
    expect(store.ids('sonic')).toEqual(['kitchen', 'barn']);
    expect(store.sonicView('barn')).toMatchObject({ isWifi: true, signal: 'none', propertyId: null });
    expect(store.sonicView('kitchen')).toMatchObject({ isWifi: false, propertyId: 'home' });
  });

  it('with an id in both have one device, the one on the hub', () => {
    const store = storeWith([aSonic({ id: 'kitchen', signal_id: null, valve_state: 'closed' })]);
    expect(store.ids('sonic')).toEqual(['kitchen']);
    expect(store.sonicView('kitchen')).toMatchObject({ isWifi: false, valve: 'open', propertyId: 'home' });
  });

  it('remove a sonic only when both were read completely, twice', () => {
    const store = storeWith([barn]);
    const events: DeviceEvent[] = [];
    store.on('device', (event) => events.push(event));
    for (let times = 0; times < 3; times++) {
      store.replaceSonics(complete([kitchen]), incomplete([]));
      store.replaceSonics(incomplete([]), complete([barn]));
    }
    store.replaceSonics(complete([kitchen]), complete([]));
    expect(events).toEqual([]);
    store.replaceSonics(complete([kitchen]), complete([]));
    expect(events).toMatchObject([{ event: 'device_removed', kind: 'sonic', record: { id: 'barn' } }]);
    expect(store.sonicView('barn')).toBeNull();
    expect(store.isWifi('barn')).toBe(false);
  });

  it('leave those of a list that fails as they were, until they are old, and the others fresh', () => {
    const store = storeWith([barn]);
    store.replaceSonics(complete([kitchen]), incomplete([]));
    expect(store.sonicView('barn')).toMatchObject({ reach: 'up', valve: 'open' });
    store.markStale({ sonics: time - 2 });
    expect(store.sonicView('barn')?.reach).toBe('stale');
    expect(store.devices.sonic.isStale('kitchen')).toBe(false);
  });

  it('show the one at once while the other is being read, and take nothing for missed', () => {
    const store = storeWith([barn]);
    const reading = complete([{ ...kitchen, valve_state: 'closed' }]);
    store.replaceSonics(reading, { records: [], isComplete: false });
    expect(store.sonicView('kitchen')?.valve).toBe('closed');
    expect(store.sonicView('barn')).toMatchObject({ reach: 'up', isWifi: true });
  });

  it('keep a sonic on its hub when only a page of its list is missing', () => {
    const store = storeWith([barn]);
    store.replaceSonics(incomplete([]), complete([barn, aSonic({ id: 'kitchen', signal_id: null })]));
    expect(store.sonicView('kitchen')).toMatchObject({ isWifi: false, sonic: { signal_id: 'hub' } });
  });

  it('may pass a sonic from one to the other, which is planned again then', () => {
    const store = storeWith([barn]);
    store.setTelemetry('barn', someTelemetry(), 0);
    changedViews(store);
    store.replaceSonics(complete([kitchen, barn]), complete([]));
    expect(store.sonicView('barn')).toMatchObject({ isWifi: false, telemetry: undefined });
    expect(changedViews(store).sonic).toContain('barn');
    store.replaceSonics(complete([kitchen]), complete([barn]));
    expect(store.sonicView('barn')?.isWifi).toBe(true);
    expect(changedViews(store).sonic).toContain('barn');
  });
});

describe('a Wi-Fi sonic', () => {
  it('is in the property that its record names, if that is known', () => {
    const store = storeWith([
      inProperty('barn', 'farm'),
      inProperty('boat', 'elsewhere'),
      inProperty('shed', 7),
    ]);
    expect(['barn', 'boat', 'shed'].map((id) => store.sonicView(id)?.propertyId)).toEqual([
      'farm',
      null,
      null,
    ]);
    store.replaceIncidents(complete([anIncident({ id: 'leak', sonic_id: 'barn', signal_id: null })]));
    expect(store.propertyView('farm')?.incidents).toMatchObject([{ id: 'leak' }]);
    expect(store.isWithoutDevices('farm')).toBe(false);
  });

  it('that names no property has its leak in each that a filter selects, and one that names another in none', () => {
    const leakAt = (sonic_id: string) => anIncident({ id: `at ${sonic_id}`, sonic_id, signal_id: null });
    const store = storeWith([barn, inProperty('boat', 'elsewhere')], ['home']);
    store.replaceIncidents(complete([leakAt('barn'), leakAt('boat')]));
    expect(store.propertyView('home')?.incidents).toMatchObject([{ id: 'at barn' }]);
    // The filter hides the valve, so nobody behind it may act on the leak.
    expect(store.incidents.get('at barn')).toBeNull();
  });

  it('is planned again when its property becomes known', () => {
    const store = storeWith([inProperty('barn', 'mill')]);
    store.replaceProperties(complete(['home', 'farm', 'mill'].map((id) => aProperty({ id }))));
    expect(store.sonicView('barn')?.propertyId).toBe('mill');
    expect(changedViews(store).sonic).toContain('barn');
  });

  it('is left out where properties are selected and it is in none of them', () => {
    const store = storeWith(
      [inProperty('barn', 'farm'), inProperty('cottage', 'home'), aSonic({ id: 'stray', signal_id: 'hub' })],
      ['home'],
    );
    expect(store.ids('sonic')).toEqual(['kitchen', 'cottage']);
  });

  it('loses its telemetry alone where the cloud offers none for its kind', () => {
    const store = storeWith([barn]);
    for (const id of ['kitchen', 'barn']) store.setTelemetry(id, someTelemetry(), 0);
    store.drop('wifi');
    expect(store.sonicView('barn')?.telemetry).toBeNull();
    expect(store.sonicView('kitchen')?.telemetry).toEqual(someTelemetry());
  });
});
