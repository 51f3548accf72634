import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const project = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(project, file), 'utf8');
const filesIn = (folder: string, ending: RegExp) =>
  readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file) && !file.includes('node_modules'))
    .map((file) => `${folder}/${file}`);

const source = new Map(
  ['src', 'scripts', 'test'].flatMap((folder) =>
    filesIn(folder, /\.(ts|js|mjs|json)$/).map((file) => [file, read(file)] as const),
  ),
);
const pages = ['src/README.md', ...filesIn('docs/internals', /\.md$/)];

const hasWord = (text: string, word: string) =>
  text.split(/(?<![\w$#])(#?[\w$]+)/).some((each, index) => index % 2 === 1 && each === word);

/** The files that have all parts of a name such as `Table.isStale`. */
const filesWith = (name: string, among: readonly string[] = [...source.keys()]) =>
  among.filter((file) =>
    name.split('.').every((part) => {
      const text = source.get(file) ?? '';
      return text.includes(part) && hasWord(text, part);
    }),
  );

/** The files that a page means by `clock.ts`, `base/clock.ts` or `src/base/clock.ts`. */
const filesNamed = (path: string) => [...source.keys()].filter((file) => `/${file}`.endsWith(`/${path}`));

/** A name of ours in backticks: it has a capital inside, a member, or parentheses. Options and variables have none. */
const identifier = /`(#?[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*(?:\.#?\w+)+|#\w+)(?:\(\))?`/g;

it.each(pages)('%s names files that are there', (page) => {
  const named = [...read(page).matchAll(/(?<![\w./*{-])((?:[\w-]+\/)*\w+(?:\.test)?\.ts)\b/g)];
  for (const [, path = ''] of named) expect(filesNamed(path), path).not.toEqual([]);
});

it.each(pages)('%s names parts of the source that are there', (page) => {
  for (const [, name = ''] of read(page).matchAll(identifier)) expect(filesWith(name), name).not.toEqual([]);
});

it.each(pages)('%s names the files that have these parts', (page) => {
  const inSentences = /`(#?\w+(?:\.#?\w+)*)` (?:in|of) `([\w/]+\.ts)`/g;
  const inWalks = /^[→← ]*([A-Z]\w+(?:\.\w+)?|[a-z]+[A-Z]\w*) +([\w/]+\.ts) /gm;
  const named = [inSentences, inWalks].flatMap((pattern) => [...read(page).matchAll(pattern)]);
  for (const [, name = '', path = ''] of named)
    expect(filesWith(name, filesNamed(path)), `${name} in ${path}`).not.toEqual([]);
});
