import { execFileSync } from 'node:child_process';

/**
 * Builds the program once before the tests, since the end-to-end tests run it as a child process. Where several run side
 * by side it is built before them, and each is told so by SKIP_BUILD.
 */
export function setup(): void {
  if (process.env['SKIP_BUILD']) return;
  const builder = ['--import', './scripts/typescript.mjs', 'scripts/build.ts'];
  execFileSync(process.execPath, builder, { stdio: 'inherit' });
}
