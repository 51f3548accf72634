import { describe, expect, it } from 'vitest';
import { parseCommand, parseIncidentCommand } from '../../../src/homeassistant/command.ts';
import type { DeviceView } from '../../../src/model/devices.ts';
import { allPermitted, anIncident, propertyView, signalView, sonicView } from '../../support/views.ts';

const incident = (id: string, ...possible_actions: string[]) => anIncident({ id, possible_actions });

/** What is sent to which incident, as `ID: ACTION`; or the refusal. */
function asked(view: DeviceView, payload: string): unknown {
  const parsed = parseCommand(view, 'incidents/action', payload, allPermitted);
  if ('refusal' in parsed) return parsed.refusal;
  if (!Array.isArray(parsed.action)) return parsed.action;
  return parsed.action.map(({ operation, params, body }) => {
    expect(operation).toBe('act_on_incident');
    return `${params.incident_id}: ${body.action}`;
  });
}

describe('an action on the incidents of a device', () => {
  const incidents = [
    incident('old', 'dismiss', 'snooze'),
    incident('new', 'resolve', 'dismiss'),
    incident('odd', 'escalate'),
    incident('deaf'),
  ];
  const views: readonly DeviceView[] = [
    propertyView({ incidents }),
    signalView({ incidents }),
    sonicView({ incidents }),
  ];

  it.each([
    ['resolve', ['old: dismiss', 'new: resolve']],
    [' Resolve\n', ['old: dismiss', 'new: resolve']],
    ['dismiss', ['old: dismiss', 'new: dismiss']],
    ['snooze', ['old: snooze']],
    ['escalate', ['odd: escalate']],
    ['ESCALATE', ['odd: escalate']],
  ])('that says %j reaches each that offers it', (payload, calls) => {
    for (const view of views) expect(asked(view, payload)).toEqual(calls);
  });

  it.each(['', 'reopen', 'PRESS', 'constructor', '{"action":"resolve"}', 'resolve dismiss', 'résolve'])(
    'that says %j is refused with what is offered',
    (payload) => {
      const words = 'no open alert offers this action. Possible actions: dismiss, snooze, resolve, escalate';
      for (const view of views) expect(asked(view, payload)).toBe(words);
    },
  );

  it('is refused where there is nothing to act on, and says whether that is certain', () => {
    const certain = { incidents: [], areIncidentsFresh: true };
    expect(asked(sonicView(certain), 'resolve')).toBe('there is no open alert');
    expect(asked(propertyView({ incidents: [], areIncidentsFresh: false }), 'resolve')).toBe(
      'there is no open alert. The cloud was not read completely yet',
    );
    expect(asked(signalView({ incidents: [incident('deaf')] }), 'resolve')).toBe(
      'the open alerts offer no action',
    );
  });

  it('keeps the word of the incident, whatever its case', () => {
    const view = sonicView({ incidents: [incident('loud', 'DISMISS')] });
    expect(asked(view, 'resolve')).toEqual(['loud: DISMISS']);
  });
});

describe('an action on one incident', () => {
  const one = (payload: string, ...actions: string[]) => {
    const parsed = parseIncidentCommand(incident('i-1', ...actions), payload, allPermitted);
    return 'refusal' in parsed ? parsed.refusal : parsed.action;
  };

  it.each(['resolve', 'RESOLVE', ' resolve '])('is done if the incident offers it: %j', (payload) => {
    expect(one(payload, 'snooze', 'resolve')).toEqual({
      operation: 'act_on_incident',
      params: { incident_id: 'i-1' },
      body: { action: 'resolve' },
    });
  });

  it('means only what it says: resolve is not dismiss there', () => {
    expect(one('resolve', 'dismiss', 'snooze')).toBe('must be one of dismiss, snooze. Got "resolve"');
  });

  it('is refused if the incident does not offer it, or nothing at all', () => {
    expect(one('x'.repeat(100), 'dismiss')).toBe(`must be one of dismiss. Got "${'x'.repeat(60)}…"`);
    expect(one('dismiss')).toBe('the alert offers no action');
  });
});

it('no incident is acted on where control.incidents is off', () => {
  const control = { ...allPermitted, incidents: false };
  const words = { refusal: 'not permitted: control.incidents is off in the configuration' };
  expect(parseIncidentCommand(incident('i-1', 'resolve'), 'resolve', control)).toEqual(words);
  for (const view of [propertyView(), signalView(), sonicView()]) {
    expect(parseCommand(view, 'incidents/action', 'resolve', control)).toEqual(words);
  }
});

describe('the start of a pressure test', () => {
  it.each(['', 'PRESS', '{"any":"thing"}'])('is asked for by anything, such as %j', (payload) => {
    expect(parseCommand(sonicView(), 'pressure_test/start', payload, allPermitted)).toEqual({
      action: {
        operation: 'start_pressure_test',
        params: { thing_id: 'sonic-1' },
        body: { source: 'sonic2mqtt' },
      },
    });
  });

  it('is refused where control.pressure_tests is off', () => {
    const control = { ...allPermitted, pressure_tests: false };
    expect(parseCommand(sonicView(), 'pressure_test/start', 'PRESS', control)).toEqual({
      refusal: 'not permitted: control.pressure_tests is off in the configuration',
    });
  });
});
