import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { homepage } from '../../src/base/version.ts';
import { setupTexts } from '../../src/cli/setupPage/texts.ts';
import { fillTemplate } from '../../src/http/files.ts';
import html from '../../src/http/page/page.html?raw';
import { pageTexts } from '../../src/http/texts.ts';
import { type Language, languages, type Text, type TextTable } from '../../src/model/language.ts';

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
  ...[
    'Documentation',
    `${homepage}/blob/main`,
    'sonic2mqtt',
    '{litres} L',
    '{figure} L/min',
    '{figure} bar',
    '{figure} °C',
    '{day}: {water}',
  ],
  ...['{name} ({count})', 'Code', 'E-mail'],
];

/** Each text of a language, and each of its plural forms, by name. */
function formsIn(table: TextTable, language: Language): [name: string, text: string][] {
  const formsOf = (text: Text) => (typeof text === 'string' ? { other: text } : text);
  return Object.entries(table).flatMap(([key, row]) =>
    Object.entries(formsOf(row[language])).map(([form, text]): [string, string] => [`${key}.${form}`, text]),
  );
}

const gapsOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted();

describe.each([
  ['status', pageTexts],
  ['setup', setupTexts],
])('the texts of the %s page', (_, table) => {
  it.each(languages.slice(1))('are all there in %s, with the same gaps', (language) => {
    const english = new Map(formsIn(table, 'en'));
    const own = formsIn(table, language);
    expect(own.filter(([, text]) => text.trim() === '')).toEqual([]);
    const untranslated = own.filter(([name, text]) => text === english.get(name) && !alike.includes(text));
    expect(untranslated).toEqual([]);
    for (const [name, text] of own) {
      const model = english.get(name) ?? english.get(name.replace(/\w+$/, 'other')) ?? '';
      expect([name, gapsOf(text)]).toEqual([name, gapsOf(model)]);
    }
  });

  it.each(languages)('have all the forms that whole numbers need in %s', (language) => {
    const plurals = new Intl.PluralRules(language);
    const needed = new Set(Array.from({ length: 200 }, (_, count) => plurals.select(count)));
    for (const [key, { [language]: text }] of Object.entries(table)) {
      const missing = typeof text === 'string' ? [] : [...needed].filter((form) => !(form in text));
      expect([key, missing]).toEqual([key, []]);
    }
  });

  it('cannot be taken for HTML: they fill the gaps of the page as they are', () => {
    for (const language of languages)
      for (const [, text] of formsIn(table, language)) expect(text).not.toMatch(/[<>&"]/);
  });
});

it('the status page links pages of the project that there are', () => {
  const links = languages.flatMap((language) =>
    [...fillTemplate(html, pageTexts)(language).matchAll(/href="(https[^"]*)"/g)].map(
      ([, href = '']) => href,
    ),
  );
  expect(links.length).toBe(3 * languages.length);
  for (const href of links) {
    expect(href.startsWith(`${homepage}/blob/main/`)).toBe(true);
    expect([href, existsSync(href.replace(`${homepage}/blob/main/`, ''))]).toEqual([href, true]);
  }
});
