import { execFileSync } from 'node:child_process';

/** Builds the program once before the tests, since the end-to-end tests run it as a child process. */
export function setup(): void {
  const builder = ['--import', './scripts/typescript.mjs', 'scripts/build.ts'];
  execFileSync(process.execPath, builder, { stdio: 'inherit' });
}
