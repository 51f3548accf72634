import type { Control } from '../../src/cloud/catalogue.ts';
import type { SupportedOperations } from '../../src/entities/row.ts';
import type { PlanContext } from '../../src/homeassistant/plan.ts';
import { Topics } from '../../src/homeassistant/topics.ts';
import type { BridgeView, DeviceView, PropertyView, SignalView, SonicView } from '../../src/model/devices.ts';
import { noPause } from '../../src/model/pause.ts';
import type { PressureTestDays } from '../../src/model/pressureTests.ts';
import { isConnected, linkWord, signalReach, sonicReach } from '../../src/model/reach.ts';
import {
  type Incident,
  incidentTypes,
  type NotificationSettings,
  type Property,
  type PropertySettings,
  type Signal,
  type Sonic,
  type Telemetry,
} from '../../src/model/records.ts';
import type { Usage } from '../../src/model/usage.ts';
import { newSignal, newSonic } from '../../src/simulator/records.ts';

// Every number and text is different, so that a test notices if two fields are mixed up.

/** An open incident. `changes` may contain unknown fields. */
export function anIncident(changes: Readonly<Record<string, unknown>> = {}): Incident {
  return {
    id: 'incident-1',
    detected_at: '2025-02-03T04:05:06Z',
    open: true,
    possible_actions: ['resolve', 'snooze'],
    severity: 'medium',
    signal_id: 'signal-1',
    sonic_id: 'sonic-1',
    state: 'detected',
    type: 'high_volume_alert',
    ...changes,
  };
}

/** A property's record. */
export function aProperty(changes: Partial<Property> = {}): Property {
  return {
    id: 'property-1',
    active: true,
    address: '1 Well Lane',
    city: 'Bath',
    country: 'GB',
    created_at: '2021-01-02T03:04:05Z',
    lat: 51.38,
    lng: -2.36,
    name: 'Holiday home',
    postcode: 'BA1 1AA',
    uprn: '100121',
    ...changes,
  };
}

/** A property's settings. */
export function someSettings(changes: Partial<PropertySettings> = {}): PropertySettings {
  return {
    auto_shut_off: true,
    pressure_tests_enabled: false,
    pressure_tests_schedule: '03:15:00',
    timezone: 'Europe/London',
    webhook_enabled: false,
    webhook_url: 'https://example.com/hook',
    ...changes,
  };
}

/** A property's notification settings. */
export function someNotifications(changes: Partial<NotificationSettings> = {}): NotificationSettings {
  return {
    battery_too_low_to_move_handle: true,
    cloud_disconnection: false,
    device_handle_moved: true,
    health_check_failed: false,
    high_humidity: true,
    high_humidity_threshold: false,
    high_temperature: true,
    high_temperature_threshold: false,
    high_volume_threshold_litres: 150,
    legionella_risk: true,
    long_flow_notification_delay_mins: 60,
    low_battery_level: false,
    low_temperature: true,
    low_temperature_threshold: false,
    low_water_temperature: true,
    pressure_test_failed: false,
    pressure_test_skipped: true,
    radio_disconnection: false,
    water_presence_detected: true,
    ...changes,
  };
}

/** A signal's record. A field that is not here is the simulated cloud's. */
export function aSignal(changes: Partial<Signal> = {}): Signal {
  return {
    ...newSignal(0, () => 0, 0),
    id: 'signal-1',
    name: 'Cellar hub',
    serial_no: 'SG-77',
    created_at: '2022-02-03T04:05:06Z',
    cloud_connection: 'connected',
    boot_time: 1_622_972_033,
    modem_boot_time: 1_622_972_099,
    modem_version: '9.1.0',
    version: '2.3.4',
    wifi_rssi: -69,
    ...changes,
  };
}

/** A sonic's record. A field that is not here is the simulated cloud's. */
export function aSonic(changes: Partial<Sonic> = {}): Sonic {
  return {
    ...newSonic(0, 'signal-1', () => 0, 0),
    id: 'sonic-1',
    name: 'Kitchen',
    serial_no: 'SN-42',
    created_at: '2023-03-04T05:06:07Z',
    signal_id: 'signal-1',
    battery: 'mid',
    radio_connection: 'connected',
    radio_rssi: 166,
    status: 'active',
    valve_state: 'open',
    auto_shut_off_enabled: true,
    auto_shut_off_time_limit: 900,
    auto_shut_off_volume_limit: 75_500,
    ...changes,
  };
}

