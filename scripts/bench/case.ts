import type { Figure } from './figures.ts';
import type { Bench } from './stage.ts';

/** Something that is measured. */
export interface Case {
  readonly name: string;
  /** In words, for those who choose. */
  readonly what: string;
  /** The sizes of which it can be measured, among those that are wanted. */
  readonly sizes: readonly number[];
  /** Sonics by sonics: what was measured of one size. */
  readonly run: (bench: Bench, sonics: number) => Promise<readonly Figure[]>;
  /** What can be said of all sizes together. */
  readonly conclude?: (figures: readonly Figure[]) => readonly Figure[];
}
