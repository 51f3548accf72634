// Judges whether a tag can become a release, and writes its notes:  node --import ./scripts/typescript.mjs scripts/release.ts TAG FOLDER
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseOf } from './release/release.ts';

const [tag = '', folder = '.'] = process.argv.slice(2);
const release = releaseOf(tag, process.cwd(), process.env['GITHUB_REPOSITORY'] ?? 'sonic2mqtt/sonic2mqtt');
if ('problem' in release) {
  console.error(release.problem);
  process.exitCode = 1;
} else {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'notes.md'), release.notes);
  // As GitHub wants to be told what later steps may use.
  console.log(`version=${release.version}\nchannel=${release.channel}`);
}