/** A measurement in the units of the cloud. */
export function someTelemetry(changes: Partial<Telemetry> = {}): Telemetry {
  return { pressure: 3_252, water_flow: 7_640, water_temp: 17.1, probed_at: 1_623_414_482, ...changes };
}

/** The shown water usage of a sonic. */
function someUsage(changes: Partial<Usage> = {}): Usage {
  return {
    todayL: 41.5,
    yesterdayL: 187.3,
    monthL: 2_904.8,
    totalL: 61_033.276,
    lastReset: '2025-02-03T00:00:00+00:00',
    days: { '2025-02-02': 187.3, '2025-02-03': 41.5 },
    updatedAt: '2025-02-03T11:12:13.000Z',
    ...changes,
  };
}

/** The shown pressure tests of a sonic. */
function somePressureTests(changes: Partial<PressureTestDays> = {}): PressureTestDays {
  return {
    lastDay: '2025-02-01',
    lastDayStart: Date.parse('2025-02-01T00:00:00Z'),
    todayCount: 3,
    days: { '2025-02-01': ['test-1', 'test-2'] },
    ...changes,
  };
}

/** A sonic of which everything is known. */
export function sonicView(changes: Partial<SonicView> = {}): SonicView {
  const { sonic = aSonic(), signal = aSignal(), isWifi = false } = changes;
  const hubReach =
    typeof signal === 'object'
      ? signalReach(isConnected(signal.cloud_connection), false, false)
      : signal === 'none'
        ? 'up'
        : null;
  const word = linkWord(sonic, isWifi);
  const link = word === undefined ? true : isConnected(word);
  return {
    kind: 'sonic',
    sonic,
    isWifi,
    signal,
    reach: sonicReach(link, false, hubReach),
    isChecked: false,
    propertyId: 'property-1',
    valve: 'open',
    travelTimeS: 12.5,
    restedAt: 1_623_414_401,
    valveRecord: { command: null, failed: null, stopped: null, movement: null },
    telemetry: someTelemetry(),
    usage: someUsage(),
    pressureTests: somePressureTests(),
    pressureTestJobId: 'job-1',
    incidents: [anIncident()],
    possibleIncidents: [],
    areIncidentsFresh: true,
    isReporting: true,
    ...changes,
  };
}

/** A signal of which everything is known. */
export function signalView(changes: Partial<SignalView> = {}): SignalView {
  const incident = anIncident({ id: 'incident-2', type: 'cloud_disconnection', sonic_id: null });
  const { signal = aSignal() } = changes;
  return {
    kind: 'signal',
    signal,
    reach: signalReach(isConnected(signal.cloud_connection), false, false),
    isChecked: false,
    propertyId: 'property-1',
    hub: { id: 'signal-1', serial_no: 'SG-77', status: 'up to date' },
    incidents: [incident],
    possibleIncidents: [],
    areIncidentsFresh: true,
    isReporting: true,
    ...changes,
  };
}

/** A property of which everything is known. */
export function propertyView(changes: Partial<PropertyView> = {}): PropertyView {
  return {
    kind: 'property',
    property: aProperty(),
    isStale: false,
    settings: someSettings(),
    notifications: someNotifications(),
    pause: noPause,
    failedChange: null,
    contents: { signals: [signalView()], sonics: [sonicView()], strays: [], mayHaveMore: false },
    incidents: [anIncident()],
    possibleIncidents: [],
    areIncidentsFresh: true,
    unconfirmedSince: null,
    isReporting: true,
    ...changes,
  };
}

/** The bridge. */
export function bridgeView(changes: Partial<BridgeView> = {}): BridgeView {
  return {
    kind: 'bridge',
    version: '1.2.3',
    status: 'degraded',
    isCloudFresh: true,
    logLevel: 'info',
    lastUpdate: '2025-01-15T12:00:00.000Z',
    requestsLastHour: 321,
    incidents: [],
    possibleIncidents: [],
    areIncidentsFresh: true,
    isReporting: true,
    applianceCategories: [
      { id: 'shower', name: 'Shower' },
      { id: 'dishwasher', name: null },
    ],
    ...changes,
  };
}

