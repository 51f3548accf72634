import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,contract,simulation,stories,e2e}/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    // The end-to-end tests mostly wait for the programs they have started.
    maxWorkers: 4,
    // Files of one worker share the modules: importing them anew for each took a third of the processor time.
    isolate: false,
    // In the stories weeks pass in seconds, but on a busy machine in more of them.
    testTimeout: 120_000,
    hookTimeout: 30_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
  },
});
