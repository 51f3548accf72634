import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/home-assistant/*.test.ts'],
    // It checks nothing that the others do not, and writes files of the repository: npm run pictures.
    exclude: process.env['PICTURES'] ? [] : ['**/pictures.test.ts'],
    // Each file starts a Home Assistant, and waits for it most of the time.
    maxWorkers: 3,
    globalSetup: ['test/support/build.ts'],
    reporters: ['verbose'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
