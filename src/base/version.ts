import { readFileSync } from 'node:fs';

// Two levels up from both src/base and dist/base.
const packageFile: { version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

/** The version in package.json, the only place that states it. */
export const version = packageFile.version;
