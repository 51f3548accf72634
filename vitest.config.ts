import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/sequencer.ts';

export default defineConfig({
  test: {
    include: ['test/{unit,contract,simulation,stories,e2e}/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    sequence: { sequencer: LongestFirst },
    // The end-to-end tests mostly wait for the programs they have started.
    maxWorkers: 4,
    // Files of one worker share the modules: importing them anew for each took a third of the processor time.
    isolate: false,
    // What a story makes is forgotten with it; a larger nursery collects it in one go.
    execArgv: ['--max-semi-space-size=32'],
    // In the stories weeks pass in seconds, but on a busy machine in more of them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});
