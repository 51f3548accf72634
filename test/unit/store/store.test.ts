import { beforeEach, describe, expect, it } from 'vitest';
import type { HubDetail, Incident, PropertySettings } from '../../../src/model/records.ts';
import type { ValveAction } from '../../../src/model/valve.ts';
import type { AskedCommand } from '../../../src/model/valveCommand.ts';
import { Store } from '../../../src/store/store.ts';
import type { Reading } from '../../../src/store/table.ts';
import { changedViews } from '../../support/changedViews.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { anIncident, aProperty, aSignal, aSonic } from '../../support/views.ts';

const property = (id: string, name = id) => aProperty({ id, name });
const signal = (id: string, cloud_connection = 'connected') => aSignal({ id, cloud_connection });
const sonic = (id: string, signal_id: string | null, valve_state = 'open') =>
  aSonic({ id, name: id, signal_id, valve_state });
const incident = (id: string, fields: Partial<Incident> = {}) =>
  anIncident({ id, signal_id: null, sonic_id: null, type: 'long_flow_alert', ...fields });
const all = () => [sonic('kitchen', 'hub'), sonic('bath', 'hub'), sonic('shed', 'stray')];

const staleAfterMs = 100;
let time = 0;
const complete = <T>(records: readonly T[]): Reading<T> => ({ records, isComplete: true, startedAt: time++ });
const incomplete = <T>(records: readonly T[]): Reading<T> => ({ ...complete(records), isComplete: false });

let store: Store;
let clock: FakeClock;
let changes: number;
const events: object[] = [];

/** What the store tells while something is done to it. */
function eventsOf(deed: () => unknown): object[] {
  events.length = 0;
  deed();
  return events.splice(0);
}

/** A command for a valve that the cloud accepts now. */
function accept(id: string, action: ValveAction): AskedCommand {
  const asked = { action, topic: `sonic2mqtt/sonic/${id}/valve/set`, askedAt: '2026-03-02T09:00:00Z' };
  clock.advance(time++ - clock.monotonic());
  store.valves.recordCommand(id, asked, 'sent', null);
  store.valves.recordSent(id, asked);
  store.valves.recordAccepted(id, asked, time + staleAfterMs);
  return asked;
}

/** A store that knows nothing yet. */
function empty(selection: readonly string[] = []): void {
  clock = new FakeClock(0);
  store = new Store({ selection, clock });
  changes = 0;
  store.on('change', () => {
    changes += 1;
  });
  store.on('device', (event) => events.push(event));
  store.on('incident', (event) => events.push(event));
}

/** A store that knows one property with one signal and two sonics. */
function furnish(selection: readonly string[] = []): void {
  empty(selection);
  store.replaceProperties(complete([property('home', 'My home'), property('shop', 'Shop')]));
  store.setOwnedSignals(ownedSignals('home', ['hub']));
  store.replaceSignals(complete([signal('hub'), signal('stray')]));
  store.replaceSonics(complete(all()));
  store.replaceIncidents(complete([]));
  changedViews(store);
}

