import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { homepage } from '../../src/base/version.ts';
import { fillTemplate } from '../../src/http/files.ts';
import html from '../../src/http/page/page.html?raw';
import { pageTexts } from '../../src/http/texts.ts';
import { type Language, languages } from '../../src/model/language.ts';
import { type Text, textsIn } from '../../src/texts/texts.ts';

/** Texts that are the same in some other language. */
const alike = [
  ...['Water', 'Open', 'Was open', 'Offline', 'Hub {place}: offline', 'Live', 'Cloud', 'Hubs'],
  ...[
    'Documentation',
    'sonic2mqtt',
    '{litres} L',
    '{figure} L/min',
    '{figure} bar',
    '{figure} °C',
    '{day}: {water}',
  ],
  ...['{name} ({count})', 'Code', 'E-mail'],
];

/** Each text, and each of its plural forms, by name. */
function formsIn(texts: Readonly<Record<string, Text>>): [name: string, text: string][] {
  const formsOf = (text: Text) => (typeof text === 'string' ? { other: text } : text);
  return Object.entries(texts).flatMap(([key, text]) =>
    Object.entries(formsOf(text)).map(([form, words]): [string, string] => [`${key}.${form}`, words]),
  );
}

const gapsOf = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted();

describe.each(['headline', 'page', 'setup', 'dashboard'] as const)('the texts of the %s', (section) => {
  const textsOf = (language: Language): Readonly<Record<string, Text>> => textsIn(language)[section];

  it.each(languages.slice(1))('are the same ones in %s, with the same gaps', (language) => {
    const english = new Map(formsIn(textsOf('en')));
    const own = formsIn(textsOf(language));
    expect(Object.keys(textsOf(language))).toEqual(Object.keys(textsOf('en')));
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
    for (const [key, text] of Object.entries(textsOf(language))) {
      const missing = typeof text === 'string' ? [] : [...needed].filter((form) => !(form in text));
      expect([key, missing]).toEqual([key, []]);
    }
  });
});

it.each(languages)('no text of the status page in %s takes the place of another', (language) => {
  const { headline, page } = textsIn(language);
  expect(pageTexts(language)).toMatchObject(headline);
  expect(pageTexts(language)).toMatchObject(page);
});

it.each(languages)('no text of a page in %s can be taken for HTML: it fills a gap as it is', (language) => {
  const onPages = { ...pageTexts(language), ...textsIn(language).setup };
  for (const [, text] of formsIn(onPages)) expect(text).not.toMatch(/[<>&"]/);
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
