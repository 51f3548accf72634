import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/repository/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
