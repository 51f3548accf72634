import { type Slice, slices } from './slices.ts';

/** How far the first reading of a slice is. */
export interface SliceProgress {
  readonly slice: Slice;
  readonly read: number;
  /** Null while that is not known. */
  readonly total: number | null;
}

/** How far the first reading of everything is: each slice until it was read once. */
export class FirstReading {
  readonly #underWay = new Map<Slice, SliceProgress>(
    slices.map((slice) => [slice, { slice, read: 0, total: null }]),
  );

  /** Notes how far a slice is; that counts until it was read once. */
  note(slice: Slice, read: number, total: number | null): void {
    if (this.#underWay.has(slice)) this.#underWay.set(slice, { slice, read, total });
  }

  /** A slice was read once. */
  done(slice: Slice): void {
    this.#underWay.delete(slice);
  }

  /** The slices that were not read yet. */
  get progress(): readonly SliceProgress[] {
    return [...this.#underWay.values()];
  }
}

/** In words; null where nothing was read yet of what is still to be read. */
export function wordsOfProgress(progress: readonly SliceProgress[]): string | null {
  const begun = progress.filter(({ read }) => read > 0);
  const words = begun.map(({ slice, read, total }) => {
    return `${slice.replace('_', ' ')} ${total === null ? read : `${read} of ${Math.max(read, total)}`}`;
  });
  return words.length === 0 ? null : words.join(', ');
}
