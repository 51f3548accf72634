import { describe, expect, it } from 'vitest';
import { entityTable } from '../../src/entities/tables.ts';
import type { Component } from '../../src/homeassistant/discovery.ts';
import { planDevice } from '../../src/homeassistant/plan.ts';
import { type DeviceKind, type DeviceView, deviceKinds } from '../../src/model/devices.ts';
import { incidentTypes } from '../../src/model/records.ts';
import { componentsIn, discoveryIn } from '../support/discoveries.ts';
import {
  aSonic,
  bridgeView,
  context,
  propertyView,
  signalView,
  situations,
  sonicView,
  wholeHouse,
} from '../support/views.ts';

const incidentSensors = incidentTypes.map((type) => [`incident_${type}`, 'binary_sensor', {}] as const);

const property = 'sonic2mqtt/property/property-1';
const notifications = [
  ...['battery_too_low_to_move_handle', 'cloud_disconnection', 'device_handle_moved', 'health_check_failed'],
  ...['high_humidity', 'high_humidity_threshold', 'high_temperature', 'high_temperature_threshold'],
  ...['legionella_risk', 'low_battery_level', 'low_temperature', 'low_temperature_threshold'],
  ...['low_water_temperature', 'pressure_test_failed', 'pressure_test_skipped', 'radio_disconnection'],
  'water_presence_detected',
];

const water = { device_class: 'water', unit_of_measurement: 'L' };

type Promised = readonly [key: string, platform: string, says: Component];

