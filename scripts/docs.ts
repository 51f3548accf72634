// Writes the references from the tables in src:  npm run docs;  with --check it only says what is out of date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type Document, writtenDocuments } from './docs/documents.ts';

const isCheck = process.argv.includes('--check');
const isStale = ({ file, text }: Document) => !existsSync(file) || readFileSync(file, 'utf8') !== text;
const stale = writtenDocuments().filter(isStale);

if (!isCheck) {
  for (const { file, text } of stale) writeFileSync(file, text);
  console.log(
    stale.length === 0
      ? 'The references are up to date'
      : `Wrote ${stale.map(({ name }) => name).join(', ')}`,
  );
} else if (stale.length > 0) {
  console.error(`Out of date: ${stale.map(({ name }) => name).join(', ')}. Run: npm run docs`);
  process.exitCode = 1;
}
