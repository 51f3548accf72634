import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/node-red/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    reporters: ['verbose'],
    testTimeout: 400_000,
    hookTimeout: 240_000,
  },
});
