import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the licences of the packages ask for: their texts, one package after the other, given the files of a bundle. */
export function licencesOf(files: readonly string[]): string {
  const folders = new Set(files.flatMap((file) => packageFolder(file) ?? []));
  return [...folders]
    .map(noticeOf)
    .sort()
    .join(`\n${'-'.repeat(100)}\n\n`);
}

/** The folder of the package that a file belongs to; null for the project's own. */
function packageFolder(file: string): string | null {
  return /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(file.replaceAll('\\', '/'))?.[0] ?? null;
}

function noticeOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts].join('\n\n').concat('\n');
}
