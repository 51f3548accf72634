import { describe, expect, it } from 'vitest';
import { entityStates } from '../../../src/homeassistant/plan.ts';
import { alertInWords, inWords, type Moment } from '../../../src/homeassistant/sentences.ts';
import type { BridgeFacts, PropertyView, SonicView } from '../../../src/model/devices.ts';
import { type Language, languages } from '../../../src/model/language.ts';
import type { Sentence } from '../../../src/texts/texts.ts';
import { anIncident, aProperty, aSonic, context, propertyView, sonicView } from '../../support/views.ts';

const now = '2025-02-03T11:12:13Z';
const moment: Moment = { ...context.moment(null), now: Date.parse(now), timezone: 'Europe/London' };
const leak = anIncident({ type: 'water_presence_detected', detected_at: '2025-02-03T07:41:00Z' });

/** The summary of a property with these valves. */
function summary(
  sonics: readonly Partial<SonicView>[],
  changes: Partial<PropertyView> = {},
  bridge: Partial<BridgeFacts> = {},
  language: Language = 'en',
): string {
  const view = propertyView({
    incidents: [],
    contents: {
      signals: [],
      sonics: sonics.map((each) => sonicView({ incidents: [], ...each })),
      strays: [],
      mayHaveMore: false,
    },
    ...changes,
  });
  const shown = entityStates(view, {
    ...context,
    language,
    moment: () => ({ ...moment, bridge: { ...moment.bridge, ...bridge } }),
  });
  return String(shown['summary']);
}

describe('the summary of a property', () => {
  const wet = { incidents: [leak] };
  const away = { cloud: { status: 'down', workedAt: Date.parse('2025-02-03T11:00:00Z') } } as const;
  const unknown = { areIncidentsFresh: false };
  const gone = 'No new data from the cloud.';
  const unknownWater = 'It is not known whether the water is on. Valves can only be closed by hand.';

  it.each<[why: string, Parameters<typeof summary>, said: string]>([
    ['all is well', [[{}]], 'All good. No leaks, water on.'],
    ['the water is off', [[{ valve: 'closed' }]], 'All good. No leaks, water off.'],
    ['one is closed', [[{}, { valve: 'closed' }]], 'All good. No leaks, Kitchen is closed.'],
    ['water leaks', [[wet], wet], 'Leak at Kitchen, since 07:41. Water is on.'],
    [
      'water leaks at one of two',
      [[wet, { sonic: aSonic({ id: 'sonic-2' }), valve: 'closed' }], wet],
      'Leak at Kitchen, since 07:41. Its valve is open.',
    ],
    [
      'there are more alerts',
      [[wet], { incidents: [leak, anIncident()] }],
      'Leak at Kitchen, since 07:41. Water is on. One more alert.',
    ],
    [
      'the leak is of another day',
      [[wet], { incidents: [{ ...leak, detected_at: '2025-02-02T23:59:00Z' }] }],
      'Leak at Kitchen, since 2 Feb 2025, 23:59. Water is on.',
    ],
    [
      'the type is not known',
      [[wet], { incidents: [{ ...leak, type: 'dragon' }] }],
      'Unknown alert (dragon) at Kitchen, since 07:41. Water is on.',
    ],
    [
      'a valve is offline',
      [[{ reach: 'hub_offline' }]],
      'Kitchen is offline: the valve cannot report a leak, and can only be closed by hand.',
    ],
    ['a valve moves', [[{ valve: 'closing' }]], 'Kitchen is closing.'],
    ['not all alerts are known', [[{}], unknown], 'Not all alerts could be read.'],
    [
      'nor is a valve',
      [[{ reach: 'hub_offline' }], unknown],
      'Kitchen is offline: the valve cannot report a leak, and can only be closed by hand. Not all alerts could be read.',
    ],
    [
      'it is read',
      [[{}], {}, { isComplete: false, isLoading: true }],
      'Reading your account for the first time.',
    ],
    ['not all could be read', [[{}], {}, { isComplete: false }], 'Not everything could be read.'],
    [
      'the bridge has a problem',
      [[{}], {}, { health: 'degraded' }],
      'No leaks, water on. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.',
    ],
    ['the cloud is away', [[{}], {}, away], `${gone} The data is from 11:00. ${unknownWater}`],
    [
      'water leaks and the cloud is away',
      [[wet], wet, away],
      `Leak at Kitchen, since 07:41. ${gone} The data is from 11:00. ${unknownWater}`,
    ],
    ['it has no valve', [[]], 'There is no valve to show.'],
    [
      'the leak names no device',
      [[{}], { incidents: [{ ...leak, sonic_id: null, signal_id: null }] }],
      'Leak at Holiday home, since 07:41. Water is on.',
    ],
  ])('when %s', (_, given, said) => {
    expect(summary(...given)).toBe(said);
  });

  it.each([
    ['de', 'Leck: Kitchen, seit 07:41. Die Wasserzufuhr ist offen.'],
    ['fr', 'Fuite\u00a0: Kitchen, depuis 07:41. L’arrivée d’eau est ouverte.'],
    ['nl', 'Lek: Kitchen, sinds 07:41. De watertoevoer is open.'],
    ['pl', 'Wyciek: Kitchen, od 07:41. Dopływ wody jest otwarty.'],
  ] as const)('is in the chosen language: %s', (language, said) => {
    expect(summary([wet], wet, {}, language)).toBe(said);
  });

  it('fits into a state of Home Assistant, whatever a name is like, and begins with the alert', () => {
    for (const language of languages) {
      const name = 'long '.repeat(200);
      const sonic = aSonic({ name });
      const property = aProperty({ name });
      const said = summary([{ ...wet, sonic }], { ...wet, property }, away, language);
      expect(said.length).toBeLessThanOrEqual(255);
      expect(said).toMatch(/^(Leak|Leck|Fuite|Lek|Wyciek)\b.*07:41/);
    }
  });
});