/** The entities that users are promised, with what automations and dashboards rely on. */
const promised: Readonly<Record<DeviceKind, readonly Promised[]>> = {
  sonic: [
    ['valve', 'valve', { name: null, device_class: 'water' }],
    [
      'valve_state',
      'sensor',
      {
        device_class: 'enum',
        options: [
          ...['open', 'closed', 'opening', 'closing', 'requested_open', 'requested_closed'],
          ...['pressure_test', 'faulty', 'other'],
        ],
      },
    ],
    ['valve_problem', 'binary_sensor', { device_class: 'problem' }],
    ['pressure_test_running', 'binary_sensor', { device_class: 'running' }],
    [
      'battery',
      'sensor',
      { device_class: 'enum', options: ['high', 'medium', 'low', 'external_power_supply', 'other'] },
    ],
    ['battery_low', 'binary_sensor', { device_class: 'battery' }],
    ['external_power', 'binary_sensor', { device_class: 'power' }],
    ['radio_connection', 'binary_sensor', { device_class: 'connectivity' }],
    ['radio_rssi', 'sensor', { device_class: undefined, unit_of_measurement: undefined }],
    ['status', 'sensor', { device_class: undefined }],
    ...incidentSensors,
    ['incident', 'event', { event_types: [...incidentTypes, 'unknown_incident'] }],
    ['open_incidents', 'sensor', { state_class: 'measurement' }],
    ['flow', 'sensor', { device_class: 'volume_flow_rate', unit_of_measurement: 'L/min' }],
    ['pressure', 'sensor', { device_class: 'pressure', unit_of_measurement: 'bar' }],
    ['water_temperature', 'sensor', { device_class: 'temperature', unit_of_measurement: '°C' }],
    ['telemetry_time', 'sensor', { device_class: 'timestamp' }],
    [
      'water_today',
      'sensor',
      {
        ...water,
        state_class: 'total',
        last_reset_value_template: '{{ value_json.last_reset }}',
      },
    ],
    ['water_yesterday', 'sensor', { ...water, state_class: undefined }],
    ['water_month', 'sensor', { ...water, state_class: undefined }],
    ['water_total', 'sensor', { ...water, state_class: 'total', last_reset_value_template: undefined }],
    ['pressure_tests_today', 'sensor', { device_class: undefined, unit_of_measurement: undefined }],
    ['pressure_test_last_day', 'sensor', { device_class: 'date', state_class: undefined }],
    ['auto_shut_off_enabled', 'binary_sensor', {}],
    ['auto_shut_off_time_limit', 'sensor', { device_class: 'duration', unit_of_measurement: 's' }],
    [
      'auto_shut_off_volume_limit',
      'sensor',
      { device_class: 'volume', unit_of_measurement: 'L', state_class: undefined },
    ],
    ['valve_travel_time', 'sensor', { device_class: 'duration', unit_of_measurement: 's' }],
    [
      'resolve_incidents',
      'button',
      { command_topic: 'sonic2mqtt/sonic/sonic-1/incidents/action', payload_press: 'resolve' },
    ],
    [
      'snooze_incidents',
      'button',
      { command_topic: 'sonic2mqtt/sonic/sonic-1/incidents/action', payload_press: 'snooze' },
    ],
    ['pressure_test_start', 'button', { command_topic: 'sonic2mqtt/sonic/sonic-1/pressure_test/start' }],
    ['name', 'text', { command_topic: 'sonic2mqtt/sonic/sonic-1/name/set' }],
  ],
  signal: [
    ['cloud_connection', 'binary_sensor', { device_class: 'connectivity' }],
    ['wifi_rssi', 'sensor', { device_class: 'signal_strength', unit_of_measurement: 'dBm' }],
    ['boot_time', 'sensor', { device_class: 'timestamp' }],
    ['modem_boot_time', 'sensor', { device_class: 'timestamp' }],
    ['version', 'sensor', {}],
    ['modem_version', 'sensor', {}],
    ['hub_status', 'sensor', {}],
    ['name', 'text', { command_topic: 'sonic2mqtt/signal/signal-1/name/set' }],
    ['incident_cloud_disconnection', 'binary_sensor', {}],
    ['incident', 'event', { event_types: [...incidentTypes, 'unknown_incident'] }],
    ['open_incidents', 'sensor', { state_class: 'measurement' }],
  ],
  property: [
    ['problem', 'binary_sensor', { device_class: 'problem' }],
    ['open_incidents', 'sensor', { state_class: 'measurement' }],
    ['highest_severity', 'sensor', { device_class: 'enum', options: ['none', 'low', 'medium', 'high'] }],
    ['address', 'sensor', {}],
    ...(['auto_shut_off', 'pressure_tests_enabled', 'webhook_enabled'] as const).map(
      (field) => [field, 'switch', { command_topic: `${property}/settings/${field}/set` }] as const,
    ),
    ...(['pressure_tests_schedule', 'timezone', 'webhook_url'] as const).map(
      (field) => [field, 'text', { command_topic: `${property}/settings/${field}/set` }] as const,
    ),
    ...notifications.map(
      (field) => [field, 'switch', { command_topic: `${property}/notifications/${field}/set` }] as const,
    ),
    ...(['high_volume_threshold_litres', 'long_flow_notification_delay_mins'] as const).map(
      (field) => [field, 'select', { command_topic: `${property}/notifications/${field}/set` }] as const,
    ),
    ['leak_protection', 'switch', { command_topic: `${property}/leak_protection/set` }],
    ['push', 'switch', { command_topic: `${property}/push/set` }],
    ['active', 'switch', {}],
    ['name', 'text', { command_topic: `${property}/name/set` }],
    [
      'resolve_incidents',
      'button',
      { command_topic: `${property}/incidents/action`, payload_press: 'resolve' },
    ],
  ],
  bridge: [
    ['cloud', 'binary_sensor', { device_class: 'connectivity' }],
    [
      'status',
      'sensor',
      { device_class: 'enum', options: ['ok', 'degraded', 'cloud_unreachable', 'auth_failed'] },
    ],
    ['unassigned_incidents', 'binary_sensor', { device_class: 'problem' }],
    ['last_update', 'sensor', { device_class: 'timestamp' }],
    ['requests_last_hour', 'sensor', {}],
    ['version', 'sensor', {}],
    ['log_level', 'select', { options: ['debug', 'info', 'warn', 'error'] }],
    ['refresh', 'button', {}],
    ['appliance_categories', 'sensor', {}],
  ],
};

/** The entities that are not among what a device shows first. */
const rarelyLookedAt: Readonly<
  Record<
    DeviceKind,
    {
      readonly disabled: readonly string[];
      readonly hidden: readonly string[];
      readonly diagnostic: readonly string[];
    }
  >
