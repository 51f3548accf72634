// Puts the pages of the project into site/pages, from which VitePress builds the site. The same files are read on GitHub,
// so a link to anything that is no page, for example to a test, leads there.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
const target = fileURLToPath(new URL('pages', import.meta.url));
const { homepage } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));

const documents = readdirSync(join(project, 'docs'), { recursive: true, encoding: 'utf8' }).map(
  (name) => `docs/${name}`,
);
const pictures = documents.filter((file) => /\.(png|webp|svg)$/.test(file));
const pages = [
  ...['README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md'],
  'home-assistant-app/DOCS.md',
  ...documents.filter((file) => file.endsWith('.md')),
];

rmSync(target, { recursive: true, force: true });
for (const page of pages) write(nameOnSite(page), onSite(page, readFileSync(join(project, page), 'utf8')));
for (const picture of pictures) cpSync(join(project, picture), join(target, picture), { recursive: true });
mkdirSync(join(target, 'public'));
cpSync(join(project, 'docs/icon.svg'), join(target, 'public/icon.svg'));

/** The text of a page with links for the site, and without badges, which other servers would have to send. */
function onSite(page: string, text: string): string {
  const link = (path: string) => {
    const file = join(dirname(page), path);
    if (pages.includes(file)) return nameOnSite(path);
    return existsSync(join(project, file)) && !pictures.includes(file)
      ? `${homepage}/blob/main/${file}`
      : path;
  };
  return text
    .replaceAll(/^\[!\[.*\n/gm, '')
    .replaceAll(/(?<=\]\()(?!https?:)([^)#\s]+)/g, link)
    .replaceAll(/(?<=<img src=")(?!https?:)/g, './');
}

/** The README is the first page of the site. */
function nameOnSite(path: string): string {
  return path.replace(/README\.md$/, 'index.md');
}

function write(name: string, text: string): void {
  const file = join(target, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
