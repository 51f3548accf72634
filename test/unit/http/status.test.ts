import { describe, expect, it } from 'vitest';
import type { StatusSnapshot } from '../../../src/health/snapshots.ts';
import { devicesAPage, statusPages } from '../../../src/http/status.ts';
import type { SonicView } from '../../../src/model/devices.ts';
import type { Incident } from '../../../src/model/records.ts';
import {
  anIncident,
  aProperty,
  aSignal,
  aSonic,
  propertyView,
  signalView,
  sonicView,
} from '../../support/views.ts';

const up = { isReady: true, status: 'up', reason: null, workedAt: null } as const;
const away = { isReady: false, status: 'down', reason: 'no such host', workedAt: 3_000 } as const;

/** A house with a valve, of which everything is known, but for what is changed. */
function overview(changes: Partial<StatusSnapshot> = {}): StatusSnapshot {
  return {
    startedAt: 1_000,
    status: 'ok',
    reason: null,
    readiness: { cloud: up, broker: up },
    polls: [
      { poll: 'sonics', lastSuccessAt: 5_000, failure: null, failures: 0, isPending: false, records: 1 },
    ],
    emptiness: null,
    progress: [],
    isComplete: true,
    isWatchOnly: false,
    properties: [propertyView()],
    signals: [signalView()],
    sonics: [sonicView({ propertyId: 'property-1', sonic: aSonic({ valve_state: 'open' }), valve: 'open' })],
    incidents: [],
    areIncidentsFresh: true,
    unconfirmedSince: null,
    readAt: () => 4_000,
    ...changes,
  };
}

function status(changes: Partial<StatusSnapshot> = {}, number = 1) {
  const pages = statusPages(overview(changes), (text) => text.replaceAll('hush', '[hidden]'));
  return pages.page(pages.nearest(number));
}

/** The only valve of a house in which this sonic is the only one. */
function shown(changes: Partial<SonicView>, others: Partial<StatusSnapshot> = {}) {
  const document = status({ sonics: [sonicView({ propertyId: 'property-1', ...changes })], ...others });
  return document.properties[0]?.sonics[0];
}

describe('a valve', () => {
  it.each([
    ['open', 'open', null],
    ['closed', 'closed', null],
    ['requested_open', 'opening', null],
    ['pressure_test', 'open', 'pressure_test'],
    ['faulty', null, 'faulty'],
    ['a new word', null, 'a new word'],
    [null, null, null],
  ] as const)('that the cloud calls %s is shown as %s', (word, valve, said) => {
    const sonic = shown({ sonic: aSonic({ valve_state: word }), valve });
    expect(sonic).toMatchObject({ valve, word: said, doubt: null, readAt: null });
  });

  it('is not known at present while the cloud is away, or does not list it any more, and has its age', () => {
    const isHubOff = { signal: aSignal({ cloud_connection: 'disconnected' }) };
    const outage = shown({ valve: 'closed', ...isHubOff }, { readiness: { cloud: away, broker: up } });
    // The headline says at once that the water is not known, also while the data is not old yet.
    const isBeginning = { ...away, isReady: true };
    const beginning = shown({ valve: 'closed' }, { readiness: { cloud: isBeginning, broker: up } });
    const stale = shown({ valve: 'closed', reach: 'stale' });
    for (const sonic of [outage, beginning, stale]) {
      expect(sonic).toMatchObject({ valve: 'closed', doubt: 'old', readAt: 4_000, flowLMin: null });
      expect(sonic?.offlineHub).toBeNull();
    }
  });

  it('is not known at present while its radio, or its hub, is away', () => {
    const radio = { sonic: aSonic({ radio_connection: 'disconnected' }) };
    const hub = { signal: aSignal({ name: 'Attic', cloud_connection: 'disconnected' }) };
    for (const [changes, offlineHub] of [
      [radio, null],
      [hub, 'Attic'],
      // A valve hangs on its hub, so the hub is named first.
      [{ ...radio, ...hub }, 'Attic'],
    ] as const) {
      const sonic = shown({ valve: 'closed', ...changes });
      expect(sonic).toMatchObject({ valve: 'closed', doubt: 'unreachable', offlineHub, pressureBar: null });
    }
  });

  it('is not called out of reach while its hub could not be read: nobody knows', () => {
    const sonic = shown({ valve: 'closed', signal: 'unknown' });
    expect(sonic).toMatchObject({
      valve: 'closed',
      doubt: 'hub_unread',
      offlineHub: null,
      pressureBar: null,
    });
  });
});

