import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // The hostile tests are those of `npm test`, with far more histories.
    include: ['test/nightly/*.test.ts', 'test/stories/hostile*.test.ts', 'test/unit/config/hostile.test.ts'],
    env: { HOSTILE_RUNS: '200' },
    globalSetup: ['test/support/build.ts'],
    // Vitest would empty the style sheet of the status page.
    css: true,
    reporters: ['verbose'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
