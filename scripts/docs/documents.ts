import { readFileSync } from 'node:fs';
import { configurationPage, optionTable } from './configuration.ts';
import { entitiesPage } from './entities.ts';
import { operationsPage } from './operations.ts';
import { requestsTable } from './requestsPerHour.ts';
import { topicsPage } from './topics.ts';

/** A file as it should be. */
export interface Document {
  /** From the top of the project. */
  readonly name: string;
  readonly file: URL;
  readonly text: string;
}

/** What the README has of it between two marks. */
const parts = { options: optionTable, requests: requestsTable };

/** Every file that is written from the tables, as it should be. */
export function writtenDocuments(): readonly Document[] {
  return [
    document('docs/configuration.md', configurationPage()),
    document('docs/topics.md', topicsPage()),
    document('docs/entities.md', entitiesPage()),
    document('docs/operations.md', operationsPage()),
    document('README.md', withParts(readFileSync(fileAt('README.md'), 'utf8').trimEnd())),
  ];
}

function document(name: string, text: string): Document {
  return { name, file: fileAt(name), text: `${text}\n` };
}

function fileAt(name: string): URL {
  return new URL(`../../${name}`, import.meta.url);
}

/** The README with each table between its marks. */
function withParts(readme: string): string {
  let text = readme;
  for (const [name, write] of Object.entries(parts)) {
    const [begin, end] = [`<!-- ${name}: written by \`npm run docs\` -->`, `<!-- end of ${name} -->`];
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (before === undefined || after === undefined) throw new Error(`README.md lacks ${begin} or ${end}`);
    text = `${before}${begin}\n\n${write()}\n\n${end}${after}`;
  }
  return text;
}
