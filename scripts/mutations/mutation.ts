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
