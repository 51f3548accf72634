import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a tag becomes. */
export interface Release {
  readonly version: string;
  /** Who gets it that names no version: `latest`, or `next` for one that is to be tried first. */
  readonly channel: 'latest' | 'next';
  /** Of the image: the version, and what it is the newest of. */
  readonly tags: readonly string[];
  /** What the changelog says of it. */
  readonly notes: string;
}

/** The image from which Home Assistant gets the app of a repository, which is given as owner/name. */
const appImageOf = (repository: string) => `ghcr.io/${repository.toLowerCase()}-home-assistant`;

/** The app's config.yaml with the version and the image that a repository has published. */
export function releasedApp(config: string, version: string, repository: string): string {
  const image = `image: ${appImageOf(repository)}`;
  const named = config.replace(/^version: .*$/m, `version: "${version}"`);
  return /^image: /m.test(named)
    ? named.replace(/^image: .*$/m, image)
    : named.replace(/^version: .*$/m, `$&\n${image}`);
}

/** Reads what the project in a folder makes of a tag; why it is none, in words, where they do not agree. */
export function releaseOf(tag: string, folder: string): Release | { readonly problem: string } {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (tag !== `v${version}`)
    return { problem: `the tag is ${tag}, and package.json has ${version}: v${version}` };
  const [, ...sections] = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8').split(/^## /m);
  const named = (heading: string) => sections.find((each) => each.split(/\s/, 1)[0] === heading);
  const section = named(version);
  if (section === undefined) return { problem: `CHANGELOG.md has no section ${version}` };
  if (/^[-*#]/m.test(named('Unreleased') ?? '')) {
    return { problem: `CHANGELOG.md has changes under Unreleased, which belong to ${version}` };
  }
  const [heading = '', ...lines] = section.split('\n');
  if (!/\d{4}-\d\d-\d\d$/.test(heading)) return { problem: `CHANGELOG.md has no date for ${version}` };
  const notes = `${lines.join('\n').trim()}\n`;
  const [major, minor] = version.split('.');
  return version.includes('-')
    ? { version, channel: 'next', tags: [version, 'next'], notes }
    : { version, channel: 'latest', tags: [version, `${major}.${minor}`, major, 'latest'], notes };
}