describe('alerts', () => {
  const leak = anIncident({ id: 'leak', type: 'water_presence_detected' });
  const testing = { sonic: aSonic({ valve_state: 'pressure_test' }) };
  const failed: SonicView['valveRecord']['failed'] = {
    ...{ action: 'close', asked_at: '2025-02-03T04:05:06Z', status: 'not_confirmed', reason: null },
    ...{ waited_s: null, may_have_moved: true, at: 4_000 },
  };
  const disobedient = { valveRecord: { command: null, stopped: null, movement: null, failed } };
  const alert = {
    name: 'High water use',
    type: 'high_volume_alert',
    urgency: 'warning',
    time: 'since',
    advice: 'advice_high_volume_alert',
  };

  it('are shown at the valve, the hub or the property that they are about, and else at the top', () => {
    const atHub = anIncident({ id: 'incident-2', type: 'cloud_disconnection', sonic_id: null });
    const atProperty = anIncident({ id: 'incident-3', type: 'dragon', sonic_id: null, signal_id: null });
    const nowhere = anIncident({ id: 'incident-4', sonic_id: 'another', signal_id: null });
    const { properties, unplaced } = status({
      properties: [propertyView({ incidents: [anIncident(), atHub, atProperty] })],
      signals: [signalView({ incidents: [atHub] })],
      sonics: [sonicView({ incidents: [anIncident()] })],
      incidents: [anIncident(), atHub, atProperty, nowhere],
    });
    const [property] = properties;
    expect(property?.sonics[0]?.alerts).toEqual([{ ...alert, at: Date.parse('2025-02-03T04:05:06Z') }]);
    expect(property?.hubs[0]?.alerts).toMatchObject([{ type: 'cloud_disconnection' }]);
    expect(property).toMatchObject({
      alerts: [{ type: 'dragon', name: null, advice: 'advice_other' }],
      alertsInAll: 1,
    });
    expect(unplaced).toMatchObject({ alerts: [alert], alertsInAll: 1 });
  });

  it.each<[valve: string, changes: Partial<SonicView>, others: Partial<StatusSnapshot>, advice: string]>([
    ['open', { valve: 'open' }, {}, 'advice_water_presence_detected'],
    ['closed', { valve: 'closed' }, {}, 'advice_leak_closed'],
    ['closed before a pressure test', { ...testing, valve: 'closed' }, {}, 'advice_water_presence_detected'],
    ['offline', { valve: 'closed', reach: 'offline' }, {}, 'advice_leak_by_hand'],
    [
      'open in an outage',
      { valve: 'open' },
      { readiness: { cloud: away, broker: up } },
      'advice_leak_by_hand',
    ],
    ['open after a failed command', { valve: 'open', ...disobedient }, {}, 'advice_leak_by_hand'],
    [
      'closing after a failed command',
      { valve: 'closing', ...disobedient },
      {},
      'advice_water_presence_detected',
    ],
    [
      'open and not to be moved from here',
      { valve: 'open' },
      { isWatchOnly: true },
      'advice_leak_watch_only',
    ],
    [
      'open while the broker is away',
      { valve: 'open' },
      { readiness: { cloud: up, broker: away } },
      'advice_leak_watch_only',
    ],
    [
      'closed and not to be moved from here',
      { valve: 'closed' },
      { isWatchOnly: true },
      'advice_leak_closed',
    ],
  ])('of a leak come with what to do about the valve that is %s', (_, changes, others, advice) => {
    expect(shown({ incidents: [leak], ...changes }, others)?.alerts).toMatchObject([{ advice }]);
  });

  it('beyond the fifth of a valve are counted and not named, the most urgent ones first', () => {
    const many = Array.from({ length: 60 }, (_, index) => anIncident({ id: `incident-${index}` }));
    const sonic = shown({ incidents: [...many, leak] });
    expect([sonic?.alertsInAll, sonic?.alerts.length]).toEqual([61, 5]);
    expect(sonic?.alerts[0]?.type).toBe('water_presence_detected');
  });

  it('bring their valve and their property to the top, and so does what is offline', () => {
    const low = anIncident({ id: 'low', severity: 'low', type: 'low_battery_level' });
    const home = (name: string, incidents: Incident[]) =>
      propertyView({ property: aProperty({ id: name, name }), incidents });
    const valve = (propertyId: string, name: string, changes: Partial<SonicView> = {}) =>
      sonicView({ sonic: aSonic({ id: name, name }), propertyId, incidents: [], ...changes });
    const silent = aSonic({ id: 'D3', name: 'D3', radio_connection: 'disconnected' });
    const { properties } = status({
      properties: [home('A', []), home('B', [low]), home('C', [leak]), home('D', []), home('E', [])],
      signals: [],
      sonics: [
        ...[valve('A', 'A1'), valve('B', 'B1'), valve('B', 'B2', { incidents: [low] })],
        ...[valve('C', 'C1'), valve('C', 'C2', { incidents: [leak] }), valve('C', 'C3', { valve: null })],
        ...[valve('D', 'D1'), valve('D', 'D2'), valve('D', 'D3', { sonic: silent })],
      ],
    });
    expect(properties.map(({ name, sonics }) => [name, ...sonics.map((each) => each.name)])).toEqual([
      ['C', 'C2', 'C3', 'C1'],
      ['D', 'D3', 'D1', 'D2'],
      ['B', 'B2', 'B1'],
      ['A', 'A1'],
      ['E'],
    ]);
  });
});

