import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  eventTypeOf,
  highestSeverity,
  isOpen,
  newestByType,
  newestFirst,
} from '../../../src/model/incidents.ts';
import { incidentTypes } from '../../../src/model/records.ts';
import { anIncident } from '../../support/views.ts';

describe('an incident', () => {
  it.each([
    [true, 'resolved', true],
    [false, 'detected', false],
    [null, 'detected', true],
    [null, 'resolved', false],
    [null, null, true],
  ])('whose flag is %s and whose state is %s is open: %s', (open, state, expected) => {
    expect(isOpen(anIncident({ open, state }))).toBe(expected);
  });

  it.each([
    ['long_flow_alert', 'long_flow_alert'],
    ['backup_battery_usage', 'backup_battery_usage'],
    ['alien_invasion', 'unknown_incident'],
    ['toString', 'unknown_incident'],
    [null, 'unknown_incident'],
  ])('of the type %s is the event %s', (type, event) => {
    expect(eventTypeOf(anIncident({ type }))).toBe(event);
  });
});

describe('several incidents', () => {
  const old = anIncident({ id: 'old', detected_at: '2025-01-01T00:00:00Z', severity: 'high' });
  const recent = anIncident({ id: 'recent', detected_at: '2025-03-01T00:00:00Z', severity: 'low' });
  const undated = anIncident({ id: 'undated', detected_at: null, severity: null });

  it('are shown newest first, those without a time last, and leave the given list alone', () => {
    const given = Object.freeze([undated, old, recent]);
    expect(newestFirst(given).map(({ id }) => id)).toEqual(['recent', 'old', 'undated']);
  });

  it('are ordered by the time itself, however it is written', () => {
    const times = ['2025-01-01T10:00:00.123Z', '2025-01-01T10:00:00Z', '2025-01-01T11:00:00+02:00', 'once'];
    const incidents = times.map((detected_at) => anIncident({ id: detected_at, detected_at }));
    expect(newestFirst(incidents.toReversed()).map(({ id }) => id)).toEqual(times);
  });

  it('are in one order only, in whichever order they come', () => {
    const incident = fc.record({
      id: fc.uuid(),
      detected_at: fc.constantFrom(null, '2025-01-01T00:00:00Z', '2025-01-02T00:00:00Z'),
    });
    const several = fc.uniqueArray(incident, { selector: ({ id }) => id });
    fc.assert(
      fc.property(several, (records) => {
        const incidents = records.map(anIncident);
        expect(newestFirst(incidents.toReversed())).toEqual(newestFirst(incidents));
      }),
    );
  });

  it('show the newest of each type, and null for each type without one', () => {
    const other = anIncident({ id: 'other', type: 'high_humidity' });
    expect(newestByType([old, other, recent])).toEqual({
      ...Object.fromEntries(incidentTypes.map((type) => [type, null])),
      high_volume_alert: recent,
      high_humidity: other,
    });
  });

  it('show types that are new too, whatever they are called', () => {
    const types = ['alien_invasion', 'constructor', '__proto__'];
    const shown = newestByType([
      ...types.map((type) => anIncident({ id: type, type })),
      anIncident({ id: 'untyped', type: null }),
    ]);
    const added = Object.entries(shown).slice(incidentTypes.length);
    expect(added.map(([type, incident]) => [type, incident?.id]).toSorted()).toEqual([
      ...types.toSorted().map((type) => [type, type]),
      ['unknown_incident', 'untyped'],
    ]);
  });

  it.each([
    [[], null],
    [[null], null],
    [['apocalyptic'], null],
    [['low'], 'low'],
    [['low', 'high', 'medium'], 'high'],
    [['medium', 'apocalyptic', null, 'low'], 'medium'],
  ])('of the severities %j are at most %s', (severities, highest) => {
    expect(highestSeverity(severities.map((severity) => anIncident({ severity })))).toBe(highest);
  });
});