describe('words', () => {
  const said = (sentence: Sentence, language: Language = 'en') =>
    inWords([sentence], { ...moment, language }, 255);

  it('have the plural of their language', () => {
    const more = (count: number) => said({ text: 'more_alerts', values: { count } }, 'pl');
    expect([1, 2, 5].map(more)).toEqual(['Jeszcze jeden alert.', 'Jeszcze 2 alerty.', 'Jeszcze 5 alertów.']);
  });

  it('name the property, and what has no name', () => {
    const at = (place: string, property: string) =>
      said({ text: 'alert_at', values: { name: 'Leak', type: 'water_presence_detected', place, property } });
    expect(at('Kitchen', 'Flat 12')).toBe('Leak at Kitchen (Flat 12).');
    expect(at('', '')).toBe('Leak at Without a name.');
  });

  it('of an alert say since when, at its property', () => {
    const alert = {
      name: null,
      urgency: 'alarm',
      time: 'since',
      at: Date.parse('2025-02-03T07:41:00Z'),
    } as const;
    const inParis = { ...moment, timezone: 'Europe/Paris', language: 'fr' } as const;
    expect(alertInWords({ ...alert, type: 'long_flow_alert' }, { ...moment, language: 'en' })).toBe(
      'Water running too long since 07:41',
    );
    expect(alertInWords({ ...alert, type: null }, inParis)).toBe('Alerte inconnue depuis 08:41');
    expect(alertInWords({ ...alert, type: null, at: null }, inParis)).toBe('Alerte inconnue');
  });
});

it('the alerts of a valve are in words, the most urgent first, and none where none is open', () => {
  const words = (incidents: SonicView['incidents']) =>
    entityStates(sonicView({ incidents }), { ...context, moment: () => moment }).alert_words;
  expect(words([])).toEqual([]);
  expect(words([anIncident({ detected_at: '2025-02-03T08:00:00Z' }), leak])).toEqual([
    'Leak since 07:41',
    'High water use since 08:00',
  ]);
  expect(words(Array.from({ length: 50 }, (_, index) => anIncident({ id: `${index}` })))).toHaveLength(20);
});
