import { describe, expect, it } from 'vitest';
import { entityTable } from '../../../src/entities/tables.ts';
import { planDiscovery, shortened } from '../../../src/homeassistant/discovery.ts';
import { entityStates } from '../../../src/homeassistant/plan.ts';
import { type DeviceView, deviceKinds } from '../../../src/model/devices.ts';
import { languages } from '../../../src/model/language.ts';
import { discoveryOf } from '../../support/discoveries.ts';
import {
  aProperty,
  aSignal,
  aSonic,
  bridgeView,
  context,
  propertyView,
  signalView,
  sonicView,
  wholeHouse,
} from '../../support/views.ts';

const moved = { valve: 'open', at: null, by: 'by_hand', topic: null, incident_id: null } as const;

const announced = (view: DeviceView) => discoveryOf(view);

describe('a device', () => {
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
});

it.each(languages)(
  'what people read is a word of its own for each option, and automations have the code, in %s',
  (language) => {
    const rows = [
      [sonicView({ sonic: aSonic({ battery: 'mid' }) }), 'battery', 'medium'],
      [
        sonicView({ valveRecord: { command: null, failed: null, stopped: null, movement: moved } }),
        'moved_by',
        'by_hand',
      ],
      [sonicView({ incidents: [] }), 'pressure_test_result', 'no_problem'],
      [bridgeView({ status: 'degraded' }), 'status', 'degraded'],
    ] as const;
    for (const [view, key, code] of rows) {
      const component = discoveryOf(view, { language }).components[`sensor_${key}`];
      const options = component?.['options'] as readonly string[];
      const states = entityStates(view, { ...context, language });
      expect(new Set(options).size).toBe(options.length);
      expect(options.every((option) => option.trim() !== '')).toBe(true);
      expect(options).toContain(states[key]);
      const attributes = String(component?.['json_attributes_template']);
      if (key === 'status') expect(attributes).toContain("'code': value_json.status");
      else {
        expect(attributes).toBe(`{{ ({'code': value_json.${key}_code}) | tojson }}`);
        expect(states[`${key}_code`]).toBe(code);
      }
    }
  },
);

describe('a component', () => {
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

  it('that a device lacks is stated by its platform alone, so that no message depends on an earlier one', () => {
    for (const view of wholeHouse) {
      const [full, none] = [context.offers, () => false].map((offers) =>
        JSON.parse(planDiscovery(view, offers, context).write()),
      );
      expect(Object.keys(none.components)).toEqual(Object.keys(full.components));
      const lacking = Object.keys(full.components).filter(
        (id) => none.components[id].unique_id === undefined,
      );
      for (const id of lacking)
        expect(none.components[id]).toEqual({ platform: full.components[id].platform });
    }
  });

  // Home Assistant 2024.12 empties a message whose last enabled component goes while disabled ones stay.
  it.each(deviceKinds)('of a %s at least is always full and enabled', (kind) => {
    const always = entityTable(kind).filter(
      (row) => !row.exists && !('command' in row) && !row.isDisabledByDefault,
    );
    expect(always.length).toBeGreaterThan(0);
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
