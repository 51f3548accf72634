import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/home-assistant/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    reporters: ['verbose'],
    testTimeout: 120_000,
    hookTimeout: 240_000,
  },
});
