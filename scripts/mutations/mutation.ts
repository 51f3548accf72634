/** A mistake that somebody could make in the safety code, and the tests that must notice it. */
export interface Mutation {
  /** The promise that it breaks. */
  readonly promise: string;
  readonly file: string;
  /** What stands in the file, exactly once. */
  readonly text: string;
  readonly replacement: string;
  readonly tests: readonly string[];
}

/** Mistakes in one file below `src`, which these files below `test` notice: by promise, what stands there and what replaces it. */
export function mistakesIn(
  file: string,
  tests: readonly string[],
  mistakes: Readonly<Record<string, readonly [text: string, replacement: string]>>,
): Mutation[] {
  return Object.entries(mistakes).map(([promise, [text, replacement]]) => ({
    ...{ promise, file: `src/${file}`, text, replacement },
    tests: tests.map((test) => `test/${test}.test.ts`),
  }));
}
