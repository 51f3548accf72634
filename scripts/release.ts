// Judges whether a tag can become a release, and writes its notes:  node --import ./scripts/typescript.mjs scripts/release.ts TAG FOLDER
// Writes the version and the image of a release into the Home Assistant app:  … scripts/release.ts app VERSION OWNER/NAME
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { releasedApp, releaseOf } from './release/release.ts';

const [first = '', second = '.', repository = ''] = process.argv.slice(2);
if (first === 'app') {
  const file = join('home-assistant-app', 'config.yaml');
  writeFileSync(file, releasedApp(readFileSync(file, 'utf8'), second, repository));
} else {
  const release = releaseOf(first, process.cwd());
  if ('problem' in release) {
    console.error(release.problem);
    process.exitCode = 1;
  } else {
    mkdirSync(second, { recursive: true });
    writeFileSync(join(second, 'notes.md'), release.notes);
    // The form in which GitHub takes values for later steps.
    const { version, channel, tags } = release;
    console.log(`version=${version}\nchannel=${channel}\ntags=${tags.join(' ')}`);
  }
}
