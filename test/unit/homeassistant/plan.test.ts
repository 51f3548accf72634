import { describe, expect, it } from 'vitest';
import { devicePaths, entityStates, planDevice, planIncident } from '../../../src/homeassistant/plan.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import { incidentTypes } from '../../../src/model/records.ts';
import {
  anIncident,
  aProperty,
  aSignal,
  aSonic,
  bridgeView,
  context,
  propertyView,
  signalView,
  situations,
  someNotifications,
  someSettings,
  sonicView,
  topics,
  wholeHouse,
} from '../../support/views.ts';

/** The retained messages of a device by the path below its topic, parsed where they are JSON. */
function planned(view: DeviceView, changes: Partial<typeof context> = {}): Record<string, unknown> {
  const { messages } = planDevice(view, { ...context, ...changes });
  const own = view.kind === 'bridge' ? 'sonic2mqtt/bridge' : `sonic2mqtt/${view.kind}/${view.kind}-1`;
  return Object.fromEntries(
    messages.map(({ topic, payload }) => {
      expect(topic.startsWith(own)).toBe(true);
      return [topic.slice(own.length), payload.startsWith('{') ? JSON.parse(payload) : payload];
    }),
  );
}

const noIncident = Object.fromEntries(incidentTypes.map((type) => [type, null]));

describe('the messages of a sonic', () => {
  it('are its availability, record, telemetry, incidents and states', () => {
    expect(planned(sonicView(), { isDiscoveryOn: false })).toEqual({
      '/availability': 'online',
      '': { ...aSonic(), property_id: 'property-1', valve: 'open' },
      '/telemetry': {
        flow_l_min: 7.64,
        pressure_bar: 3.252,
        water_temperature_c: 17.1,
        probed_at: '2021-06-11T12:28:02.000Z',
      },
      '/incidents': { open_count: 1, open: { ...noIncident, high_volume_alert: anIncident() } },
    });
  });

  it('hold no telemetry where the cloud offers none', () => {
    expect(planned(sonicView({ telemetry: null }))).not.toHaveProperty('/telemetry');
  });

  it('say that it is offline when a link is down, before anything else', () => {
    const sonic = aSonic({ radio_connection: 'disconnected' });
    const [first] = planDevice(sonicView({ sonic }), context).messages;
    expect(first).toEqual({ topic: 'sonic2mqtt/sonic/sonic-1/availability', payload: 'offline' });
  });

  it('keep the record as the cloud wrote it, however long or foreign its texts are', () => {
    const name = `${'💧'.repeat(50_000)}"\\`;
    expect(planned(sonicView({ sonic: aSonic({ name }) }))['']).toMatchObject({ name });
  });
});

describe('the messages of a signal', () => {
  it('are its availability, record and incidents', () => {
    const incident = anIncident({ id: 'incident-2', type: 'cloud_disconnection', sonic_id: null });
    expect(planned(signalView(), { isDiscoveryOn: false })).toEqual({
      '/availability': 'online',
      '': { ...aSignal(), property_id: 'property-1' },
      '/incidents': { open_count: 1, open: { ...noIncident, cloud_disconnection: incident } },
    });
  });

  it('say that it is offline when it could not be read for too long', () => {
    const view = signalView({ isUnread: true });
    expect(planned(view)['/availability']).toBe('offline');
    expect(entityStates(view, context)['cloud_connection']).toBeNull();
  });

  it('say that it is offline when its cloud link is down', () => {
    const signal = aSignal({ cloud_connection: 'disconnected' });
    expect(planned(signalView({ signal }))['/availability']).toBe('offline');
  });
});

describe('the messages of a property', () => {
  it('are its record, settings, notification settings and incidents', () => {
    const older = anIncident({ id: 'older', detected_at: '2024-01-01T00:00:00Z', severity: 'high' });
    expect(planned(propertyView({ incidents: [older, anIncident()] }), { isDiscoveryOn: false })).toEqual({
      '': aProperty(),
      '/settings': someSettings(),
      '/notifications': someNotifications(),
      '/incidents': { open_count: 2, highest_severity: 'high', open: [anIncident(), older] },
    });
  });

  it('hold no settings before these are known', () => {
    const paths = Object.keys(planned(propertyView({ settings: null, notifications: null })));
    expect(paths).toEqual(['', '/incidents', '/homeassistant']);
  });

  it('count all open incidents and show the fifty newest', () => {
    const incidents = Array.from({ length: 60 }, (_, day) =>
      anIncident({ id: `i${day}`, detected_at: new Date(Date.UTC(2025, 0, day)).toISOString() }),
    );
    const { open_count, open } = planned(propertyView({ incidents }))['/incidents'] as {
      open_count: number;
      open: { id: string }[];
    };
    expect([open_count, open.length, open[0]?.id, open.at(-1)?.id]).toEqual([60, 50, 'i59', 'i10']);
  });
});

