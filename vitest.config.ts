import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/sequencer.ts';

/**
 * Node.js 20 optimises a function after 67,584 bytes of bytecode, on threads beside the tests. For the many functions that
 * a test calls a few hundred times, that took a quarter of the processor time. Later versions have no such flag.
 */
const optimiseLater = process.version.startsWith('v20.') ? ['--interrupt-budget=200000'] : [];

export default defineConfig({
  test: {
    include: ['test/{unit,contract,simulation,stories,e2e}/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    sequence: { sequencer: LongestFirst },
    // The end-to-end tests mostly wait for the programs they have started.
    maxWorkers: 4,
    // Files of one worker share the modules: importing them anew for each took a third of the processor time.
    isolate: false,
    // Transformed files are kept below node_modules: a later run of some files takes a fifth less processor time.
    experimental: { fsModuleCache: true },
    // What a story makes is forgotten with it; a larger nursery collects it in one go.
    execArgv: ['--max-semi-space-size=32', ...optimiseLater],
    // In the stories weeks pass in seconds, but on a busy machine in more of them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});
