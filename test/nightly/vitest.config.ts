import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/nightly/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    reporters: ['verbose'],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