describe('the worst alert', () => {
  const home = (name: string, incidents: Incident[] = []) =>
    propertyView({ property: aProperty({ id: name, name }), incidents });
  const incident = (id: string, type: string, severity: string, changes: object = {}) =>
    anIncident({ id, type, severity, sonic_id: null, signal_id: null, ...changes });
  const running = incident('running', 'long_flow_alert', 'high', { sonic_id: 'A1' });
  const leak = incident('leak', 'water_presence_detected', 'low', { sonic_id: 'B2' });
  const lost = incident('lost', 'cloud_disconnection', 'high', { signal_id: 'B-hub' });
  const low = incident('low', 'low_battery_level', 'low');
  const valve = (propertyId: string, name: string, incidents: Incident[] = []) =>
    sonicView({ sonic: aSonic({ id: name, name }), propertyId, incidents });
  const hub = (incidents: Incident[]) =>
    signalView({ signal: aSignal({ id: 'B-hub', name: 'Hub' }), propertyId: 'B', incidents });

  it('is the first on the page too, among alarms that are as red', () => {
    const { properties, headline } = status({
      properties: [home('A', [running]), home('B', [leak])],
      signals: [],
      sonics: [valve('A', 'A1', [running]), valve('B', 'B1'), valve('B', 'B2', [leak])],
      incidents: [running, leak],
    });
    expect(headline.sentences[0]?.values).toMatchObject({ name: 'Leak', place: 'B2' });
    expect(properties.map(({ name, sonics }) => [name, sonics[0]?.name])).toEqual([
      ['B', 'B2'],
      ['A', 'A1'],
    ]);
  });

  it('is the newer one of two that are as bad, and of two that are as new the one that the page shows first', () => {
    const at = (detected_at: string) => [{ ...running, detected_at }];
    const [early, late] = [at('2025-02-01T00:00:00Z'), at('2025-02-02T00:00:00Z')];
    const first = (...valves: SonicView[]) => {
      const incidents = valves.flatMap((view) =>
        view.incidents.map((each) => ({ ...each, sonic_id: view.sonic.id, id: view.sonic.id })),
      );
      const shown = status({ properties: [home('A')], signals: [], sonics: valves, incidents });
      return [shown.headline.sentences[0]?.values?.['place'], shown.properties[0]?.sonics[0]?.name];
    };
    expect(first(valve('A', 'A1', early), valve('A', 'A2', late))).toEqual(['A2', 'A2']);
    expect(first(valve('A', 'A2', late), valve('A', 'A1', late))).toEqual(['A1', 'A1']);
  });

  it('decides whether the property, its valves or its hubs come first', () => {
    const sections = (own: Incident[], atHub: Incident[]) =>
      status({
        properties: [home('B', [...own, ...atHub, leak])],
        signals: [hub(atHub)],
        sonics: [valve('B', 'B2', [{ ...leak, type: 'device_handle_moved', severity: 'medium' }])],
      }).properties[0]?.sections;
    expect(sections([], [])).toEqual(['sonics', 'alerts', 'hubs']);
    expect(sections([low], [])).toEqual(['sonics', 'alerts', 'hubs']);
    expect(sections([running], [])).toEqual(['alerts', 'sonics', 'hubs']);
    expect(sections([], [lost])).toEqual(['hubs', 'sonics', 'alerts']);
  });

  it('comes before those without a place, unless one of these is worse', () => {
    const nowhere = incident('nowhere', 'high_volume_alert', 'medium', { sonic_id: 'gone' });
    const isFirst = (placed: Incident[]) =>
      status({
        properties: [home('B')],
        sonics: [valve('B', 'B2', placed)],
        signals: [],
        incidents: [...placed, nowhere],
      }).unplaced.isFirst;
    expect([isFirst([]), isFirst([low]), isFirst([leak])]).toEqual([true, true, false]);
  });

  it('names the property of a valve or hub if the account has several, and else not', () => {
    const twin = (propertyId: string, id: string, name: string, incidents: Incident[] = []) =>
      sonicView({ sonic: aSonic({ id, name }), propertyId, incidents });
    const atKitchen = { ...leak, sonic_id: 'k2' };
    const values = (incident: Incident, properties = [home('Flat 3'), home('Flat 12')]) =>
      status({
        properties,
        signals: [],
        sonics: [
          ...[twin('Flat 3', 'k1', 'Kitchen'), twin('Flat 12', 'k2', 'Kitchen', [atKitchen])],
          twin('Flat 12', 'b', 'Bath'),
        ],
        incidents: [incident],
      }).headline.sentences[0]?.values;
    expect(values(atKitchen)).toMatchObject({ place: 'Kitchen', property: 'Flat 12' });
    expect(values({ ...leak, sonic_id: 'b' })).toMatchObject({ place: 'Bath', property: 'Flat 12' });
    expect(values({ ...leak, sonic_id: 'b' }, [home('Flat 12')])).not.toHaveProperty('property');
  });
});

