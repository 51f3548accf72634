import { readFileSync } from 'node:fs';
import { configurationPage, optionTable } from './configuration.ts';
import { entitiesPage } from './entities.ts';
import { operationsPage } from './operations.ts';
import { topicsPage } from './topics.ts';

/** A file as it should be. */
export interface Document {
  /** From the top of the project. */
  readonly name: string;
  readonly file: URL;
  readonly text: string;
}

const begin = '<!-- options: written by `npm run docs` -->';
const end = '<!-- end of options -->';

/** Every file that is written from the tables, as it should be. */
export function writtenDocuments(): readonly Document[] {
  return [
    document('docs/configuration.md', configurationPage()),
    document('docs/topics.md', topicsPage()),
    document('docs/entities.md', entitiesPage()),
    document('docs/operations.md', operationsPage()),
    document('README.md', withOptions(readFileSync(fileAt('README.md'), 'utf8').trimEnd())),
  ];
}

function document(name: string, text: string): Document {
  return { name, file: fileAt(name), text: `${text}\n` };
}

function fileAt(name: string): URL {
  return new URL(`../../${name}`, import.meta.url);
}

/** The README with the table of options between its two marks. */
function withOptions(readme: string): string {
  const [before, rest] = readme.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`README.md lacks ${begin} or ${end}`);
  return `${before}${begin}\n\n${optionTable()}\n\n${end}${after}`;
}