> = {
  sonic: {
    disabled: ['sensor_status', 'sensor_telemetry_time', 'sensor_valve_state', 'text_name'],
    hidden: ['binary_sensor_incident_cloud_disconnection', 'binary_sensor_incident_radio_disconnection'],
    diagnostic: [
      ...['auto_shut_off_enabled', 'battery_low', 'external_power', 'pressure_test_running'].map(
        (key) => `binary_sensor_${key}`,
      ),
      ...['binary_sensor_radio_connection', 'binary_sensor_valve_problem'],
      ...['sensor_auto_shut_off_time_limit', 'sensor_auto_shut_off_volume_limit', 'sensor_battery'],
      ...['sensor_pressure_test_last_day', 'sensor_pressure_tests_today', 'sensor_radio_rssi'],
      ...['sensor_status', 'sensor_telemetry_time', 'sensor_valve_state', 'sensor_valve_travel_time'],
    ],
  },
  signal: {
    disabled: [
      ...['sensor_hub_status', 'sensor_modem_boot_time', 'sensor_modem_version', 'sensor_version'],
      'text_name',
    ],
    hidden: ['binary_sensor_incident_cloud_disconnection'],
    diagnostic: [
      ...['binary_sensor_cloud_connection', 'sensor_boot_time', 'sensor_hub_status'],
      ...['sensor_modem_boot_time', 'sensor_modem_version', 'sensor_version', 'sensor_wifi_rssi'],
    ],
  },
  property: {
    disabled: [
      ...['sensor_address', 'switch_active', 'switch_high_humidity_threshold'],
      ...['switch_high_temperature_threshold', 'switch_low_temperature_threshold', 'switch_webhook_enabled'],
      ...['text_name', 'text_timezone', 'text_webhook_url'],
    ],
    hidden: [],
    diagnostic: ['sensor_address'],
  },
  bridge: {
    disabled: ['sensor_appliance_categories'],
    hidden: [],
    diagnostic: [
      ...['binary_sensor_cloud', 'button_refresh', 'sensor_appliance_categories', 'sensor_last_update'],
      ...['sensor_requests_last_hour', 'sensor_status', 'sensor_version'],
    ],
  },
};

/** A device's components as they are announced. */
function componentsOf(kind: DeviceKind): Readonly<Record<string, Component>> {
  const view = wholeHouse.find((each) => each.kind === kind);
  const discovery = view && planDevice(view, context).discovery;
  return discovery ? componentsIn(discoveryIn(discovery.announcement)) : {};
}