describe('what the headline doubts', () => {
  it('is doubted in each property: the alerts, and the water of today', () => {
    const property = (changes: Partial<StatusSnapshot> = {}) => {
      const [first] = status({ properties: [propertyView({ incidents: [] })], ...changes }).properties;
      const [usage] = first?.usage ?? [];
      return [first?.areAlertsFresh, usage?.isFresh, first?.sonics[0]?.todayL];
    };
    expect(property()).toEqual([true, true, 41.5]);
    expect(property({ readiness: { cloud: away, broker: up } })).toEqual([false, false, null]);
    expect(property({ readiness: { cloud: up, broker: away } })).toEqual([true, true, 41.5]);
    const unread = [propertyView({ areIncidentsFresh: false })];
    expect(property({ properties: unread, areIncidentsFresh: false })).toEqual([false, true, 41.5]);
  });

  it('is doubted of what is in no known property too', () => {
    const sonics = [sonicView({ propertyId: null })];
    const known = (areIncidentsFresh: boolean) =>
      status({ properties: [], signals: [], sonics, areIncidentsFresh }).properties[0]?.areAlertsFresh;
    expect([known(true), known(false)]).toEqual([true, false]);
  });
});

describe('the document', () => {
  it('has names, and no address, id, serial number or secret', () => {
    const cloud = { ...away, reason: 'hush is wrong' };
    const text = JSON.stringify(
      status({ incidents: [anIncident()], reason: 'hush', readiness: { cloud, broker: up } }),
    );
    expect(text).toContain('Holiday home');
    const property = aProperty();
    const private_ = [
      property.address,
      property.city,
      property.postcode,
      aSonic().serial_no,
      aSignal().serial_no,
    ];
    for (const word of [...private_, 'property-1', 'sonic-1', 'signal-1', 'incident-1', 'hush']) {
      expect(word).toBeTruthy();
      expect(text).not.toContain(word);
    }
  });

  it('cuts what is too long to be a name', () => {
    const long = 'x'.repeat(10_000);
    expect(
      JSON.stringify(status({ properties: [propertyView({ property: aProperty({ name: long }) })] })).length,
    ).toBeLessThan(3_000);
  });

  it('shows a hundred sonics a page, by property and name, and every one on one page', () => {
    const homes = Array.from({ length: 40 }, (_, index) =>
      propertyView({ property: aProperty({ id: `home-${index}`, name: `Home ${index}` }) }),
    );
    const sonics = Array.from({ length: 250 }, (_, index) =>
      sonicView({
        sonic: aSonic({ id: `s-${index}`, name: `Valve ${index}` }),
        // A property with more than a page holds, some with one, the others with none.
        propertyId: index < 230 ? 'home-7' : `home-${index - 230}`,
      }),
    );
    const pages = [1, 2, 3].map((page) => status({ properties: homes, sonics }, page));
    expect(pages.map(({ page }) => page)).toMatchObject([1, 2, 3].map((number) => ({ number, of: 3 })));
    const names = pages.flatMap((each) =>
      each.properties.flatMap((home) => home.sonics.map(({ name }) => name)),
    );
    expect(names).toHaveLength(250);
    expect(new Set(names).size).toBe(250);
    for (const { properties } of pages) {
      expect(properties.flatMap((home) => home.sonics).length).toBeLessThanOrEqual(devicesAPage);
    }
    const order = pages.flatMap((each) => each.properties.map(({ name }) => name));
    expect(order.slice(0, 8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((index) => `Home ${index}`));
    expect(pages[1]?.properties[0]).toMatchObject({ name: 'Home 7', sonicsInAll: 231 });
  });

  it('pages hubs as it does sonics, those of a property after its sonics', () => {
    const signals = Array.from({ length: 250 }, (_, index) =>
      signalView({
        signal: aSignal({ id: `h-${index}`, name: `Hub ${index}` }),
        // The last is in no known property.
        propertyId: index < 249 ? 'property-1' : 'property-9',
      }),
    );
    const pages = [1, 2, 3].map((page) => status({ signals }, page));
    expect(pages.map(({ page }) => page)).toMatchObject([1, 2, 3].map((number) => ({ number, of: 3 })));
    const shownOn = pages.map(({ properties }) =>
      properties.map(({ name, hubs, sonics }) => [name, hubs.length, sonics.length]),
    );
    expect(shownOn).toEqual([
      [['Holiday home', 99, 1]],
      [['Holiday home', 100, 0]],
      [
        ['Holiday home', 50, 0],
        [null, 1, 0],
      ],
    ]);
    const names = pages.flatMap(({ properties }) => properties.flatMap(({ hubs }) => hubs));
    expect(names.map(({ name }) => name)).toEqual(signals.map(({ signal }) => signal.name));
    expect(pages[1]?.properties[0]).toMatchObject({ hubsInAll: 249, sonicsInAll: 1 });
  });

  it('has the water of today and the flow of the day of each valve', () => {
    const known = shown({ sonic: aSonic() });
    expect(known).toMatchObject({ todayL: 41.5 });
    expect(shown({ sonic: aSonic({ id: 'another' }), usage: undefined })).toMatchObject({
      todayL: null,
    });
  });

  it('shows what is in no known property last, each with its own water', () => {
    const names = status({
      sonics: [sonicView({ propertyId: 'property-9' }), sonicView({ propertyId: null })],
    }).properties;
    expect(names.map(({ name }) => name)).toEqual(['Holiday home', null]);
    expect(names[0]).toMatchObject({ sonics: [], usage: [] });
    expect(names[1]?.usage.map(({ sonic }) => sonic)).toEqual([aSonic().name, aSonic().name]);
  });

  it('says of a hub that nobody knows that it is unknown', () => {
    const hub = (changes: object) =>
      status({ signals: [signalView({ propertyId: 'property-1', ...changes })] }).properties[0]?.hubs[0];
    expect(hub({ signal: aSignal({ cloud_connection: 'connected' }) })).toMatchObject({ link: 'connected' });
    expect(hub({ signal: aSignal({ cloud_connection: 'disconnected' }) })).toMatchObject({
      link: 'disconnected',
    });
    expect(hub({ reach: 'stale' })).toMatchObject({ link: 'unknown' });
  });
});

describe('the headline', () => {
  it('names the device of the most urgent alert, its sonic or its hub, and the state of its valve', () => {
    const sonics = [
      sonicView({ valve: 'closed' }),
      sonicView({ sonic: aSonic({ id: 'sonic-2', name: 'Garden' }), valve: 'open' }),
    ];
    const leak = anIncident({ id: 'leak', type: 'water_presence_detected', sonic_id: 'sonic-2' });
    const { tone, sentences, details } = status({ sonics, incidents: [anIncident(), leak] }).headline;
    expect([tone, ...[...sentences, ...details].map(({ text }) => text)]).toEqual([
      ...['alarm', 'alert_at_since', 'its_valve_open', 'more_alerts'],
    ]);
    expect(sentences[0]?.values).toMatchObject({ name: 'Leak', place: 'Garden' });
    const atHub = anIncident({ sonic_id: null, type: 'cloud_disconnection' });
    const hub = status({ sonics, signals: [signalView()], incidents: [atHub] }).headline;
    expect(hub.sentences.map(({ text }) => text)).toEqual(['alert_at_since']);
    expect(hub.sentences[0]?.values).toMatchObject({ place: 'Cellar hub' });
  });
});