describe('the states of entities', () => {
  const states = (view: DeviceView) => entityStates(view, context);

  it('of a sonic say each thing by its own key', () => {
    expect(states(sonicView())).toEqual({
      valve: 'open',
      flow: 7.64,
      pressure: 3.252,
      water_temperature: 17.1,
      open_incidents: 1,
      ...Object.fromEntries(
        incidentTypes.map((type) => [`incident_${type}`, type === 'high_volume_alert' ? 'ON' : 'OFF']),
      ),
      valve_problem: 'OFF',
      pressure_test_running: 'OFF',
      valve_state: 'open',
      valve_travel_time: 12.5,
      battery: 'medium',
      battery_low: 'OFF',
      external_power: 'OFF',
      radio_connection: 'ON',
      radio_rssi: 166,
      status: 'active',
      telemetry_time: '2021-06-11T12:28:02.000Z',
      auto_shut_off_enabled: 'ON',
      auto_shut_off_time_limit: 900,
      auto_shut_off_volume_limit: 75.5,
    });
  });

  it('of a signal, a property and the bridge too', () => {
    expect(states(signalView())).toEqual({
      cloud_connection: 'ON',
      open_incidents: 1,
      incident_cloud_disconnection: 'ON',
      wifi_rssi: -69,
      boot_time: '2021-06-06T09:33:53.000Z',
      modem_boot_time: '2021-06-06T09:34:59.000Z',
      version: '2.3.4',
      modem_version: '9.1.0',
    });
    expect(states(propertyView())).toEqual({
      problem: 'ON',
      open_incidents: 1,
      highest_severity: 'medium',
      address: '1 Well Lane, BA1 1AA, Bath',
    });
    expect(states(bridgeView())).toEqual({
      cloud: 'ON',
      status: 'degraded',
      log_level: 'info',
      last_update: '2025-01-15T12:00:00.000Z',
      requests_last_hour: 321,
      version: '1.2.3',
    });
  });

  it('are null where nothing is known, and never a guess', () => {
    const nothing = situations.find(({ name }) => name === 'nothing is known');
    const known = (nothing?.views ?? []).flatMap((view) =>
      Object.entries(states(view)).filter(([, value]) => value !== null),
    );
    expect(known).toEqual([
      ['cloud', 'OFF'],
      ['log_level', 'info'],
      ['requests_last_hour', 0],
      ['version', '1.2.3'],
    ]);
  });

  it('are cut to what Home Assistant takes, between two characters', () => {
    const status = (text: string) => states(sonicView({ sonic: aSonic({ status: text }) }))['status'];
    expect(status('x'.repeat(300))).toBe('x'.repeat(255));
    expect(status('💧'.repeat(300))).toBe('💧'.repeat(127));
    expect(status('')).toBeNull();
  });

  it('leave out what is not offered', () => {
    expect(entityStates(sonicView(), { offers: () => false })).not.toHaveProperty('valve');
  });
});

describe('a plan', () => {
  it('says nothing to Home Assistant where that is switched off', () => {
    for (const view of wholeHouse) {
      const { discovery, messages } = planDevice(view, { ...context, isDiscoveryOn: false });
      expect(discovery).toBeNull();
      expect(messages.filter(({ topic }) => topic.endsWith('/homeassistant'))).toEqual([]);
    }
  });

  it('announces a device at its own topic', () => {
    expect(wholeHouse.map((view) => planDevice(view, context).discovery?.topic)).toEqual([
      'homeassistant/device/sonic2mqtt_bridge/config',
      'homeassistant/device/sonic2mqtt_property-1/config',
      'homeassistant/device/sonic2mqtt_signal-1/config',
      'homeassistant/device/sonic2mqtt_sonic-1/config',
    ]);
  });

  it('is the same for the same knowledge, byte for byte', () => {
    for (const view of wholeHouse) {
      const again = JSON.parse(JSON.stringify(view)) as DeviceView;
      expect(JSON.stringify(planDevice(again, context))).toBe(JSON.stringify(planDevice(view, context)));
    }
  });

  it('has no topic twice and none but those that are cleared with the device', () => {
    for (const view of wholeHouse) {
      const paths = Object.keys(planned(view)).map((path) => path.slice(1));
      expect(paths.toSorted()).toEqual(devicePaths(view.kind).toSorted());
      expect(planDevice(view, context).messages).toHaveLength(paths.length);
    }
  });

  it('of an incident is its record', () => {
    const incident = anIncident({ note: 'kept' });
    expect(planIncident(incident, topics)).toEqual({
      topic: 'sonic2mqtt/incident/incident-1',
      payload: JSON.stringify(incident),
    });
  });
});
