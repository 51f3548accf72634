import { describe, expect, it } from 'vitest';
import { shortened, viewId, withWithdrawn } from '../../../src/homeassistant/discovery.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import { discoveryOf } from '../../support/discoveries.ts';
import {
  aProperty,
  aSignal,
  aSonic,
  bridgeView,
  propertyView,
  signalView,
  sonicView,
  wholeHouse,
} from '../../support/views.ts';

const announced = (view: DeviceView) => discoveryOf(view);

describe('a device', () => {
  it('is described with what is known of it, below the one above it', () => {
    expect(announced(bridgeView()).device).toEqual({
      identifiers: ['sonic2mqtt_bridge'],
      name: 'sonic2mqtt',
      manufacturer: 'sonic2mqtt',
      model: 'Bridge',
      sw_version: '1.2.3',
    });
    expect(announced(propertyView()).device).toEqual({
      identifiers: ['sonic2mqtt_property-1'],
      name: 'Holiday home',
      manufacturer: 'Watergate',
      model: 'Property',
      via_device: 'sonic2mqtt_bridge',
    });
    expect(announced(signalView()).device).toEqual({
      identifiers: ['sonic2mqtt_signal-1'],
      name: 'Cellar hub',
      manufacturer: 'Watergate',
      model: 'Signal',
      serial_number: 'SG-77',
      sw_version: '2.3.4',
      via_device: 'sonic2mqtt_property-1',
    });
    expect(announced(sonicView()).device).toEqual({
      identifiers: ['sonic2mqtt_sonic-1'],
      name: 'Kitchen',
      manufacturer: 'Watergate',
      model: 'Sonic',
      serial_number: 'SN-42',
      via_device: 'sonic2mqtt_signal-1',
    });
  });

  it('is below the bridge while the one above it is unknown', () => {
    const parent = { via_device: 'sonic2mqtt_bridge' };
    expect(announced(signalView({ propertyId: null })).device).toMatchObject(parent);
    expect(announced(sonicView({ signal: 'none' })).device).toMatchObject(parent);
  });

  it.each([null, '', '  ', '\ud83d'])('named %j is called after its kind', (name) => {
    const names = [
      announced(propertyView({ property: aProperty({ name }) })),
      announced(signalView({ signal: aSignal({ name }) })),
      announced(sonicView({ sonic: aSonic({ name }) })),
    ].map(({ device }) => device['name']);
    expect(names).toEqual(['Property', 'Signal', 'Sonic']);
  });

  it.each([null, '', '\ud83d'])('whose serial number and version are %j has none', (text) => {
    const { device } = announced(signalView({ signal: aSignal({ serial_no: text, version: text }) }));
    expect(Object.keys(device)).toEqual(['identifiers', 'name', 'manufacturer', 'model', 'via_device']);
  });

  it('is called by the beginning of a very long name', () => {
    const { device } = announced(sonicView({ sonic: aSonic({ name: ` ${'tap '.repeat(25_000)}` }) }));
    expect(device['name']).toBe('tap '.repeat(25));
  });

  it('of the bridge leads to the status page, and each message to the project, where there is one', () => {
    const links = { statusPage: 'http://192.168.1.5:8099/', homepage: 'https://example.com/sonic2mqtt' };
    for (const view of wholeHouse) {
      const { device, origin } = discoveryOf(view, links);
      const page = view.kind === 'bridge' ? links.statusPage : undefined;
      expect([device['configuration_url'], origin['support_url']]).toEqual([page, links.homepage]);
      const without = announced(view);
      expect(without.device).not.toHaveProperty('configuration_url');
      expect(without.origin).not.toHaveProperty('support_url');
    }
  });

  it('is known by the id of its record', () => {
    expect(wholeHouse.map(viewId)).toEqual(['', 'property-1', 'signal-1', 'sonic-1']);
  });
});

