import { readFileSync } from 'node:fs';

/** The page that explains what the program says. */
export const messagesPage = 'docs/reference/messages.md';

/** What the tables of that page explain: the code in the first cell of each row, as far as it was written. */
export function readExplained(project: string): string[] {
  const [, explained = ''] = readFileSync(`${project}${messagesPage}`, 'utf8').split('\n## All messages\n');
  return explained
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)])
    .map(([, quote = '']) => quote);
}
