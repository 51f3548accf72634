import { expect, it } from 'vitest';
import { pageTexts, type Text } from '../../../src/http/texts.ts';
import { languages } from '../../../src/model/language.ts';

/** Each text of a language, and each of its plural forms, by name. */
function formsIn(language: (typeof languages)[number]): [name: string, text: string][] {
  const formsOf = (text: Text) => (typeof text === 'string' ? { other: text } : text);
  return Object.entries(pageTexts).flatMap(([key, row]) =>
    Object.entries(formsOf(row[language])).map(([form, text]): [string, string] => [`${key}.${form}`, text]),
  );
}

const gapsOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted();

/** What some other language says in the same words. */
const alike = [
  ...[
    'Water',
    'Open',
    'Was open',
    'Offline',
    '{place} is offline.',
    'Hub {place}: offline',
    'Live',
    'Cloud',
    'Hubs',
  ],
  ...['sonic2mqtt', '{litres} L', '{figure} L/min', '{figure} bar', '{figure} °C', '{day}: {water}'],
  '{name} ({count})',
];

it.each(languages.slice(1))('every text of the page is there in %s, with the same gaps', (language) => {
  const english = new Map(formsIn('en'));
  const own = formsIn(language);
  expect(own.filter(([, text]) => text.trim() === '')).toEqual([]);
  const untranslated = own.filter(([name, text]) => text === english.get(name) && !alike.includes(text));
  expect(untranslated).toEqual([]);
  for (const [name, text] of own) {
    const model = english.get(name) ?? english.get(name.replace(/\.\w+$/, '.other')) ?? '';
    expect([name, gapsOf(text)]).toEqual([name, gapsOf(model)]);
  }
});

it.each(languages)('a text with a count has all the forms that whole numbers need in %s', (language) => {
  const plurals = new Intl.PluralRules(language);
  const needed = new Set(Array.from({ length: 200 }, (_, count) => plurals.select(count)));
  for (const [key, row] of Object.entries(pageTexts)) {
    const text = row[language];
    if (typeof text !== 'string')
      expect([key, [...needed].filter((form) => !(form in text))]).toEqual([key, []]);
  }
});

it('no text can be taken for HTML: they fill gaps of the page as they are', () => {
  for (const language of languages)
    for (const [, text] of formsIn(language)) expect(text).not.toMatch(/[<>&"]/);
});
