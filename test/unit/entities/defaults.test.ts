import { expect, it } from 'vitest';
import { entityTable } from '../../../src/entities/tables.ts';
import type { DeviceKind } from '../../../src/model/devices.ts';
import { someNotifications } from '../../support/views.ts';

const enabled = (kind: DeviceKind) =>
  entityTable(kind).flatMap(({ key, isDisabledByDefault }) => (isDisabledByDefault ? [] : [key]));

// What a table gains is looked at by everybody who has the device: most of it is better off by default.
it.each<[kind: DeviceKind, atMost: number]>([
  ['sonic', 32],
  ['property', 12],
  ['signal', 5],
  ['bridge', 7],
])('a %s has at most %i entities that are on by default', (kind, atMost) => {
  expect(enabled(kind).length).toBeLessThanOrEqual(atMost);
});

it('of the sensors of alerts those are on that everybody looks at, and the alert for all others', () => {
  const ofAlerts = enabled('sonic').filter((key) => /^incident_|^alert$/.test(key));
  expect(ofAlerts.toSorted()).toEqual([
    'alert',
    'incident_device_handle_moved',
    'incident_high_volume_alert',
    'incident_long_flow_alert',
    'incident_water_presence_detected',
  ]);
});

it('of the settings the automatic shut-off and the pressure tests are on', () => {
  const settings = entityTable('property').flatMap(({ key, category, isDisabledByDefault }) =>
    category === 'config' && !isDisabledByDefault ? [key] : [],
  );
  expect(settings).toEqual(
    expect.arrayContaining(['auto_shut_off', 'pressure_tests_enabled', 'pressure_tests_schedule']),
  );
  const others = [...Object.keys(someNotifications()), 'webhook_enabled'];
  expect(settings.filter((key) => others.includes(key))).toEqual([]);
});