describe('the store', () => {
  it('keeps no failed change of what it does not show, because messages may name any ID', () => {
    furnish(['My home']);
    for (const id of ['shop', 'nobody']) store.recordChange('property', id, 'refused');
    store.recordChange('sonic', 'nobody', 'refused');
    const before = changes;
    // If it were kept, its end would be told.
    for (const id of ['shop', 'nobody']) store.recordChange('property', id, null);
    expect(changes).toBe(before);
    store.recordChange('sonic', 'kitchen', 'refused');
    expect(store.propertyView('home')?.failedChange).toMatchObject({ reason: 'refused' });
  });

  beforeEach(() => furnish());

  it('is written by its own methods alone: a table that another room writes would mark nothing', () => {
    const written = [
      // @ts-expect-error: hidden by its type.
      store.devices.sonic.upsert,
      // @ts-expect-error: hidden by its type.
      store.settings.set,
      // @ts-expect-error: hidden by its type.
      store.signalLists.set,
      // @ts-expect-error: hidden by its type.
      store.incidents.replaceAll,
      // @ts-expect-error: hidden by its type.
      store.filter.update,
    ];
    expect(written.every((method) => typeof method === 'function')).toBe(true);
  });

  it('keeps the view of what did not change, so that nothing is planned again', () => {
    const views = () => [store.sonicView('kitchen'), store.propertyView('home'), store.signalView('hub')];
    const before = views();
    store.replaceSonics(complete(all()));
    for (const [at, view] of views().entries()) expect(view).toBe(before[at]);
  });

  it('tells nothing of a detail that is as before, nor of a time that makes nothing too old', () => {
    store.setDetail('hubs', 'hub', { id: 'hub', status: 'online' } as HubDetail, time++);
    changes = 0;
    store.setDetail('hubs', 'hub', { id: 'hub', status: 'online' } as HubDetail, time++);
    store.markStale({ properties: 0, signals: 0, sonics: 0, incidents: 0 });
    store.setAging(true);
    expect(changes).toBe(0);
    store.markStale({ sonics: time });
    store.setDetail('hubs', 'hub', { id: 'hub', status: 'busy' } as HubDetail, time++);
    expect(changes).toBe(2);
  });

  it('tells of more than the property when its settings show who has moved a valve', () => {
    const told: unknown[] = [];
    store.on('change', (device) => told.push(device));
    store.replaceIncidents(complete([incident('i', { sonic_id: 'kitchen' })]));
    store.replaceSonics(complete(all().map((each) => ({ ...each, valve_state: 'closed' }))));
    store.setSettings('home', { auto_shut_off: true } as PropertySettings, time++);
    expect(store.sonicView('kitchen')?.valveRecord.movement?.by).toBe('automatic_shut_off');
    expect(told.at(-1)).toBeNull();
    store.setSettings('home', { auto_shut_off: false } as PropertySettings, time++);
    expect(told.at(-1)).toEqual({ kind: 'property', id: 'home' });
  });

  it('marks just what a change shows on', () => {
    store.replaceSonics(
      complete([sonic('kitchen', 'hub', 'closed'), sonic('bath', 'hub'), sonic('shed', 'stray')]),
    );
    expect(changedViews(store)).toEqual({
      // Its property sums it up.
      property: new Set(['home']),
      signal: new Set(),
      sonic: new Set(['kitchen']),
      incident: new Set(),
    });
    store.replaceSignals(complete([signal('hub', 'disconnected'), signal('stray')]));
    expect(changedViews(store)).toMatchObject({
      signal: new Set(['hub']),
      sonic: new Set(['kitchen', 'bath']),
    });
  });

  it('removes a device after two complete readings without it, and says so', () => {
    const rest = all().slice(1);
    expect(eventsOf(() => store.replaceSonics(complete(rest)))).toEqual([]);
    expect(store.sonicView('kitchen')).not.toBeNull();
    expect(eventsOf(() => store.replaceSonics(complete(rest)))).toMatchObject([
      { event: 'device_removed', kind: 'sonic', record: { id: 'kitchen' } },
    ]);
    expect(store.sonicView('kitchen')).toBeNull();
  });

  it('marks nothing of a device that no list has brought yet: it would be taken for gone', () => {
    store.setOwnedSignals(ownedSignals('home', ['hub', 'unread']));
    changedViews(store);
    store.setDetail('hubs', 'unread', { id: 'unread', status: 'online' } as HubDetail, 0);
    expect(changedViews(store).signal).toEqual(new Set());
    const rest = all().slice(1);
    store.replaceSonics(complete(rest));
    store.replaceSonics(complete(rest));
    expect(changedViews(store).sonic).toContain('kitchen');
  });

  it('reports devices that are added, but not those that were there at the start', () => {
    store.setListsAsked();
    expect(eventsOf(() => store.replaceSonics(incomplete([sonic('loft', 'hub')])))).toMatchObject([
      { event: 'device_added', kind: 'sonic', record: { id: 'loft' } },
    ]);
    empty();
    expect(eventsOf(() => store.replaceSonics(complete([sonic('kitchen', 'hub')])))).toEqual([]);
  });

  it('is whole once each list was read completely', () => {
    expect(store.areListsComplete).toBe(true);
    empty();
    store.replaceProperties(complete([]));
    store.replaceSignals(complete([]));
    store.replaceSonics(incomplete([]));
    store.replaceIncidents(complete([]));
    expect(store.areListsComplete).toBe(false);
    store.replaceSonics(complete([]));
    expect(store.areListsComplete).toBe(true);
  });

  it('does not let an answer that came late overwrite a sonic that was read since, alone or in a list', () => {
    const startedAt = time++;
    store.setSonic(sonic('kitchen', 'hub', 'opening'), time++);
    store.replaceSonics(incomplete([sonic('bath', 'hub', 'opening')]));
    for (const id of ['kitchen', 'bath']) store.setSonic(sonic(id, 'hub', 'closed'), startedAt);
    store.replaceSonics({ records: [sonic('kitchen', 'hub', 'closed')], isComplete: false, startedAt });
    expect(store.sonicView('kitchen')?.valve).toBe('opening');
    expect(store.sonicView('bath')?.valve).toBe('opening');
    store.setSonic(sonic('kitchen', 'hub', 'open'), time++);
    expect(store.sonicView('kitchen')?.valve).toBe('open');
  });

  it('takes no more than the name from the answer to a renaming: where the valve is, is read', () => {
    const readAt = store.devices.sonic.readAt('kitchen');
    accept('kitchen', 'close');
    const renamed = { ...sonic('kitchen', 'hub', 'closed'), name: 'Attic', radio_connection: 'disconnected' };
    store.setAnswer('sonic', 'kitchen', { name: renamed.name }, time++);
    expect(store.sonicView('kitchen')).toMatchObject({
      sonic: { name: 'Attic', valve_state: 'open', radio_connection: 'connected' },
      valve: 'closing',
    });
    expect(store.devices.sonic.readAt('kitchen')).toBe(readAt);
  });

  it('has not read a sonic with a list that knew less of it', () => {
    const startedAt = time++;
    store.setAnswer('sonic', 'kitchen', { name: 'Attic' }, time++);
    const records = all().map((each) => ({ ...each, valve_state: 'closed' }));
    store.replaceSonics({ records, isComplete: true, startedAt });
    expect(store.sonicView('kitchen')?.valve).toBe('open');
    expect(store.devices.sonic.readAt('kitchen')).toBeLessThan(startedAt);
    expect(store.devices.sonic.readAt('bath')).toBe(startedAt);
    store.setSonic(sonic('kitchen', 'hub', 'closed'), startedAt);
    expect(store.sonicView('kitchen')?.sonic).toMatchObject({ name: 'Attic', valve_state: 'open' });
  });

  it('takes a sonic for unread that incomplete readings have missed for too long, until one brings it', () => {
    const startedAt = time;
    store.replaceSonics(incomplete([sonic('bath', 'hub')]));
    expect(store.devices.sonic.isStale('kitchen')).toBe(false);
    changedViews(store);
    store.markStale({ sonics: startedAt });
    expect(store.sonicView('kitchen')).toMatchObject({ reach: 'stale', valve: 'open' });
    expect(store.devices.sonic.isStale('bath')).toBe(false);
    expect(changedViews(store).sonic).toEqual(new Set(['kitchen', 'shed']));
    store.setSonic(sonic('kitchen', 'hub'), startedAt + 1);
    expect(store.devices.sonic.isStale('kitchen')).toBe(false);
    expect(changedViews(store).sonic).toContain('kitchen');
  });

  it('shows the movement of an accepted command until the cloud says anything new', () => {
    const again = () => store.replaceSonics(incomplete([sonic('kitchen', 'hub', 'open')]));
    accept('kitchen', 'close');
    again();
    expect(store.sonicView('kitchen')?.valve).toBe('closing');
    store.setSonic(sonic('kitchen', 'hub', 'faulty'), time++);
    expect(store.sonicView('kitchen')?.valve).toBeNull();
    again();
    expect(store.sonicView('kitchen')?.valve).toBe('open');
  });

  it('shows the cloud’s own words when it said something new before it answered the command', () => {
    const says = (state: string) => store.replaceSonics(incomplete([sonic('kitchen', 'hub', state)]));
    says('requested_closed');
    accept('kitchen', 'close');
    expect(store.sonicView('kitchen')?.valve).toBe('closing');
    says('open');
    expect(store.sonicView('kitchen')?.valve).toBe('open');
  });

  it('does not take what was begun to be read before a command for the cloud’s word on it', () => {
    const startedAt = time++;
    store.setSonic(sonic('bath', 'hub', 'opening'), startedAt);
    accept('bath', 'close');
    const list = { records: [sonic('bath', 'hub', 'open')], isComplete: false, startedAt };
    store.replaceSonics(list);
    expect(store.sonicView('bath')?.valve).toBe('closing');
    store.replaceSonics({ ...list, startedAt: time++ });
    expect(store.sonicView('bath')?.valve).toBe('closing');
    store.replaceSonics(incomplete([sonic('bath', 'hub', 'opening')]));
    expect(store.sonicView('bath')?.valve).toBe('opening');
  });

  it.each([
    ['the very same', <T>(records: T) => records],
    ['another', structuredClone],
  ])('shows a command on its way that takes back another, until %s list is read', (_, again) => {
    const startedAt = time++;
    const records = all();
    store.replaceSonics({ records, isComplete: true, startedAt });
    accept('kitchen', 'close');
    accept('kitchen', 'open');
    accept('kitchen', 'open');
    expect(store.sonicView('kitchen')?.valve).toBe('opening');
    store.replaceSonics({ records: again(records), isComplete: true, startedAt });
    expect(store.sonicView('kitchen')?.valve).toBe('opening');
    store.replaceSonics(complete(again(records)));
    expect(store.sonicView('kitchen')?.valve).toBe('open');
  });

  it('says that a valve is shown otherwise once the same record ends a command', () => {
    accept('kitchen', 'close');
    accept('kitchen', 'open');
    expect(store.sonicView('kitchen')?.valve).toBe('opening');
    changedViews(store);
    store.setSonic(sonic('kitchen', 'hub', 'open'), time++);
    expect(store.sonicView('kitchen')?.valve).toBe('open');
    expect(changedViews(store).sonic).toContain('kitchen');
  });

  it('shows the movement of an accepted command also if very many newer ones wait', () => {
    const of = (minute: number) => ({
      action: 'close' as const,
      topic: 'kitchen/valve/set',
      askedAt: `2026-03-02T09:${minute}:00Z`,
    });
    const asked = of(10);
    store.valves.recordCommand('kitchen', asked, 'sent', null);
    store.valves.recordSent('kitchen', asked);
    for (let count = 0; count < 12; count++)
      store.valves.recordCommand('kitchen', of(11 + count), 'sent', null);
    clock.advance(time++ - clock.monotonic());
    store.valves.recordAccepted('kitchen', asked, time + staleAfterMs);
    expect(store.sonicView('kitchen')?.valve).toBe('closing');
  });

  it('never shows closed because of a command alone', () => {
    const asked = accept('kitchen', 'close');
    expect(store.sonicView('kitchen')?.valve).toBe('closing');
    store.valves.recordCommand('kitchen', asked, 'not_confirmed', null);
    expect(store.sonicView('kitchen')?.valve).toBe('open');
  });

  it('keeps the last settled position through a pressure test', () => {
    store.replaceSonics(incomplete([sonic('kitchen', 'hub', 'closed')]));
    store.replaceSonics(incomplete([sonic('kitchen', 'hub', 'pressure_test')]));
    expect(store.sonicView('kitchen')?.valve).toBe('closed');
    empty();
    store.replaceSonics(complete([sonic('kitchen', 'hub', 'pressure_test')]));
    expect(store.sonicView('kitchen')?.valve).toBeNull();
  });

  it('keeps neither that position nor a link that may be a flap for longer than what was read then counts', () => {
    const seenAt = time;
    store.replaceSonics(complete([sonic('kitchen', 'hub', 'closed'), sonic('bath', 'hub')]));
    store.replaceSignals(complete([signal('hub')]));
    const tested = time;
    store.replaceSonics(complete([sonic('kitchen', 'hub', 'pressure_test'), sonic('bath', 'hub')]));
    store.replaceSignals(complete([signal('hub', 'disconnected')]));
    changedViews(store);
    const shown = () => [store.sonicView('kitchen')?.valve, store.sonicView('kitchen')?.reach];
    store.markStale({ sonics: seenAt });
    store.markStale({ signals: seenAt });
    expect(shown()).toEqual(['closed', 'up']);
    store.markStale({ sonics: tested });
    store.markStale({ signals: tested });
    expect(shown()).toEqual([null, 'hub_offline']);
    expect([...changedViews(store).sonic].sort()).toEqual(['bath', 'kitchen']);
  });

  it('shows no flow that was measured before the valve moved', () => {
    const flowing = { pressure: 3_000, water_flow: 9_500, water_temp: 12, probed_at: null };
    const flow = () => store.sonicView('kitchen')?.telemetry?.water_flow;
    store.setTelemetry('kitchen', flowing, 10_000, 60_000);
    expect(flow()).toBe(9_500);
    store.replaceSonics(complete([sonic('kitchen', 'hub', 'closed'), sonic('bath', 'hub')]));
    expect(flow()).toBeNull();
    store.setTelemetry('kitchen', flowing, 20_000, 60_000);
    expect(flow()).toBeNull();
    store.setTelemetry('kitchen', { ...flowing, water_flow: 0 }, 0, 60_000);
    expect(flow()).toBe(0);
  });

  it('takes in telemetry of known sonics only, and forgets it when the cloud has none', () => {
    const telemetry = { pressure: 3_000, water_flow: 0, water_temp: 12, probed_at: null };
    for (const id of ['kitchen', 'nobody']) store.setTelemetry(id, telemetry, 0);
    expect(store.sonicView('kitchen')?.telemetry).toBe(telemetry);
    store.drop('hub');
    expect(store.sonicView('kitchen')?.telemetry).toBeNull();
  });

  describe('measured values', () => {
    const none = { pressure: null, water_flow: null, water_temp: null };
    const telemetry = { pressure: 3_000, water_flow: 0, water_temp: 12, probed_at: 1_700_000_000 };
    const shown = (id = 'kitchen') => store.sonicView(id)?.telemetry;

    it('show until they are too old, and then only when they were made, without another poll', () => {
      store.setAging(true);
      store.setTelemetry('kitchen', telemetry, 0, staleAfterMs);
      // It arms its timer with the end of a poll.
      store.setAging(true);
      clock.advance(staleAfterMs);
      expect(shown()).toBe(telemetry);
      changes = 0;
      clock.advance(2);
      expect([shown(), changes]).toEqual([{ ...telemetry, ...none }, 1]);
    });

    it('count from when they were measured', () => {
      store.setTelemetry('kitchen', telemetry, 180_001, staleAfterMs);
      expect(shown()).toEqual({ ...telemetry, ...none });
      store.setTelemetry('kitchen', telemetry, 179_950, staleAfterMs);
      store.setAging(true);
      clock.advance(50);
      expect(shown()).toEqual(telemetry);
      clock.advance(2);
      expect(shown()).toEqual({ ...telemetry, ...none });
    });

    it('stay while the cloud does not answer', () => {
      store.setTelemetry('kitchen', telemetry, 0, staleAfterMs);
      store.setAging(true);
      store.setAging(false);
      clock.advance(10 * staleAfterMs);
      expect(shown()).toBe(telemetry);
      store.setAging(true);
      expect(shown()).toEqual({ ...telemetry, ...none });
    });

    it('are null if the cloud has none, unless it has shown any', () => {
      store.setTelemetry('kitchen', telemetry, 0, staleAfterMs);
      store.setTelemetry('kitchen', null);
      expect([shown(), shown('bath')]).toEqual([telemetry, undefined]);
      store.setTelemetry('bath', null);
      expect(shown('bath')).toBeNull();
    });
  });

  it('ends a failed command after a day, also while the cloud does not answer', () => {
    const asked = { action: 'close', topic: 'kitchen/valve/set', askedAt: '2026-03-02T09:00:00Z' } as const;
    store.valves.recordCommand('kitchen', asked, 'refused', 'no');
    clock.advance(24 * 3_600_000 - 1);
    changedViews(store);
    store.markStale({ sonics: Number.NEGATIVE_INFINITY });
    expect(changedViews(store).sonic.size).toBe(0);
    clock.advance(1);
    store.markStale({ sonics: Number.NEGATIVE_INFINITY });
    expect([...changedViews(store).sonic]).toEqual(['kitchen']);
    expect(store.valves.of('kitchen').failed).toBeNull();
  });

  it('counts signals as stale that nobody could read for too long', () => {
    const isStale = () => store.signalView('hub')?.reach === 'stale';
    store.markStale({ signals: time - staleAfterMs });
    expect(isStale()).toBe(false);
    store.markStale({ signals: time });
    expect(isStale()).toBe(true);
    store.replaceSignals(complete([signal('hub')]));
    expect(isStale()).toBe(false);
  });

  it('follows a signal that moves to another property, and places none of a property that has left', () => {
    const places = () => [store.signalView('hub')?.propertyId, store.sonicView('kitchen')?.propertyId];
    expect(places()).toEqual(['home', 'home']);
    store.setOwnedSignals(ownedSignals('shop', ['hub']));
    store.setOwnedSignals(ownedSignals('home', []));
    expect(places()).toEqual(['shop', 'shop']);
    // In an account of one property everything is in that, but for what is in one that has left.
    for (let times = 0; times < 2; times++) store.replaceProperties(complete([property('home')]));
    expect([...places(), store.sonicView('shed')?.propertyId]).toEqual([null, null, 'home']);
    store.setOwnedSignals(ownedSignals('home', ['hub'], true, time++));
    expect(places()).toEqual(['home', 'home']);
  });
});