describe.each(deviceKinds)('a %s', (kind) => {
  const components = componentsOf(kind);

  it.each(promised[kind])('has the entity %s, a %s', (key, platform, says) => {
    const component = components[`${platform}_${key}`];
    expect(component).toMatchObject({ platform });
    for (const [name, value] of Object.entries(says))
      expect([name, component?.[name]]).toEqual([name, value]);
  });

  it('has no entity that is not promised', () => {
    const names = promised[kind].map(([key, platform]) => `${platform}_${key}`);
    expect(Object.keys(components).toSorted()).toEqual(names.toSorted());
  });

  it('has no two entities of one key or one name, since keys are unique ids and names become entity ids', () => {
    const keys = entityTable(kind).map(({ key }) => key);
    const names = entityTable(kind).map(({ name }) => name?.toLowerCase());
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(names).size).toBe(names.length);
  });

  it('names its entities in sentence case and without its own name', () => {
    const names = entityTable(kind).flatMap(({ name }) => (name === null ? [] : [name]));
    for (const name of names) {
      expect(name).toMatch(/^(Wi-Fi|[A-Z][a-z]+)([ -][a-z]+)*$/);
      expect(name).not.toMatch(/^(bridge|property|signal|sonic)/i);
    }
  });

  it('has keys that a template can read', () => {
    for (const { key } of entityTable(kind)) expect(key).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it('keeps what few look at among settings and diagnostics', () => {
    for (const [id, component] of Object.entries(components)) {
      const isRare = component['enabled_by_default'] === false || component['visible_by_default'] === false;
      expect([id, isRare && component['entity_category'] === undefined]).toEqual([id, false]);
    }
  });

  it('has no entity enabled, shown or in front that hardly anybody looks at', () => {
    const idsWhere = (key: string, value: unknown) =>
      Object.keys(components).filter((id) => components[id]?.[key] === value);
    const isOwn = (id: string) => !id.startsWith('switch_') && !id.includes('_incident_');
    expect({
      disabled: idsWhere('enabled_by_default', false).toSorted(),
      hidden: idsWhere('visible_by_default', false).toSorted(),
      diagnostic: idsWhere('entity_category', 'diagnostic').filter(isOwn).toSorted(),
    }).toEqual(rarelyLookedAt[kind]);
  });

  it('has at most one sensor of the class battery, which Home Assistant shows as that of the device', () => {
    const classes = Object.values(components).map((component) => component['device_class']);
    expect(classes.filter((each) => each === 'battery').length).toBeLessThan(2);
  });
});

describe('the valve', () => {
  it('is the main entity of a sonic, and the only main entity there is', () => {
    const main = deviceKinds.flatMap((kind) =>
      entityTable(kind).flatMap(({ key, name }) => (name === null ? [key] : [])),
    );
    expect(main).toEqual(['valve']);
  });

  it('takes its commands where users publish theirs', () => {
    expect(componentsOf('sonic')['valve_valve']).toMatchObject({
      command_topic: 'sonic2mqtt/sonic/sonic-1/valve/set',
      retain: false,
    });
  });
});

describe('the documents of a device', () => {
  const documents = (view: DeviceView) =>
    Object.fromEntries(
      planDevice(view, context)
        .messages.filter(({ payload }) => payload.startsWith('{'))
        .map(({ topic, payload }) => [topic, JSON.parse(payload)]),
    );

  it.each(wholeHouse)('have each key always present, whatever is known of the $kind', (view) => {
    const unknown = situations
      .find(({ name }) => name === 'nothing is known')
      ?.views.find(({ kind }) => kind === view.kind);
    const whole = documents(view);
    const poor = unknown === undefined ? {} : documents(unknown);
    expect(Object.keys(poor)).not.toEqual([]);
    for (const [topic, document] of Object.entries(poor)) {
      expect([topic, Object.keys(document)]).toEqual([topic, Object.keys(whole[topic])]);
    }
  });

  it('carry every field of the cloud, unknown ones too', () => {
    const record = { ...aSonic(), firmware: '7.7' };
    expect(documents(sonicView({ sonic: record }))['sonic2mqtt/sonic/sonic-1']).toEqual({
      ...record,
      property_id: 'property-1',
      valve: 'open',
      valve_travel_time_s: 12.5,
    });
  });

  it('are at the topics that users are promised', () => {
    const topics = [bridgeView(), propertyView(), signalView(), sonicView()].flatMap((view) =>
      planDevice(view, { ...context, isDiscoveryOn: false }).messages.map(({ topic }) => topic),
    );
    expect(topics).toEqual([
      'sonic2mqtt/bridge/incidents',
      'sonic2mqtt/property/property-1',
      'sonic2mqtt/property/property-1/settings',
      'sonic2mqtt/property/property-1/notifications',
      'sonic2mqtt/property/property-1/leak_protection',
      'sonic2mqtt/property/property-1/push',
      'sonic2mqtt/property/property-1/incidents',
      'sonic2mqtt/signal/signal-1',
      'sonic2mqtt/signal/signal-1/incidents',
      'sonic2mqtt/signal/signal-1/availability',
      'sonic2mqtt/sonic/sonic-1',
      'sonic2mqtt/sonic/sonic-1/telemetry',
      'sonic2mqtt/sonic/sonic-1/usage',
      'sonic2mqtt/sonic/sonic-1/pressure_tests',
      'sonic2mqtt/sonic/sonic-1/incidents',
      'sonic2mqtt/sonic/sonic-1/availability',
    ]);
  });
});