export const topics = new Topics('sonic2mqtt', 'homeassistant');

/** The context of a discovery message, for a bridge that may do everything. */
export const context: PlanContext = {
  topics,
  offers: () => true,
  version: '1.2.3',
  language: 'en',
  statusPage: null,
  homepage: null,
  isDiscoveryOn: true,
  moment: () => ({
    bridge: {
      cloud: { status: 'up', workedAt: null },
      broker: { status: 'up', workedAt: null },
      health: 'ok',
      isLoading: false,
      isComplete: true,
      isWatchOnly: false,
    },
    now: Date.parse('2025-02-03T11:12:13Z'),
    timezone: 'Europe/London',
  }),
};

/** One device of each kind, with everything known. */
export const wholeHouse: readonly DeviceView[] = [bridgeView(), propertyView(), signalView(), sonicView()];

/** A state of devices for which all messages must be valid. */
export interface Situation {
  readonly name: string;
  readonly views: readonly DeviceView[];
  readonly offers: SupportedOperations;
}

/** The same record with other values, except in its ids. */
function reworded<T extends object>(record: T, reword: (value: unknown) => unknown): T {
  const fields = Object.entries(record).map(([key, value]) => [key, /id$/.test(key) ? value : reword(value)]);
  return { ...Object.fromEntries(fields) };
}

function nothingKnown<T extends object>(record: T): T {
  const unknown = Object.entries(record).map(([key, value]) => [
    key,
    key === 'id' ? value : Array.isArray(value) ? [] : null,
  ]);
  return { ...Object.fromEntries(unknown) };
}

/** One device of each kind, with this text in every text field. */
function withTexts(text: string): DeviceView[] {
  const reword = <T extends object>(record: T): T =>
    reworded(record, (value) => (typeof value === 'string' ? text : value));
  const incidents = [reword(anIncident())];
  return [
    bridgeView({ logLevel: text, version: text }),
    propertyView({ property: reword(aProperty()), settings: reword(someSettings()), incidents }),
    signalView({ signal: reword(aSignal()), incidents }),
    sonicView({ sonic: reword(aSonic()), signal: reword(aSignal()), incidents }),
  ];
}

/** One device of each kind, with this number in every field with a number. */
function withNumbers(number: number): DeviceView[] {
  const renumber = <T extends object>(record: T): T =>
    reworded(record, (value) => (typeof value === 'number' ? number : value));
  const signal = renumber(aSignal());
  return [
    bridgeView(),
    propertyView({ property: renumber(aProperty()) }),
    signalView({ signal }),
    sonicView({ sonic: renumber(aSonic()), signal, telemetry: renumber(someTelemetry()) }),
  ];
}

