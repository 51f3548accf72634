import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/clusters/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    reporters: ['verbose'],
    fileParallelism: false,
    // One chapter of the story begins where the other has ended.
    bail: 1,
    testTimeout: 1_200_000,
    hookTimeout: 240_000,
  },
});
