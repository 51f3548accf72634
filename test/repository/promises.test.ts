import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { mutations } from '../../scripts/mutations/table.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** What the image is made by and tried with. */
const ofTheImage = ['Dockerfile', '.ci/image'];

const aTest = /^test\/(unit|contract|stories|simulation|e2e|nightly|repository)\/.*\.test\.ts$/;

/** The rows of a page's tables: the first cell, and the files to which the last one links. */
function promisesOf(page: string): { readonly words: string; readonly files: readonly string[] }[] {
  return readFileSync(join(project, page), 'utf8')
    .split('\n')
    .filter((line) => /^\| (?!---|Promise |What fails )/.test(line))
    .map((line) => {
      const cells = line.split(' | ');
      const links = [...(cells.at(-1) ?? '').matchAll(/\]\(([^)#]+)\)/g)];
      return {
        words: cells[0]?.slice(2) ?? '',
        files: links.map(([, path = '']) => normalize(join(dirname(page), path))),
      };
    });
}

it.each([
  { page: 'docs/internals/promises.md', least: 20 },
  { page: 'docs/internals/reliability.md', least: 9 },
])('each promise of $page is held by tests that are there', ({ page, least }) => {
  const promises = promisesOf(page);
  expect(promises.length).toBeGreaterThanOrEqual(least);
  for (const { words, files } of promises) {
    expect(files.length, words).toBeGreaterThan(0);
    expect(
      files.filter((file) => !existsSync(join(project, file))),
      words,
    ).toEqual([]);
    for (const file of files) if (!ofTheImage.includes(file)) expect(file).toMatch(aTest);
  }
});

it('each mistake of npm run mutations can still be made, and its tests are there', () => {
  for (const { promise, file, text, tests } of mutations) {
    expect(readFileSync(join(project, file), 'utf8').split(text), promise).toHaveLength(2);
    for (const test of tests) expect(existsSync(join(project, test)), test).toBe(true);
  }
});
