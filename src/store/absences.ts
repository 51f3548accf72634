/** What was there is taken for gone after so many complete readings without it. */
const readingsUntilGone = 2;

/** How many complete readings in a row have missed what was there. */
export class Absences {
  readonly #counts = new Map<string, number>();

  /** Notes that a complete reading missed it; says whether it is taken for gone, and then forgets it. */
  missed(id: string): boolean {
    const count = (this.#counts.get(id) ?? 0) + 1;
    if (count < readingsUntilGone) this.#counts.set(id, count);
    else this.#counts.delete(id);
    return count >= readingsUntilGone;
  }

  /** Whether the last complete reading missed it. */
  has(id: string): boolean {
    return this.#counts.has(id);
  }

  /** Notes that it is there, or of no interest any more. */
  forget(id: string): void {
    this.#counts.delete(id);
  }
}
