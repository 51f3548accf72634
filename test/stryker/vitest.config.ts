import { defineConfig } from 'vitest/config';

/** The quick tests that need no built program, because each of them runs for many mutants. */
export default defineConfig({
  test: {
    include: ['test/unit/{model,store}/**/*.test.ts'],
    exclude: ['test/unit/store/places.test.ts'],
    testTimeout: 120_000,
  },
});
