import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule } from 'vitest/node';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** By job of a workflow: the files that may skip tests there, each with the reason. */
export const permittedSkips: Readonly<Record<string, Readonly<Record<string, string>>>> = JSON.parse(
  readFileSync(new URL('../../.ci/skips.json', import.meta.url), 'utf8'),
);

/** Fails the run if a test was skipped that the job in `SKIPS_OF` may not skip. */
// biome-ignore lint/style/noDefaultExport: Vitest takes a reporter from the default export of a file.
export default class PermittedSkips implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const job = process.env['SKIPS_OF'] ?? '';
    const permitted = permittedSkips[job] ?? {};
    for (const { moduleId, children } of modules) {
      const file = relative(project, moduleId);
      if (permitted[file] !== undefined) continue;
      for (const test of children.allTests('skipped')) {
        process.stderr.write(
          `Skipped, which .ci/skips.json does not permit in ${job}: ${file} > ${test.fullName}\n`,
        );
        process.exitCode = 1;
      }
    }
  }
}
