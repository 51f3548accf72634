import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutation } from './mutation.ts';

/** A run of tests: how many there were, and the name of the first that failed. */
export interface TestRun {
  readonly count: number;
  readonly failed: string | null;
  /** What vitest said, where it could run no tests at all. */
  readonly output: string;
}

/** Another text in a file. */
type Mistake = Pick<Mutation, 'file' | 'text' | 'replacement'>;

interface Report {
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** What is not copied: what others made of the sources, and what only weighs. */
const left = new Set(['.git', 'coverage', 'dist', 'node_modules']);

const configuration = `export default {
  test: { include: ['test/{unit,contract,stories,e2e}/**/*.test.ts'], globalSetup: ['test/support/build.ts'], testTimeout: 120_000, hookTimeout: 20_000 },
};
`;

const longestRunMs = 600_000;

/** A copy of the sources in a temporary folder, in which mistakes can be made. */
export class Bench {
  readonly #folder = mkdtempSync(join(tmpdir(), 'mutations-'));

  constructor() {
    for (const name of readdirSync('.').filter((each) => !left.has(each))) {
      cpSync(name, join(this.#folder, name), { recursive: true });
    }
    symlinkSync(join(process.cwd(), 'node_modules'), join(this.#folder, 'node_modules'));
    writeFileSync(join(this.#folder, 'mutations.config.mjs'), configuration);
  }

  /** Why the mistake cannot be made, in words; null where its text stands in the file exactly once. */
  problemOf({ file, text }: Mistake): string | null {
    const count = readFileSync(join(this.#folder, file), 'utf8').split(text).length - 1;
    return count === 1 ? null : `${file} has this ${count} times, not once: ${text}`;
  }

  /** Runs the tests with the mistake made, up to the first that fails. */
  async runMutated({ file, text, replacement }: Mistake, tests: readonly string[]): Promise<TestRun> {
    const path = join(this.#folder, file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      source.replace(text, () => replacement),
    );
    try {
      return await this.run(tests, ['--bail', '1']);
    } finally {
      writeFileSync(path, source);
    }
  }

  /** Runs the tests. */
  async run(tests: readonly string[], options: readonly string[] = []): Promise<TestRun> {
    const reportFile = join(this.#folder, 'report.json');
    rmSync(reportFile, { force: true });
    // Only the end-to-end tests need the build.
    const environment = tests.some((test) => test.startsWith('test/e2e/')) ? {} : { SKIP_BUILD: '1' };
    const output = await this.#vitest(environment, [
      ...['run', '--config', 'mutations.config.mjs', '--reporter', 'json', '--outputFile', reportFile],
      ...options,
      ...tests,
    ]);
    return { ...readReport(reportFile), output };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #vitest(environment: Readonly<Record<string, string>>, args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', ...args], {
      cwd: this.#folder,
      env: { ...process.env, ...environment },
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), longestRunMs);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        clearTimeout(timer);
        resolve(`${output}\nvitest ended with ${signal ?? code}`);
      });
    });
  }
}

function readReport(file: string): Pick<TestRun, 'count' | 'failed'> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return { count: 0, failed: null };
  }
  const { numTotalTests: count, testResults } = JSON.parse(text) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return { count, failed: tests.find(({ status }) => status === 'failed')?.fullName ?? null };
}
