import { execFileSync } from 'node:child_process';

/** Builds the program once before the tests, since the end-to-end tests run it as a child process. */
export function setup(): void {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  });
}
