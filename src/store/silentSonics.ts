/**
 * Sonics that are unreachable: an incident that only they can report would be missing. A property that has one cannot say
 * that no incident is open there.
 */
export class SilentSonics {
  /** By sonic, its property; null: that is not known, and it may be any. */
  readonly #homes = new Map<string, string | null>();
  readonly #counts = new Map<string | null, number>();

  /** Records where a sonic is that is silent; undefined: it is not. Returns the properties that this makes a difference to. */
  record(id: string, home: string | null | undefined): (string | null)[] {
    const before = this.#homes.get(id);
    if (before === home) return [];
    if (home === undefined) this.#homes.delete(id);
    else this.#homes.set(id, home);
    return [...this.#count(before, -1), ...this.#count(home, 1)];
  }

  /** Whether a property has one, or may have one. */
  mayBeIn(propertyId: string): boolean {
    return this.#counts.has(propertyId) || this.#counts.has(null);
  }

  /** Returns the property if it now has its first, or has none any more. */
  #count(home: string | null | undefined, step: 1 | -1): (string | null)[] {
    if (home === undefined) return [];
    const before = this.#counts.get(home) ?? 0;
    const count = before + step;
    if (count === 0) this.#counts.delete(home);
    else this.#counts.set(home, count);
    return (before === 0) === (count === 0) ? [] : [home];
  }
}
