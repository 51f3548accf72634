import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig } from 'vitepress';

const pages = fileURLToPath(new URL('../pages/', import.meta.url));
const { homepage, description } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** The pages in the order in which people need them. A page of docs that is missing here fails the build. */
const tasks = {
  Start: [
    'index',
    'docs/tour',
    'docs/quick-start',
    'docs/install',
    'home-assistant-app/DOCS',
    'docs/migrate',
  ],
  Use: [
    'docs/home-assistant',
    'docs/history',
    'docs/blueprints',
    'docs/automations',
    'docs/pause',
    'docs/status-page',
    'docs/webhook',
    'docs/node-red',
    'docs/other-programs',
    'docs/grafana',
    'docs/more-than-one-bridge',
    'docs/used-with',
    'docs/large-installations',
  ],
  Help: [
    'docs/leak',
    'docs/leak-languages',
    'docs/family',
    'docs/faq',
    'docs/troubleshooting',
    'docs/update',
    'docs/uninstall',
    'docs/security',
    'docs/privacy',
  ],
};
const project = ['CHANGELOG', 'CONTRIBUTING', 'SECURITY', 'CODE_OF_CONDUCT'];

/** Names in the list for pages whose heading is the name of the program. */
const names: Record<string, string> = { index: 'Overview', 'home-assistant-app/DOCS': 'Home Assistant app' };

const listed = Object.values(tasks).flat();
const missing = pagesIn('docs').filter((page) => !listed.includes(page));
if (missing.length > 0)
  throw new Error(`Name these pages in site/.vitepress/config.ts: ${missing.join(', ')}`);

// GitHub Pages serves a project under its owner and the name of its repository, also that of a fork.
const [owner, repository] = (process.env['GITHUB_REPOSITORY'] ?? 'sonic2mqtt/sonic2mqtt').split('/');
const base = `/${repository}/`;

export default defineConfig({
  title: 'sonic2mqtt',
  description,
  lang: 'en-GB',
  base,
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache',
  cleanUrls: true,
  sitemap: { hostname: `https://${owner}.github.io${base}` },
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],

  // Curly brackets in headings are part of a topic, not attributes.
  markdown: { anchor: { slugify: anchorOf }, attrs: { disable: true } },
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/docs/quick-start' },
      { text: 'Status page demo', link: '/demo/', target: '_blank' },
    ],
    sidebar: [
      ...Object.entries(tasks).map(([text, group]) => ({ text, items: group.map(itemOf) })),
      { text: 'Reference', collapsed: true, items: pagesIn('docs/reference').map(itemOf) },
      { text: 'How it works', collapsed: true, items: pagesIn('docs/internals').map(itemOf) },
      { text: 'Project', collapsed: true, items: project.map(itemOf) },
    ],
    socialLinks: [{ icon: 'github', link: homepage }],
  },
});

/** The anchors that GitHub gives to headings, so that one link works in both places. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/** The pages directly in a folder, without their ending. */
function pagesIn(folder: string): string[] {
  return readdirSync(`${pages}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name.slice(0, -'.md'.length)}`);
}

/** A page in the list, under its heading. */
function itemOf(page: string): DefaultTheme.SidebarItem {
  const [, title = page] = /^# (.*)$/m.exec(readFileSync(`${pages}${page}.md`, 'utf8')) ?? [];
  return { text: names[page] ?? title, link: `/${page.replace(/^index$/, '')}` };
}
