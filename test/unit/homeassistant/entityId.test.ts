import { expect, it } from 'vitest';
import { asIdPart } from '../../../src/homeassistant/entityId.ts';

// The IDs were made with python-slugify 8.0.4 and text-unidecode 1.3, which Home Assistant uses.
it.each([
  ['Bathroom', 'bathroom'],
  ['Kuchnia główna', 'kuchnia_glowna'],
  ['Żółw', 'zolw'],
  ['L’entrée', 'lentree'],
  ["L'entrée", 'l_entree'],
  ['Ærø', 'aero'],
  ['Þórshöfn', 'thorshofn'],
  ['Straße 5', 'strasse_5'],
  ['Öl- & Wärmeraum', 'ol_warmeraum'],
  ['Œuvre', 'oeuvre'],
  ['Đorđe', 'dorde'],
  ['İzmir', 'izmir'],
  ['Iğdır', 'igdir'],
  ['1,5 kW', '15_kw'],
  ['Haus 1,2 m²', 'haus_12_m2'],
  ['Zähler №7', 'zahler_no7'],
  ['Bad (Süd)', 'bad_sud'],
  ['Bad 🛁 oben', 'bad_oben'],
  ['a–b—c…', 'a_b_c'],
  ['__a__b__', 'a_b'],
  ['Ａｂｃ１２３', 'abc123'],
  ['tab\tand\nline', 'tab_and_line'],
])('%j becomes %s in an entity ID, as Home Assistant spells it', (name, id) => {
  expect(asIdPart(name)).toBe(id);
});

it.each(['北京', 'Bad 北', 'Ванная', 'Μπάνιο', 'حمام', '20 °C', '§ 5', '٣', '🚿', '-', ''])(
  'only Home Assistant can spell %j',
  (name) => {
    expect(asIdPart(name)).toBeNull();
  },
);