describe('a signal that two properties list', () => {
  beforeEach(() => furnish());

  const list = (propertyId: string, ...ids: string[]) => store.setOwnedSignals(ownedSignals(propertyId, ids));
  const home = () => store.signalView('hub')?.propertyId;

  it('is in the one that listed it later, and does not move with each list', () => {
    list('shop', 'hub');
    expect(home()).toBe('shop');
    changedViews(store);
    for (const _ of [1, 2, 3]) {
      list('home', 'hub');
      list('shop', 'hub');
      expect(home()).toBe('shop');
    }
    expect(changedViews(store).property).toEqual(new Set());
    expect(store.isWithoutDevices('home')).toBe(false);
    for (const _ of [1, 2]) list('home');
    expect(store.isWithoutDevices('home')).toBe(true);
  });

  it('is in the other at once when the one does not list it any more', () => {
    list('shop', 'hub');
    list('home', 'hub');
    list('shop');
    expect(home()).toBe('home');
    list('home', 'hub');
    list('shop');
    expect(home()).toBe('home');
    list('home');
    expect(home()).toBe('home');
    list('home');
    expect(home()).toBeNull();
  });
});

describe('a signal that the list of its property misses', () => {
  beforeEach(() => furnish(['Home']));

  const relist = () => {
    store.replaceSignals(complete([signal('hub'), signal('stray')]));
    store.replaceSonics(complete(all()));
  };
  const relistTwice = () => [relist(), relist()];

  it('stays in it until the next complete list misses it too', () => {
    store.setOwnedSignals(ownedSignals('home', []));
    relistTwice();
    expect([store.signalView('hub')?.propertyId, store.sonicView('kitchen')?.propertyId]).toEqual([
      'home',
      'home',
    ]);
    store.setOwnedSignals(ownedSignals('home', []));
    relistTwice();
    expect([store.signalView('hub'), store.sonicView('kitchen')]).toEqual([null, null]);
  });

  it('is counted from the beginning once a list has had it again', () => {
    store.setOwnedSignals(ownedSignals('home', []));
    store.setOwnedSignals(ownedSignals('home', ['hub']));
    store.setOwnedSignals(ownedSignals('home', []));
    store.setOwnedSignals(ownedSignals('home', [], false));
    relistTwice();
    expect(store.sonicView('kitchen')?.propertyId).toBe('home');
  });

  it('is in the other property at once that lists it', () => {
    store.setOwnedSignals(ownedSignals('home', []));
    store.setOwnedSignals(ownedSignals('shop', ['hub']));
    relistTwice();
    expect(store.sonicView('kitchen')).toBeNull();
  });
});