it('the root of a message says for all components what they have in common', () => {
  const { availability, availability_mode, state_topic } = announced(sonicView());
  expect({ availability, availability_mode, state_topic }).toEqual({
    availability: [
      { topic: 'sonic2mqtt/bridge/state' },
      { topic: 'sonic2mqtt/bridge/cloud' },
      { topic: 'sonic2mqtt/sonic/sonic-1/availability' },
    ],
    availability_mode: 'all',
    state_topic: 'sonic2mqtt/sonic/sonic-1/homeassistant',
  });
});

describe('a component', () => {
  it('of the valve says all that Home Assistant needs', () => {
    expect(announced(sonicView()).components['valve_valve']).toEqual({
      platform: 'valve',
      unique_id: 'sonic2mqtt_sonic-1_valve',
      name: null,
      default_entity_id: 'valve.kitchen',
      device_class: 'water',
      value_template: '{{ value_json.valve }}',
      command_topic: 'sonic2mqtt/sonic/sonic-1/valve/set',
      retain: false,
      qos: 0,
    });
  });

  it('of an incident sensor has the record as attributes', () => {
    expect(announced(sonicView()).components['binary_sensor_incident_low_temperature']).toEqual({
      platform: 'binary_sensor',
      unique_id: 'sonic2mqtt_sonic-1_incident_low_temperature',
      name: 'Low temperature',
      default_entity_id: 'binary_sensor.kitchen_low_temperature',
      entity_category: 'diagnostic',
      enabled_by_default: false,
      device_class: 'cold',
      availability: [{ topic: 'sonic2mqtt/bridge/state' }, { topic: 'sonic2mqtt/bridge/cloud' }],
      value_template: '{{ value_json.incident_low_temperature }}',
      json_attributes_topic: 'sonic2mqtt/sonic/sonic-1/incidents',
      json_attributes_template: '{{ (value_json.open.low_temperature or {}) | tojson }}',
      qos: 1,
    });
  });

  it('names no attribute that Home Assistant drops', () => {
    const attributes = wholeHouse
      .flatMap((view) => Object.values(announced(view).components))
      .flatMap(({ json_attributes_template: template }) =>
        [...String(template ?? '').matchAll(/'(\w+)':/g)].map(([, key]) => key),
      );
    expect(attributes).toContain('reason');
    // A part of `MQTT_ATTRIBUTES_BLOCKED` in homeassistant/components/mqtt/entity.py.
    for (const dropped of ['available', 'device_class', 'icon', 'name', 'state', 'unique_id'])
      expect(attributes).not.toContain(dropped);
  });

  it('of the incident event reads its own topic', () => {
    expect(announced(signalView()).components['event_incident']).toMatchObject({
      state_topic: 'sonic2mqtt/signal/signal-1/incident',
    });
  });

  it('is withdrawn by naming no more than its platform', () => {
    for (const view of wholeHouse) {
      const message = announced(view);
      const withoutEntities = JSON.stringify({ ...message, components: {} });
      const withdrawn = withWithdrawn(withoutEntities, Object.keys(message.components));
      expect(JSON.parse(withdrawn).components).toEqual(
        Object.fromEntries(
          Object.entries(message.components).map(([id, { platform }]) => [id, { platform }]),
        ),
      );
    }
    const present = announced(bridgeView());
    expect(JSON.parse(withWithdrawn(JSON.stringify(present), ['of_another_origin']))).toEqual({
      ...present,
      components: { ...present.components, of_another_origin: { platform: 'sensor' } },
    });
  });
});

it.each([
  ['tap', 2, 'ta'],
  ['tap', 3, 'tap'],
  ['a💧b', 2, 'a'],
  ['a💧b', 3, 'a💧'],
  ['\ud83d tap \udca7', 100, ' tap '],
  ['', 5, ''],
])('%j is shortened to %i characters without a broken one: %j', (text, longest, short) => {
  expect(shortened(text, longest)).toBe(short);
});
