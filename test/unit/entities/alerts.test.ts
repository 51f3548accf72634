import { expect, it } from 'vitest';
import { alertsOf } from '../../../src/entities/alerts.ts';
import { anIncident } from '../../support/views.ts';

const alerts = (...changes: Readonly<Record<string, unknown>>[]) =>
  alertsOf(changes.map((each, index) => anIncident({ id: `incident-${index}`, ...each })));

it.each([
  ['water_presence_detected', 'low', 'alarm'],
  ['high_volume_alert', 'high', 'alarm'],
  ['high_volume_alert', 'medium', 'warning'],
  ['low_battery_level', 'low', 'notice'],
  ['long_flow_alert', null, 'alarm'],
  ['long_flow_alert', 'a new word', 'alarm'],
  ['low_battery_level', 'HIGH', 'alarm'],
  ['low_battery_level', null, 'warning'],
  ['low_battery_level', 'constructor', 'warning'],
  ['dragon', 'high', 'alarm'],
  [null, null, 'warning'],
])('an incident of type %s and severity %s is an %s', (type, severity, urgency) => {
  expect(alerts({ type, severity })[0]?.urgency).toBe(urgency);
});

it('the most urgent alert comes first, a leak before other alarms, and then the newest', () => {
  const order = alerts(
    { type: 'low_battery_level', severity: 'low', detected_at: '2025-02-09T00:00:00Z' },
    { type: 'pressure_test_failed', severity: 'high', detected_at: '2025-02-08T00:00:00Z' },
    { type: 'long_flow_alert', severity: 'high', detected_at: '2025-02-02T00:00:00Z' },
    { type: 'water_presence_detected', severity: 'low', detected_at: '2025-02-01T00:00:00Z' },
    { type: 'health_check_failed', severity: 'high', detected_at: '2025-02-10T00:00:00Z' },
  ).map(({ type }) => type);
  expect(order).toEqual([
    'water_presence_detected',
    'long_flow_alert',
    'health_check_failed',
    'pressure_test_failed',
    'low_battery_level',
  ]);
});

it('an alert has its name and the moment of its detection, as far as they are known', () => {
  expect(alerts({})[0]).toEqual({
    name: 'High water use',
    type: 'high_volume_alert',
    time: 'since',
    urgency: 'warning',
    at: Date.parse('2025-02-03T04:05:06Z'),
  });
  expect(alerts({ type: 'dragon', detected_at: 'yesterday' })[0]).toMatchObject({ name: null, at: null });
});
