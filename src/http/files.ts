import { type Language, languages } from '../model/language.ts';
import { type Route, send } from './httpServer.ts';
import type { TextTable } from './texts.ts';

/** The language that a browser likes best of those that the pages have (`Accept-Language`); English if it likes none. */
export function languageOf(accepted = ''): Language {
  const weightOf = (range: string) => Number(/;\s*q=([\d.]+)/.exec(range)?.[1] ?? 1);
  const wanted = accepted
    .split(',')
    .filter((range) => weightOf(range) > 0)
    .toSorted((one, other) => weightOf(other) - weightOf(one))
    .map((range) =>
      range
        .trim()
        .split(/[-;\s]/)[0]
        ?.toLowerCase(),
    );
  return wanted.flatMap((tag) => languages.filter((each) => each === tag))[0] ?? 'en';
}

/** A template of which `{{name}}` becomes the text of that name. */
export function filledIn(template: string, table: TextTable): (language: Language) => string {
  return (language) => template.replace(/\{\{(\w+)\}\}/g, (_, key) => String(table[key]?.[language]));
}

/** The texts of one language, as a module that the script of a page imports. */
export function textsModule(table: TextTable): (language: Language) => string {
  return (language) => {
    const column = Object.entries(table).map(([key, row]) => [key, row[language]]);
    return `export const texts = ${JSON.stringify(Object.fromEntries(column))};\n`;
  };
}

/** A file of a page; what depends on the language comes in that of the browser. */
export function file(path: string, type: string, text: string | ((language: Language) => string)): Route {
  return {
    path,
    methods: ['GET', 'HEAD'],
    answer: (response, _url, { headers }) => {
      const contentType = `${type}; charset=utf-8`;
      if (typeof text === 'string') return send(response, 200, contentType, text);
      const language = languageOf(headers['accept-language']);
      send(response, 200, contentType, text(language), {
        'content-language': language,
        vary: 'accept-language',
      });
    },
  };
}
