import { execFileSync } from 'node:child_process';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether vitest was called with `--update`. */
    readonly isUpdating: boolean;
  }
}

/**
 * Builds the program once before the tests, because end-to-end tests run it as a child process. If several
 * test runs work side by side, build before them and set SKIP_BUILD.
 */
export function setup({ config, provide }: TestProject): void {
  provide('isUpdating', config.snapshotOptions.updateSnapshot === 'all');
  if (process.env['SKIP_BUILD']) return;
  const builder = ['--import', './scripts/typescript.mjs', 'scripts/build.ts'];
  execFileSync(process.execPath, builder, { stdio: 'inherit' });
}
