import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasOpenOf,
  highestSeverity,
  isOpen,
  newestByType,
  newestFirst,
  openCount,
  type WithIncidents,
} from '../../../src/model/incidents.ts';
import { incidentTypes } from '../../../src/model/records.ts';
import { anIncident } from '../../support/views.ts';

const allKnown: WithIncidents = {
  incidents: [],
  possibleIncidents: [],
  areIncidentsFresh: true,
  isReporting: true,
};

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
    [[], 'none'],
    [[null], null],
    [['apocalyptic'], null],
    [['low'], 'low'],
    [['Low', 'high', 'medium'], 'high'],
    [['high', 'critical'], null],
    [['medium', null, 'low'], null],
  ])('of the severities %j are at most %s', (severities, highest) => {
    const incidents = severities.map((severity) => anIncident({ severity }));
    expect(highestSeverity({ ...allKnown, incidents })).toBe(highest);
    // One that may be here may be graver than any but the gravest.
    const possibleIncidents = [anIncident()];
    const isGravest = highest === 'high';
    expect(highestSeverity({ ...allKnown, incidents, possibleIncidents })).toBe(isGravest ? highest : null);
    // A list that is too old says nothing of the present.
    expect(highestSeverity({ ...allKnown, incidents, areIncidentsFresh: false })).toBeNull();
  });
});

describe('the sensor of a type', () => {
  const type = 'water_presence_detected';
  const leak = anIncident({ type });

  it.each([
    ['none is open', {}, false, 0],
    ['one is open', { incidents: [leak] }, true, 1],
    [
      'one is open whose type is in capitals',
      { incidents: [anIncident({ type: ' WATER_presence_detected' })] },
      true,
      1,
    ],
    ['one of another type is open', { incidents: [anIncident({ type: 'high_humidity' })] }, false, 1],
    ['one of a type that is new is open', { incidents: [anIncident({ type: 'alien_invasion' })] }, false, 1],
    ['one without a type is open', { incidents: [anIncident({ type: null })] }, null, 1],
    ['one with an empty type is open', { incidents: [anIncident({ type: ' ' })] }, null, 1],
    ['one may be here', { possibleIncidents: [leak] }, null, null],
    [
      'one of another type may be here',
      { possibleIncidents: [anIncident({ type: 'high_humidity' })] },
      false,
      null,
    ],
    ['one without a type may be here', { possibleIncidents: [anIncident({ type: null })] }, null, null],
    ['not all were read', { areIncidentsFresh: false }, null, null],
    ['its device is offline', { isReporting: false }, null, null],
    ['its device is offline and one is open', { isReporting: false, incidents: [leak] }, true, 1],
  ])('where %s', (_what, view, isOpenThere, count) => {
    expect(hasOpenOf({ ...allKnown, ...view }, type)).toBe(isOpenThere);
    expect(openCount({ ...allKnown, ...view })).toBe(count);
  });

  it.each(incidentTypes)('%s is known of an offline device if the cloud finds it out', (each) => {
    const isFoundByCloud = each === 'radio_disconnection' || each === 'cloud_disconnection';
    expect(hasOpenOf({ ...allKnown, isReporting: false }, each)).toBe(isFoundByCloud ? false : null);
  });
});