describe('incidents in the store', () => {
  beforeEach(() => furnish());

  it('may be at any hub if they say that a hub is lost, but not which', () => {
    const lost = (signal_id: string | null) => {
      store.replaceIncidents(complete([incident('lost', { type: 'cloud_disconnection', signal_id })]));
      return store.signalView('hub')?.possibleIncidents.map(({ id }) => id);
    };
    expect(lost('replaced')).toEqual([]);
    expect(lost(null)).toEqual(['lost']);
  });

  it('belong to their sonic if it is known, else to their signal, and to the property of either', () => {
    store.replaceIncidents(
      complete([
        incident('of-sonic', { sonic_id: 'kitchen', signal_id: 'hub' }),
        incident('of-signal', { sonic_id: 'unknown', signal_id: 'hub' }),
        incident('of-nobody'),
      ]),
    );
    expect(store.sonicView('kitchen')?.incidents.map(({ id }) => id)).toEqual(['of-sonic']);
    expect(store.signalView('hub')?.incidents.map(({ id }) => id)).toEqual(['of-signal']);
    expect(store.propertyView('home')?.incidents.map(({ id }) => id)).toEqual(['of-sonic', 'of-signal']);
    // That of nobody may belong to anything.
    expect(store.propertyView('shop')?.possibleIncidents.map(({ id }) => id)).toEqual(['of-nobody']);
    expect(changedViews(store)).toEqual({
      property: new Set(['home', 'shop']),
      signal: new Set(['hub', 'stray']),
      sonic: new Set(['kitchen', 'bath', 'shed']),
      incident: new Set(['of-sonic', 'of-signal', 'of-nobody']),
    });
  });

  it('go over to a sonic that becomes known', () => {
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'loft', signal_id: 'hub' })]));
    expect(store.signalView('hub')?.incidents).toHaveLength(1);
    changedViews(store);
    store.replaceSonics(incomplete([sonic('loft', 'hub')]));
    expect(store.signalView('hub')?.incidents).toHaveLength(0);
    expect(store.sonicView('loft')?.incidents).toHaveLength(1);
    expect(changedViews(store).signal).toContain('hub');
  });

  it('open, change and close once each', () => {
    const opened = incident('leak', { sonic_id: 'kitchen' });
    expect(eventsOf(() => store.replaceIncidents(complete([opened])))).toEqual([
      { event: 'incident_opened', record: opened },
    ]);
    expect(eventsOf(() => store.replaceIncidents(complete([{ ...opened }])))).toEqual([]);
    const changed = { ...opened, possible_actions: ['dismiss', 'snooze'] };
    expect(eventsOf(() => store.replaceIncidents(complete([changed])))).toEqual([
      { event: 'incident_changed', record: changed },
    ]);
    expect(eventsOf(() => store.replaceIncidents(incomplete([])))).toEqual([]);
    expect(eventsOf(() => store.replaceIncidents(complete([])))).toEqual([
      { event: 'incident_closed', record: { ...changed, open: false } },
    ]);
    expect(store.incidents.get('leak')).toBeNull();
  });

  it('are not all known before a complete reading, nor when the last one is too old', () => {
    const areKnown = () => store.sonicView('kitchen')?.areIncidentsFresh;
    empty();
    store.replaceSonics(complete([sonic('kitchen', 'hub'), sonic('bath', 'hub')]));
    changedViews(store);
    expect(areKnown()).toBe(false);
    store.replaceIncidents(incomplete([incident('leak', { sonic_id: 'kitchen' })]));
    expect(areKnown()).toBe(false);
    expect(store.sonicView('kitchen')?.incidents).toHaveLength(1);
    store.replaceIncidents(complete([]));
    expect(areKnown()).toBe(true);
    expect(changedViews(store).sonic).toContain('bath');
    store.markStale({ incidents: time - 1 });
    expect(areKnown()).toBe(true);
    store.markStale({ incidents: time });
    expect(areKnown()).toBe(false);
    expect(changedViews(store).sonic).toContain('bath');
    store.replaceIncidents(complete([]));
    expect(areKnown()).toBe(true);
  });

  it('are not all known in a property before its signals are', () => {
    const areKnown = (id: string) => store.propertyView(id)?.areIncidentsFresh;
    expect([areKnown('home'), areKnown('shop')]).toEqual([true, false]);
    expect(store.sonicView('kitchen')?.areIncidentsFresh).toBe(true);
    store.setOwnedSignals(ownedSignals('shop', [], false));
    expect(areKnown('shop')).toBe(false);
    // It has none, as is known now.
    store.setOwnedSignals(ownedSignals('shop', []));
    expect(areKnown('shop')).toBe(true);
    expect(changedViews(store).property).toEqual(new Set(['shop']));
    store.setOwnedSignals(ownedSignals('shop', [], false));
    expect(areKnown('shop')).toBe(true);
  });

  it('show in the property as soon as the sonic that they name is known', () => {
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'attic' })]));
    expect(store.propertyView('home')?.incidents).toEqual([]);
    changedViews(store);
    store.replaceSonics(complete([...all(), sonic('attic', 'hub')]));
    expect(store.propertyView('home')?.incidents).toMatchObject([{ id: 'leak' }]);
    // As long as it was not, it might belong to anything.
    expect(changedViews(store)).toMatchObject({
      property: new Set(['home', 'shop']),
      sonic: new Set(['attic', 'kitchen', 'bath', 'shed']),
    });
  });

  it('that a cloud lists although they are resolved are not open', () => {
    const resolved = incident('old', { open: null, state: 'resolved' });
    expect(
      eventsOf(() => store.replaceIncidents(complete([resolved, incident('older', { open: false })]))),
    ).toEqual([]);
    expect(store.counts().open_incidents).toBe(0);
  });
});

