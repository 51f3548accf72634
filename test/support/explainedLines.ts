import { readFileSync } from 'node:fs';

/** The page that explains the messages of the program. */
export const messagesPage = 'docs/reference/messages.md';

/** The messages that the tables of this page explain: the code in the first cell of each row. */
export function readExplained(project: string): string[] {
  const [, explained = ''] = readFileSync(`${project}${messagesPage}`, 'utf8').split(
    '\n## Messages without advice\n',
  );
  return explained
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    .flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)])
    .map(([, quote = '']) => quote);
}
