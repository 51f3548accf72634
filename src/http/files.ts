import { gzipSync } from 'node:zlib';
import { type Language, languages } from '../model/language.ts';
import type { Text } from '../texts/texts.ts';
import { type Route, send } from './httpServer.ts';

/** By `Accept-Language`. English if the browser prefers none of the languages of the pages. */
export function languageOf(accepted = ''): Language {
  const weightOf = (range: string) => Number(/;\s*q=([\d.]+)/.exec(range)?.[1] ?? 1);
  const wanted = accepted
    .toLowerCase()
    .split(',')
    .filter((range) => weightOf(range) > 0)
    .toSorted((one, other) => weightOf(other) - weightOf(one))
    .map((range) => /[a-z]+/.exec(range)?.[0]);
  return wanted.flatMap((tag) => languages.filter((each) => each === tag))[0] ?? 'en';
}

type TextsOf = (language: Language) => Readonly<Record<string, Text>>;

/** Fills a template: each `{{name}}` becomes the text with that name. */
export function fillTemplate(template: string, textsOf: TextsOf): (language: Language) => string {
  return (language) => {
    const texts = textsOf(language);
    return template.replace(/\{\{(\w+)\}\}/g, (_, key) => String(texts[key]));
  };
}

export function textsModule(textsOf: TextsOf): (language: Language) => string {
  return (language) => `export const texts = ${JSON.stringify(textsOf(language))};\n`;
}

/** Shorter files are not compressed, because little would be gained. */
const minZippedLength = 1_000;

const zipped = new Map<string, Buffer>();

function zip(text: string): Buffer {
  const bytes = zipped.get(text) ?? gzipSync(text);
  zipped.set(text, bytes);
  return bytes;
}

/**
 * A file of a page, compressed if the browser accepts that. If its text depends on the language, the address may name
 * the language, and otherwise the browser's preference counts.
 */
export function file(path: string, type: string, text: string | ((language: Language) => string)): Route {
  return {
    path,
    methods: ['GET', 'HEAD'],
    answer: (response, url, { headers }) => {
      const language = languageOf(url.searchParams.get('language') ?? headers['accept-language']);
      const plain = typeof text === 'string' ? text : text(language);
      const isZipped =
        plain.length >= minZippedLength && /\bgzip\b(?!\s*;\s*q=0)/.test(`${headers['accept-encoding']}`);
      send(response, 200, `${type}; charset=utf-8`, isZipped ? zip(plain) : plain, {
        vary: 'accept-language, accept-encoding',
        ...(typeof text !== 'string' && { 'content-language': language }),
        ...(isZipped && { 'content-encoding': 'gzip' }),
      });
    },
  };
}