describe('a selection of properties', () => {
  it('knows which of its entries match nothing', () => {
    furnish(['Home', 'Holiday home']);
    expect(store.filter.unmatched).toEqual(['Holiday home']);
  });

  it('keeps a property that is renamed, until another has the name', () => {
    furnish(['My home', 'Nowhere']);
    expect(store.filter.outdated).toEqual([]);
    for (const _ of ['first', 'second', 'third']) {
      const listed = [property('home', 'Cottage'), property('shop', 'Shop')];
      expect(eventsOf(() => store.replaceProperties(complete(listed)))).toEqual([]);
      expect(store.filter.outdated).toEqual([['My home', ['home']]]);
      expect(store.filter.unmatched).toEqual(['Nowhere']);
    }
    expect(store.ids('sonic')).toEqual(['kitchen', 'bath']);
    const swapped = () =>
      store.replaceProperties(complete([property('shop', 'My home'), property('home', 'Cottage')]));
    expect(eventsOf(swapped)).toContainEqual(
      expect.objectContaining({ event: 'device_removed', kind: 'property' }),
    );
    expect([store.ids('property'), store.filter.outdated]).toEqual([['shop'], []]);
  });

  it.each(['My home', 'home', 'HOME'])('by name or id (%s) leaves everything else out', (wanted) => {
    furnish([wanted]);
    expect(store.ids('property')).toEqual(['home']);
    expect(store.ids('signal')).toEqual(['hub']);
    expect(store.ids('sonic')).toEqual(['kitchen', 'bath']);
    const leaks = [incident('mine', { sonic_id: 'bath' }), incident('theirs', { sonic_id: 'shed' })];
    expect(eventsOf(() => store.replaceIncidents(complete(leaks)))).toMatchObject([
      { record: { id: 'mine' } },
    ]);
    expect(store.filter.unmatched).toEqual([]);
  });

  it('has the incident of a sonic from the moment that it is known whose the sonic is', () => {
    empty(['Home']);
    store.replaceProperties(complete([property('home', 'My home'), property('shop', 'Shop')]));
    const leaks = ['kitchen', 'shed'].map((id) => incident(`leak-${id}`, { sonic_id: id }));
    expect(eventsOf(() => store.replaceIncidents(complete(leaks)))).toEqual([]);
    expect(store.incidents.get('leak-kitchen')).toBeNull();
    expect(leaks.map(({ id }) => store.has('incident', id))).toEqual([true, true]);

    const kitchen = { ...sonic('kitchen', null), property_id: 'home' };
    const shed = { ...sonic('shed', null), property_id: 'shop' };
    const wifi = { records: [kitchen, shed], isComplete: true };
    expect(eventsOf(() => store.replaceSonics(complete([]), wifi))).toMatchObject([
      { event: 'incident_opened', record: { id: 'leak-kitchen' } },
    ]);
    expect(store.ids('incident')).toEqual(['leak-kitchen']);
    expect(store.sonicView('kitchen')?.incidents).toMatchObject([{ id: 'leak-kitchen' }]);
    expect(store.propertyView('home')?.incidents).toMatchObject([{ id: 'leak-kitchen' }]);

    expect(eventsOf(() => store.replaceIncidents(complete(leaks)))).toEqual([]);
    expect(eventsOf(() => store.replaceIncidents(complete([])))).toMatchObject([
      { event: 'incident_closed' },
    ]);
    expect(leaks.map(({ id }) => store.has('incident', id))).toEqual([false, false]);
  });

  it.each([
    ['its signal left the property', () => store.setOwnedSignals(ownedSignals('home', []))],
    ['its property is gone', () => store.replaceProperties(complete([property('shop', 'Shop')]))],
  ])('lets an open incident go with its device, not as closed, once %s', (_, leave) => {
    furnish(['Home']);
    const leak = incident('leak', { sonic_id: 'kitchen', signal_id: 'hub' });
    store.replaceIncidents(complete([leak]));
    expect(eventsOf(leave)).toEqual([]);
    expect(store.sonicView('kitchen')?.incidents).toEqual([leak]);
    changedViews(store);
    const gone = eventsOf(leave) as { event: string }[];
    expect(new Set(gone.map(({ event }) => event))).toEqual(new Set(['device_removed']));
    expect([store.ids('signal'), store.ids('sonic'), store.ids('incident')]).toEqual([[], [], []]);
    expect(changedViews(store).incident).toEqual(new Set(['leak']));
    expect(store.has('incident', 'leak')).toBe(true);
    expect(eventsOf(() => store.replaceIncidents(complete([leak])))).toEqual([]);
  });

  it('shows a sonic with another signal until the lists of signals that were read since are without it', () => {
    furnish(['Home']);
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'kitchen' })]));
    const listed = [sonic('kitchen', 'stray', 'closed'), sonic('bath', 'hub')];
    const early = ownedSignals('home', ['hub'], true, time++);
    expect(eventsOf(() => store.replaceSonics(complete(listed)))).toEqual([]);
    // What was asked for before the sonic had that signal cannot know of it.
    expect(eventsOf(() => store.setOwnedSignals(early))).toEqual([]);
    expect(store.sonicView('kitchen')).toMatchObject({ propertyId: null, valve: 'closed' });
    // It may be in the property, so its leak counts there.
    expect(store.propertyView('home')?.incidents).toMatchObject([{ id: 'leak' }]);
    const late = ownedSignals('home', ['hub'], true, time++);
    expect(eventsOf(() => store.setOwnedSignals(late))).toMatchObject([
      { event: 'device_removed', record: { id: 'kitchen' } },
    ]);
    expect(store.sonicView('kitchen')).toBeNull();
  });

  it('keeps a sonic whose hub is replaced', () => {
    furnish(['Home']);
    store.setListsAsked();
    const events = eventsOf(() => {
      store.replaceSonics(complete([sonic('kitchen', 'new'), sonic('bath', 'hub')]));
      store.replaceSonics(complete([sonic('kitchen', null), sonic('bath', 'hub')]));
      store.replaceSonics(complete([sonic('kitchen', 'new'), sonic('bath', 'hub')]));
      store.replaceSignals(complete([signal('hub'), signal('new')]));
      store.setOwnedSignals(ownedSignals('home', ['hub', 'new'], true, time++));
    });
    expect(events).toMatchObject([{ event: 'device_added', kind: 'signal', record: { id: 'new' } }]);
    expect(store.sonicView('kitchen')).toMatchObject({ propertyId: 'home', signal: { id: 'new' } });
  });

  it('keeps a sonic whose hub was replaced in the only property, when the account gets another one', () => {
    empty(['Home']);
    store.replaceProperties(complete([property('home', 'Home')]));
    store.setOwnedSignals(ownedSignals('home', ['hub'], true, time++));
    store.replaceSignals(complete([signal('hub')]));
    store.replaceSonics(complete([sonic('kitchen', 'hub')]));
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'kitchen' })]));
    const events = eventsOf(() => {
      store.replaceSonics(complete([sonic('kitchen', 'new')]));
      store.replaceProperties(complete([property('home', 'Home'), property('shop', 'Shop')]));
    });
    expect(events).toEqual([]);
    expect(store.propertyView('home')?.incidents).toMatchObject([{ id: 'leak' }]);
  });

  it('lets an open incident go that has moved to a sonic which is not shown, and does not say that it closed', () => {
    furnish(['Home']);
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'kitchen' })]));
    const elsewhere = [incident('leak', { sonic_id: 'shed' })];
    expect(eventsOf(() => store.replaceIncidents({ ...complete(elsewhere), isComplete: false }))).toEqual([]);
    expect([store.ids('incident'), store.has('incident', 'leak')]).toEqual([[], true]);
    expect(store.sonicView('kitchen')?.incidents).toEqual([]);
    expect(eventsOf(() => store.replaceIncidents(complete(elsewhere)))).toEqual([]);
    expect(store.has('incident', 'leak')).toBe(true);
  });

  it('says that an incident closed whose signal the list of its property misses', () => {
    furnish(['Home']);
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'kitchen' })]));
    store.setOwnedSignals(ownedSignals('home', []));
    expect(eventsOf(() => store.replaceIncidents(complete([])))).toMatchObject([
      { event: 'incident_closed' },
    ]);
  });

  it('is not decided of what nobody can place yet: that is left as it is until it is known where it is', () => {
    empty(['Home']);
    const everything = [
      ['signal', 'hub'],
      ['sonic', 'kitchen'],
      ['incident', 'leak'],
    ] as const;
    const left = () =>
      everything.map(([kind, id]) =>
        kind === 'incident' ? store.incidents.isPlacePending(id) : store.isPlacePending(kind, id),
      );
    store.replaceProperties(complete([property('home', 'My home'), property('shop', 'Shop')]));
    store.replaceSignals(complete([signal('hub'), signal('stray')]));
    store.replaceSonics(complete([sonic('kitchen', 'hub'), sonic('shed', 'stray')]));
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'kitchen' })]));
    expect([store.areListsComplete, store.isComplete]).toEqual([true, false]);
    expect(left()).toEqual([true, true, true]);
    // What the cloud does not list is gone all the same.
    expect(store.isPlacePending('sonic', 'gone')).toBe(false);
    expect(store.incidents.isPlacePending('gone')).toBe(false);
    store.setOwnedSignals(ownedSignals('home', ['hub']));
    expect(store.isComplete).toBe(true);
    expect(left()).toEqual([false, false, false]);
    expect(everything.map(([kind]) => store.ids(kind))).toEqual([['hub'], ['kitchen'], ['leak']]);
    expect(store.isPlacePending('sonic', 'shed')).toBe(false);
  });

  it.each([
    ['properties', []],
    ['hubs of a selected property', [property('home', 'Home'), property('shop', 'Shop')]],
  ] as const)('is shown once all lists were asked for: the list of %s cannot be read', (_, properties) => {
    empty(['Home']);
    store.replaceProperties({ ...complete(properties), isComplete: properties.length > 0 });
    store.replaceSignals(complete([signal('hub'), signal('stray')]));
    store.replaceSonics(complete([sonic('kitchen', 'hub'), sonic('shed', 'stray')]));
    store.replaceIncidents(complete([incident('leak', { sonic_id: 'kitchen' })]));
    expect([store.ids('sonic'), store.ids('incident')]).toEqual([[], []]);
    store.setListsAsked();
    expect([store.ids('sonic'), store.ids('incident')]).toEqual([['kitchen', 'shed'], ['leak']]);
    expect(store.isComplete).toBe(false);
    store.replaceProperties(complete([property('home', 'Home'), property('shop', 'Shop')]));
    store.setOwnedSignals(ownedSignals('home', ['hub']));
    expect([store.ids('sonic'), store.ids('incident')]).toEqual([['kitchen'], ['leak']]);
  });
});
