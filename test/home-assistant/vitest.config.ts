import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/home-assistant/*.test.ts'],
    // Each file starts a Home Assistant: one after the other is enough for a small machine.
    fileParallelism: false,
    globalSetup: ['test/support/build.ts'],
    reporters: ['verbose'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
