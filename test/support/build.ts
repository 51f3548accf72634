import { execFileSync } from 'node:child_process';

/**
 * Builds the program once before the tests, because end-to-end tests run it as a child process. If several
 * test runs work side by side, build before them and set SKIP_BUILD.
 */
export function setup(): void {
  if (process.env['SKIP_BUILD']) return;
  const builder = ['--import', './scripts/typescript.mjs', 'scripts/build.ts'];
  execFileSync(process.execPath, builder, { stdio: 'inherit' });
}
