import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mutations } from '../../scripts/mutations/table.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** What the image is made by and tried with. */
const ofTheImage = ['Dockerfile', '.ci/image'];

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

describe.each([
  { page: 'SECURITY.md', least: 20 },
  { page: 'docs/reliability.md', least: 9 },
])('each promise of $page', ({ page, least }) => {
  const promises = promisesOf(page);

  it('is one of several', () => {
    expect(promises.length).toBeGreaterThanOrEqual(least);
  });

  it.each(promises)('is held by tests that are there: $words', ({ files }) => {
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      expect(existsSync(join(project, file)), file).toBe(true);
      if (!ofTheImage.includes(file))
        expect(file).toMatch(/^test\/(unit|contract|e2e|simulation|nightly)\/.*\.test\.ts$/);
    }
  });
});

it.each(mutations)('the mistake that breaks this can still be made: $promise', ({ file, text, tests }) => {
  expect(readFileSync(join(project, file), 'utf8').split(text)).toHaveLength(2);
  for (const test of tests) expect(existsSync(join(project, test)), test).toBe(true);
});
