import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a tag becomes. */
export interface Release {
  readonly version: string;
  /** Who gets it that names no version: `latest`, or `next` for one that is to be tried first. */
  readonly channel: 'latest' | 'next';
  /** What the changelog says of it. */
  readonly notes: string;
}

/** What Home Assistant is to get the app from, if the project in the folder is one of `repository`, as owner/name. */
export const appImageOf = (repository: string) => `ghcr.io/${repository.toLowerCase()}-home-assistant`;

/** Reads what the project in a folder makes of a tag; why it is none, in words, where they do not agree. */
export function releaseOf(
  tag: string,
  folder: string,
  repository: string,
): Release | { readonly problem: string } {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (tag !== `v${version}`)
    return { problem: `the tag is ${tag}, and package.json has ${version}: v${version}` };
  const app = readFileSync(join(folder, 'home-assistant-app', 'config.yaml'), 'utf8');
  const written = (key: string) => new RegExp(`^${key}: *"?([^"\\n]*)"?$`, 'm').exec(app)?.[1];
  const image = appImageOf(repository);
  if (written('version') !== version) {
    return { problem: `home-assistant-app/config.yaml has not the version ${version}: npm run docs` };
  }
  if (written('image') !== image) {
    return { problem: `home-assistant-app/config.yaml names ${written('image')}, and this will be ${image}` };
  }
  const [, ...sections] = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8').split(/^## /m);
  const named = (heading: string) => sections.find((each) => each.startsWith(`[${heading}]`));
  const section = named(version);
  if (section === undefined) return { problem: `CHANGELOG.md has no section [${version}]` };
  if (/^[-*#]/m.test(named('Unreleased') ?? '')) {
    return { problem: `CHANGELOG.md has changes under [Unreleased], which belong to [${version}]` };
  }
  const [heading = '', ...lines] = section.split('\n');
  if (!/\d{4}-\d\d-\d\d$/.test(heading)) return { problem: `CHANGELOG.md has no date for [${version}]` };
  const notes = `${lines.join('\n').trim()}\n`;
  return { version, channel: version.includes('-') ? 'next' : 'latest', notes };
}
