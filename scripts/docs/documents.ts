import { readFileSync } from 'node:fs';
import { configurationPage } from './configuration.ts';
import { entitiesPage } from './entities.ts';
import { counterpartTable } from './migration.ts';
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

/** What files have of it between two marks. */
const parts: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/internals/performance.md': { requests: requestsTable },
  'docs/reference/migration.md': { entities: counterpartTable },
};

/** Every file that is written from the tables, as it should be. */
export function writtenDocuments(): readonly Document[] {
  return [
    document('docs/reference/options.md', configurationPage()),
    document('docs/reference/topics.md', topicsPage()),
    document('docs/reference/entities.md', entitiesPage()),
    document('docs/reference/operations.md', operationsPage()),
    ...Object.keys(parts).map((name) => document(name, withParts(name))),
  ];
}

function document(name: string, text: string): Document {
  return { name, file: fileAt(name), text: `${text}\n` };
}

const read = (name: string) => readFileSync(fileAt(name), 'utf8').trimEnd();

function fileAt(name: string): URL {
  return new URL(`../../${name}`, import.meta.url);
}

/** The file with each table between its marks. */
function withParts(file: string): string {
  let text = read(file);
  for (const [name, write] of Object.entries(parts[file] ?? {})) {
    const [begin, end] = [`<!-- ${name}: written by \`npm run docs\` -->`, `<!-- end of ${name} -->`];
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (before === undefined || after === undefined) throw new Error(`${file} lacks ${begin} or ${end}`);
    text = `${before}${begin}\n\n${write()}\n\n${end}${after}`;
  }
  return text;
}