/** Devices for which all messages must be valid, by the situation in which they are. */
const viewsBySituation: Readonly<Record<string, readonly DeviceView[]>> = {
  'everything is known': wholeHouse,
  'nothing is known': [
    bridgeView({
      status: null,
      isCloudFresh: false,
      lastUpdate: null,
      requestsLastHour: 0,
      applianceCategories: null,
      areIncidentsFresh: false,
    }),
    propertyView({
      property: nothingKnown(aProperty()),
      settings: null,
      notifications: null,
      incidents: [],
      areIncidentsFresh: false,
    }),
    signalView({
      signal: nothingKnown(aSignal()),
      propertyId: null,
      hub: null,
      incidents: [],
      areIncidentsFresh: false,
    }),
    sonicView({
      sonic: nothingKnown(aSonic()),
      signal: 'none',
      propertyId: null,
      valve: null,
      travelTimeS: null,
      restedAt: null,
      valveRecord: { command: null, failed: null, stopped: null, movement: null },
      telemetry: null,
      usage: null,
      pressureTests: null,
      pressureTestJobId: null,
      incidents: [],
      areIncidentsFresh: false,
    }),
  ],
  'incidents about which nothing is known': [
    propertyView({ incidents: [nothingKnown(anIncident())] }),
    signalView({ incidents: [nothingKnown(anIncident())] }),
    sonicView({ incidents: [nothingKnown(anIncident())] }),
  ],
  'every type of incident, many times': (() => {
    const incidents = [...incidentTypes, 'a_new_type', null].flatMap((type, row) =>
      Array.from({ length: 10 }, (_, index) =>
        anIncident({ id: `i${row}-${index}`, type, severity: index % 2 ? 'high' : 'apocalyptic' }),
      ),
    );
    return [propertyView({ incidents }), signalView({ incidents }), sonicView({ incidents })];
  })(),
  'texts of 100 kB': withTexts('long '.repeat(20_000)),
  'texts of many emoji': withTexts(`a${'💧'.repeat(400)}`),
  'broken Unicode': withTexts('tap \ud83d'),
  'foreign letters': withTexts('Küche "Süd" / 厨房 \u0000\n{{ 1 }}'),
  'empty texts': withTexts(''),
  'blank texts': withTexts(' \t '),
  'values of enumerations that are new': withTexts('a_new_word'),
  'zero everywhere': withNumbers(0),
  'negative numbers': withNumbers(-1.5),
  'times in milliseconds': withNumbers(1_623_414_482_000),
  'huge numbers': withNumbers(1e300),
  'no telemetry and no shut-off limits': (() => {
    const { auto_shut_off_enabled, auto_shut_off_time_limit, auto_shut_off_volume_limit, ...sonic } =
      aSonic();
    return [sonicView({ sonic, telemetry: null })];
  })(),
  'nothing read yet of what is asked for sonic by sonic': [
    sonicView({ telemetry: undefined, usage: undefined, pressureTests: undefined }),
  ],
  'figures that are too old to be shown': [
    sonicView({
      usage: someUsage({ todayL: null, yesterdayL: null, monthL: null, totalL: null }),
      pressureTests: somePressureTests({ lastDay: null, lastDayStart: null, todayCount: null, days: {} }),
      pressureTestJobId: null,
    }),
  ],
  'settings that could not be asked for yet': [
    bridgeView({ applianceCategories: undefined }),
    propertyView({ settings: undefined, notifications: undefined }),
    signalView({ hub: undefined }),
  ],
  'settings of which each is unknown': [
    bridgeView({ applianceCategories: [] }),
    propertyView({
      settings: nothingKnown(someSettings()),
      notifications: nothingKnown(someNotifications()),
    }),
    signalView({ hub: nothingKnown({ id: null, serial_no: null, status: null }) }),
  ],
  'other numbers in notification settings': [0, -1, 12.5, 99, 1e300].map((value) =>
    propertyView({
      notifications: someNotifications({
        high_volume_threshold_litres: value,
        long_flow_notification_delay_mins: value,
      }),
    }),
  ),
  'parents that are unknown': [
    signalView({ propertyId: null }),
    sonicView({ signal: 'none', propertyId: null }),
  ],
  'Wi-Fi sonics': [null, 'property-1'].map((propertyId) =>
    sonicView({ isWifi: true, sonic: aSonic({ signal_id: null }), signal: 'none', propertyId }),
  ),
  'links that are down': [
    bridgeView({ status: 'auth_failed', isCloudFresh: false }),
    signalView({ signal: aSignal({ cloud_connection: 'disconnected' }) }),
    sonicView({ sonic: aSonic({ radio_connection: 'disconnected' }), valve: null }),
  ],
  'each position of a valve': (['open', 'opening', 'closing', 'closed'] as const).map((valve) =>
    sonicView({ valve }),
  ),
};

/** All situations for which the messages are checked. */
export const situations: readonly Situation[] = [
  ...Object.entries(viewsBySituation).map(([name, views]) => ({ name, views, offers: () => true })),
  { name: 'all controls off', views: wholeHouse, offers: () => false },
];

/** `control` with all that it can permit. */
export const allPermitted: Readonly<Record<Control, boolean>> = {
  valves: true,
  incidents: true,
  pressure_tests: true,
  settings: true,
  account: true,
};
